//! The software drive: a disk made of a codec, a log, a map and garbage collection over another
//! disk, its media.
//!
//! Invariants: no threads, no clock, no files and no randomness of its own. The caller passes them
//! in, so one seed repeats every failure.
//!
//! ```
//! use std::sync::Arc;
//!
//! use assay_drive::{Codec, Disk, Drive, DriveOptions, Format, MemoryDisk};
//!
//! let media = Arc::new(MemoryDisk::new(64 << 20)?);
//! let format = Format {
//!     drive_id: 7,
//!     logical_bytes: 1 << 30,
//!     codec: Codec::Zstd,
//!     units: false,
//!     dictionary: false,
//!     segment_bytes: None,
//! };
//! Drive::format(media.clone(), &format)?;
//!
//! let drive = Drive::open(media.clone(), DriveOptions::default())?;
//! drive.write(0, &[42; 8192], false)?;
//! drive.flush()?;
//! // Without a call of `close`, as after a crash: the drive recovers what was flushed.
//! drop(drive);
//!
//! let drive = Drive::open(media, DriveOptions::default())?;
//! assert!(!drive.status().recovery.clean);
//! let mut data = [0; 4096];
//! drive.read(4096, &mut data)?;
//! assert_eq!(data, [42; 4096]);
//! drive.close()?;
//! # Ok::<(), assay_drive::DriveError>(())
//! ```

// The tests in these files are of the drive's own package: a scheduled lock works only under its
// scheduler.
#![cfg(not(all(interleaved, test)))]
#![warn(missing_docs, clippy::missing_errors_doc)]

mod codec;
mod core;
mod drive;
mod format;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod host;
mod inspect;
mod opening;
mod options;
mod reading;
mod rules;
mod shell;
mod status;
mod sync;
mod upkeep;
mod writing;

pub use assay_disk::{
    BLOCK_BYTES, BlockBuffer, Bytes, Disk, DiskError, Guarantees, MemoryDisk, Result, check_range,
};

pub use codec::{
    Codec, CodecError, Coder, DICTIONARY_BYTES, Dictionary, Encoding, RECORD_OVERHEAD_BYTES,
    UnknownCodec, is_zero, looks_incompressible, stand_in,
};
pub use core::victims::Policy;
pub use drive::Drive;
pub use format::LOGICAL_PER_CAPACITY;
pub use inspect::check::{CheckReport, Damage};
pub use inspect::repair::{LossReason, Lost, Repair, UnreadableBlocks};
pub use opening::create::{DriveError, Format};
pub use opening::superblocks::begins_drive;
pub use options::{Cache, DriveOptions, Emulation, StoredSizes};
#[cfg(interleaved)]
pub use rules::{RULES, Rule, break_rule};
pub use status::{Counts, GivenUp, Recovery, State, Status};
pub use upkeep::maintain::Rest;
