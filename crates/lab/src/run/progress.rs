//! Who is told how a study goes on.

use assay_load::Second;
use assay_load::capacity::{Objective, Step};
use assay_study::{Outcome, TrialKey};

use crate::monitor::Monitor;
use crate::rig::snapshot::LoadProgress;

/// What happens while a study is run, as it happens.
pub trait Progress: LoadProgress {
    /// Whether the user wants no run after the one in hand.
    fn is_end_wanted(&self) -> bool;

    /// A run begins.
    fn begin_trial(&self, key: &TrialKey);

    /// What is being done for a run.
    fn step(&self, key: &TrialKey, what: &str);

    /// The machine is monitored during a run.
    fn monitoring(&self, monitor: &Monitor);

    /// A second of a run has passed.
    fn second(&self, key: &TrialKey, second: &Second);

    /// A run of the search for the highest rate that keeps the objective has ended.
    fn tried(&self, key: &TrialKey, objective: Objective, step: &Step);

    /// The machine spoilt an attempt at a run, which is repeated; so many more may be.
    fn trial_discarded(&self, key: &TrialKey, outcome: &Outcome, extra_left: usize);

    /// A run has ended.
    fn trial_ended(&self, key: &TrialKey, outcome: &Outcome);
}
