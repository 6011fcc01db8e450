//! Operations and bytes of the recipe fileio, counted by the load generator.

use super::super::entry::{MetricEntry, metrics};

pub(super) const OPERATIONS: &[MetricEntry] = metrics! { Load:
    series "file_reads_per_s", PerSecond, "reads of files", computed(),
        column(More 19 "file reads" PerSecond "reads of files that the load generator made");
    series "file_writes_per_s", PerSecond, "writes to files", computed(),
        column(More 20 "file writes" PerSecond "writes to files that the load generator made");
    series "file_fsyncs_per_s", PerSecond, "fsyncs of files", computed(),
        column(More 21 "fsyncs" PerSecond "files that the load generator made durable, one each");
    series "file_read_bytes_per_s", BytesPerSecond, "bytes read from files", computed(),
        column(More 22 "files read" MegabytesPerSecond
            "bytes that the load generator read from files");
    series "file_write_bytes_per_s", BytesPerSecond, "bytes written to files", computed(),
        column(More 23 "files written" MegabytesPerSecond
            "bytes that the load generator wrote to files");
};
