//! What a study lacks of its plan, run after run, into the store.
//!
//! The order of things: the plan is checked against the machine and tried out before the first thing is made that is
//! measured; then each run gets a rig of its own and the store gets each run when it ends. Whoever starts it hears
//! of it through [`Progress`].

mod checking;
mod config_setup;
mod describing;
pub mod loads;
mod measuring;
mod progress;
mod results;
mod setup;
mod site;

#[cfg(test)]
mod made_tests;

use std::collections::VecDeque;

use anyhow::Result;

use assay_plan::{Experiment, PlannedTrial};
use assay_study::{Calibration, Store};
use assay_system::interrupt::Interrupt;
use results::disturbed::ExtraRuns;

pub use checking::missing::{Retry, missing};
pub use checking::place::{Lock, StudyLock, location_of};
pub use checking::{check, space_check};
pub use config_setup::{ConfigSetup, config_setups};
pub(crate) use describing::configs::config as described_config;
pub use describing::head::{open_store, retell};
pub use progress::Progress;
pub use setup::{Setup, leftovers};
pub use site::{Described, RunContext, Site};

/// Makes these runs in their order, until there are none or a person has enough: then the interrupt is set, and what was in
/// hand is as it was before. Runs of them that had ended are made again, with as many extra runs as a new study has. Returns how
/// many were not made.
///
/// # Errors
/// The store cannot be written, or no run be made any more. A run that fails is not an error here.
pub fn trials(
    site: &mut dyn Site,
    (experiment, calibration): (&Experiment, &Calibration),
    store: &mut Store,
    missing: &[&PlannedTrial],
    interrupt: &Interrupt,
    progress: &dyn Progress,
) -> Result<usize> {
    let mut queue: VecDeque<&PlannedTrial> = missing.iter().copied().collect();
    let pending = store.pending()?;
    let is_again = missing.iter().any(|trial| !pending.contains(&trial.key));
    let used = if is_again { 0 } else { store.discarded()?.len() };
    let cpus = assay_ports::cpu::available().map_or(1, |cpus| cpus.len());
    let mut extra = ExtraRuns::new(experiment.extra_runs(), used, cpus, calibration);
    while let Some(trial) = queue.pop_front() {
        if progress.is_end_wanted() {
            interrupt.set();
            return Ok(queue.len() + 1);
        }
        store.begin_trial(&trial.key)?;
        let made = site.make_run(trial, progress);
        if interrupt.is_set() {
            store.reset_interrupted()?;
            return Ok(queue.len() + 1);
        }
        let outcome = match made {
            Ok(outcome) => outcome,
            Err(error) => {
                store.reset_interrupted()?;
                return Err(error);
            }
        };
        if extra.repeats(&outcome) {
            store.discard_trial(&trial.key, &outcome.warnings)?;
            progress.trial_discarded(&trial.key, &outcome, extra.left());
            put_back(&mut queue, trial);
            continue;
        }
        progress.trial_ended(&trial.key, &outcome);
        store.end_trial(&trial.key, &outcome)?;
    }
    Ok(0)
}

/// Behind the others of its repeat, which stays a block, or next if there are none.
fn put_back<'a>(queue: &mut VecDeque<&'a PlannedTrial>, trial: &'a PlannedTrial) {
    let last = queue.iter().rposition(|other| other.key.repeat == trial.key.repeat);
    queue.insert(last.map_or(0, |last| last + 1), trial);
}
