//! Runs the missing trials of a study, one after another, into its store.
//!
//! The plan is checked against the machine, and its servers are tried, before anything is measured.
//! Each run has a rig of its own and is stored when it ends. [`Progress`] reports it.

mod base_snapshots;
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
use assay_study::{Calibration, RunState, Store, TrialKey};
use assay_system::interrupt::Interrupt;
use results::extra_runs::ExtraRuns;

pub use checking::missing::{Retry, missing};
pub use checking::place::{Lock, StudyLock, location_of};
pub use checking::sessions::sessions;
pub use checking::{check, space_check};
pub use config_setup::{ConfigSetup, config_setups};
pub(crate) use describing::configs::config as described_config;
pub use describing::head::{open_store, retell};
pub use progress::Progress;
pub use setup::{Setup, leftovers};
pub use site::{Described, RunContext, Site};

/// Runs `missing` in order, until all are stored or the user wants no more; then the interrupt is
/// set, and the current run is reset. Finished runs among them are run again, with as many extra
/// runs as a new study has. After each look of the plan `may_end` decides whether the study ends;
/// its runs that are left are then forgotten. Returns the number of runs that were left out.
///
/// # Errors
/// The store cannot be written, or no run can be made any more. A run that fails is not an error.
pub fn trials(
    site: &mut dyn Site,
    (experiment, calibration): (&Experiment, &Calibration),
    store: &mut Store,
    missing: &[&PlannedTrial],
    may_end: &dyn Fn(&Store) -> Result<bool>,
    interrupt: &Interrupt,
    progress: &dyn Progress,
) -> Result<usize> {
    let planned = experiment.trials();
    let partners = experiment.partners(&planned);
    let mut queue: VecDeque<&PlannedTrial> = missing.iter().copied().collect();
    let pending = store.pending()?;
    let is_again = missing.iter().any(|trial| !pending.contains(&trial.key));
    let used = if is_again { 0 } else { store.discarded()?.len() };
    let cpus = assay_ports::cpu::available().map_or(1, |cpus| cpus.len());
    let mut extra = ExtraRuns::new(experiment.extra_runs(), used, cpus, calibration);
    let looks = &experiment.judging.looks;
    let mut looked_after = None;
    while let Some(trial) = queue.pop_front() {
        let before = trial.key.repeat - 1;
        if looks.contains(&before) && looked_after != Some(before) {
            looked_after = Some(before);
            if end_after(store, before, may_end)? {
                progress.ended_at_look(before, queue.len() + 1);
                return Ok(0);
            }
        }
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
        let compared_with = partners.with(&trial.key);
        let ended = done_of(store, &compared_with)?;
        if extra.repeats(&outcome, 1 + ended.len()) {
            store.discard_attempt(&trial.key, &outcome, &ended)?;
            progress.trial_discarded(&trial.key, &outcome, ended.len(), extra.left());
            put_back(&mut queue, trial, &ended, &compared_with);
            continue;
        }
        progress.trial_ended(&trial.key, &outcome);
        store.end_trial(&trial.key, &outcome)?;
    }
    let latest = missing.iter().map(|trial| trial.key.repeat).max();
    if let Some(repeat) = latest.filter(|repeat| looks.contains(repeat)) {
        end_after(store, repeat, may_end)?;
    }
    Ok(0)
}

/// Ends the study after this repeat, if it may; its later runs are not planned any more.
fn end_after(
    store: &mut Store,
    repeat: u32,
    may_end: &dyn Fn(&Store) -> Result<bool>,
) -> Result<bool> {
    let ends = may_end(store)?;
    if ends {
        store.forget_unplanned(|key| key.repeat <= repeat)?;
    }
    Ok(ends)
}

/// The runs of these that have ended well.
fn done_of(store: &Store, trials: &[&PlannedTrial]) -> Result<Vec<TrialKey>> {
    let mut done = Vec::new();
    for trial in trials {
        if store.planned(&trial.key, &trial.fingerprint)? == Some(RunState::Done) {
            done.push(trial.key.clone());
        }
    }
    Ok(done)
}

/// Puts a run after the others of its repeat, which stays a block, and around it those that it is
/// compared with, whether they had `ended` or still wait: a difference is of runs side by side.
fn put_back<'a>(
    queue: &mut VecDeque<&'a PlannedTrial>,
    trial: &'a PlannedTrial,
    ended: &[TrialKey],
    compared_with: &[&'a PlannedTrial],
) {
    let waits = |one: &PlannedTrial| queue.iter().any(|other| other.key == one.key);
    let partners = compared_with.iter().filter(|one| ended.contains(&one.key) || waits(one));
    let mut whole: Vec<&PlannedTrial> = partners.copied().chain([trial]).collect();
    whole.sort_by_key(|one| one.position);
    queue.retain(|one| whole.iter().all(|other| other.key != one.key));
    let last = queue.iter().rposition(|other| other.key.repeat == trial.key.repeat);
    for (place, one) in (last.map_or(0, |last| last + 1)..).zip(whole) {
        queue.insert(place, one);
    }
}
