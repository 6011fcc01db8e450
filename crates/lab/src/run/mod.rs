//! What a study lacks of its plan, run after run, into the store.
//!
//! The order of things: the plan is checked against the machine and tried out before the first thing is made that is
//! measured; then each run gets a rig of its own and the store gets each run when it ends. Whoever starts it hears
//! of it through [`Progress`].

mod aggregate;
pub mod check;
mod cpu;
mod describe;
mod ending;
mod fill;
mod full;
mod guarantee;
mod machine;
mod missing;
mod others;
mod place;
mod progress;
mod results;
mod series;
mod setup;
mod spoilt;
mod trace;
mod trial;
mod warnings;

#[cfg(test)]
mod made_tests;

use std::collections::VecDeque;

use anyhow::Result;

use assay_plan::PlannedTrial;
use assay_study::Store;
use spoilt::ExtraRuns;

pub use missing::{Retry, missing};
pub use place::{Lock, location_of};
pub use progress::Progress;
pub use setup::{Setup, leftovers, retell};

/// Makes the planned runs that the store lacks, in their order, until there are none or a person has enough: then
/// the interrupt is set, and what was in hand is missing again.
///
/// # Errors
/// The store cannot be written. A run that fails is not an error here.
pub fn trials(
    setup: &mut Setup<'_>,
    store: &mut Store,
    planned: &[PlannedTrial],
    progress: &dyn Progress,
) -> Result<()> {
    let pending = store.pending()?;
    let mut queue: VecDeque<&PlannedTrial> =
        planned.iter().filter(|trial| pending.contains(&trial.key)).collect();
    let budget = setup.plan.extra_runs(planned.len());
    let mut extra = ExtraRuns::new(budget, store.discarded()?.len(), &setup.calibration);
    while let Some(trial) = queue.pop_front() {
        if progress.is_end_wanted() {
            setup.interrupt.set();
            break;
        }
        store.begin_trial(&trial.key)?;
        let outcome = trial::run(setup, trial, progress);
        if setup.interrupt.is_set() {
            store.reset_interrupted()?;
            break;
        }
        if extra.repeats(&outcome) {
            store.discard_trial(&trial.key, &outcome.warnings)?;
            progress.trial_discarded(&trial.key, &outcome, extra.left());
            put_back(&mut queue, trial);
            continue;
        }
        progress.trial_ended(&trial.key, &outcome);
        store.end_trial(&trial.key, &outcome)?;
    }
    Ok(())
}

/// Behind the others of its repeat, which stays a block, or next if there are none.
fn put_back<'a>(queue: &mut VecDeque<&'a PlannedTrial>, trial: &'a PlannedTrial) {
    let last = queue.iter().rposition(|other| other.key.repeat == trial.key.repeat);
    queue.insert(last.map_or(0, |last| last + 1), trial);
}
