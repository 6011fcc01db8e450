//! A run on targets that are up: all are loaded and monitored on one clock, in one window.
//!
//! The machine is monitored once, with the first target. Events in phases happen to the first.

use std::io;
use std::path::PathBuf;
use std::thread::{Builder, ScopedJoinHandle};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use assay_load::capacity::Capacity;
use assay_load::{Fileio, LoadObserver, LoadSpec, Schedule, Turns, fileio, run_together};

use super::aggregate::{Aggregate, Participant};
use super::meeting::Attendance;
use super::phase_events::{self, EventContext, PlannedEvents};
use super::schedule;
use super::search::search_or_load;
use super::seconds::{Clocked, Seconds};
use super::target::{LoadPlace, Target};
use crate::monitor::{Followed, Monitor, Monitored, ProcessSnapshot, Targets, TopUser};
use crate::run::config_setup::ConfigSetup;
use crate::run::loads::{AboutHosts, LoadResult};
use crate::run::progress::Progress;
use crate::run::results::{Observation, Observations, PhaseEvents, RunClock, TakeDown};
use crate::run::setup::Setup;
use assay_base::clock::now_precisely;
use assay_plan::{PlannedTrial, WorkloadSpec};
use assay_study::Warning;

/// Distance between the seeds of servers, far from the steps between repeats: no two servers draw
/// the same keys.
const SEED_STEP: u64 = 1 << 32;

/// A run, with everything that loading its targets needs.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) setup: &'a Setup<'a>,
    pub(super) trial: &'a PlannedTrial,
    pub(super) config: &'a ConfigSetup,
    pub(super) progress: &'a dyn Progress,
    /// The turns of its load, if others run beside it.
    pub(super) turns: Option<Turns>,
}

/// A run among others that take turns with it.
pub(super) struct InTurns<'a> {
    pub(super) turns: Turns,
    pub(super) attendance: &'a Attendance<'a>,
    /// Processes of the others.
    pub(super) others: Vec<u32>,
}

/// The load of one target.
struct TargetLoad {
    kind: LoadKind,
    /// The workload's name, if the server is a neighbour.
    neighbour: Option<String>,
}

enum LoadKind {
    Server(Box<LoadSpec>),
    Files(Box<FilesLoad>),
}

struct FilesLoad {
    directory: PathBuf,
    fileio: Fileio,
    schedule: Schedule,
}

impl Run<'_> {
    /// Loads and monitors all targets. Returns one observation for each of them, in their order.
    pub(super) fn observe(self, targets: &mut [impl Target]) -> Observations {
        let loads = match self.loads(targets) {
            Ok(loads) => loads,
            Err(error) => return Observations::failed(error),
        };
        let before = self.preflights(&loads);
        if before.iter().any(|server| server.failure.is_some()) {
            return Observations { servers: before, ..Observations::default() };
        }
        let monitored = monitored(targets, &self.setup.experiment.placement.load_cpus.0);
        let clock = RunClock { origin: Instant::now(), began: now_precisely() };
        let shown = Seconds::new(&self.trial.key, self.progress);
        let (seconds, aggregate) = match loads.as_slice() {
            [only] => (vec![only.seconds(shown)], None),
            several => {
                let counted = several.iter().filter(|load| load.neighbour.is_none()).count();
                let seconds = several.iter().map(|_| Seconds::unseen()).collect();
                (seconds, Some(Aggregate::new(shown, counted)))
            }
        };
        let servers = std::thread::scope(|scope| {
            let each = targets.iter_mut().zip(monitored).zip(before);
            let threads: Vec<_> = (each.zip(loads.iter().zip(&seconds)).enumerate())
                .map(|(place, (((target, monitored), before), (load, seconds)))| {
                    let aggregate = aggregate.as_ref().filter(|_| load.neighbour.is_none());
                    let participant = Participant { own: seconds, aggregate };
                    let is_first = place == 0;
                    let origin = clock.origin;
                    let watch =
                        Watch { run: self, load, origin, participant, is_first, attendance: None };
                    Builder::new()
                        .name(format!("server-{}", place + 1))
                        .spawn_scoped(scope, move || watch.observe(target, monitored, before))
                })
                .collect();
            let failed = |error| Observation { failure: Some(error), ..Observation::default() };
            threads.into_iter().map(|thread| joined(thread).unwrap_or_else(failed)).collect()
        });
        let together = aggregate.map(|aggregate| aggregate.total().recorded());
        Observations { servers, together, clock: Some(clock), take_down: TakeDown::default() }
    }

    /// Loads and monitors one target in turns with others. What is observed is in the time of its
    /// own turns.
    pub(super) fn observe_in_turns(
        self,
        target: &mut impl Target,
        clock: RunClock,
        among: &InTurns<'_>,
    ) -> Observations {
        let loads = match self.loads(std::slice::from_ref(target)) {
            Ok(loads) => loads,
            Err(error) => return Observations::failed(error),
        };
        let before = self.preflights(&loads).pop().unwrap_or_default();
        let Some(load) = loads.first().filter(|_| before.failure.is_none()) else {
            return Observations { servers: vec![before], ..Observations::default() };
        };
        let InTurns { turns, attendance, ref others } = *among;
        let mut monitored = target.monitored(&self.setup.experiment.placement.load_cpus.0);
        monitored.neighbours.clone_from(others);
        let is_first = turns.side == 0;
        let seconds = match is_first {
            true => Seconds::new(&self.trial.key, self.progress),
            false => Seconds::unseen(),
        };
        let seconds = seconds.in_turns(turns, self.setup.experiment.warmup_seconds());
        let participant = Participant { own: &seconds, aggregate: None };
        let origin = clock.origin;
        let watch =
            Watch { run: self, load, origin, participant, is_first, attendance: Some(attendance) };
        let observed = watch.observe(target, monitored, before);
        let observed = match seconds.own_time() {
            Some(time) => time.carry_over(observed),
            None => observed,
        };
        Observations { servers: vec![observed], clock: Some(clock), ..Observations::default() }
    }

    /// The load of each target: the run's own, or a neighbour's on the last.
    fn loads(&self, targets: &[impl Target]) -> Result<Vec<TargetLoad>> {
        let schedule = schedule::schedule(self.setup.experiment, self.trial);
        let load = |(index, target): (usize, &_)| {
            let place = Target::place(target)?;
            let seed = schedule.seed.wrapping_add(SEED_STEP.wrapping_mul(index as u64));
            let schedule = Schedule { seed, turns: self.turns, ..schedule.clone() };
            let is_last = index + 1 == targets.len();
            let Some(neighbour) = self.config.neighbour.as_ref().filter(|_| is_last) else {
                let kind = self.load(place, &self.trial.workload, schedule)?;
                return Ok(TargetLoad { kind, neighbour: None });
            };
            let schedule = Schedule {
                threads: neighbour.threads.unwrap_or(schedule.threads),
                pace: neighbour.pace,
                phases: None,
                ..schedule
            };
            let kind = self.load(place, &neighbour.workload, schedule)?;
            Ok(TargetLoad { kind, neighbour: Some(neighbour.workload.clone()) })
        };
        targets.iter().enumerate().map(load).collect()
    }

    fn load(&self, place: LoadPlace, workload: &str, schedule: Schedule) -> Result<LoadKind> {
        match (place, &self.setup.experiment.workloads[workload].spec) {
            (LoadPlace::Server(endpoint), WorkloadSpec::Server(workload)) => {
                let (schema, workload) = (self.config.schema.clone(), workload.clone());
                let spec = LoadSpec { endpoint, schema, workload, schedule };
                Ok(LoadKind::Server(Box::new(spec)))
            }
            (LoadPlace::Directory(directory), WorkloadSpec::Files(fileio)) => {
                let load = FilesLoad { directory, fileio: fileio.clone(), schedule };
                Ok(LoadKind::Files(Box::new(load)))
            }
            _ => bail!("a run of an unknown workload"),
        }
    }

    /// Checks each server before its load, up to the first failure.
    fn preflights(&self, loads: &[TargetLoad]) -> Vec<Observation> {
        let mut observations: Vec<Observation> = Vec::new();
        for load in loads {
            let mut observation =
                Observation { neighbour: load.neighbour.clone(), ..Observation::default() };
            if observations.iter().all(|earlier| earlier.failure.is_none()) {
                match self.preflight(&load.kind) {
                    Ok(shortage) => observation.shortage = shortage,
                    Err(error) => observation.failure = Some(error),
                }
            }
            observations.push(observation);
        }
        observations
    }

    /// Reports a shortage of connections that the run can tolerate.
    fn preflight(&self, load: &LoadKind) -> Result<Option<Warning>> {
        let LoadKind::Server(spec) = load else { return Ok(None) };
        let shortage = self.setup.loads.preflight(spec)?;
        Ok(shortage.map(|shortage| {
            self.progress.say(&shortage.to_string());
            Warning::TooFewConnections(shortage)
        }))
    }
}

impl TargetLoad {
    fn seconds<'a>(&self, seconds: Seconds<'a>) -> Seconds<'a> {
        match &self.kind {
            LoadKind::Server(_) => seconds,
            LoadKind::Files(load) => seconds.of_files(load.fileio.request_bytes_mean()),
        }
    }
}

/// The things to monitor of each target; the machine with the first.
fn monitored(targets: &[impl Target], cpus: &[usize]) -> Vec<Targets> {
    let mut all: Vec<Targets> = targets.iter().map(|target| target.monitored(cpus)).collect();
    let neighbours = all.iter().skip(1).flat_map(Targets::server_pids).collect();
    for (index, targets) in all.iter_mut().enumerate() {
        targets.with_machine = index == 0;
    }
    if let Some(first) = all.first_mut() {
        first.neighbours = neighbours;
    }
    all
}

/// The result of a thread that loads a server.
///
/// # Errors
/// It could not be started, or panicked.
pub(super) fn joined<T>(thread: io::Result<ScopedJoinHandle<'_, T>>) -> Result<T> {
    let thread = thread.context("cannot start a thread")?;
    thread.join().map_err(|_| anyhow!("the load of a server ended early"))
}

/// The observation of one target.
struct Watch<'a> {
    run: Run<'a>,
    load: &'a TargetLoad,
    origin: Instant,
    participant: Participant<'a>,
    /// Whether it is the run's first: its monitor is shown, and what happens in phases happens to
    /// it.
    is_first: bool,
    /// The place among loads that take turns.
    attendance: Option<&'a Attendance<'a>>,
}

/// The end of a load, and the programs that used CPU time meanwhile.
type Ran = (Result<(LoadResult, Option<Capacity>)>, Vec<TopUser>);

impl Watch<'_> {
    fn observe(
        &self,
        target: &mut dyn Target,
        monitored: Targets,
        before: Observation,
    ) -> Observation {
        let (ran, phase_events, monitored) = match self.watch(target, monitored) {
            Ok(watched) => watched,
            Err(error) => return Observation { failure: Some(error), ..before },
        };
        let (ran, top_users) = ran;
        let (loaded, failure) = match ran {
            Ok(loaded) => (Some(loaded), self.run.setup.interrupt.check().err()),
            Err(error) => (None, Some(error)),
        };
        let (load, capacity) = loaded.unzip();
        let seconds = self.participant.own.recorded();
        let capacity = capacity.flatten();
        Observation {
            seconds,
            load,
            capacity,
            phase_events,
            monitored,
            top_users,
            failure,
            ..before
        }
    }

    /// Monitors the target while its load and the events of its phases run.
    ///
    /// # Errors
    /// It cannot be monitored, or no thread be started.
    fn watch(
        &self,
        target: &mut dyn Target,
        targets: Targets,
    ) -> Result<(Ran, PhaseEvents, Monitored)> {
        let Run { setup, progress, .. } = self.run;
        let followed = targets.server_pid.clone();
        let mut own = targets.own_pids();
        let monitor = Monitor::start(targets, self.origin)?;
        if self.is_first {
            progress.monitoring(&monitor);
        }
        let mut run_load = |observer: &dyn LoadObserver| {
            let ran = self.run_load(observer);
            own.extend(followed.as_ref().and_then(Followed::pid));
            let began = self.participant.own.began();
            (ran, ProcessSnapshot::take().top_users_since(&began, &own))
        };
        let (ran, phase_events) = match &self.load.kind {
            LoadKind::Files(_) => (run_load(&self.participant), PhaseEvents::default()),
            LoadKind::Server(spec) => {
                let context = EventContext {
                    own: target.own_server(),
                    schema: &spec.schema,
                    endpoint: spec.endpoint.clone(),
                    cpus: setup.experiment.placement.load_cpus.0.clone(),
                    origin: self.origin,
                };
                let search = setup.experiment.search.as_ref();
                let planned = PlannedEvents {
                    phases: if self.is_first { &setup.experiment.phases } else { &[] },
                    repeated: search.and_then(|search| search.during.as_ref()),
                };
                phase_events::alongside(&context, planned, |clock| {
                    run_load(&Clocked { clock, observer: &self.participant })
                })?
            }
        };
        Ok((ran, phase_events, monitor.finish()))
    }

    fn run_load(&self, observer: &dyn LoadObserver) -> Result<(LoadResult, Option<Capacity>)> {
        let Run { setup, trial, progress, .. } = self.run;
        match &self.load.kind {
            LoadKind::Server(spec) if let Some(attendance) = self.attendance => {
                let stop = setup.interrupt.flag();
                let outcome = run_together(spec, attendance, observer, stop)?;
                Ok((LoadResult { outcome, about: AboutHosts::default() }, None))
            }
            LoadKind::Server(spec) => {
                let shown = (&trial.key, progress);
                let on_clock = (self.origin, setup.interrupt);
                let search = setup.experiment.search.as_ref();
                Ok(search_or_load(setup.loads, spec, search, shown, observer, on_clock)?)
            }
            LoadKind::Files(load) => {
                let FilesLoad { directory, fileio, schedule } = &**load;
                let (origin, stop) = (Some(self.origin), setup.interrupt.flag());
                let outcome = fileio::run(directory, fileio, schedule, origin, observer, stop)?;
                Ok((LoadResult { outcome, about: AboutHosts::default() }, None))
            }
        }
    }
}
