//! What an array of disks is made of, and which arrays there are none of.

use thiserror::Error;

use super::arm::SpindleGeometry;
use super::seek::ImpossibleSeek;
use super::spindle::Order;
use crate::inside::WriteCache;
use crate::time::{Rate, Time};
use assay_disk::BLOCK_BYTES;

/// Disks behind a controller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArrayGeometry {
    /// Each of the disks.
    pub spindle: SpindleGeometry,
    /// How many there are.
    pub spindles: u32,
    /// Whether they are mirrored in pairs, over which chunks go round (RAID 10); else they go round over all (RAID 0).
    pub mirrored: bool,
    /// Bytes that follow one another on the same disk, whole blocks.
    pub chunk_bytes: u64,
    /// What the controller adds to each command.
    pub command_time: Time,
    /// What the link between host and controller carries each way, in bytes a second.
    pub link_bytes_per_s: Rate,
    /// What a completed write survives. A protected cache needs no flush, a volatile one is written out by it.
    pub cache: WriteCache,
    /// Bytes of writes that the cache holds; zero for none. Of no use where writes go through.
    pub cache_bytes: u64,
    /// In which order each disk serves its queue.
    pub order: Order,
    /// How long a request may wait before it goes before all others of its disk, whatever the order.
    pub patience: Time,
}

impl ArrayGeometry {
    /// Disks, or pairs of them, over which chunks go round.
    #[must_use]
    pub fn sides(&self) -> u64 {
        u64::from(self.spindles) / self.copies()
    }

    /// Disks that hold the same.
    #[must_use]
    pub fn copies(&self) -> u64 {
        if self.mirrored { 2 } else { 1 }
    }

    /// Bytes that the host sees.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.spindle.capacity_bytes / self.chunk_bytes * self.chunk_bytes * self.sides()
    }

    pub(super) fn caches_writes(&self) -> bool {
        self.cache != WriteCache::Writethrough && self.cache_bytes > 0
    }

    pub(super) fn check(&self) -> Result<(), ImpossibleArray> {
        let chunk = self.chunk_bytes;
        if self.spindles == 0 {
            Err(ImpossibleArray::NoSpindles)
        } else if self.mirrored && !self.spindles.is_multiple_of(2) {
            Err(ImpossibleArray::OddMirrors { spindles: self.spindles })
        } else if chunk == 0 || !chunk.is_multiple_of(BLOCK_BYTES) {
            Err(ImpossibleArray::BrokenChunk { chunk_bytes: chunk })
        } else if self.spindle.capacity_bytes < chunk {
            Err(ImpossibleArray::TooSmall { capacity_bytes: self.spindle.capacity_bytes })
        } else if self.spindle.rotation_time == Time::ZERO
            || self.spindle.media_bytes_per_s.0 * self.spindle.rotation_time.as_s() < 1.0
        {
            Err(ImpossibleArray::Still)
        } else {
            Ok(())
        }
    }
}

/// An array that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum ImpossibleArray {
    /// Nothing to store on.
    #[error("an array of no disks stores nothing; set spindles to 1 or more")]
    NoSpindles,
    /// One disk has no mirror.
    #[error("{spindles} disks cannot be mirrored in pairs; set an even number of spindles")]
    OddMirrors {
        /// How many disks there are.
        spindles: u32,
    },
    /// Chunks that are not made of blocks.
    #[error("chunks of {chunk_bytes} bytes are not made of blocks of 4096; set a multiple of that")]
    BrokenChunk {
        /// Bytes of a chunk.
        chunk_bytes: u64,
    },
    /// Not one chunk fits.
    #[error(
        "a disk of {capacity_bytes} bytes is smaller than one chunk; set a larger capacity or a smaller chunk"
    )]
    TooSmall {
        /// Bytes of a disk.
        capacity_bytes: u64,
    },
    /// A platter under which nothing passes.
    #[error("a disk needs a rotation time and a media rate above zero")]
    Still,
    /// Seek times that contradict each other.
    #[error(transparent)]
    Seek(#[from] ImpossibleSeek),
}
