//! What differs in a run on files: they are made on the rig before it keeps time, no server is started, and what the load counts are
//! operations.

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use assay_judge::reconcile;
use assay_load::fileio::{self, ExtraFlag, TestMode};
use assay_load::{Fileio, Outcome as Ran, Second, Work};
use assay_plan::Plan;
use assay_study::metrics::{Metric, metric};

use super::results::Results;
use crate::rig::Rig;

/// Makes the files in the rig's data directory, which it makes too, and takes them out of the page cache. A load that makes its
/// files itself gets the directory alone.
///
/// # Errors
/// One line: no room, or what the system said.
pub(super) fn prepare(rig: &Rig, fileio: &Fileio, stop: &AtomicBool) -> Result<()> {
    let directory = rig.data_dir();
    std::fs::create_dir(&directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    if fileio.test_mode()? == TestMode::Seqwr {
        return Ok(());
    }
    fileio::prepare(&directory, fileio, &mut |_, _| {}, stop)?;
    Ok(fileio::forget(&directory, fileio)?)
}

/// The largest files of a plan, and the workload that has them.
pub(super) fn largest(plan: &Plan) -> Option<(&str, u64)> {
    let files = plan
        .workloads
        .iter()
        .filter_map(|(name, workload)| Some((name.as_str(), workload.files()?.file_total_size.0)));
    files.max_by_key(|(_, bytes)| *bytes)
}

/// A series and its value in a second, given the bytes of an operation.
type FileSeries = (&'static Metric, fn(&Second, f64) -> f64);

/// What the load tells of operations in each second.
pub(super) const FILE_SERIES: [FileSeries; 5] = [
    (metric!("file_reads_per_s"), |second, _| second.queries.read as f64 / second.length_s),
    (metric!("file_writes_per_s"), |second, _| second.queries.write as f64 / second.length_s),
    (metric!("file_fsyncs_per_s"), |second, _| second.queries.other as f64 / second.length_s),
    (metric!("file_read_bytes_per_s"), |second, bytes| {
        second.queries.read as f64 * bytes / second.length_s
    }),
    (metric!("file_write_bytes_per_s"), |second, bytes| {
        second.queries.write as f64 * bytes / second.length_s
    }),
];

/// What a run on files was, as a whole.
pub(super) fn results(ran: &Ran, fileio: &Fileio) -> [(&'static Metric, f64); 5] {
    let per_second = |count: u64| count as f64 / ran.elapsed_s;
    let bytes = fileio.request_bytes_mean();
    let (reads, writes) = (per_second(ran.queries.read), per_second(ran.queries.write));
    [
        (metric!("file_reads_per_s"), reads),
        (metric!("file_writes_per_s"), writes),
        (metric!("file_fsyncs_per_s"), per_second(ran.queries.other)),
        (metric!("file_read_bytes_per_s"), reads * bytes),
        (metric!("file_write_bytes_per_s"), writes * bytes),
    ]
}

/// Past the page cache the device writes what the load does.
pub(super) fn device_bytes(ran: &Ran, results: &Results) -> Option<reconcile::Check> {
    let Work::Files { fileio } = &ran.work else { return None };
    let get = |metric: &Metric| results.get(metric.name).copied();
    let files = get(metric!("file_write_bytes_per_s"))?;
    let written = get(metric!("disk_write_bytes_per_s"))?;
    let fsyncs = get(metric!("file_fsyncs_per_s"))?;
    let flushes = fsyncs.max(get(metric!("disk_flushes_per_s")).unwrap_or(0.0));
    reconcile::file_bytes(written, files, flushes).filter(|_| fileio.has(ExtraFlag::Direct))
}
