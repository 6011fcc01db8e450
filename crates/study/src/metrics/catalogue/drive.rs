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
    series(Drive, "drive_write_bytes_raw_per_s", BytesPerSecond, "stored uncompressed (drive)"),
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
        "atomic writes of up to 256 KiB (drive)",
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
        "flushes and FUA writes by the host (drive)",
    )
    .column(
        Group::Drive,
        11,
        "flushes",
        Shown::PerSecond,
        "flushes and FUA writes by the host",
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
        "bytes written to media per byte written by the host, after compression: the sum of the next four",
    )
    .column(
        Group::Model,
        11,
        "amplification",
        Shown::Bare,
        "bytes written to the modelled flash per byte written by the host, after compression",
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
        "compressed data per byte written by the host",
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
        "headers, tables and padding per byte written by the host",
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
        "bytes moved by garbage collection per byte written by the host",
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
        "bytes written by checkpoints per byte written by the host",
    )
    .line(Chart::DriveAmplification, 4, "checkpoints"),
    series(Drive, "drive_logical_bytes_used", Bytes, "logical space in use (drive)")
        .column(
            Group::Space,
            3,
            "on the drive",
            Shown::Megabytes,
            "logical space in use on the software drive, file system metadata included; zeroes take none",
        )
        .column(
            Group::Preconditioned,
            1,
            "model holds",
            Shown::Megabytes,
            "logical space in use on the model, preconditioning data included",
        ),
    series(Drive, "drive_media_bytes_used", Bytes, "physical space in use (drive)"),
    series(Drive, "drive_compression_ratio", Ratio, "compression ratio (drive)")
        .better_higher()
        .column(
            Group::Drive,
            1,
            "ratio",
            Shown::Bare,
            "logical bytes in use per physical byte in use",
        ),
    series(Drive, "drive_segments_free", Count, "free segments (drive)"),
    series(Drive, "drive_free_bytes", Bytes, "space for incompressible data (drive)"),
    series(Drive, "drive_map_bytes", Bytes, "memory of the map (drive)"),
    series(Drive, "drive_segments_free_percent", Percent, "free segments (drive)").line(
        Chart::DriveFree,
        2,
        "free segments",
    ),
    series(
        Drive,
        "drive_free_percent",
        Percent,
        "space for incompressible data (drive)",
    )
    .better_higher()
    .column(
        Group::Drive,
        9,
        "free",
        Shown::Percent,
        "space for incompressible data, relative to an empty drive",
    )
    .line(Chart::DriveFree, 1, "space for data"),
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
        "bytes that the drive or the modelled device wrote to its media, GC included, per transaction",
    )
    .column(
        Group::Model,
        10,
        "to flash",
        Shown::KilobytesPerTransaction,
        "bytes written to the modelled flash per transaction, GC included",
    )
    .column(
        Group::Taken,
        1,
        "written",
        Shown::Kilobytes,
        "Written to media per transaction",
    ),
];
