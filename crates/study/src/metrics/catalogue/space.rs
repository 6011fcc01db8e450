//! Files and file system. What there is at the window's end is what counts, not a mean: a large data directory is not
//! walked every second, and it grows.

use super::super::entry::{Metric, series};
use super::super::layer::Layer::Space;
use super::super::shown::{Group, Shown};
use super::super::unit::Unit::Bytes;

const fn bytes(name: &'static str, label: &'static str) -> Metric {
    series(Space, name, Bytes, label).last_seen()
}

pub(super) const FILES: &[Metric] = &[
    bytes("space_file_bytes", "file sizes").column(
        Group::Space,
        1,
        "files",
        Shown::Megabytes,
        "total size of the data files at the end of the run",
    ),
    bytes("space_allocated_bytes", "allocated to files").column(
        Group::Space,
        2,
        "allocated",
        Shown::Megabytes,
        "blocks allocated to the data files at the end of the run",
    ),
    bytes("space_tables_file_bytes", "file sizes, tables"),
    bytes("space_tables_allocated_bytes", "allocated, tables"),
    bytes("space_redo_file_bytes", "file sizes, redo"),
    bytes("space_redo_allocated_bytes", "allocated, redo"),
    bytes("space_undo_file_bytes", "file sizes, undo"),
    bytes("space_undo_allocated_bytes", "allocated, undo"),
    bytes("space_doublewrite_file_bytes", "file sizes, doublewrite"),
    bytes("space_doublewrite_allocated_bytes", "allocated, doublewrite"),
    bytes("space_binlog_file_bytes", "file sizes, binlog"),
    bytes("space_binlog_allocated_bytes", "allocated, binlog"),
    bytes("space_system_file_bytes", "file sizes, system"),
    bytes("space_system_allocated_bytes", "allocated, system"),
    bytes("space_other_file_bytes", "file sizes, other"),
    bytes("space_other_allocated_bytes", "allocated, other"),
    bytes("space_filesystem_used_bytes", "file system, used"),
    bytes("space_filesystem_total_bytes", "file system, total"),
    bytes("space_filesystem_room_bytes", "file system, left for the server"),
    bytes("space_physical_bytes", "physical space")
        .column(
            Group::Space,
            4,
            "physical",
            Shown::Megabytes,
            "physical space of the data: on a software drive compressed records with their overhead, else the allocated blocks",
        )
        .column(
            Group::Preconditioned,
            2,
            "of its flash",
            Shown::Megabytes,
            "physical space on the modelled flash, preconditioning data included",
        ),
];
