//! Where the runs of a study are made: on this machine, or on another.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use assay_plan::{Experiment, PlannedTrial};
use assay_study::{Calibration, Config, Outcome, Warning};
use assay_system::interrupt::Interrupt;
use assay_system::ledger::Ledger;
use serde::{Deserialize, Serialize};

use super::loads::Loads;
use super::progress::Progress;

/// Everything that setting up a site needs.
#[derive(Debug, Clone)]
pub struct RunContext<'a> {
    pub experiment: &'a Experiment,
    /// The directory of the study.
    pub study: &'a Path,
    /// Devices that may be overwritten.
    pub erase: &'a [PathBuf],
    /// Set by Ctrl-C.
    pub interrupt: &'a Interrupt,
    /// The resources that this process makes on the machine.
    pub ledger: Arc<Ledger>,
    /// The machines that the load comes from.
    pub loads: &'a dyn Loads,
}

/// What is known of a site before its first run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Described {
    /// The machine and the programs.
    pub facts: BTreeMap<String, String>,
    /// What the machine could show.
    pub calibration: Calibration,
    /// Configurations in the plan's order.
    pub configs: Vec<Config>,
    /// What of each configuration was not as the plan asks when it was tried, by its name.
    #[serde(default)]
    pub differing: BTreeMap<String, Vec<Warning>>,
    /// Whether the study is written to the disk that is measured.
    pub is_on_studys_disk: bool,
}

/// Rigs, servers and the monitor, wherever they are.
pub trait Site {
    /// Facts about the site, known before its first run.
    fn described(&self) -> Described;

    /// Makes a run, to its end. Whatever goes wrong with it is in the outcome, beside what was seen until then.
    ///
    /// # Errors
    /// No run can be made any more: a machine that has a part in it has gone and not come back.
    fn make_run(&mut self, trial: &PlannedTrial, progress: &dyn Progress) -> Result<Outcome>;

    /// Removes what was made for all runs.
    ///
    /// # Errors
    /// What could not be removed; it stays in the ledger.
    fn take_down(self: Box<Self>) -> Result<()>;
}
