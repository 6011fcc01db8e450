//! The software drive, and what is inside the model of one, by its own counters.

use super::super::entry::{Metric, result, series};
use super::super::layer::Layer::Drive;
use super::super::shown::{Chart, Group, Shown};
use super::super::unit::Unit::{
    Bytes, BytesPerSecond, BytesPerTransaction, Count, PerSecond, Percent, Ratio,
};

pub(super) const DRIVE: &[Metric] = &[
    series(
        Drive,
        "drive_read_bytes_host_per_s",
        BytesPerSecond,
        "bytes read by the host (drive)",
    )
    .line(Chart::DriveBytes, 3, "read by the host"),
    series(
        Drive,
        "drive_read_bytes_media_per_s",
        BytesPerSecond,
        "bytes read from media (drive)",
    )
    .line(Chart::DriveBytes, 4, "read from media"),
    series(Drive, "drive_reads_media_per_s", PerSecond, "reads of media (drive)").line(
        Chart::DriveOperations,
        3,
        "reads from media",
    ),
    series(
        Drive,
        "drive_write_bytes_host_per_s",
        BytesPerSecond,
        "bytes written by the host (drive)",
    )
    .column(
        Group::Drive,
        2,
        "from host",
        Shown::MegabytesPerSecond,
        "bytes written to the drive, by its own count",
    )
    .line(Chart::DriveBytes, 1, "written by the host"),
    series(
        Drive,
        "drive_write_bytes_media_per_s",
        BytesPerSecond,
        "bytes written to media (drive)",
    )
    .column(
        Group::Drive,
        3,
        "to media",
        Shown::MegabytesPerSecond,
        "bytes that the drive wrote to its media",
    )
    .line(Chart::DriveBytes, 2, "written to media"),
    series(
        Drive,
        "drive_write_bytes_payload_per_s",
        BytesPerSecond,
        "compressed data written (drive)",
    ),
    series(
        Drive,
        "drive_write_bytes_table_per_s",
        BytesPerSecond,
        "headers and tables written (drive)",
    ),
    series(
        Drive,
        "drive_write_bytes_gc_per_s",
        BytesPerSecond,
        "written by GC (drive)",
    ),
    series(
        Drive,
        "drive_write_bytes_checkpoint_per_s",
        BytesPerSecond,
        "written by checkpoints (drive)",
    ),
    series(
        Drive,
        "drive_write_bytes_zero_per_s",
        BytesPerSecond,
        "zeroes written by the host (drive)",
    ),
    series(Drive, "drive_write_bytes_raw_per_s", BytesPerSecond, "stored as they came (drive)"),
    series(
        Drive,
        "drive_discard_bytes_host_per_s",
        BytesPerSecond,
        "discarded by the host (drive)",
    ),
    series(Drive, "drive_writes_host_per_s", PerSecond, "writes by the host (drive)").line(
        Chart::DriveOperations,
        1,
        "writes by the host",
    ),
    series(
        Drive,
        "drive_writes_atomic_per_s",
        PerSecond,
        "writes of up to 256 KiB, whole or not at all (drive)",
    ),
    series(Drive, "drive_writes_media_per_s", PerSecond, "writes to media (drive)").line(
        Chart::DriveOperations,
        2,
        "writes to media",
    ),
    series(
        Drive,
        "drive_flushes_per_s",
        PerSecond,
        "flushes and forced writes by the host (drive)",
    )
    .column(
        Group::Drive,
        11,
        "flushes",
        Shown::PerSecond,
        "flushes and forced writes by the host",
    )
    .line(Chart::DriveOperations, 4, "flushes by the host"),
    series(Drive, "drive_flushes_media_per_s", PerSecond, "flushes of media (drive)"),
    series(Drive, "drive_gc_segments_per_s", PerSecond, "segments reclaimed by GC (drive)").line(
        Chart::DriveGc,
        1,
        "segments reclaimed",
    ),
    series(
        Drive,
        "drive_gc_stalls_per_s",
        PerSecond,
        "writes that waited for GC (drive)",
    )
    .better_lower()
    .column(
        Group::Drive,
        10,
        "stalls",
        Shown::PerSecond,
        "writes that had to wait for garbage collection",
    )
    .line(Chart::DriveGc, 2, "writes that waited"),
    series(Drive, "drive_checkpoints_per_s", PerSecond, "checkpoints (drive)"),
    // Over the window as one: the mean of quotients would weigh idle seconds like busy ones.
    series(
        Drive,
        "drive_write_amplification",
        Ratio,
        "write amplification, media (drive)",
    )
    .quotient("drive_write_bytes_media_per_s", "drive_write_bytes_host_per_s", 1.0)
    .better_lower()
    .column(
        Group::Drive,
        4,
        "amplification",
        Shown::Bare,
        "bytes written to media for each byte from the host, compression included: the next four together",
    )
    .column(
        Group::Model,
        11,
        "amplification",
        Shown::Bare,
        "bytes written to the modelled flash for each byte from the host; compression makes it less",
    ),
    series(
        Drive,
        "drive_write_amplification_payload",
        Ratio,
        "write amplification, payload (drive)",
    )
    .quotient("drive_write_bytes_payload_per_s", "drive_write_bytes_host_per_s", 1.0)
    .better_lower()
    .column(
        Group::Drive,
        5,
        "data",
        Shown::Bare,
        "compressed data, for each byte from the host",
    )
    .line(Chart::DriveAmplification, 1, "data"),
    series(
        Drive,
        "drive_write_amplification_table",
        Ratio,
        "write amplification, table (drive)",
    )
    .quotient("drive_write_bytes_table_per_s", "drive_write_bytes_host_per_s", 1.0)
    .better_lower()
    .column(
        Group::Drive,
        6,
        "tables",
        Shown::Bare,
        "headers, tables and padding around the data, for each byte from the host",
    )
    .line(Chart::DriveAmplification, 2, "tables"),
    series(
        Drive,
        "drive_write_amplification_gc",
        Ratio,
        "write amplification, GC (drive)",
    )
    .quotient("drive_write_bytes_gc_per_s", "drive_write_bytes_host_per_s", 1.0)
    .better_lower()
    .column(
        Group::Drive,
        7,
        "GC",
        Shown::Bare,
        "bytes that garbage collection moved, for each byte from the host",
    )
    .line(Chart::DriveAmplification, 3, "GC"),
    series(
        Drive,
        "drive_write_amplification_checkpoint",
        Ratio,
        "write amplification, checkpoint (drive)",
    )
    .quotient("drive_write_bytes_checkpoint_per_s", "drive_write_bytes_host_per_s", 1.0)
    .better_lower()
    .column(
        Group::Drive,
        8,
        "checkpoints",
        Shown::Bare,
        "what checkpoints wrote, for each byte from the host",
    )
    .line(Chart::DriveAmplification, 4, "checkpoints"),
    series(Drive, "drive_logical_bytes_used", Bytes, "blocks that hold data (drive)")
        .column(
            Group::Space,
            3,
            "on the drive",
            Shown::Megabytes,
            "blocks of the software drive that hold data, those of the file system itself too; zeroes hold none",
        )
        .column(
            Group::Preconditioned,
            1,
            "model holds",
            Shown::Megabytes,
            "blocks of the model that hold data, those of what wore it in too",
        ),
    series(Drive, "drive_media_bytes_used", Bytes, "media taken by them (drive)"),
    series(Drive, "drive_compression_ratio", Ratio, "compression ratio (drive)")
        .better_higher()
        .column(
            Group::Drive,
            1,
            "ratio",
            Shown::Bare,
            "bytes of the blocks that hold data, for each byte of media that they take",
        ),
    series(Drive, "drive_segments_free", Count, "segments not in use (drive)"),
    series(Drive, "drive_free_bytes", Bytes, "room for data that do not compress (drive)"),
    series(Drive, "drive_map_bytes", Bytes, "memory of the map (drive)"),
    series(Drive, "drive_segments_free_percent", Percent, "segments not in use (drive)").line(
        Chart::DriveFree,
        2,
        "segments not in use",
    ),
    series(
        Drive,
        "drive_free_percent",
        Percent,
        "room for data that do not compress (drive)",
    )
    .better_higher()
    .column(
        Group::Drive,
        9,
        "free",
        Shown::Percent,
        "room for data that do not compress, of what an empty drive has",
    )
    .line(Chart::DriveFree, 1, "room for data"),
    result(
        Drive,
        "media_write_bytes_per_transaction",
        BytesPerTransaction,
        "written to media (drive)",
    )
    .quotient("drive_write_bytes_media_per_s", "tps", 1.0)
    .better_lower()
    .column(
        Group::Machine,
        6,
        "to media",
        Shown::KilobytesPerTransaction,
        "bytes that the drive or the modelled device wrote to its media, GC included, for each transaction",
    )
    .column(
        Group::Model,
        10,
        "to flash",
        Shown::KilobytesPerTransaction,
        "bytes written to the modelled flash for each transaction, GC included",
    )
    .column(
        Group::Taken,
        1,
        "written",
        Shown::Kilobytes,
        "Written to media, a transaction",
    ),
];
