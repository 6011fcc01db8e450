//! What a study lacks of its plan, run after run, into the store.
//!
//! The order of things: the plan is checked against the machine and tried out before the first thing is made that is
//! measured; then each run gets a rig of its own and the store gets each run when it ends. Whoever starts it hears
//! of it through [`Progress`].

mod aggregate;
pub mod check;
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
mod trace;
mod trial;
mod warnings;

#[cfg(test)]
mod made_tests;

use anyhow::Result;

use assay_plan::PlannedTrial;
use assay_study::Store;

pub use missing::missing;
pub use place::{Lock, location_of};
pub use progress::Progress;
pub use setup::{Setup, retell};

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
    for trial in planned.iter().filter(|trial| pending.contains(&trial.key)) {
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
        progress.trial_ended(&trial.key, &outcome);
        store.end_trial(&trial.key, &outcome)?;
    }
    Ok(())
}
