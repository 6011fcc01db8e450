//! `assay report STUDY`: writes a study's report again from its store.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::print;
use assay_base::{Size, text_file};
use assay_judge::Supplied;
use assay_report::{self, Analysis, ReportOptions};
use assay_study::Store;
use assay_study::prices::Prices;
use assay_system::changeable;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay report studies/demo
  assay report studies/demo --prices prices.toml   costs too (docs/cost.md)
  assay report studies/demo --writes-per-day 2T    how long drives last
  assay report studies/demo --title 'Old disk or new?' --notes why.md
  assay report studies/demo --summary              the result in one line
  assay report studies/demo --markdown             the result for a ticket")]
pub(crate) struct ReportArgs {
    /// The study's directory, as given to `assay run --out`
    pub(crate) study: PathBuf,
    /// Prices of servers, drives and power, in TOML [default: the plan's `prices`]
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
    /// Bytes that the server writes to its device per day, such as 500G or 2T, to compute how long
    /// drives
    /// last [default: one drive write per day]
    #[arg(long, value_name = "SIZE", value_parser = Size::parse)]
    pub(crate) writes_per_day: Option<Size>,
    /// Title of the page [default: the plan's `title`]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Markdown notes to show below the verdict; HTML in them is escaped
    #[arg(long, value_name = "FILE.md")]
    pub(crate) notes: Option<PathBuf>,
    /// Print the result in one line, for a ticket or a chat, and write nothing
    #[arg(long, conflicts_with_all = ["prices", "writes_per_day", "title", "notes"])]
    pub(crate) summary: bool,
    /// Print the result as Markdown, for a ticket: the answer, verdicts, crash safety and caveats;
    /// write nothing
    #[arg(long, conflicts_with_all = ["prices", "writes_per_day", "title", "notes", "summary"])]
    pub(crate) markdown: bool,
}

/// Writes `report.html`, `results.json` and `tables/` into the study's directory and prints their
/// paths.
///
/// # Errors
/// The study cannot be opened or written, or the prices or notes cannot be read.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode> {
    let prices = args.prices.as_deref().map(Prices::read).transpose()?;
    let notes = args.notes.as_deref().map(|path| text_file::read(path, "notes")).transpose()?;
    let store = Store::open(&args.study)?;
    let supplied = Supplied {
        prices: prices.as_ref(),
        writes_per_day: args.writes_per_day.map(|size| size.0 as f64),
    };
    let analysis = Analysis::of(&store, supplied)?;
    if args.summary {
        print::line(assay_report::summary_line(&analysis));
        return Ok(ExitCode::SUCCESS);
    }
    if args.markdown {
        print::line(assay_report::markdown(&analysis).trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(who) = changeable::itself(&args.study) {
        bail!(
            "{who}: what is written there could be led elsewhere; copy the study to a directory of \
             your own first, or print it with --markdown"
        );
    }
    let options = ReportOptions { title: args.title.as_deref(), notes: notes.as_deref() };
    let written = assay_report::write(&store, &analysis, &args.study, options)?;
    for path in [&written.html, &written.json, &written.tables] {
        print::line(path.display());
    }
    Ok(ExitCode::SUCCESS)
}
