//! Figures of a run on files: the load counts operations.

use assay_judge::reconcile;
use assay_load::fileio::ExtraFlag;
use assay_load::{Fileio, LoadOutcome as Ran, Second, Work};
use assay_study::metrics::{MetricEntry, metric};

use super::figures::Results;

/// A series and its value in a second, given the bytes of an operation.
type FileSeries = (&'static MetricEntry, fn(&Second, f64) -> f64);

/// Series of a load on files.
pub(crate) const FILE_SERIES: [FileSeries; 5] = [
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

/// Rates over the whole window.
pub(crate) fn results(ran: &Ran, fileio: &Fileio) -> [(&'static MetricEntry, f64); 5] {
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

/// Compares the bytes that the load and the device wrote. They agree only without the page cache.
pub(crate) fn device_bytes(ran: &Ran, results: &Results) -> Option<reconcile::CrossCheck> {
    let Work::Files { fileio } = &ran.work else { return None };
    let get = |metric: &MetricEntry| results.get(metric.name).copied();
    let files = get(metric!("file_write_bytes_per_s"))?;
    let written = get(metric!("disk_write_bytes_per_s"))?;
    let fsyncs = get(metric!("file_fsyncs_per_s"))?;
    let flushes = fsyncs.max(get(metric!("disk_flushes_per_s")).unwrap_or(0.0));
    reconcile::file_bytes(written, files, flushes).filter(|_| fileio.has(ExtraFlag::Direct))
}
