//! Options as they were given, read by type.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use super::options::find;
use crate::error::{Error, Result};
use assay_base::suggest;

/// Values by the names of the table of options.
pub(super) type Options = BTreeMap<&'static str, String>;

/// On or off, as sysbench reads it.
pub(super) fn read_switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "1" | "yes" => Some(true),
        "off" | "false" | "0" | "no" => Some(false),
        _ => None,
    }
}

/// Options as given, read by type; what was not given has the default of the table.
pub(super) struct Given(pub(super) Options);

impl Given {
    pub(super) fn is_given(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn text(&self, name: &'static str) -> &str {
        let default = || find(name).map_or("", |option| option.default);
        self.0.get(name).map_or_else(default, String::as_str)
    }

    pub(super) fn path(&self, name: &'static str) -> Option<PathBuf> {
        let text = self.text(name);
        (!text.is_empty()).then(|| PathBuf::from(text))
    }

    pub(super) fn number<T: FromStr>(&self, name: &'static str) -> Result<T> {
        let text = self.text(name);
        text.parse().map_err(|_| {
            Error::Config(format!("`--{}={text}` is not a valid number; see --help", dashed(name)))
        })
    }

    pub(super) fn switch(&self, name: &'static str) -> Result<bool> {
        let text = self.text(name);
        read_switch(text).ok_or_else(|| {
            Error::Config(format!("`--{}={text}` is neither on nor off", dashed(name)))
        })
    }

    /// One of some words, each with its meaning.
    pub(super) fn choice<T: Copy, const M: usize>(
        &self,
        name: &'static str,
        words: [(&str, T); M],
    ) -> Result<T> {
        let text = self.text(name);
        words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning).ok_or_else(|| {
            let names = words.map(|(word, _)| word);
            let hint = suggest::hint(text, names);
            Error::Config(format!(
                "`--{}={text}` is none of {}{hint}",
                dashed(name),
                names.join(", ")
            ))
        })
    }

    /// Whether a number is given that is not the default.
    pub(super) fn differs(&self, name: &str) -> bool {
        let default = || find(name).map_or("", |option| option.default);
        self.0.get(name).is_some_and(|given| given != default())
    }

    /// The value of an option that has an old name too: as in sysbench 1.0.20 the old one counts, in either order, unless it has
    /// the default.
    pub(super) fn renamed<T: FromStr>(&self, name: &'static str, old: &'static str) -> Result<T> {
        self.number(if self.differs(old) { old } else { name })
    }

    /// The same before sysbench 1.0, which knew the old name alone; the default where neither is given.
    pub(super) fn old_or<T: FromStr>(
        &self,
        name: &'static str,
        old: &'static str,
        default: T,
    ) -> Result<T> {
        match [old, name].into_iter().find(|name| self.is_given(name)) {
            Some(given) => self.number(given),
            None => Ok(default),
        }
    }
}

pub(super) fn dashed(name: &str) -> String {
    name.replace('_', "-")
}
