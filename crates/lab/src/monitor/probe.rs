//! What the monitor asks of a layer.

use std::collections::BTreeMap;

use super::sheet::Sheet;
use assay_study::{Unmonitored, Warning};

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
    said: Vec<Warning>,
    new: Vec<Warning>,
    facts: BTreeMap<String, String>,
}

impl Notes {
    /// Notes it unless it was noted before.
    pub(super) fn once(&mut self, warning: Warning) {
        if !self.said.contains(&warning) {
            self.said.push(warning.clone());
            self.new.push(warning);
        }
    }

    /// Notes, once, that something is not monitored.
    pub(super) fn unmonitored(&mut self, what: Unmonitored) {
        self.once(Warning::Unmonitored(what));
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
    pub(super) fn take_new(&mut self) -> Vec<Warning> {
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
        notes.unmonitored(Unmonitored::ServerSilent);
        notes.unmonitored(Unmonitored::ServerSilent);
        assert_eq!(notes.take_new(), [Warning::Unmonitored(Unmonitored::ServerSilent)]);
        notes.unmonitored(Unmonitored::ServerSilent);
        assert!(notes.take_new().is_empty());
    }
}
