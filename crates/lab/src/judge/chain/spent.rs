//! Where the time of a transaction went, and what the data take at each layer.

use serde::Serialize;

use super::Results;

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

/// Series whose seconds are in each unit, and microseconds of one of it: percent of a processor, milliseconds a second,
/// microseconds a second.
const PERCENT_US: f64 = 1e4;
const MS_US: f64 = 1e3;

const RATES: [(&str, &str, f64); 8] = [
    ("processor: server", "server_cpu_percent", PERCENT_US),
    ("processor: load", "load_cpu_percent", PERCENT_US),
    ("processor: drive", "serving_cpu_percent", PERCENT_US),
    ("server waits: data files", "innodb_file_data_wait_us_per_s", 1.0),
    ("server waits: doublewrite", "innodb_file_doublewrite_wait_us_per_s", 1.0),
    ("server waits: redo log", "innodb_file_redo_wait_us_per_s", 1.0),
    ("server waits: binary log", "sql_binlog_wait_us_per_s", 1.0),
    ("server waits: row locks", "innodb_row_lock_ms_per_s", MS_US),
];

/// Operations whose number and mean latency are counted: of the device as the kernel sees it, and of a model as it should be.
const OPERATIONS: [(&str, &str, &str); 6] = [
    ("device: reads", "disk_reads_per_s", "disk_read_latency_ms"),
    ("device: writes", "disk_writes_per_s", "disk_write_latency_ms"),
    ("device: flushes", "disk_flushes_per_s", "disk_flush_latency_ms"),
    ("as modelled: reads", "model_reads_per_s", "model_read_latency_ms"),
    ("as modelled: writes", "model_writes_per_s", "model_write_latency_ms"),
    ("as modelled: flushes", "model_flushes_per_s", "model_flush_latency_ms"),
];

/// The transaction's own time first, then what is known of where it went.
pub(super) fn times(results: &Results, tps: f64) -> Vec<Spent> {
    let figure = |name: &str| results.get(name).copied();
    let whole = figure("service_ms_mean").map(|ms| Spent { what: "transaction", us: ms * MS_US });
    let rates = RATES
        .iter()
        .filter_map(|&(what, name, us)| Some(Spent { what, us: figure(name)? * us / tps }));
    let operations = OPERATIONS.iter().filter_map(|&(what, count, latency)| {
        Some(Spent { what, us: figure(count)? * figure(latency)? * MS_US / tps })
    });
    whole.into_iter().chain(rates).chain(operations).collect()
}

const LAYERS: [(&str, &str); 4] = [
    ("data files", "space_file_bytes"),
    ("allocated", "space_allocated_bytes"),
    ("on the drive", "drive_logical_bytes_used"),
    ("media", "space_physical_bytes"),
];

/// What is known of where the data lie.
pub(super) fn space(results: &Results) -> Vec<Space> {
    let is_model = results.contains_key("model_commands_per_s");
    let mut above: Option<f64> = None;
    let of = |&(layer, name): &(&'static str, &str)| {
        let bytes = *results.get(name)?;
        let is_comparable = !(is_model && name == "drive_logical_bytes_used");
        let over = above.replace(bytes).filter(|over| *over > 0.0 && is_comparable);
        Some(Space { layer, bytes, per_byte_above: over.map(|over| bytes / over) })
    };
    LAYERS.iter().filter_map(of).collect()
}
