//! What the watch asks of a layer.

use std::collections::{BTreeMap, BTreeSet};

use super::sheet::Sheet;

/// One layer that can be read at any moment.
pub(super) trait Probe: Send {
    /// What it reads and what becomes of it; the same for the probe's whole life.
    fn sheet(&self) -> &Sheet;

    /// Fills in the fields that can be read now; the rest stay as they come, absent. What is wrong is noted.
    fn read(&mut self, reading: &mut [f64], notes: &mut Notes);
}

/// What probes have to say to the person who reads the results: remarks on what is wrong, each said once, and facts,
/// which are nothing wrong.
#[derive(Debug, Default)]
pub(super) struct Notes {
    said: BTreeSet<String>,
    new: Vec<String>,
    facts: BTreeMap<String, String>,
}

impl Notes {
    /// Notes `text` unless it was noted before.
    pub(super) fn once(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.said.contains(&text) {
            self.said.insert(text.clone());
            self.new.push(text);
        }
    }

    /// Tells how this machine's or server's figures came about; known when a probe is opened.
    pub(super) fn fact(&mut self, name: &str, text: &str) {
        self.facts.insert(name.into(), text.into());
    }

    /// The facts told since the last call.
    pub(super) fn take_facts(&mut self) -> BTreeMap<String, String> {
        std::mem::take(&mut self.facts)
    }

    /// What was noted since the last call.
    pub(super) fn take_new(&mut self) -> Vec<String> {
        std::mem::take(&mut self.new)
    }
}

/// Parses a number that may be missing; NaN for anything that is not one.
pub(super) fn number(text: Option<&str>) -> f64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_said_once() {
        let mut notes = Notes::default();
        notes.once("gone");
        notes.once("gone");
        assert_eq!(notes.take_new(), ["gone"]);
        notes.once("gone");
        assert!(notes.take_new().is_empty());
    }
}
