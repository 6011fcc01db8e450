//! Disks: everything that reads and writes blocks of 4 KiB.
//!
//! Media, models, fault injection and the software drive each are a [`Disk`], most of them over
//! another one, in any order. This crate depends on none of them.

#![warn(missing_docs, clippy::missing_errors_doc)]

mod buffer;
mod bytes;
mod door;
mod memory;

pub use buffer::BlockBuffer;
pub use bytes::Bytes;
pub use door::{BLOCK_BYTES, Disk, DiskError, Guarantees, Result, check_range};
pub use memory::MemoryDisk;
