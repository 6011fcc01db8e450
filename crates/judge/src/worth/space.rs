//! How small the database's data were stored.

use assay_study::Trial;
use assay_study::metrics::{MetricEntry, metric};

/// Bytes that a transaction must write at least for a ratio: less than a sector is an occasional
/// page of the file system, not the transaction's data.
pub const WRITTEN_LEAST_BYTES: f64 = 512.0;

/// Returns true if the drive's space figures include the data that a model was preconditioned
/// with, in addition to the database's.
pub fn is_preconditioned(trial: &Trial) -> bool {
    let has = |metric: &MetricEntry| trial.results.contains_key(metric.name);
    has(metric!("model_commands_per_s")) && has(metric!("drive_logical_bytes_used"))
}

/// Bytes that the host wrote in the window for each byte that the drive stored of them, without
/// headers, garbage collection and checkpoints.
///
/// Zeroes are left out, as they take no space on any drive. The ratio covers the database's data
/// alone, whatever else the drive holds. `None` if hardly anything was written.
pub fn stored_ratio(trial: &Trial) -> Option<f64> {
    let figure = |metric: &MetricEntry| trial.results.get(metric.name).copied();
    let zeroes = figure(metric!("drive_write_bytes_zero_per_s")).unwrap_or(0.0);
    let written = figure(metric!("drive_write_bytes_host_per_s"))? - zeroes;
    let stored = figure(metric!("drive_write_bytes_payload_per_s")).filter(|bytes| *bytes > 0.0)?;
    (written >= WRITTEN_LEAST_BYTES * figure(metric!("tps"))?).then_some(written / stored)
}

/// Bytes of data for each byte of space.
///
/// For preconditioned flash, the ratio of what the database wrote during the measurement; for
/// other drives, the drive's own ratio; for files compressed by hole punching, the allocated bytes.
pub(crate) fn space_ratio(trial: &Trial) -> Option<f64> {
    let positive =
        |metric: &MetricEntry| trial.results.get(metric.name).copied().filter(|value| *value > 0.0);
    let of_files =
        positive(metric!("space_file_bytes"))? / positive(metric!("space_allocated_bytes"))?;
    let of_drive = match is_preconditioned(trial) {
        true => stored_ratio(trial)?,
        false => positive(metric!("drive_compression_ratio")).unwrap_or(1.0),
    };
    Some(of_files * of_drive)
}
