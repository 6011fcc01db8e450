//! `assay demo`: runs its plan, or a plan without disks of its own if emulated drives cannot be
//! attached.
//!
//! Guarantee: missing requirements are printed in one line before anything is created, and a report
//! is written all the same.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;

use super::{CommonArgs, OfPlan, run_plan};
use crate::print;
use assay_lab::run::check;
use assay_plan::{Experiment, Plan};
use assay_study::Store;

/// Run a small study of an emulated drive that compresses and a plain one, and write its report
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay demo                                about six minutes
  assay run demo                            all of it, in about 40 minutes
  assay demo --dry-run                      print what it would do
  assay run disk --location /mnt/new-disk   on a real disk instead")]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    common: CommonArgs,
}

/// Runs the demo's plan, or its substitute, in a directory of its own.
pub(crate) fn demo(args: &DemoArgs) -> Result<ExitCode> {
    let plan = Plan::demo()?;
    let Some(missing) = check::lacks(&Experiment::of(plan.plan.clone())?) else {
        let code = run_plan(&OfPlan, (plan, &[]), &args.study("assay-demo")?, &args.common)?;
        args.point_to("your own disk, in eight minutes: assay run disk --location DIRECTORY");
        return Ok(code);
    };
    print::note(format_args!("the demo's emulated drives cannot be attached; {missing}"));
    let instead = Plan::demo_in_a_directory()?;
    let answered = instead.plan.question.clone().unwrap_or_default();
    let open = plan.plan.question.unwrap_or_default();
    print::note(format_args!("answered here, on the server's own disk: {answered}"));
    print::note(format_args!("not answered without what is missing: {open}"));
    let code =
        run_plan(&OfPlan, (instead, &[]), &args.study("assay-demo-directory")?, &args.common)?;
    args.point_to("another disk, in four minutes: assay run doublewrite --location DIRECTORY");
    Ok(code)
}

impl DemoArgs {
    fn study(&self, name: &str) -> Result<PathBuf> {
        let given = self.common.over.out.clone();
        given.map_or_else(|| unfinished(Path::new("."), name), Ok)
    }

    /// Prints the last line after a report: the next command to try.
    fn point_to(&self, next: &str) {
        if !self.common.dry_run {
            print::line(format_args!("next: {next}"));
        }
    }
}

/// Returns `name`, or the first of `name-2`, … whose study is not finished, so that a second `assay
/// demo` runs again.
fn unfinished(parent: &Path, name: &str) -> Result<PathBuf> {
    let names = std::iter::once(name.to_owned()).chain((2..).map(|n| format!("{name}-{n}")));
    for study in names.map(|name| parent.join(name)) {
        if !study.exists() || !Store::open(&study)?.is_finished()? {
            return Ok(study);
        }
    }
    None.context("no free name for the demo's directory; give one with --out")
}
