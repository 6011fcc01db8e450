//! `assay report STUDY`: writes the report of a study again from its store.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use crate::print;
use crate::report;
use crate::store::Store;

/// What was typed after `assay report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  assay report studies/demo")]
pub(crate) struct ReportArgs {
    /// The study's folder, as given to `assay run --out`
    pub(crate) study: PathBuf,
}

/// Writes `report.html`, `results.json` and `tables/` into the study's folder and prints where they are.
///
/// # Errors
/// A folder without a study, or one that cannot be written.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode> {
    let store = Store::open(&args.study)?;
    let written = report::write(&store, &args.study)?;
    for path in [&written.html, &written.json, &written.tables] {
        print::line(path.display());
    }
    Ok(ExitCode::SUCCESS)
}
