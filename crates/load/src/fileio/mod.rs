//! sysbench's fileio: reads, writes and fsyncs of files in one directory, without a server.
//!
//! [`prepare`] creates the files, [`run`] loads them, [`cleanup`] removes them, [`check`] reports
//! beforehand what would stop a run. The operations follow the help, the output and the system
//! calls of sysbench 1.0.20; docs/workloads.md describes them.
//!
//! Guarantees: a run writes only within its files; nothing is allocated between two operations; an
//! operation that transfers less than requested ends the run.

mod data;
mod device;
mod directory;
mod requests;
mod task;

pub use crate::device_bytes::DeviceBytes;
pub use crate::file_options::{ExtraFlag, Fileio, FsyncMode, IoMode, TestMode};
pub use directory::{PrepareStep, PreparedFiles, check, cleanup, forget, prepare};
pub use task::run;

/// The name as a workload and as a recipe.
pub const FILEIO: &str = "fileio";
