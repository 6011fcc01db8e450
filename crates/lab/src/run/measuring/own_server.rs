//! A run on servers of our own, mostly one: fresh rigs, copies of the base snapshot, servers, the load and the monitor, and down again.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use assay_load::Endpoint;
use assay_mysql::secrets::masked;
use parking_lot::Mutex;

use super::happenings::Own;
use super::measure::measure;
use super::stand::Stand;
use super::{measure_together, schedule, take_down, trace};
use crate::monitor::{Followed, Targets};
use crate::rig::pool::RunPool;
use crate::rig::server::{self, Server, TcpPort};
use crate::rig::snapshot::{DATABASE, Request, endpoint};
use crate::rig::{Building, Rig};
use crate::run::config_setup::ConfigSetup;
use crate::run::describing::effective;
use crate::run::describing::placed::{self, Processes};
use crate::run::loads::Way;
use crate::run::progress::Progress;
use crate::run::results::disk_full;
use crate::run::setup::Setup;
use assay_plan::{Plan, PlannedTrial};
use assay_serve::Attached;
use assay_study::metrics::Window;
use assay_study::{Outcome, Warning};
use assay_system::ledger::Made;

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
    // Dropped last: rigs lie in it.
    let pool = setup.pool(&config.rig, trial.position)?;
    let servers = setup.plan.servers_of(&trial.variant.config);
    let mut standing: Vec<Standing> = Vec::new();
    for number in 1..=servers {
        let place = Place {
            number,
            of: servers,
            pool: pool.as_ref(),
            // Of several servers the first is recorded.
            trace: trace.as_deref().filter(|_| number == 1),
        };
        standing.push(Standing::bring_up(setup, &config, trial, &place, progress)?);
    }
    for one in &mut standing {
        one.begin_keeping_time(&config)?;
    }
    tell(setup, &config, (&standing, pool.as_ref()), outcome)?;
    let measured = load(setup, trial, &config, (&mut standing, pool.as_ref()), progress, outcome);
    let origin = measured.map_err(|error| explain_all(error, &mut standing, &config))?;
    for one in &mut standing {
        // A load that went on without its drive has seen nothing but memory.
        if let Some(trouble) = one.rig.drive_trouble() {
            bail!(trouble);
        }
    }
    progress.step(&trial.key, "taking the rig down");
    let mut rigs = Vec::new();
    for one in standing {
        rigs.push(one.kill()?);
    }
    take_down::take_down(rigs, pool, trace.as_deref(), origin, outcome);
    Ok(())
}

/// Loads and watches what stands there; gives when the run's clock began.
fn load(
    setup: &Setup<'_>,
    trial: &PlannedTrial,
    config: &ConfigSetup,
    (standing, pool): (&mut [Standing], Option<&RunPool>),
    progress: &dyn Progress,
    outcome: &mut Outcome,
) -> Result<Instant> {
    let mut stands: Vec<OwnServer<'_>> =
        standing.iter_mut().map(|standing| OwnServer { setup, config, standing, pool }).collect();
    match stands.as_mut_slice() {
        [one] => measure(setup, trial, config, one, progress, outcome),
        all => measure_together::measure(setup, trial, config, all, progress, outcome),
    }
}

/// Which of a run's servers it is, and what it lies on beside its own rig.
struct Place<'a> {
    /// From 1.
    number: u32,
    of: u32,
    pool: Option<&'a RunPool>,
    trace: Option<&'a Path>,
}

impl Place<'_> {
    /// A name for what this server has of its own.
    fn name(&self, what: &str) -> String {
        if self.of == 1 { what.to_owned() } else { format!("{what}-{}", self.number) }
    }
}

/// A server of our own that runs on a rig of its own. Dropped, it goes before its rig does.
pub(super) struct Standing {
    server: Server,
    /// Processes that were begun while it was measured.
    _run_dir: Made,
    rig: Rig,
    run_dir: PathBuf,
    /// By which the load comes in, where it comes from other machines.
    port: Option<TcpPort>,
    followed: Followed,
}

impl Standing {
    fn bring_up(
        setup: &mut Setup<'_>,
        config: &ConfigSetup,
        trial: &PlannedTrial,
        place: &Place<'_>,
        progress: &dyn Progress,
    ) -> Result<Standing> {
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
        Ok(Standing { server, _run_dir: made, rig, run_dir, port, followed })
    }

    /// Not before the server has started: it begins with writing its redo log full of zeroes.
    fn begin_keeping_time(&mut self, config: &ConfigSetup) -> Result<()> {
        self.rig.top_up(&config.rig)?;
        self.rig.keep_time()
    }

    fn processes(&self) -> Processes {
        Processes { server: Some(self.server.pid()), drive: self.rig.drive().map(Attached::pid) }
    }

    /// What the machine gave it otherwise than it was asked for.
    fn differing(&self, plan: &Plan, config: &ConfigSetup, pool: Option<&RunPool>) -> Vec<Warning> {
        let placed = placed::differing(plan, self.processes());
        effective::of_machine(&self.rig.in_effect(&config.rig, pool), placed)
    }

    /// Ends the server; the data are a copy that nobody needs again, and killing is quicker than an orderly end.
    fn kill(self) -> Result<Rig> {
        self.server.kill()?;
        Ok(self.rig)
    }
}

/// What is known of the servers before they are loaded; they are alike.
fn tell(
    setup: &Setup<'_>,
    config: &ConfigSetup,
    (standing, pool): (&[Standing], Option<&RunPool>),
    outcome: &mut Outcome,
) -> Result<()> {
    let first = standing.first().context("a run without a server")?;
    let variables = first.server.variables()?;
    outcome.facts.extend(
        first.rig.description().iter().map(|(label, text)| (format!("rig: {label}"), text.clone())),
    );
    outcome.facts.insert("server".into(), config.server()?.version_text.clone());
    outcome.facts.extend(schedule::placement(setup.plan, first.rig.drive().is_some()));
    let said = first.server.adjusted_settings();
    outcome.warnings.extend(effective::warnings(&config.settings, &variables, said));
    outcome.variables = masked(variables);
    let of_rigs = standing.iter().flat_map(|one| one.differing(setup.plan, config, pool));
    for warning in of_rigs {
        if !outcome.warnings.contains(&warning) {
            outcome.warnings.push(warning);
        }
    }
    let placed = placed::differing(setup.plan, first.processes());
    outcome.facts.extend(placed::facts(&placed));
    Ok(())
}

/// A server of our own, as the load and the monitor find it.
pub(super) struct OwnServer<'a> {
    setup: &'a Setup<'a>,
    config: &'a ConfigSetup,
    standing: &'a mut Standing,
    pool: Option<&'a RunPool>,
}

impl Stand for OwnServer<'_> {
    fn endpoint(&self) -> Result<Endpoint> {
        Ok(match &self.standing.port {
            None => endpoint(self.standing.server.socket()),
            Some(port) => port.endpoint(DATABASE, &self.standing.rig.data_dir()),
        })
    }

    fn targets(&self, cpus: &[usize]) -> Targets {
        let Standing { rig, server, followed, .. } = &*self.standing;
        Targets {
            data_dir: Some(rig.data_dir()),
            server_pid: Some(followed.clone()),
            load_pid: std::process::id(),
            server: Some(server.endpoint()),
            is_server_ours: true,
            drive: take_down::drive_target(rig, self.pool),
            pool: self.pool.map(RunPool::target),
            with_machine: true,
            beside: Vec::new(),
            cpus: cpus.to_vec(),
        }
    }

    fn own(&mut self) -> Option<Own<'_>> {
        let Standing { rig, server, run_dir, port, followed, .. } = &mut *self.standing;
        Some(Own {
            server: Mutex::new(server),
            followed: followed.clone(),
            binary: self.config.server().ok()?,
            start: starting(self.setup, self.config, rig, run_dir, port.as_ref()),
            pool: self.pool,
        })
    }

    fn verify(&self, outcome: &mut Outcome, window: Window) -> Result<()> {
        match disk_full::lack(&outcome.series, window, &self.standing.rig.data_dir()) {
            Some(lack) => bail!(lack),
            None => Ok(()),
        }
    }
}

fn restored_rig(
    setup: &mut Setup<'_>,
    config: &ConfigSetup,
    trial: &PlannedTrial,
    place: &Place<'_>,
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
    let directory = setup.work_directory().join(place.name(&format!("rig-{}", trial.position)));
    let snapshot = setup.snapshots.get(&request, setup.interrupt, progress)?;
    progress.step(&trial.key, "building the rig");
    let building = Building {
        drive_cpus: &plan.placement.drive_cpus.0,
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
) -> Result<(Made, Server)> {
    let start = starting(setup, config, rig, run_dir, port);
    let made = setup.ledger.make_directory(run_dir)?;
    Ok((made, server::start(config.server()?, &start)?))
}

/// How the server of a run is started, the first time and again.
fn starting(
    setup: &Setup<'_>,
    config: &ConfigSetup,
    rig: &Rig,
    run_dir: &Path,
    port: Option<&TcpPort>,
) -> server::Start {
    let mut start = server::Start::new(&rig.data_dir(), run_dir, &setup.ledger);
    start.settings = config.settings.clone();
    start.cpus = setup.plan.placement.server_cpus.0.clone();
    start.port = port.cloned();
    start
}

/// A server that has gone, or a rig that takes no more, explains a failed load better than the load can.
fn explain_all(
    error: anyhow::Error,
    standing: &mut [Standing],
    config: &ConfigSetup,
) -> anyhow::Error {
    standing.iter_mut().fold(error, |error, one| {
        let error = explain(error, &mut one.server);
        one.rig.explain(error, &config.rig)
    })
}

fn explain(error: anyhow::Error, server: &mut Server) -> anyhow::Error {
    match server.ended() {
        Ok(Some(how)) => error.context(format!("the server ended with {how}")),
        _ => error,
    }
}
