//! Reports of a study's progress.

use assay_load::Second;
use assay_load::capacity::{Objective, SearchStep};
use assay_study::{Outcome, TrialKey};

use crate::monitor::Monitor;
use crate::rig::snapshot::LoadProgress;

/// Receives the events of a study while it runs.
pub trait Progress: LoadProgress {
    /// Returns true if the user wants no further run.
    fn is_end_wanted(&self) -> bool;

    fn begin_trial(&self, key: &TrialKey);

    /// A step of a run that takes time.
    fn step(&self, key: &TrialKey, what: &str);

    /// A run's monitor of the machine has started.
    fn monitoring(&self, monitor: &Monitor);

    /// A second of the load has ended.
    fn second(&self, key: &TrialKey, second: &Second);

    /// A step of the search for the highest rate within the objective has ended.
    fn tried(&self, key: &TrialKey, objective: Objective, step: &SearchStep);

    /// The machine disturbed a run, which is repeated together with `partners` that had ended;
    /// `extra_left` more may be.
    fn trial_discarded(
        &self,
        key: &TrialKey,
        outcome: &Outcome,
        partners: usize,
        extra_left: usize,
    );

    fn trial_ended(&self, key: &TrialKey, outcome: &Outcome);

    /// The plan's questions are decided after so many repeats, and `runs` are not needed.
    fn ended_at_look(&self, repeats: u32, runs: usize);
}
