//! A run on files: a new rig, files made on it, the load and the monitor, and down again. No server
//! is started.

use anyhow::Result;
use assay_load::Fileio;

use super::observe::Run;
use super::take_down::{drive_target, take_down};
use super::target::{LoadPlace, Target};
use super::{circumstances, files, trace};
use crate::monitor::Targets;
use crate::rig::pool::RunPool;
use crate::rig::{Building, Rig};
use crate::run::config_setup::ConfigSetup;
use crate::run::progress::Progress;
use crate::run::results::{Observations, ServerState};
use crate::run::setup::Setup;
use assay_plan::PlannedTrial;

/// # Errors
/// The rig cannot be built, or the files not be made.
pub(super) fn observe(
    setup: &Setup<'_>,
    trial: &PlannedTrial,
    config: &ConfigSetup,
    fileio: &Fileio,
    progress: &dyn Progress,
) -> Result<Observations> {
    let trace = trace::place(setup.study(), &config.rig, trial)?;
    let directory = setup.work_directory().join(format!("rig-{}", trial.position));
    progress.step(&trial.key, "building the rig");
    let pool = setup.pool(&config.rig, trial.position)?;
    let building = Building {
        drive_cpus: &setup.experiment.placement.drive_cpus.0,
        ledger: &setup.ledger,
        pool: pool.as_ref(),
        trace: trace.as_deref(),
        say: &|text: &str| progress.say(text),
    };
    let mut rig = Rig::build(&config.rig, &directory, &building)?;
    setup.interrupt.check()?;
    progress.step(&trial.key, "making files");
    let made = files::prepare(&rig, fileio, setup.interrupt.flag());
    let ready = made.and_then(|()| rig.top_up(&config.rig)).and_then(|()| rig.keep_time());
    ready.map_err(|error| rig.explain(error, &config.rig))?;
    let run = Run { setup, trial, config, progress, turns: None };
    let known = circumstances::of_rig(setup.experiment, config, &rig, pool.as_ref(), None);
    let mut target = FilesTarget { rig: &rig, pool: pool.as_ref() };
    let mut observations = run.observe(std::slice::from_mut(&mut target));
    let after = ServerState { rig: rig.condition(&config.rig), ..ServerState::default() };
    if let Some(observation) = observations.servers.first_mut() {
        (observation.circumstances, observation.after) = (known, after);
    }
    if !observations.have_failed() {
        progress.step(&trial.key, "taking the rig down");
        let taken_down = take_down(vec![rig], pool, trace.as_deref(), &observations);
        observations.take_down = taken_down;
    }
    Ok(observations)
}

struct FilesTarget<'a> {
    rig: &'a Rig,
    pool: Option<&'a RunPool>,
}

impl Target for FilesTarget<'_> {
    fn place(&self) -> Result<LoadPlace> {
        Ok(LoadPlace::Directory(self.rig.data_dir()))
    }

    fn monitored(&self, cpus: &[usize]) -> Targets {
        Targets {
            data_dir: Some(self.rig.data_dir()),
            drive: drive_target(self.rig, self.pool),
            pool: self.pool.map(RunPool::target),
            ..Targets::of_load(cpus)
        }
    }
}
