//! The software drive, and what is inside the model of one, by its own counters.

use super::super::entry::{MetricEntry, metrics};

pub(super) const DRIVE: &[MetricEntry] = metrics! { Drive:
    series "drive_read_bytes_host_per_s", BytesPerSecond, "bytes read by the host (drive)",
        line(DriveBytes 3 "read by the host");
    series "drive_read_bytes_media_per_s", BytesPerSecond, "bytes read from media (drive)",
        line(DriveBytes 4 "read from media");
    series "drive_reads_media_per_s", PerSecond, "reads of media (drive)",
        line(DriveOperations 3 "reads from media");
    series "drive_write_bytes_host_per_s", BytesPerSecond, "bytes written by the host (drive)",
        column(Drive 2 "from host" MegabytesPerSecond
            "bytes written to the drive, by its own count"),
        line(DriveBytes 1 "written by the host");
    series "drive_write_bytes_media_per_s", BytesPerSecond, "bytes written to media (drive)",
        column(Drive 3 "to media" MegabytesPerSecond "bytes that the drive wrote to its media"),
        line(DriveBytes 2 "written to media");
    series "drive_write_bytes_payload_per_s", BytesPerSecond, "compressed data written (drive)";
    series "drive_write_bytes_table_per_s", BytesPerSecond, "headers and tables written (drive)";
    series "drive_write_bytes_gc_per_s", BytesPerSecond, "written by GC (drive)";
    series "drive_write_bytes_checkpoint_per_s", BytesPerSecond, "written by checkpoints (drive)";
    series "drive_write_bytes_zero_per_s", BytesPerSecond, "zeroes written by the host (drive)";
    series "drive_write_bytes_raw_per_s", BytesPerSecond, "stored uncompressed (drive)";
    series "drive_discard_bytes_host_per_s", BytesPerSecond, "discarded by the host (drive)";
    series "drive_writes_host_per_s", PerSecond, "writes by the host (drive)",
        line(DriveOperations 1 "writes by the host");
    series "drive_writes_atomic_per_s", PerSecond, "atomic writes of up to 256 KiB (drive)";
    series "drive_writes_media_per_s", PerSecond, "writes to media (drive)",
        line(DriveOperations 2 "writes to media");
    series "drive_flushes_per_s", PerSecond, "flushes and FUA writes by the host (drive)",
        column(Drive 11 "flushes" PerSecond "flushes and FUA writes by the host"),
        line(DriveOperations 4 "flushes by the host");
    series "drive_flushes_media_per_s", PerSecond, "flushes of media (drive)";
    series "drive_gc_segments_per_s", PerSecond, "segments reclaimed by GC (drive)",
        line(DriveGc 1 "segments reclaimed");
    series "drive_gc_stalls_per_s", PerSecond, "writes that waited for GC (drive)", better_lower(),
        column(Drive 10 "stalls" PerSecond "writes that had to wait for garbage collection"),
        line(DriveGc 2 "writes that waited");
    series "drive_checkpoints_per_s", PerSecond, "checkpoints (drive)";
    // Over the window as one: the mean of quotients would weigh idle seconds like busy ones.
    series "drive_write_amplification", Ratio, "write amplification, media (drive)",
        quotient("drive_write_bytes_media_per_s", "drive_write_bytes_host_per_s", 1.0),
        better_lower(),
        column(Drive 4 "amplification" Bare
            "bytes written to media per byte written by the host, after compression: the sum of \
            the next four"),
        column(Model 11 "amplification" Bare
            "bytes written to the modelled flash per byte written by the host, after compression");
    series "drive_write_amplification_payload", Ratio, "write amplification, payload (drive)",
        quotient("drive_write_bytes_payload_per_s", "drive_write_bytes_host_per_s", 1.0),
        better_lower(), column(Drive 5 "data" Bare "compressed data per byte written by the host"),
        line(DriveAmplification 1 "data");
    series "drive_write_amplification_table", Ratio, "write amplification, table (drive)",
        quotient("drive_write_bytes_table_per_s", "drive_write_bytes_host_per_s", 1.0),
        better_lower(),
        column(Drive 6 "tables" Bare "headers, tables and padding per byte written by the host"),
        line(DriveAmplification 2 "tables");
    series "drive_write_amplification_gc", Ratio, "write amplification, GC (drive)",
        quotient("drive_write_bytes_gc_per_s", "drive_write_bytes_host_per_s", 1.0), better_lower(),
        column(Drive 7 "GC" Bare "bytes moved by garbage collection per byte written by the host"),
        line(DriveAmplification 3 "GC");
    series "drive_write_amplification_checkpoint", Ratio, "write amplification, checkpoint (drive)",
        quotient("drive_write_bytes_checkpoint_per_s", "drive_write_bytes_host_per_s", 1.0),
        better_lower(),
        column(Drive 8 "checkpoints" Bare
            "bytes written by checkpoints per byte written by the host"),
        line(DriveAmplification 4 "checkpoints");
    series "drive_logical_bytes_used", Bytes, "logical space in use (drive)",
        column(Space 3 "on the drive" Megabytes
            "logical space in use on the software drive, file system metadata included; zeroes \
            take none"),
        column(Preconditioned 1 "model holds" Megabytes
            "logical space in use on the model, preconditioning data included");
    series "drive_media_bytes_used", Bytes, "physical space in use (drive)";
    series "drive_compression_ratio", Ratio, "compression ratio (drive)", better_higher(),
        column(Drive 1 "ratio" Bare "logical bytes in use per physical byte in use");
    series "drive_segments_free", Count, "free segments (drive)";
    series "drive_free_bytes", Bytes, "space for incompressible data (drive)";
    series "drive_map_bytes", Bytes, "memory of the map (drive)";
    series "drive_segments_free_percent", Percent, "free segments (drive)",
        line(DriveFree 2 "free segments");
    series "drive_free_percent", Percent, "space for incompressible data (drive)", better_higher(),
        column(Drive 9 "free" Percent "space for incompressible data, relative to an empty drive"),
        line(DriveFree 1 "space for data");
    result "media_write_bytes_per_transaction", BytesPerTransaction, "written to media (drive)",
        quotient("drive_write_bytes_media_per_s", "tps", 1.0), better_lower(),
        column(Machine 6 "to media" KilobytesPerTransaction
            "bytes that the drive or the modelled device wrote to its media, GC included, per \
            {event}"),
        column(Model 10 "to flash" KilobytesPerTransaction
            "bytes written to the modelled flash per {event}, GC included"),
        column(Taken 1 "written" Kilobytes "Written to media per {event}");
};
