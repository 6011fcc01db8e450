//! The report of a study: `report.html`, one file that opens offline; `results.json` and
//! `tables/*.csv` for other programs.
//!
//! It follows from the store alone and can be written again at any time. Charts are Plotly's: their
//! traces and layouts are built here, and Plotly's script is embedded. The page is a minijinja
//! template with everything escaped. It carries a policy that forbids fetching anything, and is at
//! most 10 MB whatever the study's size. Every result and series is optional: a figure that was not
//! recorded is left out or reported as missing.
//!
//! Rooms, from below: [`figures`] and [`words`] make text of values; [`comparisons`] selects what
//! answers the plan's questions; [`published`] sets printed figures next to measured ones;
//! [`charts`], [`tables`] and [`first_screen`] are the parts of the page; [`page`] puts them
//! together, [`results_json`] writes the same for programs.

mod analysis;
mod charts;
mod comparisons;
mod figures;
pub mod files;
mod first_screen;
mod input;
mod page;
pub mod published;
pub mod results_json;
mod tables;
#[cfg(test)]
mod tests;
pub mod words;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;

use assay_judge::summary;
use assay_study::{Store, Study};

pub use analysis::Analysis;
use charts::{highlights, series, tails, timeline};
pub use comparisons::closed_loop::beside as closed_loop;
use first_screen::one_line;
use input::Input;
use page::PageInput;
use tables::{csv, effects, paper, phases, power_cuts, verdicts, worth, write_path};

/// Bytes for series in the page: 10 MB less Plotly's 4.7 MB and the rest of a large study.
const SERIES_BUDGET: usize = 4_200_000;

/// Paths of the files written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub html: PathBuf,
    pub json: PathBuf,
    /// The directory of the CSV files.
    pub tables: PathBuf,
}

/// Options for the page.
#[derive(Debug, Default, Clone, Copy)]
pub struct ReportOptions<'a> {
    /// Replaces the plan's title.
    pub title: Option<&'a str>,
    /// Notes in Markdown.
    pub notes: Option<&'a str>,
}

/// Writes the report of the analysed study in `store` into `directory` and replaces an older one.
/// Each file is written completely or not at all.
///
/// # Errors
/// Fails if the store cannot be read or the directory cannot be written.
pub fn write(
    store: &Store,
    analysis: &Analysis,
    directory: &Path,
    options: ReportOptions<'_>,
) -> Result<Written> {
    assay_study::check_directory(directory)?;
    let tables = directory.join("tables");
    let is_new = std::fs::create_dir(&tables).is_ok();
    let written = write_all(store, analysis, directory, options);
    if written.is_err() && is_new {
        // The tables are incomplete if the study cannot be read.
        let _ = std::fs::remove_dir_all(&tables);
    }
    written
}

fn write_all(
    store: &Store,
    analysis: &Analysis,
    directory: &Path,
    options: ReportOptions<'_>,
) -> Result<Written> {
    let study = &analysis.study;
    let groups = summary::groups(study);
    let input = Input::of(analysis, &groups);
    analysis.lacking().iter().for_each(|line| log::warn!("{line}"));
    let written = Written {
        html: directory.join("report.html"),
        json: directory.join("results.json"),
        tables: directory.join("tables"),
    };
    let RunSeries { collector, highlights, with_series } =
        write_series(store, study, &written.tables)?;
    write_tables(store, &input, &with_series, &written.tables)?;
    let printed = published::with_derived(store, study)?;
    let compared = assay_judge::paper::compared_with_paper(&printed);
    let claims = published::paper_match(&printed);
    if study.paper.is_some() {
        let path = written.tables.join("paper.csv");
        files::replace(&path, |file| paper::write_table(file, &compared))?;
    }
    files::replace(&written.json, |file| results_json::write(file, &input, &compared, &claims))?;
    let charted: BTreeSet<&str> = timeline::charted().collect();
    let templates = timeline::templates(study.events(), &collector.recorded());
    let page = PageInput {
        input,
        title: options.title.unwrap_or(&study.title),
        notes: options.notes.map(page::notes::to_html),
        distributions: &distributions(store, study)?,
        compared: &compared,
        claims: &claims,
        timeline: templates,
        series: collector.embed(study.events(), &charted, SERIES_BUDGET),
    };
    let html = page::render(&page, &highlights)?;
    let html = html.replace(assay_base::text::turns, "\u{fffd}");
    files::replace(&written.html, |file| Ok(file.write_all(html.as_bytes())?))?;
    Ok(written)
}

/// A study in one line: the headline of its report and the number of its runs.
#[must_use]
pub fn summary_line(analysis: &Analysis) -> String {
    one_line::one_line(analysis)
}

/// The result as Markdown, as the page offers it for a ticket.
#[must_use]
pub fn markdown(analysis: &Analysis) -> String {
    page::markdown::markdown(analysis, &page::caveats::of_study(analysis))
}

/// Response times of the transactions of each run that has any.
fn distributions(store: &Store, study: &Study) -> Result<tails::Distributions> {
    let mut found = tails::Distributions::new();
    for trial in &study.trials {
        if let Some(buckets) = tails::of_transactions(store.histograms(trial.id)?) {
            found.insert(trial.id, buckets);
        }
    }
    Ok(found)
}

fn write_tables(
    store: &Store,
    input: &Input<'_>,
    with_series: &BTreeSet<i64>,
    tables: &Path,
) -> Result<()> {
    let Input { study, groups, judgement, analysis, .. } = *input;
    let appraisal = &analysis.appraisal;
    let write = |name: &str, fill: &dyn Fn(&mut dyn std::io::Write) -> Result<()>| {
        files::replace(&tables.join(name), fill)
    };
    write("runs.csv", &|file| csv::write_trials(file, analysis, with_series))?;
    write("summary.csv", &|file| csv::write_summary(file, analysis, groups))?;
    write("write_path.csv", &|file| write_path::write_table(file, &appraisal.write_paths))?;
    write("endurance.csv", &|file| worth::endurance::write(file, &appraisal.endurance))?;
    write("servers.csv", &|file| worth::servers::write(file, &appraisal.servers))?;
    if let Some(costs) = &appraisal.costs {
        write("cost.csv", &|file| worth::cost::write(file, costs))?;
    }
    write("latencies.csv", &|file| csv::write_latencies(file, study, store))?;
    write("verdicts.csv", &|file| verdicts::write_verdicts(file, judgement))?;
    write("stalls.csv", &|file| verdicts::write_stalls(file, judgement))?;
    if !judgement.phases.of_trials.is_empty() {
        write("phases.csv", &|file| phases::write_table(file, judgement))?;
    }
    if !study.power_cuts.is_empty() {
        write("power_cuts.csv", &|file| power_cuts::write_table(file, study))?;
    }
    write("steps.csv", &|file| verdicts::write_steps(file, judgement))?;
    write("effects.csv", &|file| effects::write_effects(file, judgement))?;
    write("statements.csv", &|file| verdicts::write_statements(file, judgement))
}

/// Facts about series that are kept after they are written.
#[derive(Default)]
struct RunSeries {
    collector: series::Collector,
    /// One for each run.
    highlights: Vec<highlights::Highlights>,
    /// Ids of runs with series.
    with_series: BTreeSet<i64>,
}

/// Writes the series of every run and keeps what the page needs of them: only one run is in memory
/// at a time.
fn write_series(store: &Store, study: &Study, tables: &Path) -> Result<RunSeries> {
    let mut kept = RunSeries::default();
    for trial in &study.trials {
        let series = assay_judge::sound_series(store.series(trial.id)?);
        if !series.is_empty() {
            let path = tables.join("series").join(csv::series_file(trial));
            files::replace(&path, |file| csv::write_series(file, trial, &series))?;
            kept.with_series.insert(trial.id);
        }
        kept.highlights.push(highlights::of_trial(study.events(), trial, &series));
        kept.collector.push(&series);
    }
    Ok(kept)
}
