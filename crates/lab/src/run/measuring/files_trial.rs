//! One run on files: a fresh rig, files made on it, the load and the monitor, and down again. No server is started.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use assay_load::{Fileio, fileio};

use super::schedule::{placement, schedule};
use super::seconds::{Seconds, of_monitor};
use super::take_down::{drive_target, take_down};
use super::{files, trace};
use crate::monitor::{Monitor, ProcessSnapshot, Targets};
use crate::rig::pool::RunPool;
use crate::rig::{Building, Rig};
use crate::run::config_setup::ConfigSetup;
use crate::run::describing::effective;
use crate::run::describing::placed::{self, Processes};
use crate::run::progress::Progress;
use crate::run::results::{figures, fill, interference, warnings};
use crate::run::setup::Setup;
use assay_base::clock::now_precisely;
use assay_judge::CLOCK_BEGAN;
use assay_plan::PlannedTrial;
use assay_serve::Attached;
use assay_study::Outcome;
use assay_study::metrics::Window;

/// Makes the run; what was seen until it fails stays in `outcome`.
///
/// # Errors
/// What went wrong, in one line.
pub(super) fn run(
    setup: &Setup<'_>,
    trial: &PlannedTrial,
    fileio: &Fileio,
    progress: &dyn Progress,
    outcome: &mut Outcome,
) -> Result<()> {
    let config = setup.configs.get(&trial.variant).context("a run of an unknown configuration")?;
    let trace = trace::place(setup.study(), &config.rig, trial)?;
    let directory = setup.work_directory().join(format!("rig-{}", trial.position));
    progress.step(&trial.key, "building the rig");
    let pool = setup.pool(&config.rig, trial.position)?;
    let building = Building {
        drive_cpus: &setup.plan.placement.drive_cpus.0,
        ledger: &setup.ledger,
        pool: pool.as_ref(),
        trace: trace.as_deref(),
        say: &|text: &str| progress.say(text),
    };
    let mut rig = Rig::build(&config.rig, &directory, &building)?;
    setup.interrupt.check()?;
    let origin = on_rig(setup, trial, config, fileio, (&mut rig, pool.as_ref()), progress, outcome);
    let origin = origin.map_err(|error| rig.explain(error, &config.rig))?;
    // A load that went on without its drive has seen nothing but memory.
    if let Some(trouble) = rig.drive_trouble() {
        bail!(trouble);
    }
    progress.step(&trial.key, "taking the rig down");
    take_down(vec![rig], pool, trace.as_deref(), origin, outcome);
    Ok(())
}

/// Makes the files and measures; gives when the run's clock began.
fn on_rig(
    setup: &Setup<'_>,
    trial: &PlannedTrial,
    config: &ConfigSetup,
    fileio: &Fileio,
    (rig, pool): (&mut Rig, Option<&RunPool>),
    progress: &dyn Progress,
    outcome: &mut Outcome,
) -> Result<Instant> {
    progress.step(&trial.key, "making files");
    files::prepare(rig, fileio, setup.interrupt.flag())?;
    rig.top_up(&config.rig)?;
    rig.keep_time()?;
    outcome.facts.extend(
        rig.description().iter().map(|(label, text)| (format!("rig: {label}"), text.clone())),
    );
    let placed = placement(setup.plan, rig.drive().is_some());
    outcome.facts.extend(placed.into_iter().filter(|(name, _)| name != "server_cpus"));
    let processes = Processes { server: None, drive: rig.drive().map(Attached::pid) };
    let placed = placed::differing(setup.plan, processes);
    outcome.facts.extend(placed::facts(&placed));
    outcome.warnings.extend(effective::of_machine(&rig.in_effect(&config.rig, pool), placed));
    measure(setup, trial, config, fileio, (rig, pool), progress, outcome)
}

fn measure(
    setup: &Setup<'_>,
    trial: &PlannedTrial,
    config: &ConfigSetup,
    fileio: &Fileio,
    (rig, pool): (&Rig, Option<&RunPool>),
    progress: &dyn Progress,
    outcome: &mut Outcome,
) -> Result<Instant> {
    let schedule = schedule(setup.plan, trial);
    let origin = Instant::now();
    outcome.facts.insert(CLOCK_BEGAN.into(), now_precisely());
    let targets = Targets {
        data_dir: Some(rig.data_dir()),
        server_pid: None,
        load_pid: std::process::id(),
        server: None,
        is_server_ours: false,
        drive: drive_target(rig, pool),
        pool: pool.map(RunPool::target),
        with_machine: true,
        beside: Vec::new(),
        cpus: setup.plan.placement.load_cpus.0.clone(),
    };
    let own = targets.own_pids();
    let monitor = Monitor::start(targets, origin)?;
    progress.monitoring(&monitor);
    let seconds = Seconds::new(&trial.key, progress).of_files(fileio.request_bytes_mean());
    let stop = setup.interrupt.flag();
    let ran = fileio::run(&rig.data_dir(), fileio, &schedule, Some(origin), &seconds, stop);
    let top_users = ProcessSnapshot::take().top_users_since(&seconds.began(), &own);
    let monitored = monitor.finish();
    outcome.series = seconds.series();
    outcome.second_latencies = seconds.latencies();
    outcome.series.extend(of_monitor(&monitored));
    outcome.facts.extend(monitored.facts);
    outcome.warnings.extend(monitored.warnings);
    let ran = ran?;
    setup.interrupt.check()?;
    figures::fill(outcome, &ran);
    fill::verify(outcome, &config.rig);
    let window = Window { from_s: ran.measure_start_s, to_s: ran.measure_end_s };
    let gap = warnings::stopped(&monitored.gaps, window);
    if ran.events == 0 {
        let why = match gap {
            Some(_) => "Assay was stopped while it measured",
            None => "make seconds longer",
        };
        bail!("no operation ended in the measuring window; {why}");
    }
    outcome.warnings.extend(gap);
    outcome.warnings.extend(interference::warning(&outcome.results, &top_users));
    Ok(origin)
}
