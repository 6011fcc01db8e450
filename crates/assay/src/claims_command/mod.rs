//! `assay claims`: checks published figures for consistency and compares a study with them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use assay_claims::find;
use assay_claims::outcome::{self, CheckOutcome, ClaimVerdict};
use assay_claims::paper::ParsedPaper;
use assay_report::published as study;

mod show;
use crate::print;
use assay_report::published::rows::BesideView;
use assay_study::Store;

/// Check published figures for consistency, and compare them with measurements
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay claims                           list the papers and how they check out
  assay claims stec-2013                 its figures, and what follows from them
  assay claims my-paper.toml             the same for a paper of your own
  assay claims my-paper.toml --check     exit code 1 if a figure does not follow
  assay claims --study studies/stec      a study next to the paper it repeats
  assay claims --study studies/mine exflash-2015

A figure follows from others if some values that round to the printed digits yield it.

Exit codes:
  0  success
  1  with --check: a figure does not follow from the others
  2  error: no such paper, file or study, an invalid file, or a name in it
     that the study does not have")]
pub(crate) struct ClaimsArgs {
    /// A paper, or a TOML file [default: list all]
    name: Option<String>,
    /// Compare with the measurements of this study
    #[arg(long, value_name = "STUDY", conflicts_with = "check")]
    study: Option<PathBuf>,
    /// Exit with 1 if a figure does not follow; without a name, of all papers
    #[arg(long)]
    check: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the papers, one paper, or a study next to the paper it repeats.
///
/// # Errors
/// The paper does not exist, its file is invalid, or the study cannot be read.
pub(crate) fn run(args: &ClaimsArgs) -> Result<ExitCode> {
    if let Some(directory) = &args.study {
        compare_with_study(args, directory)?;
        return Ok(ExitCode::SUCCESS);
    }
    let papers = match &args.name {
        Some(named) => vec![find::find(named)?],
        None => find::all()?,
    };
    let with_outcomes = papers.into_iter().map(|paper| {
        let outcomes = outcome::all(&paper)?;
        Ok((paper, outcomes))
    });
    let papers: Vec<(ParsedPaper, Vec<CheckOutcome>)> = with_outcomes.collect::<Result<_>>()?;
    match (papers.as_slice(), &args.name, args.json) {
        ([(paper, outcomes)], Some(_), false) => show::paper(paper, outcomes),
        ([(paper, outcomes)], Some(_), true) => print::line(show::paper_json(paper, outcomes)),
        (papers, _, false) => show::list(papers),
        (papers, _, true) => print::line(show::list_json(papers)),
    }
    let is_wrong = |outcome: &CheckOutcome| outcome.verdict == ClaimVerdict::DoesNotFollow;
    let fails = args.check && papers.iter().any(|(_, outcomes)| outcomes.iter().any(is_wrong));
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn compare_with_study(args: &ClaimsArgs, directory: &Path) -> Result<()> {
    let store = Store::open(directory)?;
    let measured = store.study()?;
    let paper = match &args.name {
        Some(named) => find::find(named)?,
        None => find::of_study(measured.paper.as_ref())?,
    };
    let measured = study::with_derived_for(&store, measured, &paper)?;
    let beside = study::beside(&paper, &measured)?;
    match args.json {
        true => print::line(serde_json::to_value(BesideView::of(&beside))?),
        false => show::comparison(&beside),
    }
    Ok(())
}
