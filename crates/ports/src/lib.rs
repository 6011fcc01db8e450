//! The interface to the kernel: it shows disks to the kernel, and uses the kernel's files, devices,
//! mounts, processes, CPUs, time, terminal and signals. Also the interface to a Ceph cluster, whose
//! images are disks.
//!
//! Invariants: the one crate with `unsafe`, each with its reason; depends on `assay_disk::Disk` and
//! not on MySQL; dropping a value removes everything that it made.

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod blockdev;
pub mod child;
pub mod clock;
pub mod copy;
pub mod cpu;
pub mod extents;
pub mod file_id;
pub mod filesystem;
pub mod fuse;
pub mod lacks;
pub mod loopdev;
pub mod made;
pub mod media;
pub mod mount_holders;
pub mod nvme;
pub mod permitted;
pub mod program;
pub mod rank;
pub mod rbd;
pub mod secrecy;
pub mod stop;
pub mod survival;
pub mod terminal;
pub mod users;
pub mod waiting;

// The tests outside share `testing` and know this crate by its name.
#[cfg(test)]
extern crate self as assay_ports;
#[cfg(test)]
mod testing;
