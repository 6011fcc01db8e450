//! The place where the runs of a study are made: this machine or another.

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
    /// The study's directory.
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

/// Facts of a site, known before its first run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Described {
    /// Facts of the machine and its programs.
    pub facts: BTreeMap<String, String>,
    pub calibration: Calibration,
    /// Configurations in the plan's order.
    pub configs: Vec<Config>,
    /// Deviations from the plan found when each configuration was tried, by its name.
    #[serde(default)]
    pub differing: BTreeMap<String, Vec<Warning>>,
    /// True if the study is on the measured disk.
    pub is_on_studys_disk: bool,
}

/// Rigs, servers and the monitor, wherever they are.
pub trait Site {
    /// Facts about the site, known before its first run.
    fn described(&self) -> Described;

    /// Runs a trial. A failure is part of the outcome, with everything recorded before it.
    ///
    /// # Errors
    /// No run can be made any more: a machine was lost and has not come back.
    fn make_run(&mut self, trial: &PlannedTrial, progress: &dyn Progress) -> Result<Outcome>;

    /// Makes the runs of one start, in turns if they are several. Returns their outcomes in their
    /// order.
    ///
    /// # Errors
    /// As [`Site::make_run`].
    fn make_start(
        &mut self,
        start: &[&PlannedTrial],
        progress: &dyn Progress,
    ) -> Result<Vec<Outcome>> {
        start.iter().map(|trial| self.make_run(trial, progress)).collect()
    }

    /// Removes the resources that all runs share.
    ///
    /// # Errors
    /// A resource cannot be removed; it stays in the ledger.
    fn take_down(self: Box<Self>) -> Result<()>;
}
