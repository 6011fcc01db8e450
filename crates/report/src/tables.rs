//! The study for other programs: `results.json`, `tables/runs.csv`, `summary.csv` and `latencies.csv`, and one
//! `tables/series/*.csv` for each run with a column for each series. Columns are named as results are stored.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::beside::Standing;
use assay_base::version::version;
use assay_judge::Judgement;
use assay_judge::reconcile::Pair;
use assay_study::{Histogram, Series, State, Store, Study, Trial};

use super::claim_rows::BesideView;
use super::costed::Uncosted;
use super::judged::{Judged, OfGroup};
use super::lives::Lives;
use super::servers::Servers;
use crate::words;
use crate::words::durability::DurabilityView;
use crate::words::endurance::{self, RatedView};
use crate::words::json::JudgementView;
use crate::words::paper::{self, ComparedView};
use crate::words::write_path::WritePathView;
use assay_judge::paper::Compared;
use assay_judge::summary::{self, Figure, Group};

/// Version of `results.json`.
const FORMAT: u32 = 1;

/// First characters by which spreadsheets take a cell for a formula, the wide forms of East Asian scripts too
/// (owasp.org, "CSV Injection").
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// A text that no spreadsheet runs: an apostrophe leads one that would be a formula. Numbers stay numbers.
fn inert(field: String) -> String {
    let is_text = field.parse::<f64>().is_err();
    if is_text && field.starts_with(FORMULA) { format!("'{field}") } else { field }
}

/// Writes one row, quoted where it must be (RFC 4180).
pub(super) fn write_row(
    file: &mut dyn Write,
    fields: impl IntoIterator<Item = String>,
) -> Result<()> {
    let quoted = |field: String| {
        let field = inert(field);
        if field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field
        }
    };
    let row: Vec<String> = fields.into_iter().map(quoted).collect();
    Ok(writeln!(file, "{}", row.join(","))?)
}

fn result_names(study: &Study) -> BTreeSet<&str> {
    study.trials.iter().flat_map(|trial| trial.results.keys().map(String::as_str)).collect()
}

/// Its text, or none; none too of what is no number, which is not there either.
pub(super) fn optional(value: Option<impl ToString>) -> String {
    let text = value.map(|value| value.to_string()).unwrap_or_default();
    if ["NaN", "inf", "-inf"].contains(&text.as_str()) { String::new() } else { text }
}

fn coordinates(trial: &Trial) -> [String; 4] {
    let key = &trial.key;
    [key.config.clone(), key.workload.clone(), key.threads.to_string(), key.repeat.to_string()]
}

/// Name of a run's series file, or nothing if it has none.
pub(super) fn series_file(trial: &Trial) -> String {
    let plain = |text: &str| -> String {
        let mut name: String = text
            .chars()
            .map(|one| if one.is_ascii_alphanumeric() || "_-".contains(one) { one } else { '_' })
            .collect();
        name.truncate(40);
        name
    };
    let key = &trial.key;
    format!(
        "{:04}-{}-{}-{}-{}.csv",
        trial.id,
        plain(&key.config),
        plain(&key.workload),
        key.threads,
        key.repeat
    )
}

/// `runs.csv`: a row a run with all its results. `with_series` holds the runs that have a series file.
pub(super) fn write_trials(
    file: &mut dyn Write,
    study: &Study,
    judged: &Judged,
    with_series: &BTreeSet<i64>,
) -> Result<()> {
    let names = result_names(study);
    let head = [
        "config",
        "workload",
        "threads",
        "repeat",
        "position",
        "state",
        "reason",
        "warnings",
        "started_at",
        "ended_at",
        "window_from_s",
        "window_to_s",
        "series_file",
        "durability",
    ];
    write_row(file, head.iter().chain(&names).map(ToString::to_string))?;
    for trial in &study.trials {
        let mut row = coordinates(trial).to_vec();
        row.extend([
            trial.position.to_string(),
            trial.state.word().into(),
            optional(trial.reason.as_ref()),
            words::warning::of_trial(trial).join("; "),
            optional(trial.started_at.as_ref()),
            optional(trial.ended_at.as_ref()),
            optional(trial.window.map(|window| window.from_s)),
            optional(trial.window.map(|window| window.to_s)),
            if with_series.contains(&trial.id) {
                format!("series/{}", series_file(trial))
            } else {
                String::new()
            },
            label_of(study, judged, &trial.key.config),
        ]);
        row.extend(names.iter().map(|name| optional(trial.results.get(*name))));
        write_row(file, row)?;
    }
    Ok(())
}

/// What stands beside figures of the configuration of this name.
fn label_of(study: &Study, judged: &Judged, config: &str) -> String {
    let place = study.configs.iter().position(|one| one.name == config);
    place.map_or("", |place| judged.label(place)).to_owned()
}

/// `summary.csv`: a row a configuration × workload × threads; of each result the mean, lowest and highest repeat.
pub(super) fn write_summary(
    file: &mut dyn Write,
    study: &Study,
    judged: &Judged,
    groups: &[Group<'_>],
) -> Result<()> {
    let names = result_names(study);
    let head = ["config", "workload", "threads", "repeats_done", "repeats_failed", "durability"];
    let of_result = names
        .iter()
        .flat_map(|name| [(*name).into(), format!("{name}_low"), format!("{name}_high")]);
    write_row(file, head.map(String::from).into_iter().chain(of_result))?;
    for group in groups {
        let failed = group.trials.iter().filter(|trial| trial.state == State::Failed).count();
        let mut row = vec![
            study.configs[group.config].name.clone(),
            study.workloads[group.workload].name.clone(),
            group.threads.to_string(),
            group.done().count().to_string(),
            failed.to_string(),
            judged.label(group.config).to_owned(),
        ];
        row.extend(names.iter().flat_map(|name| {
            let figure = stored(group, name);
            [
                optional(figure.as_ref().map(|figure| figure.mean)),
                optional(figure.as_ref().map(|figure| figure.low)),
                optional(figure.map(|figure| figure.high)),
            ]
        }));
        write_row(file, row)?;
    }
    Ok(())
}

/// A result as it is stored, over the repeats.
fn stored(group: &Group<'_>, name: &str) -> Option<Figure> {
    group.figure(|trial| summary::result(trial, name))
}

/// `series/*.csv`: a row a second. The run's coordinates lead each row, so that files can be put together.
pub(super) fn write_series(file: &mut dyn Write, trial: &Trial, series: &[Series]) -> Result<()> {
    let head = ["config", "workload", "threads", "repeat", "second"].map(String::from);
    write_row(file, head.into_iter().chain(series.iter().map(|one| one.name.clone())))?;
    let seconds: BTreeSet<u32> =
        series.iter().flat_map(|one| one.points.iter().map(|(second, _)| *second)).collect();
    check_room(trial, series, seconds.len())?;
    let mut points: Vec<_> = series.iter().map(|one| one.points.iter().peekable()).collect();
    for second in seconds {
        let of_second =
            points.iter_mut().map(|its| Some(its.next_if(|(its, _)| *its == second)?.1));
        let row = coordinates(trial).into_iter().chain([second.to_string()]);
        write_row(file, row.chain(of_second.map(optional)))?;
    }
    Ok(())
}

/// Cells of a table of seconds for each sample: a probe that reads once in a minute leaves most of its column empty.
const CELLS_PER_SAMPLE: usize = 60;

/// Samples that share no second would make a table as large as their number squared.
fn check_room(trial: &Trial, series: &[Series], seconds: usize) -> Result<()> {
    let samples: usize = series.iter().map(|one| one.points.len()).sum();
    let most = samples.saturating_mul(CELLS_PER_SAMPLE).max(1_000_000);
    ensure!(
        seconds.saturating_mul(series.len()) <= most,
        "run {} is damaged: its {} series hold {samples} samples that share no seconds",
        trial.key,
        series.len()
    );
    Ok(())
}

/// `latencies.csv`: every latency distribution of every run, a row a bucket that is not empty.
pub(super) fn write_latencies(file: &mut dyn Write, study: &Study, store: &Store) -> Result<()> {
    let columns =
        ["config", "workload", "threads", "repeat", "kind", "clock", "latency_ns", "count"];
    write_row(file, columns.map(String::from))?;
    for trial in &study.trials {
        for Histogram { kind, clock, buckets } in store.histograms(trial.id)? {
            for (latency_ns, count) in buckets {
                let words = [kind.word(), clock.word()].map(str::to_owned);
                let bucket = words.into_iter().chain([latency_ns, count].map(|n| n.to_string()));
                write_row(file, coordinates(trial).into_iter().chain(bucket))?;
            }
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct Results<'a> {
    format: u32,
    written_by: String,
    #[serde(flatten)]
    study: &'a Study,
    summary: Vec<Summary<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compared_with_paper: Vec<ComparedView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claims: Option<BesideView<'a>>,
    judgement: JudgementView<'a>,
    durability: BTreeMap<&'a str, DurabilityView>,
    factors: &'a [Pair],
    write_path: Vec<WritePathView<'a>>,
    endurance: &'a [Lives],
    rated: BTreeMap<&'a str, RatedView>,
    servers: &'a [Servers],
    #[serde(skip_serializing_if = "Option::is_none")]
    costs: Option<&'a [OfGroup]>,
    /// Loads of configurations whose throughput makes no cost, and why.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    uncosted: &'a [Uncosted],
    variables: BTreeMap<&'a str, &'a BTreeMap<String, String>>,
}

#[derive(Serialize)]
struct Summary<'a> {
    config: &'a str,
    workload: &'a str,
    threads: u32,
    repeats_done: usize,
    durability: &'a str,
    results: BTreeMap<&'a str, Spread>,
}

#[derive(Serialize)]
struct Spread {
    mean: f64,
    low: f64,
    high: f64,
}

/// What was made of the study beside its summary.
pub(super) struct Found<'a> {
    /// Beside what a paper printed.
    pub(super) compared: &'a [Compared],
    /// Beside every figure that claims have of it.
    pub(super) claims: &'a Standing,
    /// Of its configurations and runs, by the judge.
    pub(super) judged: &'a Judged,
    /// Of what differs between them.
    pub(super) judgement: &'a Judgement,
}

/// `results.json`: the study, its summary, what is judged of it, and the variables of each configuration's server.
/// `variables` holds, for each configuration, every set seen; the first is written.
pub(super) fn write_results(
    file: &mut dyn Write,
    study: &Study,
    groups: &[Group<'_>],
    found: &Found<'_>,
    variables: &[Vec<BTreeMap<String, String>>],
) -> Result<()> {
    let names = result_names(study);
    let spread = |figure: Figure| Spread { mean: figure.mean, low: figure.low, high: figure.high };
    let summary = groups.iter().map(|group| Summary {
        config: &study.configs[group.config].name,
        workload: &study.workloads[group.workload].name,
        threads: group.threads,
        repeats_done: group.done().count(),
        durability: found.judged.label(group.config),
        results: names
            .iter()
            .filter_map(|name| Some((*name, spread(stored(group, name)?))))
            .collect(),
    });
    let results = Results {
        format: FORMAT,
        written_by: format!("assay {}", version()),
        study,
        summary: summary.collect(),
        compared_with_paper: paper::view(found.compared),
        claims: match found.claims {
            Standing::Beside(beside) => Some(BesideView::of(beside)),
            _ => None,
        },
        judgement: JudgementView::of(found.judgement),
        durability: study
            .configs
            .iter()
            .zip(&found.judged.durability)
            .map(|(config, durability)| (config.name.as_str(), DurabilityView::of(durability)))
            .collect(),
        factors: &found.judged.factors,
        write_path: found.judged.write_paths.iter().map(WritePathView::of).collect(),
        endurance: &found.judged.lives,
        rated: endurance::view(&found.judged.rated),
        servers: &found.judged.servers,
        costs: found.judged.costs.as_deref(),
        uncosted: &found.judged.uncosted,
        variables: study
            .configs
            .iter()
            .zip(variables)
            .filter_map(|(config, sets)| Some((config.name.as_str(), sets.first()?)))
            .collect(),
    };
    serde_json::to_writer_pretty(&mut *file, &results)?;
    Ok(writeln!(file)?)
}
