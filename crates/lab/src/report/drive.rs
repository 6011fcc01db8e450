//! What the report shows of the software drive: figures and charts that a study has only where an arm stands on one.

use super::metrics::{Metric, metric};
use super::second::{Chart, lines, of_drive};

/// Columns of the drive's table.
pub(super) const FIGURES: [Metric<'static>; 12] = [
    metric(
        "drive_compression_ratio",
        "ratio",
        "",
        1.0,
        "bytes of the blocks that hold data, for each byte of media that they take",
    ),
    metric(
        "drive_write_bytes_host_per_s",
        "from host",
        "MB/s",
        1e-6,
        "bytes written to the drive, by its own count",
    ),
    metric(
        "drive_write_bytes_media_per_s",
        "to media",
        "MB/s",
        1e-6,
        "bytes that the drive wrote to its media",
    ),
    metric(
        "drive_write_amplification",
        "amplification",
        "",
        1.0,
        "bytes written to media for each byte from the host, compression included: the next four together",
    ),
    metric(
        "drive_write_amplification_payload",
        "data",
        "",
        1.0,
        "compressed data, for each byte from the host",
    ),
    metric(
        "drive_write_amplification_table",
        "tables",
        "",
        1.0,
        "headers, tables and padding around the data, for each byte from the host",
    ),
    metric(
        "drive_write_amplification_collection",
        "collection",
        "",
        1.0,
        "what collection moved, for each byte from the host",
    ),
    metric(
        "drive_write_amplification_checkpoint",
        "checkpoints",
        "",
        1.0,
        "what checkpoints wrote, for each byte from the host",
    ),
    metric(
        "drive_free_percent",
        "free",
        "%",
        1.0,
        "room for data that do not compress, of what an empty drive has",
    ),
    metric(
        "drive_collection_stalls_per_s",
        "stalls",
        "1/s",
        1.0,
        "writes that had to wait for collection",
    ),
    metric("drive_flushes_per_s", "flushes", "1/s", 1.0, "flushes and forced writes by the host"),
    metric(
        "serving_cpu_percent",
        "CPU",
        "%",
        1.0,
        "user and system time of the process that serves the drive; 100 is one processor",
    ),
];

/// Charts of the drive, one for each arm that has one.
pub(super) const CHARTS: [Chart; 5] = [
    of_drive(lines(
        "drive-bytes",
        "Drive: bytes",
        "B/s",
        "What the host wrote to the drive and read from it, and what came of that on its media, from the drive's own counters.",
        &[
            ("drive_write_bytes_host_per_s", "written by the host"),
            ("drive_write_bytes_media_per_s", "written to media"),
            ("drive_read_bytes_host_per_s", "read by the host"),
            ("drive_read_bytes_media_per_s", "read from media"),
        ],
    )),
    of_drive(lines(
        "drive-operations",
        "Drive: operations",
        "1/s",
        "Writes and flushes that the host asked for, and writes and reads of media that came of them, from the drive's own counters.",
        &[
            ("drive_writes_host_per_s", "writes by the host"),
            ("drive_writes_media_per_s", "writes to media"),
            ("drive_reads_media_per_s", "reads from media"),
            ("drive_flushes_per_s", "flushes by the host"),
        ],
    )),
    Chart {
        is_stacked: true,
        ..of_drive(lines(
            "drive-amplification",
            "Drive: write amplification",
            "bytes/byte",
            "Bytes written to media for each byte that the host wrote in that second, by what they were; below 1 compression gains more than the rest costs.",
            &[
                ("drive_write_amplification_payload", "data"),
                ("drive_write_amplification_table", "tables"),
                ("drive_write_amplification_collection", "collection"),
                ("drive_write_amplification_checkpoint", "checkpoints"),
            ],
        ))
    },
    of_drive(lines(
        "drive-collection",
        "Drive: collection",
        "1/s",
        "Segments that were collected to make room, and writes that had to wait for that.",
        &[
            ("drive_collections_per_s", "segments collected"),
            ("drive_collection_stalls_per_s", "writes that waited"),
        ],
    )),
    Chart {
        top: Some(100.0),
        ..of_drive(lines(
            "drive-free",
            "Drive: free space",
            "%",
            "Room for data that do not compress, of what an empty drive has; and segments not in use, of all. The log fills every segment once before it collects any, so few of them in use no more say nothing of room.",
            &[
                ("drive_free_percent", "room for data"),
                ("drive_segments_free_percent", "segments not in use"),
            ],
        ))
    },
];
