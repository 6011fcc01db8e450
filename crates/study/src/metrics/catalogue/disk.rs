//! The block device under the data and the one below it, by the kernel's counters.

use super::super::entry::{MetricEntry, metrics};

/// The counters of a block device. Tables and charts show only the device under the data.
macro_rules! device {
    ($layer:ident, $of:literal, $is_shown:literal) => {
        metrics! { $layer:
            series concat!($of, "_reads_per_s"), PerSecond, "reads ({})",
                column(More 6 "reads" PerSecond "reads completed by the device under the data"),
                line(DiskOperations 1 "reads"), shown_if($is_shown);
            series concat!($of, "_read_merges_per_s"), PerSecond, "read requests merged ({})";
            series concat!($of, "_read_bytes_per_s"), BytesPerSecond, "bytes read ({})",
                column(Machine 3 "read" MegabytesPerSecond
                    "bytes read from the device under the data"), line(DiskBytes 1 "read"),
                shown_if($is_shown);
            series concat!($of, "_writes_per_s"), PerSecond, "writes ({})",
                column(More 7 "writes" PerSecond "writes completed by the device under the data"),
                line(DiskOperations 2 "writes"), shown_if($is_shown);
            series concat!($of, "_write_merges_per_s"), PerSecond, "write requests merged ({})";
            series concat!($of, "_write_bytes_per_s"), BytesPerSecond, "bytes written ({})",
                column(Machine 4 "written" MegabytesPerSecond
                    "bytes written to the device under the data"), line(DiskBytes 2 "written"),
                shown_if($is_shown);
            series concat!($of, "_in_flight"), Count, "requests in flight ({})";
            series concat!($of, "_discards_per_s"), PerSecond, "discards ({})";
            series concat!($of, "_discard_merges_per_s"), PerSecond, "discard requests merged ({})";
            series concat!($of, "_discard_bytes_per_s"), BytesPerSecond, "bytes discarded ({})";
            series concat!($of, "_flushes_per_s"), PerSecond, "flushes ({})";
            series concat!($of, "_read_latency_ms"), Milliseconds, "read latency, mean ({})",
                latency(), weighted_by(concat!($of, "_reads_per_s")),
                column(More 8 "disk read" Milliseconds
                    "mean read latency at the block device, including queueing"),
                line(DiskLatency 1 "read"), shown_if($is_shown);
            series concat!($of, "_write_latency_ms"), Milliseconds, "write latency, mean ({})",
                latency(), weighted_by(concat!($of, "_writes_per_s")),
                column(More 9 "disk write" Milliseconds
                    "mean write latency at the block device, including queueing"),
                line(DiskLatency 2 "write"), shown_if($is_shown);
            series concat!($of, "_discard_latency_ms"), Milliseconds, "discard latency, mean ({})",
                latency(), weighted_by(concat!($of, "_discards_per_s"));
            series concat!($of, "_flush_latency_ms"), Milliseconds, "flush latency, mean ({})",
                latency(), weighted_by(concat!($of, "_flushes_per_s"));
            series concat!($of, "_queue_depth"), Count, "queue depth, mean ({})";
            series concat!($of, "_utilisation_percent"), Percent, "utilisation ({})",
                column(More 10 "disk busy" Percent
                    "time in which the device had at least one request"), shown_if($is_shown);
        }
    };
}

pub(super) const DISK: &[MetricEntry] = device!(Disk, "disk", true);

pub(super) const BACKING: &[MetricEntry] = device!(Backing, "backing", false);

/// Bytes of each transaction on the device under the data.
pub(super) const BY_TRANSACTION: &[MetricEntry] = metrics! { Disk:
    result "write_bytes_per_transaction", BytesPerTransaction, "written to the device",
        quotient("disk_write_bytes_per_s", "tps", 1.0), better_lower(),
        column(Machine 5 "written" KilobytesPerTransaction
            "bytes written to the device under the data, per {event}"),
        column(Taken 2 "written" Kilobytes "Written to the device per {event}");
    result "read_bytes_per_transaction", BytesPerTransaction, "read from the device",
        quotient("disk_read_bytes_per_s", "tps", 1.0),
        column(More 5 "read" KilobytesPerTransaction "bytes read from the device, per {event}"),
        column(Taken 3 "read" Kilobytes "Read from the device per {event}");
};
