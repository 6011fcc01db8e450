//! A table of measured beside printed gains, and the counters of both sides as the page shows them.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::figures::columns::{Metric, column};
use crate::figures::format::figure;
use crate::tables::csv::{optional, write_row};
use crate::words::paper::remarks;
use assay_judge::paper::{Compared, ComparedRow, Counters};
use assay_study::metrics::{Group, metric};

/// `paper.csv`: a row a comparison × workload × data profile.
pub(crate) fn write_table(file: &mut dyn Write, tables: &[Compared]) -> Result<()> {
    const HEAD: &str = "table,metric,config,against,data_profile,workload,measured_percent,\
        threads_lowest,threads_lowest_percent,\
        threads_highest,threads_highest_percent,threads_compared,printed_percent,printed_says";
    const COUNTERS: [&str; 5] = [
        metric!("media_write_bytes_per_transaction").name,
        metric!("drive_write_amplification").name,
        metric!("innodb_hit_ratio").name,
        metric!("model_missed_deadlines_percent").name,
        "cpu_percent",
    ];
    let of_side = |side: &'static str| COUNTERS.iter().map(move |name| format!("{side}_{name}"));
    let head = HEAD.split(',').map(str::to_owned);
    let counters = of_side("config").chain(of_side("against"));
    write_row(file, head.chain(counters).chain(["remarks".to_owned()]))?;
    for table in tables {
        for row in &table.rows {
            write_row(file, fields(table, row))?;
        }
    }
    Ok(())
}

fn fields(table: &Compared, row: &ComparedRow) -> Vec<String> {
    let measured = row.measured.as_ref();
    let by_threads = measured.map_or(&[][..], |one| &one.by_threads);
    let mut fields = vec![
        table.table.clone(),
        table.metric.clone(),
        table.config.clone(),
        table.against.clone(),
        optional(row.data_profile.as_ref()),
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
                one.model_missed_deadlines_percent,
                one.cpu_percent,
            ]
        });
        fields.extend(all.map(optional));
    }
    fields.push(remarks(row).join("; "));
    fields
}

/// The counters of both sides of a comparison, as the page prints them.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    table: String,
    metric: String,
    config: String,
    against: String,
    has_data_profiles: bool,
    rows: Vec<ShownRow>,
}

/// Pairs of counters, the configuration's first.
#[derive(Debug, Serialize)]
struct ShownRow {
    data_profile: String,
    workload: String,
    pairs: Vec<String>,
}

/// All comparisons as texts.
pub(crate) fn shown(tables: &[Compared]) -> Vec<Shown> {
    let one = |table: &Compared| Shown {
        table: table.table.clone(),
        metric: table.metric.clone(),
        config: table.config.clone(),
        against: table.against.clone(),
        has_data_profiles: table.rows.iter().any(|row| row.data_profile.is_some()),
        rows: table.rows.iter().map(shown_row).collect(),
    };
    tables.iter().map(one).collect()
}

fn shown_row(row: &ComparedRow) -> ShownRow {
    let pair = |of: fn(&Counters) -> Option<f64>, shown: Metric<'_>| {
        let Some(both) = &row.counters else { return nothing() };
        let one =
            |side: &Counters| of(side).map_or_else(nothing, |value| figure(value * shown.scale));
        format!("{} / {}", one(&both[0]), one(&both[1]))
    };
    ShownRow {
        data_profile: row.data_profile.clone().unwrap_or_default(),
        workload: row.workload.clone(),
        pairs: vec![
            pair(
                |one| one.media_write_bytes_per_transaction,
                column(metric!("media_write_bytes_per_transaction"), Group::Machine),
            ),
            pair(
                |one| one.drive_write_amplification,
                column(metric!("drive_write_amplification"), Group::Drive),
            ),
            pair(|one| one.innodb_hit_ratio, column(metric!("innodb_hit_ratio"), Group::More)),
            pair(
                |one| one.model_missed_deadlines_percent,
                column(metric!("model_missed_deadlines_percent"), Group::Model),
            ),
            pair(|one| one.cpu_percent, column(metric!("cpu_user_percent"), Group::Machine)),
        ],
    }
}

fn nothing() -> String {
    "–".into()
}

/// With its sign and no more digits than such a mean deserves.
pub(crate) fn percent(value: f64) -> String {
    let text = match value.abs() {
        size if size < 9.95 => format!("{value:+.1} %"),
        _ => format!("{value:+.0} %"),
    };
    text.replace('-', "−")
}
