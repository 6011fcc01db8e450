//! Rows of CSV files; `tables/runs.csv`, `summary.csv` and `latencies.csv`, and one
//! `tables/series/*.csv` for each run with a column for each series. Columns are named as results
//! are stored.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Result, ensure};

use crate::analysis::Analysis;
use crate::words;
use assay_judge::summary::{self, RepeatGroup, RepeatStatistics};
use assay_study::{Events, Histogram, RunState, Series, Store, Study, Trial};

/// First characters by which spreadsheets take a cell for a formula, the wide forms of East Asian
/// scripts too (owasp.org, "CSV Injection").
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// A text that no spreadsheet runs: an apostrophe leads one that would be a formula. Numbers stay
/// numbers.
fn inert(field: String) -> String {
    let is_text = field.parse::<f64>().is_err();
    if is_text && field.starts_with(FORMULA) { format!("'{field}") } else { field }
}

/// Writes one row, quoted where it must be (RFC 4180).
pub(crate) fn write_row(
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

pub(crate) fn result_names(study: &Study) -> BTreeSet<&str> {
    study.trials.iter().flat_map(|trial| trial.results.keys().map(String::as_str)).collect()
}

/// Its text, or none; none too of what is no number, which is not there either.
pub(crate) fn optional(value: Option<impl ToString>) -> String {
    let text = value.map(|value| value.to_string()).unwrap_or_default();
    if ["NaN", "inf", "-inf"].contains(&text.as_str()) { String::new() } else { text }
}

fn coordinates(trial: &Trial) -> [String; 4] {
    let key = &trial.key;
    [key.config.clone(), key.workload.clone(), key.threads.to_string(), key.repeat.to_string()]
}

/// Name of a run's series file, or nothing if it has none.
pub(crate) fn series_file(trial: &Trial) -> String {
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

/// `runs.csv`: a row a run with all its results. `with_series` holds the runs that have a series
/// file.
pub(crate) fn write_trials(
    file: &mut dyn Write,
    analysis: &Analysis,
    with_series: &BTreeSet<i64>,
) -> Result<()> {
    let study = &analysis.study;
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
            words::warning::of_trial(Events::Transactions, trial).join("; "),
            optional(trial.started_at.as_ref()),
            optional(trial.ended_at.as_ref()),
            optional(trial.window.map(|window| window.from_s)),
            optional(trial.window.map(|window| window.to_s)),
            if with_series.contains(&trial.id) {
                format!("series/{}", series_file(trial))
            } else {
                String::new()
            },
            label_of(analysis, &trial.key.config),
        ]);
        row.extend(names.iter().map(|name| optional(trial.results.get(*name))));
        write_row(file, row)?;
    }
    Ok(())
}

/// Label beside figures of the configuration of this name.
fn label_of(analysis: &Analysis, config: &str) -> String {
    let place = analysis.study.configs.iter().position(|one| one.name == config);
    place.map_or("", |place| analysis.label(place)).to_owned()
}

/// `summary.csv`: a row a configuration × workload × threads; of each result the mean, lowest and
/// highest repeat.
pub(crate) fn write_summary(
    file: &mut dyn Write,
    analysis: &Analysis,
    groups: &[RepeatGroup<'_>],
) -> Result<()> {
    let study = &analysis.study;
    let names = result_names(study);
    let head = ["config", "workload", "threads", "repeats_done", "repeats_failed", "durability"];
    let of_result = names
        .iter()
        .flat_map(|name| [(*name).into(), format!("{name}_low"), format!("{name}_high")]);
    write_row(file, head.map(String::from).into_iter().chain(of_result))?;
    for group in groups {
        let failed = group.trials.iter().filter(|trial| trial.state == RunState::Failed).count();
        let mut row = vec![
            study.configs[group.config].name.clone(),
            study.workloads[group.workload].name.clone(),
            group.threads.to_string(),
            group.done().count().to_string(),
            failed.to_string(),
            analysis.label(group.config).to_owned(),
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
pub(crate) fn stored(group: &RepeatGroup<'_>, name: &str) -> Option<RepeatStatistics> {
    group.figure(|trial| summary::result(trial, name))
}

/// `series/*.csv`: a row a second. The run's coordinates lead each row, so that files can be put
/// together.
pub(crate) fn write_series(file: &mut dyn Write, trial: &Trial, series: &[Series]) -> Result<()> {
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

/// Cells of a table of seconds for each sample: a probe that reads once in a minute leaves most of
/// its column empty.
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
pub(crate) fn write_latencies(file: &mut dyn Write, study: &Study, store: &Store) -> Result<()> {
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
