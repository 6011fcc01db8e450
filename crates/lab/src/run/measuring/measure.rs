//! A server under load and watched: the part of a run that is the same whoever runs the server.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use assay_load::capacity::Capacity;
use assay_load::{LoadSpec, Observer, Schedule, Workload};

use super::happenings::{self, AllHappened, Happenings, Scene};
use super::search::search_or_load;
use super::seconds::{Seconds, Staged, of_monitor};
use super::stand::Stand;
use super::{schedule, search};
use crate::monitor::{Followed, Monitor, Monitored, ProcessSnapshot, Targets, TopUser};
use crate::run::config_setup::ConfigSetup;
use crate::run::loads::{AboutHosts, LoadResult, Loads};
use crate::run::progress::Progress;
use crate::run::results::{figures, fill, interference, warnings};
use crate::run::setup::Setup;
use assay_base::clock::now_precisely;
use assay_judge::CLOCK_BEGAN;
use assay_plan::{PlannedTrial, WorkloadSpec};
use assay_study::metrics::Window;
use assay_study::{Outcome, Warning};

/// Loads what stands there, and monitors it; gives when the run's clock began. What was seen until it fails stays in `outcome`.
///
/// # Errors
/// What went wrong, in one line.
pub(super) fn measure(
    setup: &Setup<'_>,
    trial: &PlannedTrial,
    config: &ConfigSetup,
    stand: &mut dyn Stand,
    progress: &dyn Progress,
    outcome: &mut Outcome,
) -> Result<Instant> {
    let load = LoadSpec {
        endpoint: stand.endpoint()?,
        schema: config.schema.clone(),
        workload: workload(setup, &trial.workload)?.clone(),
        schedule: schedule::schedule(setup.plan, trial),
    };
    outcome.warnings.extend(preflight(setup.loads, &load, progress)?);
    let origin = Instant::now();
    outcome.facts.insert(CLOCK_BEGAN.into(), now_precisely());
    let seconds = Seconds::new(&trial.key, progress);
    let observing = Observing { setup, trial, load: &load, origin, progress };
    let targets = stand.targets(&setup.plan.placement.load_cpus.0);
    let seen = observing.observe(stand, targets, &seconds, &seconds)?;
    outcome.series = seconds.series();
    outcome.second_latencies = seconds.latencies();
    outcome.series.extend(of_monitor(&seen.monitored));
    conclude(setup, &load.schedule, seen, outcome, |outcome, window| {
        fill::verify(outcome, &config.rig);
        stand.verify(outcome, window)
    })?;
    Ok(origin)
}

/// The workload of that name in the plan.
pub(super) fn workload<'a>(setup: &Setup<'a>, name: &str) -> Result<&'a Workload> {
    let workload = setup.plan.workloads.get(name).and_then(WorkloadSpec::server);
    workload.context("a run of an unknown workload")
}

/// Whether the load can be run there; what it is short of and bears is said.
pub(super) fn preflight(
    loads: &dyn Loads,
    load: &LoadSpec,
    progress: &dyn Progress,
) -> Result<Option<Warning>> {
    let shortage = loads.preflight(load)?;
    Ok(shortage.map(|shortage| {
        progress.say(&shortage.to_string());
        Warning::TooFewConnections(shortage)
    }))
}

/// What observing one server needs.
#[derive(Clone, Copy)]
pub(super) struct Observing<'a> {
    pub(super) setup: &'a Setup<'a>,
    pub(super) trial: &'a PlannedTrial,
    pub(super) load: &'a LoadSpec,
    pub(super) origin: Instant,
    pub(super) progress: &'a dyn Progress,
}

/// What was seen of one server.
pub(super) struct Seen {
    /// What the load found, or why it failed.
    pub(super) ran: assay_load::Result<(LoadResult, Option<Capacity>)>,
    /// What happened meanwhile.
    pub(super) happened: AllHappened,
    /// What the monitor saw.
    pub(super) monitored: Monitored,
    /// Other programs that took time.
    pub(super) top_users: Vec<TopUser>,
}

impl Observing<'_> {
    /// Loads the server, monitors it, and lets happen what is to; every second goes to `observer`, and through it to `seconds`.
    ///
    /// # Errors
    /// It cannot be monitored, or no thread be started.
    pub(super) fn observe(
        &self,
        stand: &mut dyn Stand,
        targets: Targets,
        seconds: &Seconds<'_>,
        observer: &dyn Observer,
    ) -> Result<Seen> {
        let Observing { setup, trial, load, origin, progress } = *self;
        let plan = setup.plan;
        let followed = targets.server_pid.clone();
        let mut own = targets.own_pids();
        let with_machine = targets.with_machine;
        let monitor = Monitor::start(targets, origin)?;
        if with_machine {
            progress.monitoring(&monitor);
        }
        let scene = Scene {
            own: stand.own(),
            schema: &load.schema,
            endpoint: load.endpoint.clone(),
            cpus: plan.placement.load_cpus.0.clone(),
            origin,
        };
        let objective = plan.objective.as_ref();
        let all = Happenings {
            // Of several servers things happen to the first.
            phases: if with_machine { &plan.phases } else { &[] },
            during: objective.and_then(|objective| objective.during.as_ref()),
        };
        let ((ran, top_users), happened) = happenings::alongside(&scene, all, |stage| {
            let staged = Staged { stage, observer };
            let on_clock = (origin, setup.interrupt);
            let told = (&trial.key, progress);
            let ran = search_or_load(setup.loads, load, objective, told, &staged, on_clock);
            own.extend(followed.as_ref().and_then(Followed::pid));
            let top_users = ProcessSnapshot::take().top_users_since(&seconds.began(), &own);
            (ran, top_users)
        })?;
        drop(scene);
        Ok(Seen { ran, happened, monitored: monitor.finish(), top_users })
    }
}

/// The clocks of the machines that had a part in the load, and what is to be said of them.
fn tell_hosts(about: AboutHosts, outcome: &mut Outcome) {
    for one in about.clocks {
        let (offset_ms, uncertainty_ms) = (one.clock.offset_ms, one.clock.uncertainty_ms);
        let said = format!("{offset_ms:+.2} ms (±{uncertainty_ms:.2} ms)");
        outcome.facts.insert(format!("clock of {}", one.host), said);
    }
    outcome.warnings.extend(about.doubts);
}

/// Makes results of what was seen; the series are in `outcome` already. `verify` says whether they are what they are taken for.
///
/// # Errors
/// The load failed, or nothing was measured.
pub(super) fn conclude(
    setup: &Setup<'_>,
    schedule: &Schedule,
    seen: Seen,
    outcome: &mut Outcome,
    verify: impl FnOnce(&mut Outcome, Window) -> Result<()>,
) -> Result<()> {
    let plan = setup.plan;
    let Seen { ran, happened, monitored, top_users } = seen;
    outcome.facts.extend(monitored.facts);
    outcome.warnings.extend(monitored.warnings);
    let (LoadResult { outcome: ran, about }, capacity) = ran?;
    tell_hosts(about, outcome);
    setup.interrupt.check()?;
    happenings::check(&happened)?;
    figures::fill(outcome, &ran);
    outcome.results.extend(capacity.iter().flat_map(search::results));
    outcome.capacity = capacity;
    outcome.warnings.extend(happenings::warnings(&plan.phases, &happened.in_phases));
    outcome.facts.extend(happened.during.as_ref().map(happenings::Throughout::fact));
    if let Some(phases) = &schedule.phases {
        let happened = happened.in_phases;
        outcome.phases = happenings::told(&plan.phases, phases, happened, ran.measure_start_s);
    }
    let window = Window { from_s: ran.measure_start_s, to_s: ran.measure_end_s };
    verify(outcome, window)?;
    let gap = warnings::stopped(&monitored.gaps, window);
    if ran.events == 0 {
        let why = match gap {
            Some(_) => "Assay was stopped while it measured",
            None => "make seconds longer",
        };
        bail!("no transaction ended in the measuring window; {why}");
    }
    outcome.warnings.extend(gap);
    outcome.warnings.extend(interference::warning(&outcome.results, &top_users));
    Ok(())
}
