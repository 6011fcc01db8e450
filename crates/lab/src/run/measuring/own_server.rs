//! A run on servers of our own, mostly one: new rigs, copies of the base snapshot, servers, the
//! load and the monitor, and down again.

use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_mysql::secrets::masked;
use parking_lot::Mutex;

use super::observe::Run;
use super::phase_events::OwnServer;
use super::target::{LoadPlace, Target};
use super::{circumstances, take_down, trace};
use crate::monitor::{Followed, Targets};
use crate::rig::pool::RunPool;
use crate::rig::server::{self, Server, TcpPort};
use crate::rig::snapshot::{DATABASE, SnapshotRequest, endpoint};
use crate::rig::{Building, Rig};
use crate::run::base_snapshots;
use crate::run::config_setup::ConfigSetup;
use crate::run::describing::effective;
use crate::run::loads::Way;
use crate::run::progress::Progress;
use crate::run::results::{Circumstances, FileSystem, Observations, ServerState};
use crate::run::setup::Setup;
use assay_plan::PlannedTrial;
use assay_serve::Attached;
use assay_system::ledger::LedgerGuard;

/// # Errors
/// A rig or a server cannot be brought up.
pub(super) fn observe(
    setup: &mut Setup<'_>,
    trial: &PlannedTrial,
    config: &ConfigSetup,
    progress: &dyn Progress,
) -> Result<Observations> {
    let trace = trace::place(setup.study(), &config.rig, trial)?;
    // Dropped last: rigs lie in it.
    let pool = setup.pool(&config.rig, trial.position)?;
    let of = config.servers;
    let mut running: Vec<RunningServer> = Vec::new();
    for number in 1..=of {
        // Only the first of several servers is recorded.
        let trace = trace.as_deref().filter(|_| number == 1);
        let place = Place { number, of, pool: pool.as_ref(), trace };
        running.push(RunningServer::bring_up(setup, config, trial, &place, progress)?);
    }
    for server in &mut running {
        server.begin_keeping_time(config)?;
    }
    let run = Run { setup, trial, config, progress, turns: None };
    let known = circumstances(run, &running, pool.as_ref())?;
    let target = |server| OwnTarget { run, server, pool: pool.as_ref() };
    let mut observations =
        run.observe(&mut running.iter_mut().map(target).collect::<Vec<OwnTarget<'_>>>());
    let each = observations.servers.iter_mut().zip(known).zip(&mut running);
    for ((observation, known), server) in each {
        (observation.circumstances, observation.after) = (known, server.state(config));
    }
    if !observations.have_failed() {
        progress.step(&trial.key, "taking the rig down");
        let killed: Result<Vec<Rig>> = running.into_iter().map(RunningServer::kill).collect();
        match killed {
            Ok(rigs) => {
                let taken_down = take_down::take_down(rigs, pool, trace.as_deref(), &observations);
                observations.take_down = taken_down;
            }
            Err(error) => observations.take_down.failure = Some(error),
        }
    }
    Ok(observations)
}

/// Number of a server in its run, and the things it uses besides its own rig.
pub(super) struct Place<'a> {
    /// From 1.
    pub(super) number: u32,
    pub(super) of: u32,
    pub(super) pool: Option<&'a RunPool>,
    pub(super) trace: Option<&'a Path>,
}

impl Place<'_> {
    /// The name of a directory of this server alone.
    fn name(&self, kind: &str) -> String {
        if self.of == 1 { kind.to_owned() } else { format!("{kind}-{}", self.number) }
    }
}

/// A server of our own on its own rig. Dropped, the server goes before its rig does.
pub(super) struct RunningServer {
    server: Server,
    _run_dir: LedgerGuard,
    rig: Rig,
    run_dir: PathBuf,
    /// The port for a load from other machines.
    port: Option<TcpPort>,
    followed: Followed,
}

impl RunningServer {
    pub(super) fn bring_up(
        setup: &mut Setup<'_>,
        config: &ConfigSetup,
        trial: &PlannedTrial,
        place: &Place<'_>,
        progress: &dyn Progress,
    ) -> Result<RunningServer> {
        let mut rig = restored_rig(setup, config, trial, place, progress)?;
        setup.interrupt.check()?;
        progress.step(&trial.key, "starting the server");
        let run_dir = setup.work_directory().join(place.name("run"));
        let port = match setup.loads.way()? {
            Way::Socket => None,
            Way::Network(host) => Some(TcpPort::for_others(&host)?),
        };
        let started = start(setup, config, &rig, &run_dir, port.as_ref());
        let (made, server) = started.map_err(|error| rig.explain(error, &config.rig))?;
        let followed = Followed::new(server.pid());
        Ok(RunningServer { server, _run_dir: made, rig, run_dir, port, followed })
    }

    /// Called once the server has started, which begins with filling its redo log with zeroes.
    pub(super) fn begin_keeping_time(&mut self, config: &ConfigSetup) -> Result<()> {
        self.rig.top_up(&config.rig)?;
        self.rig.keep_time()
    }

    /// Processes of the server and of its drive.
    pub(super) fn pids(&self) -> Vec<u32> {
        let drive = self.rig.drive().map(Attached::pid);
        self.followed.pid().into_iter().chain(drive).collect()
    }

    pub(super) fn state(&mut self, config: &ConfigSetup) -> ServerState {
        ServerState {
            ended: self.server.ended().ok().flatten(),
            rig: self.rig.condition(&config.rig),
            file_system: Some(FileSystem::of(&self.rig.data_dir())),
        }
    }

    /// Kills the server: its data are a copy that is thrown away, and an orderly end takes longer.
    pub(super) fn kill(self) -> Result<Rig> {
        self.server.kill()?;
        Ok(self.rig)
    }
}

/// The circumstances of all servers. The first's are complete; the others' differ at most by
/// their processes.
pub(super) fn circumstances(
    run: Run<'_>,
    running: &[RunningServer],
    pool: Option<&RunPool>,
) -> Result<Vec<Circumstances>> {
    let Run { setup, config, .. } = run;
    let of_server = |server: &RunningServer| {
        let pid = Some(server.server.pid());
        circumstances::of_rig(setup.experiment, config, &server.rig, pool, pid)
    };
    let mut all: Vec<Circumstances> = running.iter().map(of_server).collect();
    if let (Some(known), Some(RunningServer { server, .. })) = (all.first_mut(), running.first()) {
        let variables = server.variables()?;
        let adjusted = server.adjusted_settings();
        let settings = effective::warnings(&config.settings, &variables, adjusted);
        known.warnings.splice(0..0, settings);
        known.facts.insert("server".into(), config.server()?.version_text.clone());
        known.variables = masked(variables);
    }
    Ok(all)
}

/// A server of our own, as a target.
pub(super) struct OwnTarget<'a> {
    pub(super) run: Run<'a>,
    pub(super) server: &'a mut RunningServer,
    pub(super) pool: Option<&'a RunPool>,
}

impl Target for OwnTarget<'_> {
    fn place(&self) -> Result<LoadPlace> {
        let RunningServer { server, rig, port, .. } = &*self.server;
        Ok(LoadPlace::Server(match port {
            None => endpoint(server.socket()),
            Some(port) => port.endpoint(DATABASE, &rig.data_dir()),
        }))
    }

    fn monitored(&self, cpus: &[usize]) -> Targets {
        let RunningServer { rig, server, followed, .. } = &*self.server;
        Targets {
            data_dir: Some(rig.data_dir()),
            server_pid: Some(followed.clone()),
            server: Some(server.endpoint()),
            is_server_ours: true,
            drive: take_down::drive_target(rig, self.pool),
            pool: self.pool.map(RunPool::target),
            ..Targets::of_load(cpus)
        }
    }

    fn own_server(&mut self) -> Option<OwnServer<'_>> {
        let RunningServer { rig, server, run_dir, port, followed, .. } = &mut *self.server;
        let Run { setup, config, .. } = self.run;
        Some(OwnServer {
            server: Mutex::new(server),
            followed: followed.clone(),
            binary: config.server().ok()?,
            start: starting(setup, config, rig, run_dir, port.as_ref()),
            pool: self.pool,
        })
    }
}

fn restored_rig(
    setup: &mut Setup<'_>,
    config: &ConfigSetup,
    trial: &PlannedTrial,
    place: &Place<'_>,
    progress: &dyn Progress,
) -> Result<Rig> {
    let experiment = setup.experiment;
    let request = SnapshotRequest {
        binary: config.server()?,
        schema: &config.schema,
        settings: &config.settings,
        threads: setup.loading_threads(),
        seed: experiment.seed,
        only_of: base_snapshots::is_loaded_anew(experiment, &trial.variant)
            .then_some(trial.variant.config.as_str()),
    };
    let directory = setup.work_directory().join(place.name(&format!("rig-{}", trial.position)));
    let snapshot = setup.snapshots.get(&request, setup.interrupt, progress)?;
    progress.step(&trial.key, "building the rig");
    let building = Building {
        drive_cpus: &experiment.placement.drive_cpus.0,
        ledger: &setup.ledger,
        pool: place.pool,
        trace: place.trace,
        say: &|text| progress.say(text),
    };
    let mut rig = Rig::build(&config.rig, &directory, &building)?;
    snapshot.restore(&rig.data_dir()).map_err(|error| rig.explain(error, &config.rig))?;
    Ok(rig)
}

fn start(
    setup: &Setup<'_>,
    config: &ConfigSetup,
    rig: &Rig,
    run_dir: &Path,
    port: Option<&TcpPort>,
) -> Result<(LedgerGuard, Server)> {
    let start = starting(setup, config, rig, run_dir, port);
    let made = setup.ledger.make_directory(run_dir)?;
    Ok((made, server::start(config.server()?, &start)?))
}

/// Options of the server of a run, for its start and its restart.
fn starting(
    setup: &Setup<'_>,
    config: &ConfigSetup,
    rig: &Rig,
    run_dir: &Path,
    port: Option<&TcpPort>,
) -> server::Start {
    let mut start = server::Start::new(&rig.data_dir(), run_dir, &setup.ledger);
    start.settings = config.settings.clone();
    start.cpus = setup.experiment.placement.server_cpus.0.clone();
    start.port = port.cloned();
    start
}
