//! `assay run` and `assay demo`: makes the runs that a study lacks, then writes the report.
//!
//! The plan is read, checked in form, checked against the machine and tried out before anything is
//! created. Each run gets its own rig, and is stored when it ends. Ctrl-C ends the current run,
//! which is repeated by the next command; earlier runs stay. `q` in the live view lets the current
//! run finish.

mod count;
mod demo;
mod live;
mod machines;
mod progress;

#[cfg(test)]
mod shipped_tests;
#[cfg(test)]
mod simulated;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::plan_args::PlanArgs;
use crate::{ask, foreign_plan, print};
use assay_base::text::counted;
use assay_judge::{Look, Supplied, expectation};
use assay_lab::hosts::HostContext;
use assay_lab::rig::existing;
use assay_lab::run::loads::FromHere;
use assay_lab::run::{self, Described, Lock, Retry, RunContext};
use assay_plan::{Experiment, Plan, PlanForm, PlannedTrial, ReadPlan};
use assay_report::words::{calibration, warning};
use assay_report::{Analysis, ReportOptions};
use assay_study::{Calibration, Events, RunState, Store, Warning};
use assay_system::interrupt::Interrupt;
use assay_system::ledger::Ledger;
pub(crate) use count::planned_seconds;
pub(crate) use demo::{DemoArgs, demo};
use machines::{Machines, OfPlan};
use progress::ProgressView;

/// Run a plan, or resume it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay run disk --location /mnt/new-disk        a built-in plan
  assay run percona-2020 --quick                 another one, its quick profile
  assay run percona-2020 --overlay production    with the binary log, durable
  assay run plan.toml --out study                run it, or resume it
  assay run plan.toml --out study --dry-run      check it and list its runs
  assay run plan.toml --out study --another-session
                                                 repeat it all, on another day
  assay run plan.toml --location /mnt/new-disk   on another disk
  assay run plan.toml --erase /dev/nvme1n1       overwrite this device")]
pub(crate) struct RunArgs {
    /// A TOML file, or the name of a built-in plan if no such file exists
    plan: PathBuf,
    /// Run the plan's quick profile, which checks the setup and shows tendencies within minutes
    #[arg(long)]
    quick: bool,
    /// Merge a TOML file, or a built-in overlay, over the plan and its quick profile (repeatable;
    /// `assay plans` lists the built-in ones)
    #[arg(long, value_name = "OVERLAY")]
    overlay: Vec<PathBuf>,
    #[command(flatten)]
    common: CommonArgs,
}

/// Options of both commands.
#[derive(Debug, Args)]
struct CommonArgs {
    #[command(flatten)]
    over: PlanArgs,
    /// Permit the plan to overwrite this block device (repeatable)
    #[arg(long, value_name = "DEVICE")]
    erase: Vec<PathBuf>,
    /// Add a session to a finished study: its repeats once more, with tables loaded anew. Sessions
    /// on several days show how days differ, which `assay compare` needs between two studies
    #[arg(long)]
    another_session: bool,
    /// Repeat failed runs
    #[arg(long)]
    retry_failed: bool,
    /// Repeat runs that are not comparable, after the machine disturbed them, and the runs that
    /// they are compared with
    #[arg(long)]
    retry_flagged: bool,
    /// Print the runs and their duration, check the machine, and exit
    #[arg(long)]
    dry_run: bool,
    /// Print lines instead of the live view
    #[arg(long)]
    no_live: bool,
    /// Resume; this is the default
    #[arg(long, hide = true)]
    resume: bool,
}

/// Runs a plan from a file.
///
/// # Errors
/// The run cannot begin, or its results cannot be stored. A failed run of the plan is not an error.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode> {
    run_on(&OfPlan, args)
}

fn run_on(machines: &impl Machines, args: &RunArgs) -> Result<ExitCode> {
    let form = if args.quick { PlanForm::Quick } else { PlanForm::Full };
    let plan = Plan::read_with(&args.plan, form, &args.overlay)?;
    let study = args.common.over.study(&args.plan, &args.overlay, args.quick);
    let files: Vec<&Path> =
        std::iter::once(&args.plan).chain(&args.overlay).map(PathBuf::as_path).collect();
    run_plan(machines, (plan, &files), &study, &args.common)
}

fn run_plan(
    machines: &impl Machines,
    (mut read, files): (ReadPlan, &[&Path]),
    study: &Path,
    args: &CommonArgs,
) -> Result<ExitCode> {
    args.over.put_into(&mut read.plan);
    read.plan.sessions = run::sessions(study, &read.plan, args.another_session)?;
    let experiment = &Experiment::of(read.plan.clone())?;
    let planned = experiment.trials();
    let retry = Retry { failed: args.retry_failed, flagged: args.retry_flagged };
    warn_of_leftovers();
    warn_of_replicas(experiment);
    let partners = experiment.partners(&planned);
    let mut missing = run::missing(study, &planned, &partners, &read.text, retry)?;
    if let Some(repeats) = ended_after(study)? {
        missing.retain(|trial| trial.key.repeat <= repeats);
    }
    if !missing.is_empty() {
        progress::warn_of_memory(experiment, study);
    }
    let interrupt = Interrupt::listen()?;
    if args.dry_run
        && !args.over.yes
        && let Some(warning) = foreign_plan::warning(&read.plan, files)
    {
        log::warn!("{warning}");
        progress::dry_run(experiment, planned.len(), &missing);
        print::note("not checked against the machine, which would run that; add --yes to check it");
        return Ok(ExitCode::SUCCESS);
    }
    if !missing.is_empty() {
        foreign_plan::agree(&read.plan, files, args.over.yes, &interrupt)?;
        ask::passwords(&existing::accounts(experiment)?, &interrupt)?;
    }
    if !args.dry_run && missing.is_empty() {
        return finished((experiment, &read), study, &interrupt);
    }
    let say = |text: &str| print::note(text);
    let ledger = Ledger::of_run(&std::path::absolute(study)?)?;
    let hosts =
        HostContext { ledger: Arc::clone(&ledger), interrupt: interrupt.clone(), say: &say };
    let (study, erase, interrupt) = (study, args.erase.as_slice(), &interrupt);
    let loads = &FromHere;
    let context = RunContext { experiment, study, erase, interrupt, ledger, loads };
    if args.dry_run {
        return dry_run(machines, (&context, &hosts), planned.len(), &missing);
    }
    let (store, progress, left) = machines.on_site(context, hosts, |site| {
        let described = site.described();
        tell_calibration(experiment, &described.calibration);
        tell_differing(&described);
        let mut store = run::open_store(study, (experiment, &read), &planned, &described)?;
        let progress = ProgressView::new(experiment, missing.len(), !args.no_live, interrupt);
        let about = (experiment, &described.calibration);
        let may_end = |store: &Store| assay_judge::may_end(store, &store.study()?);
        let left = run::trials(site, about, &mut store, &missing, &may_end, interrupt, &progress)?;
        Ok((store, progress, left))
    })?;
    // The view stays until the site is torn down.
    drop(progress);
    conclude(&store, study, interrupt.is_set().then_some(left))
}

/// Repeats after which the study in that directory was decided and ended; `None` if it goes on.
fn ended_after(study: &Path) -> Result<Option<u32>> {
    let Some(store) = Store::look(study)? else { return Ok(None) };
    let study = store.study()?;
    let ends = assay_judge::may_end(&store, &study)?;
    Ok(ends.then(|| Look::of(&study).repeats))
}

/// Warns that configurations with a replica for power cuts run without it.
fn warn_of_replicas(experiment: &Experiment) {
    for name in experiment.power_cut.replicas.keys() {
        log::warn!(
            "configuration `{name}` runs without its replica: `assay powercut` alone has replicas"
        );
    }
}

/// Warns of resources that killed runs have left, since they take space and memory. Unreadable
/// ledgers are not reported here, but by commands that need them.
fn warn_of_leftovers() {
    let left = run::leftovers().unwrap_or_default();
    if let Some(first) = left.first() {
        log::warn!(
            "a run that was killed left {} behind on this machine, e.g. {first}; `assay clean` \
             removes that",
            counted(left.len() as u64, "resource")
        );
    }
}

/// Share of CPU time, in percent, below which most runs are flagged.
const CPU_GRANTED_LEAST: f64 = 80.0;

/// Prints the machine's calibration before the first run.
fn tell_calibration(experiment: &Experiment, found: &Calibration) {
    print::note(calibration::line(found));
    if found.cpu_granted_percent < CPU_GRANTED_LEAST {
        log::warn!("{}", calibration::TOO_BUSY);
    }
    let expected = expectation(experiment.repeats_most, found);
    print::note(calibration::expected(&expected));
    for one in &found.too_fast {
        log::warn!("{}", calibration::too_fast(one));
    }
}

/// Warns of settings that the machine does not put into effect.
fn tell_differing(described: &Described) {
    for (config, warnings) in &described.differing {
        for warning in warnings {
            log::warn!("configuration {config}: {}", warning::text(Events::Transactions, warning));
        }
    }
}

/// Prints the runs and checks the machine; changes nothing.
fn dry_run(
    machines: &impl Machines,
    (context, hosts): (&RunContext<'_>, &HostContext<'_>),
    planned: usize,
    missing: &[&PlannedTrial],
) -> Result<ExitCode> {
    let RunContext { experiment, study, .. } = *context;
    progress::dry_run(experiment, planned, missing);
    Lock::check(study)?;
    if !missing.is_empty() {
        machines.check(context, hosts).context("this plan cannot be run")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Rewrites the report of a finished study, by the present plan.
fn finished(
    (experiment, read): (&Experiment, &ReadPlan),
    study: &Path,
    interrupt: &Interrupt,
) -> Result<ExitCode> {
    let _lock = Lock::take(study)?;
    print::line("nothing to do");
    let mut store = Store::open_or_create(study)?;
    run::retell(&mut store, experiment, read)?;
    conclude(&store, study, interrupt.is_set().then_some(0))
}

/// With fewer repeats nothing is said of more than the runs there are.
const REPEATS_OF_A_LOOK: u32 = 2;

/// Records a look at the results, after the repeats that have run.
fn record_look(store: &Store) -> Result<()> {
    let look = Look::of(&store.study()?);
    if look.repeats >= REPEATS_OF_A_LOOK {
        store.record_look(look.made())?;
    }
    Ok(())
}

/// Prints the answer, and after an interruption the number of runs left.
fn conclude(store: &Store, study: &Path, interrupted: Option<usize>) -> Result<ExitCode> {
    let trials = store.study()?.trials;
    let count = |state| trials.iter().filter(|trial| trial.state == state).count();
    record_look(store)?;
    if count(RunState::Done) + count(RunState::Failed) > 0 {
        let analysis = Analysis::of(store, Supplied::default())?;
        let written = assay_report::write(store, &analysis, study, ReportOptions::default())?;
        print::line(assay_report::summary_line(&analysis));
        print::line(format_args!("report: {}", written.html.display()));
    }
    if let Some(left) = interrupted {
        bail!("interrupted with {left} of {} runs to go; the same command resumes", trials.len());
    }
    let is_spoilt = |one: &Warning| one.forbids_comparing() && one.is_of_machine();
    let flagged = trials.iter().filter(|trial| trial.warnings.iter().any(is_spoilt)).count();
    if flagged > 0 {
        print::note(format_args!(
            "{flagged} of {} runs are not comparable because the machine disturbed them; once it \
             is quieter, run the same command with --retry-flagged to repeat them",
            trials.len()
        ));
    }
    match count(RunState::Failed) {
        0 => Ok(ExitCode::SUCCESS),
        failed => bail!(
            "{failed} of {} runs failed; the report says why, --retry-failed runs them again",
            trials.len()
        ),
    }
}
