//! One run: a fresh rig, a copy of the base snapshot, a server, the load and the monitor, and down again.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use assay_load::{Endpoint, Schedule, Schema, Warmup, Workload};

use super::happenings::{self, Happenings, Scene};
use super::progress::Progress;
use super::search::search_or_load;
use super::series::{Seconds, of_monitor};
use super::setup::{ConfigSetup, Setup};
use super::{files_trial, fill, full, others, results, search, trace, warnings};
use crate::monitor::{DriveTarget, Followed, Monitor, ProcessSnapshot, Targets};
use crate::rig::Rig;
use crate::rig::server::{self, Server};
use crate::rig::snapshot::{Request, endpoint};
use assay_base::clock::now_precisely;
use assay_base::text::on_one_line;
use assay_judge::CLOCK_BEGAN;
use assay_plan::CpuList;
use assay_plan::{Placement, Plan, PlannedTrial, WorkloadSpec};
use assay_serve::Attached;
use assay_study::metrics::Window;
use assay_study::{Outcome, Warning};
use assay_system::ledger::Made;
use assay_system::resource::Resource;

/// How long transactions in hand may take to end when the window has, while things happen, in seconds.
const GRACE_S: f64 = 60.0;

/// Makes one run, to its end. Whatever goes wrong is in the outcome, beside what was seen until then.
pub fn run(setup: &mut Setup<'_>, trial: &PlannedTrial, progress: &dyn Progress) -> Outcome {
    let mut outcome = Outcome::default();
    progress.begin_trial(&trial.key);
    let files = setup.plan.workloads.get(&trial.workload).and_then(WorkloadSpec::files);
    let ran = match files {
        Some(fileio) => files_trial::run(setup, trial, fileio, progress, &mut outcome),
        None => bring_up_and_measure(setup, trial, progress, &mut outcome),
    };
    if let Err(error) = ran {
        outcome.reason = Some(on_one_line(&format!("{error:#}")));
    }
    outcome
}

fn bring_up_and_measure(
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
    let (_made, mut server) = started.map_err(|error| rig.explain(error, &config.rig))?;
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
    outcome.facts.extend(placement(setup.plan, rig.drive().is_some()));
    outcome.warnings.extend(server.adjusted_settings().into_iter().map(adjusted));
    let mut listed = Vec::new();
    let place = Place { config: &config, rig: &rig, run_dir: &run_dir, listed: &mut listed };
    let measured = measure(setup, trial, place, &mut server, progress, outcome);
    let measured = measured.map_err(|error| explain(error, &mut server));
    let origin = measured.map_err(|error| rig.explain(error, &config.rig))?;
    // A load that went on without its drive has seen nothing but memory.
    if let Some(trouble) = rig.drive_trouble() {
        bail!(trouble);
    }
    progress.step(&trial.key, "taking the rig down");
    // The data are a copy that nobody needs again: killing is quicker than an orderly end.
    server.kill()?;
    take_down(rig, trace.as_deref(), origin, outcome);
    Ok(())
}

/// What was measured holds even if something is left for `assay clean`.
pub(super) fn take_down(rig: Rig, trace: Option<&Path>, origin: Instant, outcome: &mut Outcome) {
    outcome.warnings.extend(rig.drive_problems().into_iter().map(problem));
    let taken_down = rig.take_down();
    let told = match (trace, outcome.window, &taken_down) {
        (Some(path), Some(window), Ok(())) => trace::tell_window(path, origin, window),
        _ => Ok(()),
    };
    if let Some(name) = trace.and_then(Path::file_name) {
        outcome.facts.insert("trace".into(), name.to_string_lossy().into_owned());
    }
    // What a trace lacks it may have lacked only in the end, when it was written out.
    let taken_down = taken_down.map_err(|error| match trace {
        Some(path) => error.context(format!("the trace {} may be cut short", path.display())),
        None => error,
    });
    let errors = taken_down.err().into_iter().chain(told.err());
    outcome.warnings.extend(errors.map(left_behind));
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

/// What a run is measured on.
struct Place<'a> {
    config: &'a ConfigSetup,
    rig: &'a Rig,
    run_dir: &'a Path,
    /// Processes that were begun while it was measured.
    listed: &'a mut Vec<Made>,
}

/// What is loaded, and how.
#[derive(Clone, Copy)]
pub(super) struct Loaded<'a> {
    /// The server.
    pub(super) endpoint: &'a Endpoint,
    /// Its tables.
    pub(super) schema: &'a Schema,
    /// What is run on them.
    pub(super) workload: &'a Workload,
    /// For how long, and how fast.
    pub(super) schedule: &'a Schedule,
}

/// Gives when the run's clock began.
fn measure(
    setup: &Setup<'_>,
    trial: &PlannedTrial,
    Place { config, rig, run_dir, listed }: Place<'_>,
    server: &mut Server,
    progress: &dyn Progress,
    outcome: &mut Outcome,
) -> Result<Instant> {
    let plan = setup.plan;
    let workload = plan.workloads.get(&trial.workload).and_then(WorkloadSpec::server);
    let workload = workload.context("a run of an unknown workload")?;
    let schedule = schedule(plan, trial);
    let endpoint = endpoint(server.socket());
    assay_load::preflight(&endpoint, &config.schema, workload, &schedule)?;
    if let Some(shortage) = assay_load::shortage(&endpoint, &config.schema, workload, &schedule)? {
        progress.say(&shortage.to_string());
        outcome.warnings.push(Warning::TooFewConnections(shortage));
    }
    let origin = Instant::now();
    outcome.facts.insert(CLOCK_BEGAN.into(), now_precisely());
    let followed = Followed::new(server.pid());
    let targets = Targets {
        data_dir: rig.data_dir(),
        server_pid: Some(followed.clone()),
        load_pid: std::process::id(),
        server: Some(server.endpoint()),
        drive: rig.drive().map(drive_target),
        cpus: plan.placement.load_cpus.0.clone(),
    };
    let mut own = targets.own_pids();
    let monitor = Monitor::start(targets, origin)?;
    progress.monitoring(&monitor);
    let scene = Scene {
        server: parking_lot::Mutex::new(server),
        followed: followed.clone(),
        binary: config.server()?,
        start: starting(setup.plan, config, rig, run_dir),
        schema: &config.schema,
        endpoint: endpoint.clone(),
        ledger: &setup.ledger,
        listed: parking_lot::Mutex::default(),
        cpus: plan.placement.load_cpus.0.clone(),
        origin,
    };
    let loaded =
        Loaded { endpoint: &endpoint, schema: &config.schema, workload, schedule: &schedule };
    let objective = plan.objective.as_ref();
    let all = Happenings {
        phases: &plan.phases,
        during: objective.and_then(|objective| objective.during.as_ref()),
    };
    let ((ran, top_users), happened) = happenings::alongside(&scene, all, |stage| {
        let seconds = Seconds::new(&trial.key, progress).on(stage);
        let on_clock = (origin, setup.interrupt);
        let ran = search_or_load(&loaded, objective, (&trial.key, progress), &seconds, on_clock);
        own.extend(followed.pid());
        let top_users = ProcessSnapshot::take().top_users_since(&seconds.began(), &own);
        outcome.series = seconds.series();
        outcome.second_latencies = seconds.latencies();
        (ran, top_users)
    })?;
    listed.extend(scene.listed.into_inner());
    let monitored = monitor.finish();
    outcome.series.extend(of_monitor(&monitored));
    outcome.facts.extend(monitored.facts);
    outcome.warnings.extend(monitored.warnings);
    let (ran, capacity) = ran?;
    setup.interrupt.check()?;
    happenings::check(&happened)?;
    results::fill(outcome, &ran);
    outcome.results.extend(capacity.iter().flat_map(search::results));
    outcome.capacity = capacity;
    outcome.warnings.extend(happenings::warnings(&plan.phases, &happened.in_phases));
    outcome.facts.extend(happened.during.as_ref().map(happenings::Throughout::fact));
    if let Some(phases) = &schedule.phases {
        let happened = happened.in_phases;
        outcome.phases = happenings::told(&plan.phases, phases, happened, ran.measure_start_s);
    }
    fill::verify(outcome, &config.rig);
    let window = Window { from_s: ran.measure_start_s, to_s: ran.measure_end_s };
    if let Some(lack) = full::lack(&outcome.series, window, &rig.data_dir()) {
        bail!(lack);
    }
    let gap = warnings::stopped(&monitored.gaps, window);
    if ran.events == 0 {
        let why = match gap {
            Some(_) => "Assay was stopped while it measured",
            None => "make seconds longer",
        };
        bail!("no transaction ended in the measuring window; {why}");
    }
    outcome.warnings.extend(gap);
    outcome.warnings.extend(others::warning(&outcome.results, &top_users));
    Ok(origin)
}

/// What the server says of a setting that it does not keep to.
fn adjusted(line: String) -> Warning {
    Warning::SettingAdjusted { line }
}

fn problem(problem: String) -> Warning {
    Warning::DriveProblem { problem, is_while_measuring: false }
}

fn left_behind(error: anyhow::Error) -> Warning {
    Warning::LeftBehind { error: on_one_line(&format!("{error:#}")) }
}

pub(super) fn drive_target(drive: &Attached) -> DriveTarget {
    DriveTarget {
        pid: drive.pid(),
        status_file: drive.status_file.clone(),
        media: drive.health.media.clone(),
        is_model: drive.health.model.is_some(),
    }
}

pub(super) fn schedule(plan: &Plan, trial: &PlannedTrial) -> Schedule {
    let warmup = match plan.warmup_until_steady {
        true => Warmup::Steady { cap_seconds: plan.warmup_seconds },
        false => Warmup::Seconds(plan.warmup_seconds),
    };
    Schedule {
        threads: trial.key.threads,
        warmup,
        seconds: plan.seconds,
        events: plan.events.unwrap_or(0),
        pace: plan.pace_of(&trial.workload),
        // The same draws in every configuration; other ones in every repeat.
        seed: plan.seed.wrapping_add(u64::from(trial.key.repeat)),
        cpus: plan.placement.load_cpus.0.clone(),
        phases: plan.phases_of(&trial.workload),
        rides_out: plan.rides_out(),
        // A statement that waits for transactions, which wait for it, would let no run end.
        forced_shutdown: plan.has_happenings().then_some(GRACE_S),
    }
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

/// Which CPUs server, load and drive may use, in words.
pub(super) fn placement(plan: &Plan, has_drive: bool) -> BTreeMap<String, String> {
    let Placement { server_cpus, load_cpus, drive_cpus } = &plan.placement;
    let text = |cpus: &CpuList| if cpus.is_empty() { "all".into() } else { cpus.to_string() };
    let both = [("server_cpus", server_cpus), ("load_cpus", load_cpus)];
    let drive = has_drive.then_some(("drive_cpus", drive_cpus));
    both.into_iter().chain(drive).map(|(name, cpus)| (name.into(), text(cpus))).collect()
}

/// A server that has gone explains a failed load better than the load can.
fn explain(error: anyhow::Error, server: &mut Server) -> anyhow::Error {
    match server.ended() {
        Ok(Some(how)) => error.context(format!("the server ended with {how}")),
        _ => error,
    }
}
