//! The software drive: a disk made of a codec, a log, a map and garbage collection over another disk, its media.
//!
//! Invariants: no threads, no clock, no files and no randomness of its own; whatever it needs of these is handed
//! in, so that one seed repeats every failure.

#![warn(missing_docs, clippy::missing_errors_doc)]

mod codec;
mod core;
mod format;
mod host;
mod inspect;
mod opening;
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
pub use format::LOGICAL_PER_CAPACITY;
pub use inspect::check::{Check, Damage};
pub use inspect::repair::{Loss, Lost, Repair, Unreadable};
pub use opening::create::{DriveError, Format};
pub use opening::superblocks::begins_drive;
#[cfg(interleaved)]
pub use rules::{RULES, Rule, break_rule};
pub use shell::drive::{Cache, Drive, DriveOptions, Emulation, StoredSizes};
pub use status::{Counts, GivenUp, Recovery, State, Status};
pub use upkeep::maintain::Rest;
