//! A run: what is missing of a plan, cell after cell, into the store.
//!
//! The order of things: the plan is checked against the machine and tried out before the first thing is made that is measured; then
//! each cell gets a rig of its own and the store gets each cell when it ends. Whoever starts a run hears of it through [`Progress`].

mod aggregate;
mod cell;
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
mod warnings;

#[cfg(test)]
mod made_tests;

use anyhow::Result;

use assay_plan::PlannedCell;
use assay_study::Store;

pub use missing::missing;
pub use place::{Lock, location_of};
pub use progress::Progress;
pub use setup::{Setup, retell};

/// Runs those of the planned cells that the store lacks, in their order, until there are none or a person has enough: then the
/// interrupt is set, and what was in hand is missing again.
///
/// # Errors
/// The store cannot be written. A cell that fails is not an error here.
pub fn cells(
    setup: &mut Setup<'_>,
    store: &mut Store,
    planned: &[PlannedCell],
    progress: &dyn Progress,
) -> Result<()> {
    let pending = store.pending()?;
    for cell in planned.iter().filter(|cell| pending.contains(&cell.key)) {
        if progress.is_end_wanted() {
            setup.interrupt.set();
            break;
        }
        store.begin_cell(&cell.key)?;
        let outcome = cell::run(setup, cell, progress);
        if setup.interrupt.is_set() {
            store.reset_interrupted()?;
            break;
        }
        progress.cell_ended(&cell.key, &outcome);
        store.end_cell(&cell.key, &outcome)?;
    }
    Ok(())
}
