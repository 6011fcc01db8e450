//! The report of a study: `report.html`, one file that opens offline; `results.json` and `tables/*.csv` for other
//! programs.
//!
//! Built from the store alone and written again as often as one likes. Charts are Plotly's, their traces and
//! layouts built here for Plotly.js, whose script is embedded; the page is a minijinja template with
//! everything escaped. The page carries a policy that forbids fetching anything, and is at most 10 MB whatever
//! the study's size. Every result and series is optional: what nobody recorded is left out or said to be missing.

mod alike;
pub mod beside;
mod brief;
mod capacity;
mod caveats;
mod charts;
pub mod claim_rows;
mod claimed;
mod compared;
mod conditions;
mod configs;
mod costed;
mod differences;
mod drive;
pub mod files;
mod flagged;
mod flow;
mod forest;
mod format;
mod from_memory;
mod headline;
mod input;
mod judged;
mod known_steps;
mod layout;
mod leading;
mod lives;
mod load;
mod markdown;
mod metrics;
mod model;
mod moments;
mod notes;
mod number;
mod numbers;
mod opening;
mod option_file;
mod page;
mod paid;
mod paper;
mod phases;
mod pool;
mod power_cuts;
mod rates;
mod repeat;
mod second;
mod series;
mod servers;
mod several;
mod sides;
mod single;
mod space;
mod statements;
mod stored;
mod sweeps;
mod tables;
mod tails;
mod template;
#[cfg(test)]
mod tests;
mod uneven_loss;
mod verdicts;
mod view;
pub mod words;
mod worth;
mod write_path;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;

use assay_judge::summary;
use assay_study::{Prices, Store, Study};

use judged::Judged;

/// Bytes for series in the page: 10 MB less Plotly's 4.7 MB and what the rest of a large study takes.
const SERIES_BUDGET: usize = 4_200_000;

/// What was written, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The page.
    pub html: PathBuf,
    /// The study as JSON.
    pub json: PathBuf,
    /// The directory of the CSV files.
    pub tables: PathBuf,
}

/// Writes the report of the study in `store` into `directory`, over an older one if there is one. Each file is
/// whole or not there.
///
/// # Errors
/// A store that cannot be read, or a directory that cannot be written.
pub fn write(store: &Store, directory: &Path) -> Result<Written> {
    write_as(store, directory, &Wishes::default())
}

/// What a person asks of a report beyond what the study holds.
#[derive(Debug, Default)]
pub struct Wishes<'a> {
    /// Prices that go before those of the study's plan.
    pub prices: Option<&'a Prices>,
    /// Bytes that the baseline writes to its device in a day, for how long drives last.
    pub writes_per_day: Option<f64>,
    /// A title in place of the plan's, on the page alone.
    pub title: Option<&'a str>,
    /// Notes in Markdown, for the page alone.
    pub notes: Option<&'a str>,
}

/// The same as one wishes it.
///
/// # Errors
/// As [`write`], and prices of a configuration that there is not.
pub fn write_as(store: &Store, directory: &Path, wishes: &Wishes<'_>) -> Result<Written> {
    assay_study::check_directory(directory)?;
    let tables = directory.join("tables");
    let is_new = std::fs::create_dir(&tables).is_ok();
    let written = write_all(store, directory, wishes);
    if written.is_err() && is_new {
        // Half of the tables of a study that cannot be read are of no use.
        let _ = std::fs::remove_dir_all(&tables);
    }
    written
}

fn write_all(store: &Store, directory: &Path, wishes: &Wishes<'_>) -> Result<Written> {
    let mut study = store.study()?;
    study.trials = study.trials.into_iter().map(assay_judge::sound_trial).collect();
    let groups = summary::groups(&study);
    let variables = variables(store, &study)?;
    let judgement = assay_judge::judgement(store, &study)?;
    let judged = Judged::of(
        (&study, &groups, &judgement),
        &variables,
        (wishes.prices, wishes.writes_per_day),
    )?;
    judged.lacking().iter().for_each(|line| log::warn!("{line}"));
    let written = Written {
        html: directory.join("report.html"),
        json: directory.join("results.json"),
        tables: directory.join("tables"),
    };
    let Kept { collector, moments, with_series } = write_series(store, &study, &written.tables)?;
    files::replace(&written.tables.join("runs.csv"), |file| {
        tables::write_trials(file, &study, &judged, &with_series)
    })?;
    files::replace(&written.tables.join("summary.csv"), |file| {
        tables::write_summary(file, &study, &judged, &groups)
    })?;
    write_judged(&judged, &written.tables)?;
    files::replace(&written.tables.join("latencies.csv"), |file| {
        tables::write_latencies(file, &study, store)
    })?;
    let printed = beside::with_derived(store, &study)?;
    let compared = assay_judge::paper::compared_with_paper(&printed);
    let claims = beside::standing(&printed);
    if study.paper.is_some() {
        let path = written.tables.join("paper.csv");
        files::replace(&path, |file| paper::write_table(file, &compared))?;
    }
    files::replace(&written.tables.join("verdicts.csv"), |file| {
        verdicts::write_verdicts(file, &judgement)
    })?;
    files::replace(&written.tables.join("stalls.csv"), |file| {
        verdicts::write_stalls(file, &judgement)
    })?;
    if !judgement.phases.of_trials.is_empty() {
        files::replace(&written.tables.join("phases.csv"), |file| {
            phases::write_table(file, &judgement)
        })?;
    }
    if !study.power_cuts.is_empty() {
        files::replace(&written.tables.join("power_cuts.csv"), |file| {
            power_cuts::write_table(file, &study)
        })?;
    }
    files::replace(&written.tables.join("steps.csv"), |file| {
        verdicts::write_steps(file, &judgement)
    })?;
    files::replace(&written.tables.join("statements.csv"), |file| {
        verdicts::write_statements(file, &judgement)
    })?;
    files::replace(&written.json, |file| {
        let found = tables::Found {
            compared: &compared,
            claims: &claims,
            judged: &judged,
            judgement: &judgement,
        };
        tables::write_results(file, &study, &groups, &found, &variables)
    })?;
    let charted: BTreeSet<&str> = second::charted().collect();
    let templates = second::templates(&collector.recorded());
    let input = input::Input {
        title: wishes.title.unwrap_or(&study.title),
        notes: wishes.notes.map(notes::to_html),
        distributions: &distributions(store, &study)?,
        study: &study,
        groups: &groups,
        compared: &compared,
        judged: &judged,
        judgement: &judgement,
        claims: &claims,
        variables: &variables,
        second_charts: templates,
        series: collector.embed(&charted, SERIES_BUDGET),
    };
    let html = words::events::named(&study, page::render(&input, &moments)?);
    let html = html.replace(assay_base::text::turns, "\u{fffd}");
    files::replace(&written.html, |file| Ok(file.write_all(html.as_bytes())?))?;
    Ok(written)
}

/// What the short forms of a study are made of.
struct Told {
    study: Study,
    variables: Vec<Vec<BTreeMap<String, String>>>,
    judgement: assay_judge::Judgement,
    judged: Judged,
}

/// Reads and judges a study.
fn told(store: &Store) -> Result<Told> {
    let mut study = store.study()?;
    study.trials = study.trials.into_iter().map(assay_judge::sound_trial).collect();
    let groups = summary::groups(&study);
    let variables = variables(store, &study)?;
    let judgement = assay_judge::judgement(store, &study)?;
    let judged = Judged::of((&study, &groups, &judgement), &variables, (None, None))?;
    Ok(Told { study, variables, judgement, judged })
}

/// A study in one line: the headline of its report, and what its runs came to.
///
/// # Errors
/// A store that cannot be read.
pub fn summary_line(store: &Store) -> Result<String> {
    let Told { study, variables, judgement, judged } = told(store)?;
    Ok(words::events::named(&study, brief::brief(&study, (&judgement, &judged), &variables)))
}

/// The result as Markdown, as the page offers it for a ticket.
///
/// # Errors
/// A store that cannot be read.
pub fn markdown(store: &Store) -> Result<String> {
    let Told { study, variables, judgement, judged } = told(store)?;
    let ran = alike::Ran { study: &study, variables: &variables };
    let caveats = caveats::of_study(ran, &judgement, &judged.durability);
    let told = markdown::markdown(&study, (&judgement, &judged), &variables, &caveats);
    Ok(words::events::named(&study, told))
}

/// Response times of the transactions of each run that has any.
fn distributions(store: &Store, study: &Study) -> Result<input::Distributions> {
    let mut found = input::Distributions::new();
    for trial in &study.trials {
        if let Some(buckets) = tails::of_transactions(store.histograms(trial.id)?) {
            found.insert(trial.id, buckets);
        }
    }
    Ok(found)
}

/// The tables of what the judge found.
fn write_judged(judged: &Judged, tables: &Path) -> Result<()> {
    files::replace(&tables.join("write_path.csv"), |file| {
        write_path::write_table(file, &judged.write_paths)
    })?;
    files::replace(&tables.join("endurance.csv"), |file| {
        worth::endurance::write(file, &judged.lives)
    })?;
    files::replace(&tables.join("servers.csv"), |file| {
        worth::servers::write(file, &judged.servers)
    })?;
    match &judged.costs {
        Some(costs) => {
            files::replace(&tables.join("cost.csv"), |file| worth::cost::write(file, costs))
        }
        None => Ok(()),
    }
}

/// What is kept of series that were written.
#[derive(Default)]
struct Kept {
    collector: series::Collector,
    /// Of each run.
    moments: Vec<moments::Moments>,
    /// Runs that have any.
    with_series: BTreeSet<i64>,
}

/// Writes every run's series and keeps what the page needs of them: no more than a run is held in full.
fn write_series(store: &Store, study: &Study, tables: &Path) -> Result<Kept> {
    let mut kept = Kept::default();
    for trial in &study.trials {
        let series = assay_judge::sound_series(store.series(trial.id)?);
        if !series.is_empty() {
            let path = tables.join("series").join(tables::series_file(trial));
            files::replace(&path, |file| tables::write_series(file, trial, &series))?;
            kept.with_series.insert(trial.id);
        }
        kept.moments.push(moments::of_trial(trial, &series));
        kept.collector.push(&series);
    }
    Ok(kept)
}

/// For each configuration, the distinct sets of server variables of its runs.
fn variables(store: &Store, study: &Study) -> Result<Vec<Vec<BTreeMap<String, String>>>> {
    let mut sets: Vec<Vec<BTreeMap<String, String>>> = vec![Vec::new(); study.configs.len()];
    for trial in &study.trials {
        let config = study.configs.iter().position(|config| config.name == trial.key.config);
        let Some(of_config) = config.and_then(|config| sets.get_mut(config)) else { continue };
        let set = store.variables(trial.id)?;
        if !set.is_empty() && !of_config.contains(&set) {
            of_config.push(set);
        }
    }
    Ok(sets)
}
