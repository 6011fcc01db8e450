//! Sends the progress of a run to the machine that started the study.

use assay_hosts::Talk;
use assay_load::capacity::{Objective, SearchStep};
use assay_load::{PrepareProgress, Second};
use assay_study::{Outcome, TrialKey};

use super::task::{FromServer, Shown};
use crate::monitor::Monitor;
use crate::rig::snapshot::LoadProgress;
use crate::run::Progress;

pub(super) struct Teller<'a>(pub(super) &'a Talk);

impl Teller<'_> {
    fn tell(&self, shown: Shown) {
        self.0.tell(&FromServer::Shown(shown));
    }
}

impl LoadProgress for Teller<'_> {
    fn say(&self, text: &str) {
        self.tell(Shown::Say(text.to_owned()));
    }

    fn loading(&self, loading: &PrepareProgress) {
        self.tell(Shown::Loading(*loading));
    }
}

/// The other end knows the run, its start and its outcome.
impl Progress for Teller<'_> {
    fn is_end_wanted(&self) -> bool {
        false
    }

    fn begin_trial(&self, _: &TrialKey) {}

    fn step(&self, _: &TrialKey, what: &str) {
        self.tell(Shown::Step(what.to_owned()));
    }

    fn monitoring(&self, _: &Monitor) {}

    fn second(&self, _: &TrialKey, second: &Second) {
        self.tell(Shown::Second(Box::new(second.clone())));
    }

    fn tried(&self, _: &TrialKey, objective: Objective, step: &SearchStep) {
        self.tell(Shown::Tried { objective, step: *step });
    }

    fn trial_discarded(&self, _: &TrialKey, _: &Outcome, _: usize, _: usize) {}

    fn trial_ended(&self, _: &TrialKey, _: &Outcome) {}

    fn ended_at_look(&self, _: u32, _: usize) {}
}
