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
mod queue;
mod results;
mod setup;
mod site;

#[cfg(test)]
mod made_tests;

use anyhow::Result;

use assay_plan::{Experiment, Partners, PlannedTrial};
use assay_study::{Calibration, Outcome, RunState, Store, TrialKey};
use assay_system::interrupt::Interrupt;
use queue::Queue;
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
    let mut queue = Queue::of(missing);
    let pending = store.pending()?;
    let is_again = missing.iter().any(|trial| !pending.contains(&trial.key));
    let used = if is_again { 0 } else { store.discarded()?.len() };
    let cpus = assay_ports::cpu::available().map_or(1, |cpus| cpus.len());
    let mut extra = ExtraRuns::new(experiment.extra_runs(), used, cpus, calibration);
    let looks = &experiment.judging.looks;
    let mut looked_after = None;
    while let Some(start) = queue.next() {
        let left = queue.len() + start.len();
        let before = start.iter().map(|trial| trial.key.repeat).min().map_or(0, |first| first - 1);
        if looks.contains(&before) && looked_after != Some(before) {
            looked_after = Some(before);
            if end_after(store, before, may_end)? {
                progress.ended_at_look(before, left);
                return Ok(0);
            }
        }
        if progress.is_end_wanted() {
            interrupt.set();
            return Ok(left);
        }
        for trial in &start {
            store.begin_trial(&trial.key)?;
        }
        let made = site.make_start(&start, progress);
        if interrupt.is_set() {
            store.reset_interrupted()?;
            return Ok(left);
        }
        let outcomes = match made {
            Ok(outcomes) => outcomes,
            Err(error) => {
                store.reset_interrupted()?;
                return Err(error);
            }
        };
        let mut keeping = Keeping { store, partners: &partners, extra: &mut extra, progress };
        keeping.keep(&start, &outcomes, &mut queue)?;
    }
    let latest = missing.iter().map(|trial| trial.key.repeat).max();
    if let Some(repeat) = latest.filter(|repeat| looks.contains(repeat)) {
        end_after(store, repeat, may_end)?;
    }
    Ok(0)
}

/// The place where outcomes are kept, or discarded if the machine disturbed them.
struct Keeping<'k, 'a> {
    store: &'k mut Store,
    partners: &'k Partners<'a>,
    extra: &'k mut ExtraRuns,
    progress: &'k dyn Progress,
}

impl<'a> Keeping<'_, 'a> {
    /// Keeps the outcomes of a start. If one was disturbed and may be repeated, the start goes back
    /// into the queue, with the runs that it is compared with.
    fn keep(
        &mut self,
        start: &[&'a PlannedTrial],
        outcomes: &[Outcome],
        queue: &mut Queue<'a>,
    ) -> Result<()> {
        let partners = start.iter().flat_map(|trial| self.partners.with(&trial.key));
        let mut compared_with: Vec<&PlannedTrial> = start.iter().copied().chain(partners).collect();
        compared_with.sort_by_key(|trial| trial.position);
        compared_with.dedup_by_key(|trial| trial.position);
        let ended = done_of(self.store, &compared_with)?;
        let disturbed = self.extra.repeats(outcomes, start.len() + ended.len());
        let made = || start.iter().zip(outcomes).enumerate();
        for (_, (trial, outcome)) in made().filter(|(place, _)| disturbed != Some(*place)) {
            self.store.end_trial(&trial.key, outcome)?;
        }
        if let Some((_, (trial, outcome))) = made().find(|(place, _)| disturbed == Some(*place)) {
            let ended = done_of(self.store, &compared_with)?;
            self.store.discard_attempt(&trial.key, outcome, &ended)?;
            let left = self.extra.left();
            self.progress.trial_discarded(&trial.key, outcome, ended.len(), left);
            queue.put_back(start, &ended, &compared_with);
            return Ok(());
        }
        made().for_each(|(_, (trial, outcome))| self.progress.trial_ended(&trial.key, outcome));
        Ok(())
    }
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
