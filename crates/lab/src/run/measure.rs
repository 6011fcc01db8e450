//! A server under load and watched: the part of a run that is the same whoever runs the server.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use assay_load::{Endpoint, Schedule, Schema, Workload};

use super::happenings::{self, Happenings, Scene};
use super::progress::Progress;
use super::search::search_or_load;
use super::series::{Seconds, of_monitor};
use super::setup::{ConfigSetup, Setup};
use super::stand::Stand;
use super::{fill, others, results, schedule, search, warnings};
use crate::monitor::{Followed, Monitor, ProcessSnapshot};
use assay_base::clock::now_precisely;
use assay_judge::CLOCK_BEGAN;
use assay_plan::{PlannedTrial, WorkloadSpec};
use assay_study::metrics::Window;
use assay_study::{Outcome, Warning};

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
    let plan = setup.plan;
    let workload = plan.workloads.get(&trial.workload).and_then(WorkloadSpec::server);
    let workload = workload.context("a run of an unknown workload")?;
    let schedule = schedule::schedule(plan, trial);
    let endpoint = stand.endpoint()?;
    assay_load::preflight(&endpoint, &config.schema, workload, &schedule)?;
    if let Some(shortage) = assay_load::shortage(&endpoint, &config.schema, workload, &schedule)? {
        progress.say(&shortage.to_string());
        outcome.warnings.push(Warning::TooFewConnections(shortage));
    }
    let origin = Instant::now();
    outcome.facts.insert(CLOCK_BEGAN.into(), now_precisely());
    let targets = stand.targets(&plan.placement.load_cpus.0);
    let followed = targets.server_pid.clone();
    let mut own = targets.own_pids();
    let monitor = Monitor::start(targets, origin)?;
    progress.monitoring(&monitor);
    let scene = Scene {
        own: stand.own(),
        schema: &config.schema,
        endpoint: endpoint.clone(),
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
        own.extend(followed.as_ref().and_then(Followed::pid));
        let top_users = ProcessSnapshot::take().top_users_since(&seconds.began(), &own);
        outcome.series = seconds.series();
        outcome.second_latencies = seconds.latencies();
        (ran, top_users)
    })?;
    drop(scene);
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
    stand.verify(outcome, window)?;
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
