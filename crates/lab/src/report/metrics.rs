//! Which results the report shows, under which heads and in which units. A result that is not listed here is
//! shown under its own name, so a new one needs no change.

use std::collections::BTreeSet;

use crate::judge::summary::{self, Figure, Group};
use crate::store::{Cell, Study};

use super::{drive, model};

/// One column of a table and one choice of a chart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Metric<'a> {
    /// The stored result.
    pub(super) name: &'a str,
    /// A second one that is added to it.
    pub(super) plus: Option<&'a str>,
    /// Head of the column.
    pub(super) head: &'a str,
    /// Unit in which it is shown.
    pub(super) unit: &'a str,
    /// Stored value × scale = shown value.
    pub(super) scale: f64,
    /// What it is and where it was measured.
    pub(super) title: &'a str,
}

impl Metric<'_> {
    /// The metric's value in a cell, in the shown unit; nothing of a percentile that a handful of transactions made.
    pub(super) fn of(&self, cell: &Cell) -> Option<f64> {
        let first = summary::result(cell, self.name)?;
        let second = self.plus.map_or(Some(0.0), |name| cell.results.get(name).copied())?;
        Some((first + second) * self.scale)
    }

    /// The metric over the repeats that have it.
    pub(super) fn over(&self, group: &Group<'_>) -> Option<Figure> {
        group.figure(|cell| self.of(cell))
    }

    /// Stored name, as it stands in the tables.
    pub(super) fn stored(&self) -> String {
        match self.plus {
            Some(second) => format!("{} + {second}", self.name),
            None => self.name.into(),
        }
    }
}

/// One that is stored under a single name.
pub(super) const fn metric(
    name: &'static str,
    head: &'static str,
    unit: &'static str,
    scale: f64,
    title: &'static str,
) -> Metric<'static> {
    Metric { name, plus: None, head, unit, scale, title }
}

/// Transactions and queries per second.
pub(super) const THROUGHPUT: [Metric<'static>; 2] = [
    metric(
        "tps",
        "TPS",
        "1/s",
        1.0,
        "transactions committed per second, counted by the load generator",
    ),
    metric("qps", "QPS", "1/s", 1.0, "queries answered per second, counted by the load generator"),
];

/// Response time of a transaction.
pub(super) const LATENCY: [Metric<'static>; 4] = [
    metric(
        "latency_ms_p50",
        "p50",
        "ms",
        1.0,
        "median response time of a transaction, seen by the load generator",
    ),
    metric(
        "latency_ms_p95",
        "p95",
        "ms",
        1.0,
        "95 of 100 transactions were answered within this time",
    ),
    metric(
        "latency_ms_p99",
        "p99",
        "ms",
        1.0,
        "99 of 100 transactions were answered within this time",
    ),
    metric(
        "latency_ms_p999",
        "p99.9",
        "ms",
        1.0,
        "999 of 1 000 transactions were answered within this time",
    ),
];

/// What the machine did for it.
pub(super) const MACHINE: [Metric<'static>; 6] = [
    Metric {
        plus: Some("cpu_system_percent"),
        ..metric(
            "cpu_user_percent",
            "CPU",
            "%",
            1.0,
            "user and system time of all processors, from the kernel's accounting",
        )
    },
    metric(
        "cpu_iowait_percent",
        "I/O wait",
        "%",
        1.0,
        "time in which processors idled with I/O outstanding, from the kernel's accounting",
    ),
    metric(
        "disk_read_bytes_per_s",
        "read",
        "MB/s",
        1e-6,
        "bytes read from the device under the data",
    ),
    metric(
        "disk_write_bytes_per_s",
        "written",
        "MB/s",
        1e-6,
        "bytes written to the device under the data",
    ),
    metric(
        "write_bytes_per_transaction",
        "written",
        "kB/trx",
        1e-3,
        "bytes written to the device under the data, for each transaction",
    ),
    metric(
        "media_write_bytes_per_transaction",
        "to media",
        "kB/trx",
        1e-3,
        "bytes that the drive or the modelled device wrote to its media, collection included, for each transaction",
    ),
];

/// Second row of figures: shown on request.
const MORE: [Metric<'static>; 18] = [
    metric("latency_ms_mean", "mean", "ms", 1.0, "mean response time of a transaction"),
    metric("latency_ms_max", "max", "ms", 1.0, "longest response time of a transaction"),
    metric("queries_per_transaction", "queries", "/trx", 1.0, "queries for each transaction"),
    metric(
        "fsyncs_per_transaction",
        "fsyncs",
        "/trx",
        1.0,
        "fsync calls of InnoDB for each transaction",
    ),
    metric(
        "read_bytes_per_transaction",
        "read",
        "kB/trx",
        1e-3,
        "bytes read from the device, for each transaction",
    ),
    metric("disk_reads_per_s", "reads", "1/s", 1.0, "reads completed by the device under the data"),
    metric(
        "disk_writes_per_s",
        "writes",
        "1/s",
        1.0,
        "writes completed by the device under the data",
    ),
    metric(
        "disk_read_latency_ms",
        "disk read",
        "ms",
        1.0,
        "mean time of a read at the block device, queueing included",
    ),
    metric(
        "disk_write_latency_ms",
        "disk write",
        "ms",
        1.0,
        "mean time of a write at the block device, queueing included",
    ),
    metric(
        "disk_utilisation_percent",
        "disk busy",
        "%",
        1.0,
        "time in which the device had at least one request",
    ),
    metric(
        "innodb_hit_ratio",
        "buffer pool hits",
        "%",
        100.0,
        "page requests answered from the buffer pool",
    ),
    metric(
        "server_cpu_us_per_query",
        "server CPU",
        "µs/query",
        1.0,
        "processor time of the server for each query",
    ),
    metric(
        "serving_cpu_us_per_query",
        "drive CPU",
        "µs/query",
        1.0,
        "processor time of the process that serves the software drive, for each query",
    ),
    metric(
        "load_cpu_us_per_query",
        "load CPU",
        "µs/query",
        1.0,
        "processor time of the load generator for each query",
    ),
    metric(
        "others_cpu_percent",
        "other programs",
        "% of a CPU",
        1.0,
        "user time of programs that had no part in it; 100 is one processor",
    ),
    metric(
        "errors_ignored",
        "errors",
        "",
        1.0,
        "errors after which the transaction was tried again",
    ),
    metric("target_rate", "target", "1/s", 1.0, "planned rate of transactions"),
    metric("achieved_rate", "achieved", "1/s", 1.0, "rate of transactions that was reached"),
];

/// Space at the end of a cell, from the files down to the media.
pub(super) const SPACE: [Metric<'static>; 4] = [
    metric(
        "space_file_bytes",
        "files",
        "MB",
        1e-6,
        "sum of the sizes of the data files at the cell's end",
    ),
    metric(
        "space_allocated_bytes",
        "allocated",
        "MB",
        1e-6,
        "blocks that the file system holds for the data files at the cell's end",
    ),
    metric(
        "drive_logical_bytes_used",
        "on the drive",
        "MB",
        1e-6,
        "blocks of the software drive that hold data, those of the file system itself too; zeroes hold none",
    ),
    metric(
        "space_physical_bytes",
        "physical",
        "MB",
        1e-6,
        "what that takes of the media: on a software drive its compressed records with all that belongs to them, else what is allocated",
    ),
];

/// The same of a model of a drive, whose flash holds what wore it in too, wherever the files have not overwritten it: no figures of the
/// database.
pub(super) const WORN: [Metric<'static>; 2] = [
    metric(
        "drive_logical_bytes_used",
        "model holds",
        "MB",
        1e-6,
        "blocks of the model that hold data, those of what wore it in too",
    ),
    metric(
        "space_physical_bytes",
        "of its flash",
        "MB",
        1e-6,
        "what those take of the modelled flash, what wore it in included",
    ),
];

/// How small what the database wrote was stored, see [`super::space::stored_ratio`].
pub(super) const STORED: Metric<'static> = metric(
    "drive_write_bytes_payload_per_s",
    "stored",
    ": 1",
    1.0,
    "bytes that the host wrote while it was measured, zeroes left out, for each byte that was stored of them",
);

/// Columns of the summary table.
pub(super) fn summary() -> Vec<Metric<'static>> {
    [&THROUGHPUT[..], &LATENCY, &MACHINE].concat()
}

/// Everything else that any cell holds: what is known first, then the rest by name.
pub(super) fn more(study: &Study) -> Vec<Metric<'_>> {
    let held: BTreeSet<&str> =
        study.cells.iter().flat_map(|cell| cell.results.keys().map(String::as_str)).collect();
    let mut metrics: Vec<Metric<'_>> =
        MORE.into_iter().filter(|metric| held.contains(metric.name)).collect();
    let shown = |name: &str| {
        summary()
            .iter()
            .chain(&MORE)
            .chain(&SPACE)
            .chain(&drive::FIGURES)
            .chain(&model::FIGURES)
            .any(|one| one.name == name || one.plus == Some(name))
    };
    metrics.extend(held.into_iter().filter(|name| !shown(name)).map(|name| Metric {
        name,
        plus: None,
        head: name,
        unit: "",
        scale: 1.0,
        title: name,
    }));
    metrics
}
