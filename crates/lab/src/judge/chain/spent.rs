//! Where the time of a transaction went, and what the data take at each layer.

use super::Results;

/// What time is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Activity {
    /// The transaction, from its first statement to its last answer.
    Transaction,
    /// Processors that the server kept busy,
    ServerCpu,
    /// the load generator,
    LoadCpu,
    /// and what serves a drive.
    DriveCpu,
    /// The server's waits for data files,
    DataFileWaits,
    /// the doublewrite buffer,
    DoublewriteWaits,
    /// the redo log,
    RedoLogWaits,
    /// the binary log,
    BinaryLogWaits,
    /// and row locks.
    RowLockWaits,
    /// Reads of the device, as the kernel sees them,
    DeviceReads,
    /// its writes
    DeviceWrites,
    /// and flushes.
    DeviceFlushes,
    /// Reads of a model, as they should be,
    ModelledReads,
    /// its writes
    ModelledWrites,
    /// and flushes.
    ModelledFlushes,
}

/// Microseconds of something for each transaction. What goes on at once adds up to more than the transaction took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spent {
    /// What it was spent on.
    pub(crate) what: Activity,
    /// Microseconds for each transaction.
    pub(crate) us: f64,
}

/// Where data are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// In files, by their length.
    DataFiles,
    /// In blocks that are allocated to those.
    Allocated,
    /// On the drive, as its host sees it.
    OnDrive,
    /// On its media.
    Media,
}

/// What the data take at one layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Space {
    /// Which layer.
    pub(crate) layer: Held,
    /// Bytes at the window's end.
    pub(crate) bytes: f64,
    /// Bytes for each byte at the layer above, where that is known. Not of a model's drive above its files: what wore it in lies
    /// there too.
    pub(crate) per_byte_above: Option<f64>,
}

/// Series whose seconds are in each unit, and microseconds of one of it: percent of a processor, milliseconds a second,
/// microseconds a second.
const PERCENT_US: f64 = 1e4;
const MS_US: f64 = 1e3;

const RATES: [(Activity, &str, f64); 8] = [
    (Activity::ServerCpu, "server_cpu_percent", PERCENT_US),
    (Activity::LoadCpu, "load_cpu_percent", PERCENT_US),
    (Activity::DriveCpu, "serving_cpu_percent", PERCENT_US),
    (Activity::DataFileWaits, "innodb_file_data_wait_us_per_s", 1.0),
    (Activity::DoublewriteWaits, "innodb_file_doublewrite_wait_us_per_s", 1.0),
    (Activity::RedoLogWaits, "innodb_file_redo_wait_us_per_s", 1.0),
    (Activity::BinaryLogWaits, "sql_binlog_wait_us_per_s", 1.0),
    (Activity::RowLockWaits, "innodb_row_lock_ms_per_s", MS_US),
];

/// Operations whose number and mean latency are counted: of the device as the kernel sees it, and of a model as it should be.
const OPERATIONS: [(Activity, &str, &str); 6] = [
    (Activity::DeviceReads, "disk_reads_per_s", "disk_read_latency_ms"),
    (Activity::DeviceWrites, "disk_writes_per_s", "disk_write_latency_ms"),
    (Activity::DeviceFlushes, "disk_flushes_per_s", "disk_flush_latency_ms"),
    (Activity::ModelledReads, "model_reads_per_s", "model_read_latency_ms"),
    (Activity::ModelledWrites, "model_writes_per_s", "model_write_latency_ms"),
    (Activity::ModelledFlushes, "model_flushes_per_s", "model_flush_latency_ms"),
];

/// The transaction's own time first, then what is known of where it went.
pub(super) fn times(results: &Results, tps: f64) -> Vec<Spent> {
    let figure = |name: &str| results.get(name).copied();
    let whole =
        figure("service_ms_mean").map(|ms| Spent { what: Activity::Transaction, us: ms * MS_US });
    let rates = RATES
        .iter()
        .filter_map(|&(what, name, us)| Some(Spent { what, us: figure(name)? * us / tps }));
    let operations = OPERATIONS.iter().filter_map(|&(what, count, latency)| {
        Some(Spent { what, us: figure(count)? * figure(latency)? * MS_US / tps })
    });
    whole.into_iter().chain(rates).chain(operations).collect()
}

const LAYERS: [(Held, &str); 4] = [
    (Held::DataFiles, "space_file_bytes"),
    (Held::Allocated, "space_allocated_bytes"),
    (Held::OnDrive, "drive_logical_bytes_used"),
    (Held::Media, "space_physical_bytes"),
];

/// What is known of where the data lie.
pub(super) fn space(results: &Results) -> Vec<Space> {
    let is_model = results.contains_key("model_commands_per_s");
    let mut above: Option<f64> = None;
    let of = |&(layer, name): &(Held, &str)| {
        let bytes = *results.get(name)?;
        let is_comparable = !(is_model && name == "drive_logical_bytes_used");
        let over = above.replace(bytes).filter(|over| *over > 0.0 && is_comparable);
        Some(Space { layer, bytes, per_byte_above: over.map(|over| bytes / over) })
    };
    LAYERS.iter().filter_map(of).collect()
}
