//! sysbench's fileio: reads, writes and fsyncs of files in one directory, without a server.
//!
//! [`prepare`] makes the files, [`run`] loads them, [`cleanup`] removes them, [`check`] says beforehand what would stop a run. What is
//! done to the files was taken from the help, the output and the system calls of sysbench 1.0.20; docs/workloads.md has it in words.
//!
//! Guarantees: a run writes nowhere but inside the files that it was given; nothing is allocated between two operations; an
//! operation that transfers less than was asked for ends the run.

mod data;
mod device;
mod directory;
mod requests;
mod task;

pub use crate::device_bytes::DeviceBytes;
pub use crate::file_options::{ExtraFlag, Fileio, FsyncMode, IoMode, TestMode};
pub use directory::{Made, Step, check, cleanup, forget, prepare};
pub use task::run;

/// The name of it all, as a workload and as a recipe.
pub const FILEIO: &str = "fileio";
