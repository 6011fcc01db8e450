//! `assay report STUDY`: writes the report of a study again from its store.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use crate::judge::prices::Prices;
use crate::print;
use crate::report;
use crate::store::Store;

/// What was typed after `assay report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay report studies/demo
  assay report studies/demo --prices prices.toml   costs too (docs/cost.md)")]
pub(crate) struct ReportArgs {
    /// The study's folder, as given to `assay run --out`
    pub(crate) study: PathBuf,
    /// What servers, drives and power cost, in TOML [default: the plan's `prices`]
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
}

/// Writes `report.html`, `results.json` and `tables/` into the study's folder and prints where they are.
///
/// # Errors
/// A folder without a study, or one that cannot be written; prices that are none.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode> {
    let prices = args.prices.as_deref().map(Prices::read).transpose()?;
    let store = Store::open(&args.study)?;
    let written = report::write_priced(&store, &args.study, prices.as_ref())?;
    for path in [&written.html, &written.json, &written.tables] {
        print::line(path.display());
    }
    Ok(ExitCode::SUCCESS)
}
