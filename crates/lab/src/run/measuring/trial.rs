//! One run, to its end, whatever goes wrong.

use anyhow::{Context, Result};

use super::{existing_server, files_trial, own_server, switchback};
use crate::run::progress::Progress;
use crate::run::results::{Conditions, Device, Disks, Observations, conclude};
use crate::run::setup::Setup;
use crate::run::site::{Described, Site};
use assay_plan::{PlannedRig, PlannedTrial};
use assay_study::Outcome;

impl Site for Setup<'_> {
    fn described(&self) -> Described {
        Setup::described(self)
    }

    fn make_run(&mut self, trial: &PlannedTrial, progress: &dyn Progress) -> Result<Outcome> {
        self.loads.make_ready()?;
        progress.begin_trial(&trial.key);
        let observations = observe(self, trial, progress).unwrap_or_else(Observations::failed);
        Ok(conclude(&observations, &conditions(self, trial)))
    }

    fn make_start(
        &mut self,
        start: &[&PlannedTrial],
        progress: &dyn Progress,
    ) -> Result<Vec<Outcome>> {
        if let [only] = start {
            return Ok(vec![self.make_run(only, progress)?]);
        }
        self.loads.make_ready()?;
        if let Some(first) = start.first() {
            progress.begin_trial(&first.key);
        }
        let observed = switchback::observe(self, start, progress);
        let each = start.iter().zip(&observed);
        Ok(each.map(|(trial, one)| conclude(one, &conditions(self, trial))).collect())
    }

    fn take_down(self: Box<Self>) -> Result<()> {
        Setup::take_down(*self)
    }
}

/// Brings up the rig and the servers of a run, loads them and takes them down.
///
/// # Errors
/// They could not be brought up.
fn observe(
    setup: &mut Setup<'_>,
    trial: &PlannedTrial,
    progress: &dyn Progress,
) -> Result<Observations> {
    let config = setup.configs.get(&trial.variant).context("a run of an unknown configuration")?;
    let config = config.clone();
    if let Some(fileio) = setup.experiment.workloads[&trial.workload].spec.files() {
        return files_trial::observe(setup, trial, &config, fileio, progress);
    }
    match config.existing {
        Some(_) => existing_server::observe(setup, trial, &config, progress),
        None => own_server::observe(setup, trial, &config, progress),
    }
}

fn conditions<'a>(setup: &Setup<'a>, trial: &PlannedTrial) -> Conditions<'a> {
    let rig = setup.configs.get(&trial.variant).map(|config| &config.rig);
    let is_directory = matches!(rig, Some(PlannedRig::Directory));
    Conditions {
        phases: &setup.experiment.phases,
        paces: setup.experiment.workloads[&trial.workload].phases.clone(),
        device: rig.and_then(Device::of),
        // Every other rig gives each server a disk of its own.
        disks: if is_directory { Disks::Shared } else { Disks::Own },
        cpus: assay_ports::cpu::available().map_or(1, |cpus| cpus.len()),
    }
}
