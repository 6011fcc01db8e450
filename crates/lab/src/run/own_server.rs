//! A run on a server of our own: a fresh rig, a copy of the base snapshot, a server, the load and the monitor, and down again.

use std::path::Path;

use anyhow::{Context, Result, bail};
use assay_load::Endpoint;
use parking_lot::Mutex;

use super::happenings::Own;
use super::measure::measure;
use super::progress::Progress;
use super::setup::{ConfigSetup, Setup};
use super::stand::Stand;
use super::{full, schedule, take_down, trace};
use crate::monitor::{Followed, Targets};
use crate::rig::Rig;
use crate::rig::server::{self, Server};
use crate::rig::snapshot::{Request, endpoint};
use assay_plan::{Plan, PlannedTrial};
use assay_study::metrics::Window;
use assay_study::{Outcome, Warning};
use assay_system::ledger::Made;
use assay_system::resource::Resource;

/// Brings everything up, measures, and takes it down; what was seen until it fails stays in `outcome`.
///
/// # Errors
/// What went wrong, in one line.
pub(super) fn run(
    setup: &mut Setup<'_>,
    trial: &PlannedTrial,
    progress: &dyn Progress,
    outcome: &mut Outcome,
) -> Result<()> {
    let config =
        setup.configs.get(&trial.variant).context("a run of an unknown configuration")?.clone();
    let trace = trace::place(setup.study(), &config.rig, trial)?;
    let mut rig = restored_rig(setup, &config, trial, trace.as_deref(), progress)?;
    setup.interrupt.check()?;
    progress.step(&trial.key, "starting the server");
    let run_dir = setup.work_directory().join("run");
    let started = start(setup, &config, &rig, &run_dir);
    let (_made, server) = started.map_err(|error| rig.explain(error, &config.rig))?;
    let process = server::process_of(&server);
    let (_listed, ()) = setup.ledger.make(process, || Ok(()))?;
    outcome.variables = server.variables()?;
    // Not before: a server begins with writing its redo log full of zeroes.
    rig.top_up(&config.rig)?;
    rig.keep_time()?;
    outcome.facts.extend(
        rig.description().iter().map(|(label, text)| (format!("rig: {label}"), text.clone())),
    );
    outcome.facts.insert("server".into(), config.server()?.version_text.clone());
    outcome.facts.extend(schedule::placement(setup.plan, rig.drive().is_some()));
    outcome.warnings.extend(server.adjusted_settings().into_iter().map(adjusted));
    let mut stand = OwnServer {
        setup,
        config: &config,
        rig: &rig,
        run_dir: &run_dir,
        followed: Followed::new(server.pid()),
        server,
        listed: Mutex::default(),
    };
    let measured = measure(setup, trial, &config, &mut stand, progress, outcome);
    let OwnServer { mut server, listed: _listed, .. } = stand;
    let measured = measured.map_err(|error| explain(error, &mut server));
    let origin = measured.map_err(|error| rig.explain(error, &config.rig))?;
    // A load that went on without its drive has seen nothing but memory.
    if let Some(trouble) = rig.drive_trouble() {
        bail!(trouble);
    }
    progress.step(&trial.key, "taking the rig down");
    // The data are a copy that nobody needs again: killing is quicker than an orderly end.
    server.kill()?;
    take_down::take_down(rig, trace.as_deref(), origin, outcome);
    Ok(())
}

/// A server of our own on a rig.
struct OwnServer<'a> {
    setup: &'a Setup<'a>,
    config: &'a ConfigSetup,
    rig: &'a Rig,
    run_dir: &'a Path,
    server: Server,
    /// Processes that were begun while it was measured.
    listed: Mutex<Vec<Made>>,
    followed: Followed,
}

impl Stand for OwnServer<'_> {
    fn endpoint(&self) -> Result<Endpoint> {
        Ok(endpoint(self.server.socket()))
    }

    fn targets(&self, cpus: &[usize]) -> Targets {
        Targets {
            data_dir: Some(self.rig.data_dir()),
            server_pid: Some(self.followed.clone()),
            load_pid: std::process::id(),
            server: Some(self.server.endpoint()),
            is_server_ours: true,
            drive: self.rig.drive().map(take_down::drive_target),
            cpus: cpus.to_vec(),
        }
    }

    fn own(&mut self) -> Option<Own<'_>> {
        Some(Own {
            server: Mutex::new(&mut self.server),
            followed: self.followed.clone(),
            binary: self.config.server().ok()?,
            start: starting(self.setup.plan, self.config, self.rig, self.run_dir),
            ledger: &self.setup.ledger,
            listed: &self.listed,
        })
    }

    fn verify(&self, outcome: &mut Outcome, window: Window) -> Result<()> {
        match full::lack(&outcome.series, window, &self.rig.data_dir()) {
            Some(lack) => bail!(lack),
            None => Ok(()),
        }
    }
}

fn restored_rig(
    setup: &mut Setup<'_>,
    config: &ConfigSetup,
    trial: &PlannedTrial,
    trace: Option<&Path>,
    progress: &dyn Progress,
) -> Result<Rig> {
    let plan = setup.plan;
    let request = Request {
        binary: config.server()?,
        schema: &config.schema,
        settings: &config.settings,
        threads: setup.loading_threads(),
        seed: plan.seed,
    };
    let directory = setup.work_directory().join(format!("rig-{}", trial.position));
    let snapshot = setup.snapshots.get(&request, setup.interrupt, progress)?;
    progress.step(&trial.key, "building the rig");
    let drive_cpus = &plan.placement.drive_cpus.0;
    let mut rig = Rig::build(&config.rig, &directory, drive_cpus, &setup.ledger, trace, &|text| {
        progress.say(text)
    })?;
    snapshot.restore(&rig.data_dir()).map_err(|error| rig.explain(error, &config.rig))?;
    Ok(rig)
}

/// What the server says of a setting that it does not keep to.
fn adjusted(line: String) -> Warning {
    Warning::SettingAdjusted { line }
}

fn start(
    setup: &Setup<'_>,
    config: &ConfigSetup,
    rig: &Rig,
    run_dir: &std::path::Path,
) -> Result<(Made, Server)> {
    let resource = Resource::Directory { path: run_dir.to_owned() };
    let start = starting(setup.plan, config, rig, run_dir);
    let binary = config.server()?;
    setup.ledger.make(resource, || server::start(binary, &start))
}

/// How the server of a run is started, the first time and again.
fn starting(plan: &Plan, config: &ConfigSetup, rig: &Rig, run_dir: &Path) -> server::Start {
    let mut start = server::Start::new(&rig.data_dir(), run_dir);
    start.settings = config.settings.clone();
    start.cpus = plan.placement.server_cpus.0.clone();
    start
}

/// A server that has gone explains a failed load better than the load can.
fn explain(error: anyhow::Error, server: &mut Server) -> anyhow::Error {
    match server.ended() {
        Ok(Some(how)) => error.context(format!("the server ended with {how}")),
        _ => error,
    }
}
