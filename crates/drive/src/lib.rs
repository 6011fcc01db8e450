//! Disks made of other disks.
//!
//! Everything that reads and writes blocks is a [`Disk`]: media, models, fault injection and, above them, the
//! software drive. Each takes a disk and is one, so they stack in any order.
//!
//! Invariants: no threads, no clock, no files and no randomness of its own; whatever it needs of these is handed
//! in, so that one seed repeats every failure.

mod apply;
mod buffer;
mod bytes;
mod check;
mod checkpoint;
mod chunks;
mod codec;
mod collect;
mod commit;
mod disk;
mod engine;
mod follow;
mod format;
mod group;
mod health;
mod layout;
mod log;
mod maintain;
mod map;
mod memory;
pub mod model;
mod read;
mod readahead;
mod rebuild;
mod reconcile;
mod recover;
mod run;
mod scan;
mod segment;
mod space;
mod status;
mod superblocks;
mod trainer;
mod verify;
mod worker;
mod write;

pub use buffer::BlockBuffer;
pub use bytes::Bytes;
pub use check::{Check, Damage};
pub use codec::{
    Codec, CodecError, Coder, DICTIONARY_BYTES, Dictionary, Encoding, RECORD_OVERHEAD_BYTES,
    UnknownCodec, is_zero, looks_incompressible, stand_in,
};
pub use collect::Policy;
pub use disk::{BLOCK_BYTES, Disk, DiskError, Promise, Result, check_range};
pub use engine::{Cache, Drive, DriveOptions};
pub use format::{DriveError, Format};
pub use layout::LOGICAL_PER_CAPACITY;
pub use maintain::Rest;
pub use memory::MemoryDisk;
pub use status::{Counts, Recovery, State, Status};
pub use superblocks::begins_drive;
