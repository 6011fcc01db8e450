//! What the load does to files (the recipe fileio): operations and bytes, by its own count.

use super::super::entry::{Metric, series};
use super::super::layer::Layer::Load;
use super::super::shown::{Group, Shown};
use super::super::unit::Unit::{BytesPerSecond, PerSecond};

pub(super) const OPERATIONS: &[Metric] = &[
    series(Load, "file_reads_per_s", PerSecond, "reads of files").computed().column(
        Group::More,
        19,
        "file reads",
        Shown::PerSecond,
        "reads of files that the load generator made",
    ),
    series(Load, "file_writes_per_s", PerSecond, "writes to files").computed().column(
        Group::More,
        20,
        "file writes",
        Shown::PerSecond,
        "writes to files that the load generator made",
    ),
    series(Load, "file_fsyncs_per_s", PerSecond, "fsyncs of files").computed().column(
        Group::More,
        21,
        "fsyncs",
        Shown::PerSecond,
        "files that the load generator made durable, one each",
    ),
    series(Load, "file_read_bytes_per_s", BytesPerSecond, "bytes read from files")
        .computed()
        .column(
            Group::More,
            22,
            "files read",
            Shown::MegabytesPerSecond,
            "bytes that the load generator read from files",
        ),
    series(Load, "file_write_bytes_per_s", BytesPerSecond, "bytes written to files")
        .computed()
        .column(
            Group::More,
            23,
            "files written",
            Shown::MegabytesPerSecond,
            "bytes that the load generator wrote to files",
        ),
];
