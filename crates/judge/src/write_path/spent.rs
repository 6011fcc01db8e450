//! Where the time of a transaction went, and what the data take at each layer.

use super::Results;
use assay_study::metrics::{MetricEntry, metric};

/// Uses of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    /// The transaction, from its first statement to its last answer.
    Transaction,
    /// CPUs that the server kept busy,
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

/// Microseconds of something for each transaction. What goes on at once adds up to more than the
/// transaction took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spent {
    pub what: Activity,
    /// Microseconds for each transaction.
    pub us: f64,
}

/// Where data are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// In files, by their length.
    DataFiles,
    /// In blocks that are allocated to those.
    Allocated,
    /// On the drive, as its host sees it.
    OnDrive,
    /// On its media.
    Media,
}

/// Space of the data at one layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Space {
    /// Which layer.
    pub layer: Held,
    /// Bytes at the window's end.
    pub bytes: f64,
    /// Bytes for each byte at the layer above, where that is known. Not of a model's drive above
    /// its files: what wore it in lies there too.
    pub per_byte_above: Option<f64>,
}

const US_PER_MS: f64 = 1e3;

/// Uses of time per second.
const RATES: [(Activity, &MetricEntry); 8] = [
    (Activity::ServerCpu, metric!("server_cpu_percent")),
    (Activity::LoadCpu, metric!("load_cpu_percent")),
    (Activity::DriveCpu, metric!("daemon_cpu_percent")),
    (Activity::DataFileWaits, metric!("innodb_file_data_wait_us_per_s")),
    (Activity::DoublewriteWaits, metric!("innodb_file_doublewrite_wait_us_per_s")),
    (Activity::RedoLogWaits, metric!("innodb_file_redo_wait_us_per_s")),
    (Activity::BinaryLogWaits, metric!("sql_binlog_wait_us_per_s")),
    (Activity::RowLockWaits, metric!("innodb_row_lock_ms_per_s")),
];

/// Operations whose number and mean latency are counted: of the device as the kernel sees it, and
/// of a model as it should be.
const OPERATIONS: [(Activity, &MetricEntry, &MetricEntry); 6] = [
    (Activity::DeviceReads, metric!("disk_reads_per_s"), metric!("disk_read_latency_ms")),
    (Activity::DeviceWrites, metric!("disk_writes_per_s"), metric!("disk_write_latency_ms")),
    (Activity::DeviceFlushes, metric!("disk_flushes_per_s"), metric!("disk_flush_latency_ms")),
    (Activity::ModelledReads, metric!("model_reads_per_s"), metric!("model_read_latency_ms")),
    (Activity::ModelledWrites, metric!("model_writes_per_s"), metric!("model_write_latency_ms")),
    (Activity::ModelledFlushes, metric!("model_flushes_per_s"), metric!("model_flush_latency_ms")),
];

/// The transaction's own time first, then what is known of where it went.
pub(super) fn times(results: &Results, tps: f64) -> Vec<Spent> {
    let figure = |metric: &MetricEntry| results.get(metric.name).copied();
    let whole = figure(metric!("service_ms_mean"))
        .map(|ms| Spent { what: Activity::Transaction, us: ms * US_PER_MS });
    let rates = RATES.iter().filter_map(|&(what, metric)| {
        Some(Spent { what, us: figure(metric)? * metric.unit.spent_us_per_s()? / tps })
    });
    let operations = OPERATIONS.iter().filter_map(|&(what, count, latency)| {
        Some(Spent { what, us: figure(count)? * figure(latency)? * US_PER_MS / tps })
    });
    whole.into_iter().chain(rates).chain(operations).collect()
}

const HELD_BY_DRIVE: &MetricEntry = metric!("drive_logical_bytes_used");

const LAYERS: [(Held, &MetricEntry); 4] = [
    (Held::DataFiles, metric!("space_file_bytes")),
    (Held::Allocated, metric!("space_allocated_bytes")),
    (Held::OnDrive, HELD_BY_DRIVE),
    (Held::Media, metric!("space_physical_bytes")),
];

/// Space of the data, layer by layer.
pub(super) fn space(results: &Results) -> Vec<Space> {
    let is_model = results.contains_key(metric!("model_commands_per_s").name);
    let mut above: Option<f64> = None;
    let of = |&(layer, metric): &(Held, &MetricEntry)| {
        let bytes = *results.get(metric.name)?;
        let is_comparable = !(is_model && metric.name == HELD_BY_DRIVE.name);
        let over = above.replace(bytes).filter(|over| *over > 0.0 && is_comparable);
        Some(Space { layer, bytes, per_byte_above: over.map(|over| bytes / over) })
    };
    LAYERS.iter().filter_map(of).collect()
}
