//! `assay powercut`: cuts the power under load, recovers, and checks every page and committed row.

mod pages;
mod put_back;
mod tear;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use assay_base::text::{counted, time};
use assay_judge::JudgedComparison;
use assay_judge::power_cuts::{PowerCuts, recoveries};
use assay_lab::power_cut::{self, CutProgress, CutRequest, KeptDisk};
use assay_lab::rig::snapshot::LoadProgress;
use assay_load::PrepareProgress;
use assay_plan::{DiskBase, Experiment, Plan, PlanForm};
use assay_report::words::power_cuts as words;
use assay_report::words::warning;
use assay_study::power_cut::Aftermath;
use assay_study::{Differing, Events, PowerCut, Store, Warning};
use assay_system::interrupt::Interrupt;
use clap::{Args, Subcommand};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;

use crate::foreign_plan;
use crate::plan_args::PlanArgs;
use crate::print::{self, Living};

/// Cut the power under load again and again: does a configuration lose pages or commits?
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
Examples:
  assay powercut powercut --quick              a built-in plan, in ten minutes
  assay powercut plan.toml --cuts 1000         more cuts than the plan says
  assay powercut plan.toml --config 'torn'     one of its configurations
  assay powercut plan.toml --repeat study/power-cuts/torn-3
                                               recover a kept disk once more
  assay powercut tear                          tear pages by hand
  assay powercut pages /var/lib/mysql          MySQL does not start: which pages
                                               are torn, and where are copies?

The disk is an image with a volatile cache, or a software drive on one: a power cut takes what was \
not flushed, in part or whole. Cuts that the study has are not repeated.

Exit codes: 0 nothing was lost, 1 something was lost, 2 error.")]
pub(crate) struct PowercutArgs {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    cut: CutArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Tear pages by hand, and start the server on each
    Tear(tear::TearArgs),
    /// Find the torn pages of a data directory that does not start, and their newest copies
    Pages(pages::PagesArgs),
}

#[derive(Debug, Args)]
struct CutArgs {
    /// A TOML file, or the name of a built-in plan if no such file exists
    #[arg(required = true)]
    plan: Option<PathBuf>,
    /// Its quick profile: fewer cuts
    #[arg(long)]
    quick: bool,
    /// Power cuts for each configuration [default: the plan's, else 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    cuts: Option<u32>,
    /// Only this configuration (repeatable) [default: all]
    #[arg(long, value_name = "NAME")]
    config: Vec<String>,
    #[command(flatten)]
    over: PlanArgs,
    /// Stop a configuration at its first cut with a loss
    #[arg(long)]
    until_loss: bool,
    /// Keep the disks of at most this many cuts with a loss, for each configuration
    #[arg(long, value_name = "N", default_value_t = 3)]
    keep: u32,
    /// Recover the kept disk in this directory once more, and check it
    #[arg(long, value_name = "DIRECTORY", conflicts_with_all = ["cuts", "config", "until_loss"])]
    repeat: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Cuts the power and prints the losses.
pub(crate) fn run(args: &PowercutArgs) -> Result<ExitCode> {
    match &args.action {
        Some(Action::Tear(args)) => tear::run(args),
        Some(Action::Pages(args)) => pages::run(args),
        None => cut(&args.cut),
    }
}

fn cut(args: &CutArgs) -> Result<ExitCode> {
    let plan = args.plan.as_ref().context("no plan was given")?;
    let form = if args.quick { PlanForm::Quick } else { PlanForm::Full };
    let mut read = Plan::read(plan, form)?;
    args.over.put_into(&mut read.plan);
    if let Some(cuts) = args.cuts {
        read.plan.power_cut.get_or_insert_default().cuts = cuts;
    }
    let experiment = Experiment::of(read.plan.clone())?;
    let study = args.over.study(plan, &[], args.quick);
    let configs = match &args.repeat {
        Some(kept) => vec![KeptDisk::new(kept).name()?.0],
        None if args.config.is_empty() => experiment.power_cut_configs().cloned().collect(),
        None => args.config.clone(),
    };
    experiment.check_power_cuts(&configs)?;
    let interrupt = Interrupt::listen()?;
    foreign_plan::agree(&read.plan, &[plan], args.over.yes, &interrupt)?;
    let wanted = CutRequest {
        experiment: &experiment,
        text: &read.text,
        configs: &configs,
        study: &study,
        until_loss: args.until_loss,
        keep: args.keep,
        interrupt: &interrupt,
    };
    let progress = Progress::new(plan, &study);
    match &args.repeat {
        Some(kept) => repeat(&wanted, kept, &progress),
        None => {
            let left = power_cut::cut(&wanted, &progress)?;
            progress.line.end();
            let code = conclude(&wanted, args.json)?;
            ensure!(left == 0, "interrupted with {left} cuts to go; the same command resumes");
            Ok(code)
        }
    }
}

fn repeat(wanted: &CutRequest<'_>, kept: &Path, progress: &Progress) -> Result<ExitCode> {
    let disk = KeptDisk::new(kept);
    let found = power_cut::repeat(wanted, &disk, progress)?;
    progress.line.end();
    for loss in &found.losses {
        print::line(words::loss(loss));
    }
    if let Some(aftermath) = &found.aftermath {
        tell_aftermath(aftermath);
        let variant = wanted.experiment.variant_of(&disk.name()?.0);
        let rig = &variant.context("the plan has changed")?.rig;
        let is_drive = rig.disk().is_some_and(|disk| matches!(disk.base, DiskBase::Drive(_)));
        if let Some(commands) = put_back::of_disk(aftermath, kept, is_drive) {
            print::line("to put the newest copies back, on a copy of the disk:");
            commands.iter().for_each(|command| print::line(format_args!("  {command}")));
        }
    }
    if let (true, Some(commits)) = (found.losses.is_empty(), found.commits) {
        print::line(format_args!(
            "no loss beyond what the settings allow: {} of {} acknowledged commits lost, all pages \
             and rows intact",
            commits.lost, commits.acknowledged
        ));
    }
    Ok(code(found.losses.is_empty()))
}

/// Number of pages listed one by one.
const PAGES_TOLD: usize = 20;

fn tell_aftermath(aftermath: &Aftermath) {
    for page in aftermath.pages.iter().take(PAGES_TOLD) {
        print::line(format_args!("  {}", words::page_left(page)));
    }
    let more = aftermath.pages.len().saturating_sub(PAGES_TOLD);
    if more > 0 {
        print::line(format_args!("  and {more} more torn pages"));
    }
    print::line(format_args!("  {}", words::put_back(aftermath)));
}

fn code(is_survived: bool) -> ExitCode {
    if is_survived { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// Prints the study's results for these configurations.
fn conclude(wanted: &CutRequest<'_>, is_json: bool) -> Result<ExitCode> {
    let store = Store::look(wanted.study)?.context("the study is gone")?;
    let study = store.study()?;
    let recoveries = recoveries(&study);
    let cuts = study.power_cuts.into_iter();
    let cuts: Vec<PowerCut> = cuts.filter(|cut| wanted.configs.contains(&cut.config)).collect();
    let mut all = PowerCuts::of_all(&cuts);
    all.sort_by_key(|cuts| wanted.configs.iter().position(|name| name == cuts.config));
    let recovery_of =
        |cuts: &PowerCuts<'_>| recoveries.iter().find(|recovery| recovery.config == cuts.config);
    if is_json {
        let configs = all.iter().map(|cuts| in_json(cuts, recovery_of(cuts)));
        print::line(serde_json::to_string_pretty(&json!({
            "configs": configs.collect::<Vec<_>>(),
            "cuts": cuts,
        }))?);
    } else {
        all.iter().for_each(|cuts| tell(wanted, cuts, recovery_of(cuts)));
    }
    Ok(code(cuts.iter().all(PowerCut::is_survived)))
}

/// A verdict, as JSON.
#[derive(Serialize)]
struct Judged(
    #[serde(serialize_with = "assay_report::results_json::judgement::comparison")] JudgedComparison,
);

fn in_json(cuts: &PowerCuts<'_>, recovery: Option<&JudgedComparison>) -> serde_json::Value {
    json!({
        "config": cuts.config,
        "replica": cuts.replica,
        "cuts": cuts.cuts,
        "with_loss": cuts.with_loss,
        "at_most_one_in": cuts.one_in_at_least(),
        "share_with_loss": cuts.share_with_loss(),
        "torn_writes": cuts.torn_writes,
        "torn_pages": cuts.torn_pages,
        "doublewrite_pages": cuts.doublewrite_pages,
        "acknowledged_commits": cuts.acknowledged,
        "lost_commits": cuts.lost_commits,
        "recovery_ms": cuts.recovery_ms,
        "recovery": recovery.cloned().map(Judged),
    })
}

fn tell(wanted: &CutRequest<'_>, cuts: &PowerCuts<'_>, recovery: Option<&JudgedComparison>) {
    print::line(format_args!("{}: {}", cuts.config, words::result(cuts)));
    print::line(format_args!("  {}", words::seen(cuts)));
    if let Some(recovery) = recovery {
        print::line(format_args!("  time to recover: {}", words::recovery(recovery)));
    }
    let Some(first) = cuts.first_loss else { return };
    print::line(format_args!("  first loss: {}", words::lost(first)));
    match &first.aftermath {
        Some(aftermath) => tell_aftermath(aftermath),
        None => {
            if let Some(page) = first.survival.torn_pages.first() {
                print::line(format_args!("  torn there: {}", words::torn_page(page)));
            }
        }
    }
    if let Some(kept) = &first.kept_in {
        let kept = wanted.study.join(kept);
        print::line(format_args!("  its disk is kept in {}", kept.display()));
    }
}

/// Progress on standard error.
struct Progress {
    line: Living,
    /// Command that repeats a kept cut's recovery.
    again: String,
    study: PathBuf,
    going: Mutex<Going>,
}

/// Progress of all configurations together.
#[derive(Debug, Default)]
struct Going {
    done: u32,
    cuts: u32,
    with_loss: u32,
    here: u32,
    /// Time of the first configuration's beginning.
    began: Option<Instant>,
}

impl Progress {
    fn new(plan: &Path, study: &Path) -> Progress {
        let again = format!("assay powercut {} --out {} --repeat", word(plan), word(study));
        Progress { line: Living::new(), again, study: study.to_owned(), going: Mutex::default() }
    }
}

fn word(path: &Path) -> String {
    assay_base::text::shell_word(&path.display().to_string())
}

impl LoadProgress for Progress {
    fn say(&self, text: &str) {
        self.line.say(text);
    }

    fn loading(&self, loading: &PrepareProgress) {
        self.line.live(format_args!("  loading the tables: {} of {}", loading.done, loading.total));
    }
}

impl CutProgress for Progress {
    fn begin(&self, config: &str, done: u32, cuts: u32) {
        let mut going = self.going.lock();
        going.done += done;
        going.cuts += cuts;
        going.began.get_or_insert_with(Instant::now);
        let there = if done > 0 { format!(", {done} already made") } else { String::new() };
        self.line.say(format_args!("{config}: {}{there}", counted(cuts.into(), "power cut")));
    }

    fn differs(&self, config: &str, differing: &Differing) {
        let warning =
            warning::text(Events::Transactions, &Warning::GivenDiffers(differing.clone()));
        log::warn!("configuration {config}: {warning}");
    }

    fn cut(&self, cut: &PowerCut) {
        let mut going = self.going.lock();
        going.done += 1;
        going.here += 1;
        if let Some(kept) = &cut.kept_in {
            going.with_loss += 1;
            self.line.say(format_args!("  {}, {}", cut.config, words::lost(cut)));
            if let Some(aftermath) = &cut.aftermath {
                self.line.say(format_args!("    {}", words::put_back(aftermath)));
            }
            let kept = word(&self.study.join(kept));
            self.line.say(format_args!("    to recover it again: {} {kept}", self.again));
        } else if !cut.is_survived() {
            going.with_loss += 1;
        }
        let taken = going.began.map_or(0.0, |began| began.elapsed().as_secs_f64());
        let left = taken / f64::from(going.here) * f64::from(going.cuts - going.done);
        self.line.live(format_args!(
            "  {} of {} cuts, {} with a loss, {} left",
            going.done,
            going.cuts,
            going.with_loss,
            time(left)
        ));
    }
}
