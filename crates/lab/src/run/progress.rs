//! Who is told how a run goes on.

use assay_load::Second;
use assay_study::{CellKey, Outcome};

use crate::rig::dataset::LoadProgress;
use crate::watch::Watch;

/// What happens in a run, as it happens.
pub trait Progress: LoadProgress {
    /// Whether the user wants no cell after the one in hand.
    fn is_end_wanted(&self) -> bool;

    /// A cell begins.
    fn begin_cell(&self, key: &CellKey);

    /// What is being done for a cell.
    fn step(&self, key: &CellKey, what: &str);

    /// The machine is watched while a cell runs.
    fn watching(&self, watch: &Watch);

    /// A second of a cell has passed.
    fn second(&self, key: &CellKey, second: &Second);

    /// A cell has ended.
    fn cell_ended(&self, key: &CellKey, outcome: &Outcome);
}
