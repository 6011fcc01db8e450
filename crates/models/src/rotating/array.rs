//! The parts of an array of disks, and the arrays that are impossible.

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
    /// Geometry of each disk.
    pub spindle: SpindleGeometry,
    /// Number of disks.
    pub spindles: u32,
    /// Mirrors the disks in pairs and stripes over them (RAID 10); otherwise stripes over all (RAID
    /// 0).
    pub mirrored: bool,
    /// Bytes of a chunk, which is contiguous on one disk; whole blocks.
    pub chunk_bytes: u64,
    /// Controller time of each command.
    pub command_time: Time,
    /// Bandwidth of the link between host and controller in each direction, in bytes a second.
    pub link_bytes_per_s: Rate,
    /// Durability of a completed write. A protected cache needs no flush, a volatile one is written
    /// out by it.
    pub cache: WriteCache,
    /// Size of the write cache in bytes; zero for none. Unused if writes go through.
    pub cache_bytes: u64,
    /// Order in which each disk serves its queue.
    pub order: Order,
    /// Time after which a request goes before all others of its disk, in any order.
    pub patience: Time,
}

impl ArrayGeometry {
    /// Number of disks, or pairs of them, over which chunks are striped.
    #[must_use]
    pub fn sides(&self) -> u64 {
        u64::from(self.spindles) / self.copies()
    }

    /// Number of disks with the same data.
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

/// The reason for which an array is impossible.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum ImpossibleArray {
    /// There are no disks.
    #[error("an array of no disks stores nothing; set spindles to 1 or more")]
    NoSpindles,
    /// An odd number of disks cannot be mirrored.
    #[error("{spindles} disks cannot be mirrored in pairs; set an even number of spindles")]
    OddMirrors {
        /// Number of disks.
        spindles: u32,
    },
    /// Chunks are not made of whole blocks.
    #[error("chunks of {chunk_bytes} bytes are not made of blocks of 4096; set a multiple of that")]
    BrokenChunk {
        /// Bytes of a chunk.
        chunk_bytes: u64,
    },
    /// Not one chunk fits.
    #[error(
        "a disk of {capacity_bytes} bytes is smaller than one chunk; \
         set a larger capacity or a smaller chunk"
    )]
    TooSmall {
        /// Bytes of a disk.
        capacity_bytes: u64,
    },
    /// Nothing passes under the head.
    #[error("a disk needs a rotation time and a media rate above zero")]
    Still,
    /// The seek times contradict each other.
    #[error(transparent)]
    Seek(#[from] ImpossibleSeek),
}
