//! Files and file system, as they are at the end of the window: a large data directory is not
//! walked every second, and it grows.

use super::super::entry::{MetricEntry, metrics};

pub(super) const FILES: &[MetricEntry] = metrics! { Space:
    series "space_file_bytes", Bytes, "file sizes", last_seen(),
        column(Space 1 "files" Megabytes "total size of the data files at the end of the run");
    series "space_allocated_bytes", Bytes, "allocated to files", last_seen(),
        column(Space 2 "allocated" Megabytes
            "blocks allocated to the data files at the end of the run");
    series "space_tables_file_bytes", Bytes, "file sizes, tables", last_seen();
    series "space_tables_allocated_bytes", Bytes, "allocated, tables", last_seen();
    series "space_redo_file_bytes", Bytes, "file sizes, redo", last_seen();
    series "space_redo_allocated_bytes", Bytes, "allocated, redo", last_seen();
    series "space_undo_file_bytes", Bytes, "file sizes, undo", last_seen();
    series "space_undo_allocated_bytes", Bytes, "allocated, undo", last_seen();
    series "space_doublewrite_file_bytes", Bytes, "file sizes, doublewrite", last_seen();
    series "space_doublewrite_allocated_bytes", Bytes, "allocated, doublewrite", last_seen();
    series "space_binlog_file_bytes", Bytes, "file sizes, binlog", last_seen();
    series "space_binlog_allocated_bytes", Bytes, "allocated, binlog", last_seen();
    series "space_system_file_bytes", Bytes, "file sizes, system", last_seen();
    series "space_system_allocated_bytes", Bytes, "allocated, system", last_seen();
    series "space_other_file_bytes", Bytes, "file sizes, other", last_seen();
    series "space_other_allocated_bytes", Bytes, "allocated, other", last_seen();
    series "space_filesystem_used_bytes", Bytes, "file system, used", last_seen();
    series "space_filesystem_total_bytes", Bytes, "file system, total", last_seen();
    series "space_filesystem_room_bytes", Bytes, "file system, left for the server", last_seen();
    series "space_physical_bytes", Bytes, "physical space", last_seen(),
        column(Space 4 "physical" Megabytes
            "physical space of the data: on a software drive compressed records with their \
            overhead, else the allocated blocks"),
        column(Preconditioned 2 "of its flash" Megabytes
            "physical space on the modelled flash, preconditioning data included");
};
