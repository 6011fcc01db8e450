//! Reads the value of an option or a property, as sysbench or as YCSB does.

use std::str::FromStr;

use crate::error::{Error, Result};
use assay_base::suggest;

/// The differences between the two programs.
#[derive(Debug)]
pub(crate) struct Dialect {
    on: &'static [&'static str],
    off: &'static [&'static str],
    /// The end of the message about a value that is neither of these.
    no_switch: &'static str,
    /// The end of the message about a value that is no number.
    no_number: &'static str,
    /// True if the words of a choice may be in capitals.
    folds_case: bool,
}

pub(crate) const SYSBENCH: Dialect = Dialect {
    on: &["on", "true", "1", "yes"],
    off: &["off", "false", "0", "no"],
    no_switch: "is neither on nor off",
    no_number: "is not a valid number; see --help",
    folds_case: false,
};

pub(crate) const YCSB: Dialect = Dialect {
    on: &["true"],
    off: &["false"],
    no_switch: "is neither true nor false",
    no_number: "is not a valid number",
    folds_case: true,
};

impl Dialect {
    pub(crate) fn switch(&self, text: &str) -> Option<bool> {
        let is_of = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
        is_of(self.on).then_some(true).or_else(|| is_of(self.off).then_some(false))
    }
}

/// The value of an option, and the name by which messages call the option.
#[derive(Debug)]
pub(crate) struct OptionValue<'a> {
    pub(crate) name: String,
    pub(crate) text: &'a str,
    pub(crate) dialect: &'static Dialect,
}

impl OptionValue<'_> {
    pub(crate) fn number<T: FromStr>(&self) -> Result<T> {
        self.text.parse().map_err(|_| self.refusal(self.dialect.no_number))
    }

    pub(crate) fn switch(&self) -> Result<bool> {
        let switch = self.dialect.switch(self.text);
        switch.ok_or_else(|| self.refusal(self.dialect.no_switch))
    }

    /// The meaning of the value, which is one of `words`.
    pub(crate) fn choice<T: Copy>(&self, words: &[(&str, T)]) -> Result<T> {
        let is_it = |word: &str| match self.dialect.folds_case {
            true => word.eq_ignore_ascii_case(self.text),
            false => word == self.text,
        };
        let found = words.iter().find(|(word, _)| is_it(word)).map(|(_, meaning)| *meaning);
        found.ok_or_else(|| {
            let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let hint = suggest::hint(self.text, names.iter().copied());
            self.refusal(&format!("is none of {}{hint}", names.join(", ")))
        })
    }

    fn refusal(&self, reason: &str) -> Error {
        Error::Config(format!("`{}={}` {reason}", self.name, self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<'a>(text: &'a str, dialect: &'static Dialect) -> OptionValue<'a> {
        OptionValue { name: "x".into(), text, dialect }
    }

    #[test]
    fn each_program_has_its_words_for_on_and_off() {
        for (text, sysbench, ycsb) in [
            ("on", Some(true), None),
            ("TRUE", Some(true), Some(true)),
            ("0", Some(false), None),
            ("false", Some(false), Some(false)),
            ("maybe", None, None),
        ] {
            assert_eq!(value(text, &SYSBENCH).switch().ok(), sysbench, "{text}");
            assert_eq!(value(text, &YCSB).switch().ok(), ycsb, "{text}");
        }
    }

    #[test]
    fn a_word_that_is_none_is_refused_with_the_nearest() {
        let words = [("zipfian", 1), ("uniform", 2)];
        assert_eq!(value("Zipfian", &YCSB).choice(&words).unwrap(), 1);
        let refusal = value("Zipfian", &SYSBENCH).choice(&words).unwrap_err().to_string();
        assert!(refusal.starts_with("`x=Zipfian` is none of zipfian, uniform"), "{refusal}");
        let refusal = value("unifrom", &YCSB).choice(&words).unwrap_err().to_string();
        assert!(refusal.contains("did you mean `uniform`?"), "{refusal}");
    }
}
