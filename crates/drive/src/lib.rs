//! Disks made of other disks.
//!
//! Everything that reads and writes blocks is a [`Disk`]: media, models, fault injection and, above them, the
//! software drive. Each takes a disk and is one, so they stack in any order.
//!
//! Invariants: no threads, no clock, no files and no randomness of its own; whatever it needs of these is handed
//! in, so that one seed repeats every failure.

mod buffer;
mod codec;
mod disk;
mod memory;

pub use buffer::BlockBuffer;
pub use codec::{
    Codec, CodecError, Coder, DICTIONARY_BYTES, Dictionary, Encoding, RECORD_OVERHEAD_BYTES,
    UnknownCodec, is_zero, looks_incompressible,
};
pub use disk::{BLOCK_BYTES, Disk, DiskError, Promise, Result, check_range};
pub use memory::MemoryDisk;
