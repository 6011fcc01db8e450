//! The given options, read by type.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use super::options::{Opt, find};
use crate::error::Result;
use crate::option_value::{OptionValue, SYSBENCH};

/// Values by the names in the table of options.
pub(super) type Options = BTreeMap<&'static str, String>;

/// Options as given; the value of one that is not given is the default in the table.
pub(super) struct Given(pub(super) Options);

impl Given {
    pub(super) fn is_given(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn text(&self, name: &'static str) -> &str {
        self.0.get(name).map_or_else(|| default(name), String::as_str)
    }

    fn value(&self, name: &'static str) -> OptionValue<'_> {
        let dashed = format!("--{}", dashed(name));
        OptionValue { name: dashed, text: self.text(name), dialect: &SYSBENCH }
    }

    pub(super) fn path(&self, name: &'static str) -> Option<PathBuf> {
        let text = self.text(name);
        (!text.is_empty()).then(|| PathBuf::from(text))
    }

    pub(super) fn number<T: FromStr>(&self, name: &'static str) -> Result<T> {
        self.value(name).number()
    }

    pub(super) fn switch(&self, name: &'static str) -> Result<bool> {
        self.value(name).switch()
    }

    /// The meaning of the option's value, which is one of `words`.
    pub(super) fn choice<T: Copy>(&self, name: &'static str, words: &[(&str, T)]) -> Result<T> {
        self.value(name).choice(words)
    }

    /// Returns true if a value is given that is not the default.
    pub(super) fn differs(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|given| given != default(name))
    }

    /// The value of an option with an old name: as in sysbench 1.0.20 the old one counts, in either
    /// order, unless it has the default.
    pub(super) fn renamed<T: FromStr>(&self, name: &'static str, old: &'static str) -> Result<T> {
        self.number(if self.differs(old) { old } else { name })
    }

    /// The value before sysbench 1.0, which had the old name alone; the default if neither is
    /// given.
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

fn default(name: &str) -> &'static str {
    find(name).map_or("", Opt::default)
}

pub(super) fn dashed(name: &str) -> String {
    name.replace('_', "-")
}
