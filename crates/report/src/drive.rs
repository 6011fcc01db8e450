//! How charts of the software drive are drawn, which a study has only where a configuration stands on one.

use super::layout::{Layout, lines, of_drive};
use assay_study::metrics::{Chart as Series, Shown};

/// Charts of the drive, one for each configuration that has one.
pub(super) const CHARTS: [Layout; 5] = [
    of_drive(lines(
        Series::DriveBytes,
        "drive-bytes",
        "Drive: bytes",
        Shown::BytesPerSecond,
        "What the host wrote to the drive and read from it, and what came of that on its media, from the drive's own counters.",
    )),
    of_drive(lines(
        Series::DriveOperations,
        "drive-operations",
        "Drive: operations",
        Shown::PerSecond,
        "Writes and flushes that the host asked for, and writes and reads of media that came of them, from the drive's own counters.",
    )),
    Layout {
        is_stacked: true,
        ..of_drive(lines(
            Series::DriveAmplification,
            "drive-amplification",
            "Drive: write amplification",
            Shown::BytesPerByte,
            "Bytes written to media for each byte that the host wrote in that second, by what they were; below 1 compression gains more than the rest costs.",
        ))
    },
    of_drive(lines(
        Series::DriveGc,
        "drive-gc",
        "Drive: garbage collection",
        Shown::PerSecond,
        "Segments that GC emptied to make room, and writes that had to wait for it.",
    )),
    Layout {
        top: Some(100.0),
        ..of_drive(lines(
            Series::DriveFree,
            "drive-free",
            "Drive: free space",
            Shown::Percent,
            "Room for data that do not compress, of what an empty drive has; and segments not in use, of all. The log fills every segment once before it collects any, so few of them in use no more say nothing of room.",
        ))
    },
];
