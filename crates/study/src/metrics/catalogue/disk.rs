//! The block device under the data and the one below that, as the kernel counts them.

use super::super::entry::{Metric, result, series};
use super::super::layer::Layer::{Backing, Disk};
use super::super::shown::{Chart, Group, Shown};
use super::super::unit::Unit::{
    BytesPerSecond, BytesPerTransaction, Count, Milliseconds, PerSecond, Percent,
};

/// What is counted of a block device; tables and charts show that under the data alone.
macro_rules! device {
    ($layer:expr, $of:literal, $is_shown:literal) => {
        &[
            series($layer, concat!($of, "_reads_per_s"), PerSecond, "reads ({})")
                .column(
                    Group::More,
                    6,
                    "reads",
                    Shown::PerSecond,
                    "reads completed by the device under the data",
                )
                .line(Chart::DiskOperations, 1, "reads")
                .shown_if($is_shown),
            series(
                $layer,
                concat!($of, "_read_merges_per_s"),
                PerSecond,
                "read requests merged ({})",
            ),
            series($layer, concat!($of, "_read_bytes_per_s"), BytesPerSecond, "bytes read ({})")
                .column(
                    Group::Machine,
                    3,
                    "read",
                    Shown::MegabytesPerSecond,
                    "bytes read from the device under the data",
                )
                .line(Chart::DiskBytes, 1, "read")
                .shown_if($is_shown),
            series($layer, concat!($of, "_writes_per_s"), PerSecond, "writes ({})")
                .column(
                    Group::More,
                    7,
                    "writes",
                    Shown::PerSecond,
                    "writes completed by the device under the data",
                )
                .line(Chart::DiskOperations, 2, "writes")
                .shown_if($is_shown),
            series(
                $layer,
                concat!($of, "_write_merges_per_s"),
                PerSecond,
                "write requests merged ({})",
            ),
            series(
                $layer,
                concat!($of, "_write_bytes_per_s"),
                BytesPerSecond,
                "bytes written ({})",
            )
            .column(
                Group::Machine,
                4,
                "written",
                Shown::MegabytesPerSecond,
                "bytes written to the device under the data",
            )
            .line(Chart::DiskBytes, 2, "written")
            .shown_if($is_shown),
            series($layer, concat!($of, "_in_flight"), Count, "requests in flight ({})"),
            series($layer, concat!($of, "_discards_per_s"), PerSecond, "discards ({})"),
            series(
                $layer,
                concat!($of, "_discard_merges_per_s"),
                PerSecond,
                "discard requests merged ({})",
            ),
            series(
                $layer,
                concat!($of, "_discard_bytes_per_s"),
                BytesPerSecond,
                "bytes discarded ({})",
            ),
            series($layer, concat!($of, "_flushes_per_s"), PerSecond, "flushes ({})"),
            series(
                $layer,
                concat!($of, "_read_latency_ms"),
                Milliseconds,
                "read latency, mean ({})",
            )
            .latency()
            .weighted_by(concat!($of, "_reads_per_s"))
            .column(
                Group::More,
                8,
                "disk read",
                Shown::Milliseconds,
                "mean read latency at the block device, including queueing",
            )
            .line(Chart::DiskLatency, 1, "read")
            .shown_if($is_shown),
            series(
                $layer,
                concat!($of, "_write_latency_ms"),
                Milliseconds,
                "write latency, mean ({})",
            )
            .latency()
            .weighted_by(concat!($of, "_writes_per_s"))
            .column(
                Group::More,
                9,
                "disk write",
                Shown::Milliseconds,
                "mean write latency at the block device, including queueing",
            )
            .line(Chart::DiskLatency, 2, "write")
            .shown_if($is_shown),
            series(
                $layer,
                concat!($of, "_discard_latency_ms"),
                Milliseconds,
                "discard latency, mean ({})",
            )
            .latency()
            .weighted_by(concat!($of, "_discards_per_s")),
            series(
                $layer,
                concat!($of, "_flush_latency_ms"),
                Milliseconds,
                "flush latency, mean ({})",
            )
            .latency()
            .weighted_by(concat!($of, "_flushes_per_s")),
            series($layer, concat!($of, "_queue_depth"), Count, "queue depth, mean ({})"),
            series($layer, concat!($of, "_utilisation_percent"), Percent, "utilisation ({})")
                .column(
                    Group::More,
                    10,
                    "disk busy",
                    Shown::Percent,
                    "time in which the device had at least one request",
                )
                .shown_if($is_shown),
        ]
    };
}

pub(super) const DISK: &[Metric] = device!(Disk, "disk", true);

pub(super) const BACKING: &[Metric] = device!(Backing, "backing", false);

/// What each transaction took of the device under the data.
pub(super) const TAKEN: &[Metric] = &[
    result(Disk, "write_bytes_per_transaction", BytesPerTransaction, "written to the device")
        .quotient("disk_write_bytes_per_s", "tps", 1.0)
        .better_lower()
        .column(
            Group::Machine,
            5,
            "written",
            Shown::KilobytesPerTransaction,
            "bytes written to the device under the data, per transaction",
        )
        .column(
            Group::Taken,
            2,
            "written",
            Shown::Kilobytes,
            "Written to the device per transaction",
        ),
    result(Disk, "read_bytes_per_transaction", BytesPerTransaction, "read from the device")
        .quotient("disk_read_bytes_per_s", "tps", 1.0)
        .column(
            Group::More,
            5,
            "read",
            Shown::KilobytesPerTransaction,
            "bytes read from the device, per transaction",
        )
        .column(Group::Taken, 3, "read", Shown::Kilobytes, "Read from the device per transaction"),
];
