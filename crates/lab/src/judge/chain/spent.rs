//! Where the time of a transaction went, and what the data take at each layer.

use serde::Serialize;

use super::Results;
use crate::metrics::{Metric, metric};

/// Microseconds of something for each transaction. What goes on at once adds up to more than the transaction took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Spent {
    /// What it was spent on.
    pub(crate) what: &'static str,
    /// Microseconds for each transaction.
    pub(crate) us: f64,
}

/// What the data take at one layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Space {
    /// Which layer.
    pub(crate) layer: &'static str,
    /// Bytes at the window's end.
    pub(crate) bytes: f64,
    /// Bytes for each byte at the layer above, where that is known. Not of a model's drive above its files: what wore it in lies
    /// there too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) per_byte_above: Option<f64>,
}

const US_PER_MS: f64 = 1e3;

/// What time is spent on, each second.
const RATES: [(&str, &Metric); 8] = [
    ("processor: server", metric!("server_cpu_percent")),
    ("processor: load", metric!("load_cpu_percent")),
    ("processor: drive", metric!("serving_cpu_percent")),
    ("server waits: data files", metric!("innodb_file_data_wait_us_per_s")),
    ("server waits: doublewrite", metric!("innodb_file_doublewrite_wait_us_per_s")),
    ("server waits: redo log", metric!("innodb_file_redo_wait_us_per_s")),
    ("server waits: binary log", metric!("sql_binlog_wait_us_per_s")),
    ("server waits: row locks", metric!("innodb_row_lock_ms_per_s")),
];

/// Operations whose number and mean latency are counted: of the device as the kernel sees it, and of a model as it should be.
const OPERATIONS: [(&str, &Metric, &Metric); 6] = [
    ("device: reads", metric!("disk_reads_per_s"), metric!("disk_read_latency_ms")),
    ("device: writes", metric!("disk_writes_per_s"), metric!("disk_write_latency_ms")),
    ("device: flushes", metric!("disk_flushes_per_s"), metric!("disk_flush_latency_ms")),
    ("as modelled: reads", metric!("model_reads_per_s"), metric!("model_read_latency_ms")),
    ("as modelled: writes", metric!("model_writes_per_s"), metric!("model_write_latency_ms")),
    ("as modelled: flushes", metric!("model_flushes_per_s"), metric!("model_flush_latency_ms")),
];

/// The transaction's own time first, then what is known of where it went.
pub(super) fn times(results: &Results, tps: f64) -> Vec<Spent> {
    let figure = |metric: &Metric| results.get(metric.name).copied();
    let whole = figure(metric!("service_ms_mean"))
        .map(|ms| Spent { what: "transaction", us: ms * US_PER_MS });
    let rates = RATES.iter().filter_map(|&(what, metric)| {
        Some(Spent { what, us: figure(metric)? * metric.unit.spent_us_per_s()? / tps })
    });
    let operations = OPERATIONS.iter().filter_map(|&(what, count, latency)| {
        Some(Spent { what, us: figure(count)? * figure(latency)? * US_PER_MS / tps })
    });
    whole.into_iter().chain(rates).chain(operations).collect()
}

const HELD_BY_DRIVE: &Metric = metric!("drive_logical_bytes_used");

const LAYERS: [(&str, &Metric); 4] = [
    ("data files", metric!("space_file_bytes")),
    ("allocated", metric!("space_allocated_bytes")),
    ("on the drive", HELD_BY_DRIVE),
    ("media", metric!("space_physical_bytes")),
];

/// What is known of where the data lie.
pub(super) fn space(results: &Results) -> Vec<Space> {
    let is_model = results.contains_key(metric!("model_commands_per_s").name);
    let mut above: Option<f64> = None;
    let of = |&(layer, metric): &(&'static str, &Metric)| {
        let bytes = *results.get(metric.name)?;
        let is_comparable = !(is_model && metric.name == HELD_BY_DRIVE.name);
        let over = above.replace(bytes).filter(|over| *over > 0.0 && is_comparable);
        Some(Space { layer, bytes, per_byte_above: over.map(|over| bytes / over) })
    };
    LAYERS.iter().filter_map(of).collect()
}
