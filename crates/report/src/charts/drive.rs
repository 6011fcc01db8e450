//! How charts of the software drive are drawn, which a study has only where a configuration stands
//! on one.

use crate::charts::layout::{Layout, lines, of_drive};
use assay_study::metrics::{Chart as Series, Shown};

/// Charts of the drive, one for each configuration that has one.
pub(crate) const CHARTS: [Layout; 5] = [
    of_drive(lines(
        Series::DriveBytes,
        "drive-bytes",
        "Drive: bytes",
        Shown::BytesPerSecond,
        "Bytes that the host wrote and read, and bytes written to and read from the media, by \
        the drive's counters.",
    )),
    of_drive(lines(
        Series::DriveOperations,
        "drive-operations",
        "Drive: operations",
        Shown::PerSecond,
        "Writes and flushes by the host, and writes and reads of the media, by the drive's \
        counters.",
    )),
    Layout {
        is_stacked: true,
        ..of_drive(lines(
            Series::DriveAmplification,
            "drive-amplification",
            "Drive: write amplification",
            Shown::BytesPerByte,
            "Bytes written to media per byte written by the host, by kind; below 1, compression \
            saves more than the rest costs.",
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
            "Space for incompressible data, relative to an empty drive; and free segments, of \
            all. The log fills every segment once before GC starts, so a low count of free \
            segments does not mean full.",
        ))
    },
];
