//! The base of all runs: the study's directory and lock, a work directory on the measured disk,
//! servers and base snapshots.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};

use super::checking::check;
use super::checking::place::{StudyLock, is_same_device, location_of};
use super::config_setup::{ConfigSetup, config_setups};
use super::describing::placed::{self, Processes};
use super::describing::{configs, effective, guarantee, machine};
use super::loads::Loads;
use super::site::{Described, RunContext};
use crate::calibrate::calibrate;
use crate::rig::existing::Existing;
use crate::rig::pool::{RunClusters, RunPool};
use crate::rig::server::{self, Binary};
use crate::rig::snapshot::Snapshots;
use crate::rig::{Building, Rig};
use assay_plan::{Experiment, PlannedRig, VariantKey};
use assay_serve::Attached;
use assay_study::{Calibration, InEffect, Warning};
use assay_system::interrupt::Interrupt;
use assay_system::ledger::{self, Ledger, LedgerGuard};
use assay_system::new_name;
use assay_system::resource::{Asking, Resource};

/// Everything that the runs of a study share.
#[derive(Debug)]
pub struct Setup<'a> {
    pub experiment: &'a Experiment,
    pub interrupt: &'a Interrupt,
    /// The machines that the load comes from.
    pub loads: &'a dyn Loads,
    /// The resources that this process makes on the machine.
    pub ledger: Arc<Ledger>,
    /// Server and settings of each configuration, on each of its data profiles.
    pub configs: BTreeMap<VariantKey, ConfigSetup>,
    pub snapshots: Snapshots,
    /// Calibration of the machine at the beginning.
    pub calibration: Calibration,
    /// The configurations that were tried.
    tried: Vec<(VariantKey, Tried)>,
    study: PathBuf,
    location: PathBuf,
    // Dropped before the directory that it keeps its data in.
    clusters: RunClusters,
    work: LedgerGuard,
    work_directory: PathBuf,
    _held: StudyLock,
}

/// Result of trying a configuration.
#[derive(Debug, Clone, Default)]
struct Tried {
    in_effect: InEffect,
    /// Differences from the plan.
    differing: Vec<Warning>,
}

impl<'a> Setup<'a> {
    /// Checks the plan against the machine, then makes directories and tries every configuration's
    /// server once. `say` is told of what takes time.
    ///
    /// # Errors
    /// One line; whatever was made until then is gone again.
    pub fn make(context: RunContext<'a>, say: &dyn Fn(&str)) -> Result<Setup<'a>> {
        let RunContext { experiment, study, erase, interrupt, ledger, loads } = context;
        let location = location_of(experiment, study)?;
        check::check(experiment, &location, erase)?;
        let mut configs = config_setups(experiment, say)?;
        let held = StudyLock::take(study, Some(&location))?;
        let location = location.canonicalize()?;
        let work_directory = location.join(new_name("work"));
        let work = ledger.make_directory(&work_directory)?;
        // If two runs begin at once, the later one sees the other: its own ledger is written by
        // now.
        warn_of_others()?;
        say("calibrating this machine (about 4 s)");
        let calibration = calibrate(experiment, &work_directory, &ledger)?;
        settle_on_existing(&mut configs, &ledger)?;
        let clusters = RunClusters::start(experiment, &work_directory, say)?;
        let snapshots = Snapshots::new(work_directory.clone(), Arc::clone(&ledger));
        let mut setup = Setup {
            experiment,
            interrupt,
            loads,
            ledger,
            configs,
            snapshots,
            calibration,
            tried: Vec::new(),
            study: study.to_owned(),
            location,
            clusters,
            work,
            work_directory,
            _held: held,
        };
        setup.tried = setup.try_servers(say)?;
        Ok(setup)
    }

    /// Threads that load a base snapshot: one for each CPU, which is not measured.
    #[must_use]
    pub fn loading_threads(&self) -> u32 {
        assay_ports::cpu::available().map_or(1, |cpus| cpus.len() as u32)
    }

    /// The directory of the study.
    #[must_use]
    pub fn study(&self) -> &Path {
        &self.study
    }

    /// The directory on the measured disk in which rigs are built.
    #[must_use]
    pub fn work_directory(&self) -> &Path {
        &self.work_directory
    }

    /// The pool that a rig at this place in the order stands on; nothing where it stands on none.
    ///
    /// # Errors
    /// It cannot be made, or the cluster does not answer.
    pub fn pool(&self, rig: &PlannedRig, position: u32) -> Result<Option<RunPool>> {
        let name = format!("run-{position}");
        rig.pool().map(|pool| self.clusters.pool(pool, &name)).transpose()
    }

    /// Facts about the machine and the configurations.
    #[must_use]
    pub fn described(&self) -> Described {
        let describe = |name: &String| {
            let its: Vec<_> = self.configs.iter().filter(|(key, _)| key.config == *name).collect();
            configs::config(name, &its, &self.location).map(|mut config| {
                config.rig.in_effect = self.tried(name).map(|tried| tried.in_effect.clone());
                let parts = (config.rig.disk.as_mut(), config.rig.in_effect.as_ref());
                if let (Some(disk), Some(in_effect)) = parts {
                    guarantee::as_in_effect(disk, in_effect);
                }
                config
            })
        };
        let differing = |name: &String| {
            let found = self.tried(name)?.differing.clone();
            (!found.is_empty()).then(|| (name.clone(), found))
        };
        let names = || self.experiment.config_names();
        Described {
            facts: machine::facts(&self.location, self.has_own_disk()),
            calibration: self.calibration.clone(),
            configs: names().filter_map(describe).collect(),
            differing: names().filter_map(differing).collect(),
            is_on_studys_disk: self.has_own_disk() && is_same_device(&self.study, &self.location),
        }
    }

    /// Removes base snapshots, directories, and databases on servers that somebody else runs.
    ///
    /// # Errors
    /// What could not be removed; it stays in the ledger.
    pub fn take_down(self) -> Result<()> {
        drop(self.snapshots);
        let existing = self.configs.values().filter_map(|config| config.existing.as_ref());
        let gone = existing.map(|one| one.take_down()).collect::<Vec<_>>();
        let stopped = self.clusters.stop();
        self.work.remove()?;
        gone.into_iter().chain([stopped]).collect()
    }

    /// Returns true if a disk of this machine is measured.
    fn has_own_disk(&self) -> bool {
        self.configs.values().any(|config| config.existing.is_none())
    }

    /// Result of the configuration, or of one that is built alike.
    fn tried(&self, name: &str) -> Option<&Tried> {
        let mut its = self.configs.iter().filter(|(key, _)| key.config == name);
        its.find_map(|(key, config)| {
            let is_it = |(other, _): &&(VariantKey, Tried)| {
                let setup = self.configs.get(other);
                other == key || setup.is_some_and(|setup| setup.is_built_like(config))
            };
            self.tried.iter().find(is_it).map(|(_, tried)| tried)
        })
    }

    fn try_config(&self, config: &ConfigSetup, say: &dyn Fn(&str)) -> Result<Tried> {
        let pool = self.pool(&config.rig, 0)?;
        let building = Building {
            drive_cpus: &self.experiment.placement.drive_cpus.0,
            ledger: &self.ledger,
            pool: pool.as_ref(),
            trace: None,
            say,
        };
        let mut rig = Rig::build(&config.rig, &self.work_directory.join("trial"), &building)?;
        let mut differing = match &config.binary {
            Some(binary) => self
                .try_server(binary, config, &rig, say)
                .map_err(|error| rig.explain(error, &config.rig))?,
            None => self.placed(None, &rig),
        };
        let in_effect = rig.in_effect(&config.rig, pool.as_ref());
        differing.extend(effective::of_machine(&in_effect, Vec::new()));
        rig.take_down()?;
        pool.map_or(Ok(()), RunPool::remove)?;
        Ok(Tried { in_effect, differing })
    }

    fn try_server(
        &self,
        binary: &Binary,
        config: &ConfigSetup,
        rig: &Rig,
        say: &dyn Fn(&str),
    ) -> Result<Vec<Warning>> {
        server::make_datadir(binary, &config.settings, &rig.data_dir(), say)?;
        let run_dir = self.work_directory.join("run");
        let mut start = server::Start::new(&rig.data_dir(), &run_dir, &self.ledger);
        start.settings = config.settings.clone();
        start.cpus = self.experiment.placement.server_cpus.0.clone();
        let run_dir = self.ledger.make_directory(&run_dir)?;
        let server = server::start(binary, &start)?;
        let said = server.adjusted_settings();
        let mut differing = effective::warnings(&config.settings, &server.variables()?, said);
        differing.extend(self.placed(Some(server.pid()), rig));
        server.kill()?;
        run_dir.remove()?;
        Ok(differing)
    }

    /// Processes that are not on the CPUs that the plan asks for.
    fn placed(&self, server: Option<u32>, rig: &Rig) -> Vec<Warning> {
        let processes = Processes { server, drive: rig.drive().map(Attached::pid) };
        let placed = placed::differing(&self.experiment.placement, processes);
        effective::of_machine(&InEffect::default(), placed)
    }

    /// A mount option or a setting that is refused must not be found out an hour into the run. Data
    /// profiles change neither, so each configuration is tried on one.
    fn try_servers(&self, say: &dyn Fn(&str)) -> Result<Vec<(VariantKey, Tried)>> {
        let mut tried: Vec<(&VariantKey, &ConfigSetup)> = Vec::new();
        let mut found = Vec::new();
        for (key, config) in &self.configs {
            self.interrupt.check()?;
            let is_known = |(other, setup): &(&VariantKey, &ConfigSetup)| {
                other.config == key.config || setup.is_built_like(config)
            };
            // Somebody else's has been tried when its database was made.
            if config.existing.is_none() && !tried.iter().any(is_known) {
                let its = self.try_config(config, say).with_context(|| key.to_string())?;
                found.push((key.clone(), its));
                tried.push((key, config));
            }
        }
        Ok(found)
    }
}

/// Says which other runs measure on this machine.
fn warn_of_others() -> Result<()> {
    for (process, study) in ledger::found()?.iter().filter_map(ledger::FoundLedger::run) {
        log::warn!(
            "another run is measuring on this machine (process {process}, {}): they disturb each \
             other",
            study.display()
        );
    }
    Ok(())
}

/// Resources that killed runs left on this machine: mounts, devices, directories that `assay clean`
/// removes.
///
/// # Errors
/// The ledgers cannot be read.
pub fn leftovers() -> Result<Vec<Resource>> {
    let mut left = Vec::new();
    for found in ledger::found()?.iter().filter(|found| found.owner().is_none()) {
        left.extend(found.left(Asking::ThisMachine)?);
    }
    Ok(left)
}

/// Makes a database on each server that somebody else runs.
fn settle_on_existing(
    configs: &mut BTreeMap<VariantKey, ConfigSetup>,
    ledger: &Arc<Ledger>,
) -> Result<()> {
    let mut all: Vec<Arc<Existing>> = Vec::new();
    for (key, config) in configs {
        let Some(endpoint) = config.rig.endpoint() else { continue };
        let known = all.iter().find(|one| one.is_of(endpoint));
        let existing = match known {
            Some(known) => Arc::clone(known),
            None => Arc::new(Existing::make(endpoint, ledger).with_context(|| key.to_string())?),
        };
        all.push(Arc::clone(&existing));
        config.existing = Some(existing);
    }
    Ok(())
}
