//! The interface between the monitor and a layer.

use std::collections::BTreeMap;

use super::sheet::Sheet;
use assay_study::{Unmonitored, Warning};

pub(super) trait Probe: Send {
    /// Fields and series, the same for the probe's whole life.
    fn sheet(&self) -> &Sheet;

    /// Fills in the fields that can be read now; the rest stay absent. Problems are noted.
    fn read(&mut self, reading: &mut [f64], notes: &mut Notes);
}

/// Remarks of probes for the results: warnings, each once, and facts, which are no problems.
#[derive(Debug, Default)]
pub(super) struct Notes {
    said: Vec<Warning>,
    new: Vec<Warning>,
    facts: BTreeMap<String, String>,
}

impl Notes {
    /// Notes a warning unless it was noted before.
    pub(super) fn once(&mut self, warning: Warning) {
        if !self.said.contains(&warning) {
            self.said.push(warning.clone());
            self.new.push(warning);
        }
    }

    pub(super) fn unmonitored(&mut self, what: Unmonitored) {
        self.once(Warning::Unmonitored(what));
    }

    /// Notes the source of this machine's or server's figures.
    pub(super) fn fact(&mut self, name: &str, text: &str) {
        self.facts.insert(name.into(), text.into());
    }

    /// Facts since the last call.
    pub(super) fn take_facts(&mut self) -> BTreeMap<String, String> {
        std::mem::take(&mut self.facts)
    }

    /// Warnings since the last call.
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
