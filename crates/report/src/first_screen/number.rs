//! One number of the first screen.

use serde::Serialize;

/// A number with its name, size, bounds and origin.
#[derive(Debug, Serialize)]
pub(crate) struct Number {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) unit: String,
    /// Its interval, or how far the repeats lie apart.
    pub(crate) interval: String,
    /// The verdict in words, and its kind for the style sheet.
    pub(crate) verdict: Option<(&'static str, &'static str)>,
    /// Values of both sides, a line each.
    pub(crate) details: Vec<String>,
    /// Crash safety of each side.
    pub(crate) durability: Vec<(String, String)>,
}

impl Number {
    /// One of which nothing is known.
    pub(crate) fn named(name: &str) -> Number {
        Number {
            name: name.into(),
            value: "–".into(),
            unit: String::new(),
            interval: String::new(),
            verdict: None,
            details: Vec::new(),
            durability: Vec::new(),
        }
    }
}
