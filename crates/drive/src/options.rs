//! Options of an open drive; none of them is stored on media.

use std::sync::Arc;

use crate::core::victims::Policy;

/// The moment at which a write is on stable media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cache {
    /// At the next completed flush, as in a drive with a volatile write cache.
    #[default]
    Volatile,
    /// When it completes, as in a drive without one.
    Writethrough,
}

/// The reason for refusing writes to a drive that was opened read-only.
pub(crate) const OPENED_READ_ONLY: &str = "it was opened for reading only";

/// Options of an open drive; none of them is stored on media.
#[derive(Debug, Clone)]
pub struct DriveOptions {
    /// Memory for the map, in bytes. Beyond it, clean nodes are dropped and read again when needed;
    /// `None`: no limit.
    pub map_bytes: Option<u64>,
    /// Policy by which collection chooses segments.
    pub policy: Policy,
    /// The moment at which a write is on stable media.
    pub cache: Cache,
    /// Bytes of log between checkpoints; `None`: enough to keep their cost at a few percent of host
    /// writes.
    pub checkpoint_bytes: Option<u64>,
    /// Least length of a media read for the host, in bytes. The surplus is cached for a while. For
    /// media that are billed by the operation; zero: reads only what is needed.
    pub read_ahead_bytes: u32,
    /// Discards freed segments on media.
    pub discard_media: bool,
    /// Opens without writing anything.
    pub read_only: bool,
    /// Opens most of the reserve for overwriting to fresh data, so that a file system on a full
    /// drive can replay its log and delete.
    pub rescue: bool,
}

impl Default for DriveOptions {
    fn default() -> DriveOptions {
        DriveOptions {
            map_bytes: None,
            policy: Policy::CostBenefit,
            cache: Cache::Volatile,
            checkpoint_bytes: None,
            read_ahead_bytes: 0,
            discard_media: false,
            read_only: false,
            rescue: false,
        }
    }
}

/// Observes the sizes at which host writes are stored. Called in the writing thread.
pub trait StoredSizes: Send + Sync {
    /// Called for a record of `blocks` blocks that takes `payload_bytes`; zero for zeroes.
    fn stored(&self, blocks: u64, payload_bytes: u64);
}

/// Changes to a drive that is the inside of a device's model. Not for data that must last.
#[derive(Clone, Default)]
pub struct Emulation {
    /// Stores blocks of zeroes like other data, as a device without zero detection does.
    pub stores_zeroes: bool,
    /// Bytes of a chunk at which it is written; `None`: the format's maximum. A device with shorter
    /// writes accepts data more evenly.
    pub chunk_bytes: Option<u32>,
    /// Flushes do nothing, as in a device whose write buffer survives a power cut. The simulated
    /// buffer is plain memory and survives nothing.
    pub keeps_cache: bool,
    /// Observer of stored sizes.
    pub observer: Option<Arc<dyn StoredSizes>>,
}
