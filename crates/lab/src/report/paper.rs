//! What was measured beside what a paper printed: by how much one arm is above another, with the counters that explain it.
//!
//! The figure is that of Percona's white paper of 2020 (caption of Table 1): `(arm − against) / against × 100` of each thread
//! count, and the plain mean of those. Of repeats the mean is taken first. A thread count that one side lacks is left out, and
//! said.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::judge::papers::{RelativeDifferences, relative_differences};
use crate::store::{Comparison, Printed, State, Study, Workload};

use super::format::{figure, plural};
use super::metrics::Metric;
use super::summary::{self, Group};
use super::tables::{optional, write_row};

/// One comparison of the paper.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Compared {
    /// Where it is printed, and what it is called there.
    pub(crate) table: String,
    /// The result compared.
    pub(crate) metric: String,
    /// The arm whose gain it is.
    pub(crate) arm: String,
    /// The arm that it is measured by.
    pub(crate) against: String,
    /// A row for each workload on each data set that both arms were planned for, or of which something is printed.
    pub(crate) rows: Vec<Row>,
}

/// One workload on one data set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    /// The data set, if there are any.
    pub(crate) data_set: Option<String>,
    /// The workload.
    pub(crate) workload: String,
    /// What was measured; nothing where no thread count has both arms.
    pub(crate) measured: Option<RelativeDifferences>,
    /// What is printed, in percent.
    pub(crate) printed_percent: Option<f64>,
    /// What is printed in words, or how the figure follows from what is.
    pub(crate) printed_says: Option<String>,
    /// Counters of the arm, and of what it is measured by.
    pub(crate) counters: Option<[Counters; 2]>,
    /// What is missing or marked.
    pub(crate) remarks: Vec<String>,
}

/// What explains a difference: means over the thread counts compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Counters {
    /// Bytes to media for each transaction: of a model to its flash, else to the device.
    pub(crate) media_write_bytes_per_transaction: Option<f64>,
    /// Bytes to media for each byte from the host, compression included.
    pub(crate) drive_write_amplification: Option<f64>,
    /// Page requests that the buffer pool answered.
    pub(crate) innodb_hit_ratio: Option<f64>,
    /// Commands that our own processors made late.
    pub(crate) model_late_percent: Option<f64>,
    /// User and system time of all processors.
    pub(crate) cpu_percent: Option<f64>,
}

/// Every comparison that the study's plan asks for.
pub(super) fn compared(study: &Study, groups: &[Group<'_>]) -> Vec<Compared> {
    let comparisons = study.paper.iter().flat_map(|paper| &paper.comparisons);
    comparisons.map(|comparison| of_comparison(study, groups, comparison)).collect()
}

fn of_comparison(study: &Study, groups: &[Group<'_>], comparison: &Comparison) -> Compared {
    let workloads = study.workloads.iter().enumerate();
    let rows = workloads.filter_map(|(place, workload)| {
        let of_arm = |arm: &str| -> Vec<&Group<'_>> {
            let its = |group: &&Group<'_>| {
                group.workload == place && study.arms.get(group.arm).is_some_and(|a| a.name == arm)
            };
            groups.iter().filter(its).collect()
        };
        let sides = [of_arm(&comparison.arm), of_arm(&comparison.against)];
        // With one side alone there is nothing to compare, but of what is printed it is said.
        let is_told = !sides.iter().any(Vec::is_empty) || printed(comparison, workload).is_some();
        is_told.then(|| row(comparison, workload, &sides))
    });
    Compared {
        table: comparison.table.clone(),
        metric: comparison.metric.clone(),
        arm: comparison.arm.clone(),
        against: comparison.against.clone(),
        rows: rows.collect(),
    }
}

fn row(comparison: &Comparison, workload: &Workload, sides: &[Vec<&Group<'_>>; 2]) -> Row {
    let value = |group: &Group<'_>| mean_of(group, &comparison.metric);
    let at = |side: &[&Group<'_>], threads: u32| {
        side.iter().find(|group| group.threads == threads).and_then(|group| value(group))
    };
    let counts = summary::threads_of(sides.iter().flatten().copied());
    let both = counts
        .iter()
        .filter_map(|&threads| Some((threads, at(&sides[0], threads)?, at(&sides[1], threads)?)));
    let measured = relative_differences(&both.collect::<Vec<_>>());
    let by_threads = measured.as_ref().map_or(&[][..], |one| &one.by_threads);
    let compared: Vec<u32> = by_threads.iter().map(|(threads, _)| *threads).collect();
    let printed = printed(comparison, workload);
    Row {
        data_set: workload.data_set.clone(),
        workload: workload.short_name().to_owned(),
        counters: measured.is_some().then(|| sides.each_ref().map(|one| counters(one, &compared))),
        printed_percent: printed.and_then(|one| one.percent),
        printed_says: printed.and_then(|one| one.says.clone()),
        remarks: remarks(comparison, sides, &counts, &compared),
        measured,
    }
}

fn printed<'a>(comparison: &'a Comparison, workload: &Workload) -> Option<&'a Printed> {
    comparison
        .printed
        .iter()
        .find(|one| one.data_set == workload.data_set && one.workload == workload.short_name())
}

/// A stored result over the repeats.
fn mean_of(group: &Group<'_>, name: &str) -> Option<f64> {
    let metric = Metric { name, plus: None, head: "", unit: "", scale: 1.0, title: "" };
    group.figure(&metric).map(|figure| figure.mean)
}

/// Fewer bytes a transaction than a block are no writing.
const WRITTEN_LEAST_BYTES: f64 = assay_drive::BLOCK_BYTES as f64;

fn counters(side: &[&Group<'_>], threads: &[u32]) -> Counters {
    let over = |value: &dyn Fn(&Group<'_>) -> Option<f64>| {
        let its = side.iter().filter(|group| threads.contains(&group.threads));
        let values: Vec<f64> = its.filter_map(|group| value(group)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let mean = |name: &str| over(&|group| mean_of(group, name));
    let media = mean("media_write_bytes_per_transaction");
    Counters {
        media_write_bytes_per_transaction: media.or_else(|| mean("write_bytes_per_transaction")),
        // What was hardly written has no amplification to speak of: a few kilobytes of tables make any figure of it.
        drive_write_amplification: mean("drive_write_amplification")
            .filter(|one| *one > 0.0 && media.is_none_or(|bytes| bytes >= WRITTEN_LEAST_BYTES)),
        innodb_hit_ratio: mean("innodb_hit_ratio"),
        model_late_percent: mean("model_late_percent"),
        cpu_percent: over(&|group| {
            Some(mean_of(group, "cpu_user_percent")? + mean_of(group, "cpu_system_percent")?)
        }),
    }
}

/// What was left out of the mean and why, and how many cells in it are marked.
fn remarks(
    comparison: &Comparison,
    sides: &[Vec<&Group<'_>>; 2],
    counts: &[u32],
    compared: &[u32],
) -> Vec<String> {
    let names = [&comparison.arm, &comparison.against];
    match sides.each_ref().map(Vec::is_empty) {
        [true, true] => return vec!["neither is run on it".into()],
        [true, false] => return vec![format!("only {} is run on it", names[1])],
        [false, true] => return vec![format!("only {} is run on it", names[0])],
        [false, false] => {}
    }
    let mut remarks = Vec::new();
    for &threads in counts.iter().filter(|threads| !compared.contains(threads)) {
        for (side, name) in sides.iter().zip(names) {
            let group = side.iter().find(|group| group.threads == threads);
            if let Some(why) = why_missing(group.copied(), &comparison.metric) {
                remarks
                    .push(format!("{} left out: {name} {why}", plural(threads as usize, "thread")));
            }
        }
    }
    let cells = || {
        let groups = sides.iter().flatten().filter(|group| compared.contains(&group.threads));
        groups.flat_map(|group| group.done())
    };
    let marked = cells().filter(|cell| !cell.marks.is_empty()).count();
    if marked > 0 {
        remarks.push(format!("{marked} of {} marked", plural(cells().count(), "cell")));
    }
    remarks
}

fn why_missing(group: Option<&Group<'_>>, metric: &str) -> Option<String> {
    let Some(group) = group else { return Some("is not run with so many".into()) };
    if mean_of(group, metric).is_some() {
        return None;
    }
    let states = || group.cells.iter().map(|cell| cell.state);
    Some(match () {
        () if states().any(|state| state == State::Done) => format!("has no {metric}"),
        () if states().any(|state| state == State::Failed) => "failed".into(),
        () => "was not run yet".into(),
    })
}

/// `paper.csv`: a row a comparison × workload × data set.
pub(super) fn write_table(file: &mut dyn Write, tables: &[Compared]) -> Result<()> {
    const HEAD: &str = "table,metric,arm,against,data_set,workload,measured_percent,threads_lowest,threads_lowest_percent,\
        threads_highest,threads_highest_percent,threads_compared,printed_percent,printed_says";
    const COUNTERS: [&str; 5] = [
        "media_write_bytes_per_transaction",
        "drive_write_amplification",
        "innodb_hit_ratio",
        "model_late_percent",
        "cpu_percent",
    ];
    let of_side = |side: &'static str| COUNTERS.iter().map(move |name| format!("{side}_{name}"));
    let head = HEAD.split(',').map(str::to_owned);
    let counters = of_side("arm").chain(of_side("against"));
    write_row(file, head.chain(counters).chain(["remarks".to_owned()]))?;
    for table in tables {
        for row in &table.rows {
            write_row(file, fields(table, row))?;
        }
    }
    Ok(())
}

fn fields(table: &Compared, row: &Row) -> Vec<String> {
    let measured = row.measured.as_ref();
    let by_threads = measured.map_or(&[][..], |one| &one.by_threads);
    let mut fields = vec![
        table.table.clone(),
        table.metric.clone(),
        table.arm.clone(),
        table.against.clone(),
        optional(row.data_set.as_ref()),
        row.workload.clone(),
        optional(measured.map(|one| one.mean_percent)),
        optional(by_threads.first().map(|one| one.0)),
        optional(by_threads.first().map(|one| one.1)),
        optional(by_threads.last().map(|one| one.0)),
        optional(by_threads.last().map(|one| one.1)),
        by_threads.len().to_string(),
        optional(row.printed_percent),
        optional(row.printed_says.as_ref()),
    ];
    for side in 0..2 {
        let counters = row.counters.as_ref().and_then(|both| both.get(side));
        let all = counters.map_or([None; 5], |one| {
            [
                one.media_write_bytes_per_transaction,
                one.drive_write_amplification,
                one.innodb_hit_ratio,
                one.model_late_percent,
                one.cpu_percent,
            ]
        });
        fields.extend(all.map(optional));
    }
    fields.push(row.remarks.join("; "));
    fields
}

/// A comparison as the page prints it.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    table: String,
    metric: String,
    arm: String,
    against: String,
    has_data_sets: bool,
    rows: Vec<ShownRow>,
}

/// A row of texts: what was measured, what is printed, then pairs of counters, the arm's first.
#[derive(Debug, Serialize)]
struct ShownRow {
    data_set: String,
    workload: String,
    measured: String,
    lowest: String,
    highest: String,
    printed: String,
    says: String,
    pairs: Vec<String>,
    remarks: String,
}

/// All comparisons as texts.
pub(super) fn shown(tables: &[Compared]) -> Vec<Shown> {
    let one = |table: &Compared| Shown {
        table: table.table.clone(),
        metric: table.metric.clone(),
        arm: table.arm.clone(),
        against: table.against.clone(),
        has_data_sets: table.rows.iter().any(|row| row.data_set.is_some()),
        rows: table.rows.iter().map(shown_row).collect(),
    };
    tables.iter().map(one).collect()
}

fn shown_row(row: &Row) -> ShownRow {
    let at = |place: Option<&(u32, f64)>| {
        place.map_or_else(nothing, |(threads, gain)| format!("{} at {threads}", percent(*gain)))
    };
    let by_threads = row.measured.as_ref().map_or(&[][..], |one| &one.by_threads);
    let pair = |of: fn(&Counters) -> Option<f64>, scale: f64| {
        let Some(both) = &row.counters else { return nothing() };
        let one = |side: &Counters| of(side).map_or_else(nothing, |value| figure(value * scale));
        format!("{} / {}", one(&both[0]), one(&both[1]))
    };
    ShownRow {
        data_set: row.data_set.clone().unwrap_or_default(),
        workload: row.workload.clone(),
        measured: row.measured.as_ref().map_or_else(nothing, |one| percent(one.mean_percent)),
        lowest: at(by_threads.first()),
        highest: at(by_threads.last()),
        printed: row.printed_percent.map_or_else(nothing, percent),
        says: row.printed_says.clone().unwrap_or_default(),
        pairs: vec![
            pair(|one| one.media_write_bytes_per_transaction, 1e-3),
            pair(|one| one.drive_write_amplification, 1.0),
            pair(|one| one.innodb_hit_ratio, 100.0),
            pair(|one| one.model_late_percent, 1.0),
            pair(|one| one.cpu_percent, 1.0),
        ],
        remarks: row.remarks.join("; "),
    }
}

fn nothing() -> String {
    "–".into()
}

/// With its sign and no more digits than such a mean deserves.
fn percent(value: f64) -> String {
    match value.abs() {
        size if size < 9.95 => format!("{value:+.1} %"),
        _ => format!("{value:+.0} %"),
    }
}
