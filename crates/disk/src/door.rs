//! The one narrow door: what anything that reads and writes blocks can do, and what it guarantees.
//!
//! Offsets and lengths are bytes and multiples of [`BLOCK_BYTES`]; methods take `&self`, because a host keeps
//! many commands in flight.

use thiserror::Error;

/// The unit that a host addresses, in bytes.
pub const BLOCK_BYTES: u64 = 4096;

/// Result of a disk command.
pub type Result<T, E = DiskError> = std::result::Result<T, E>;

/// Why a command was not carried out; one variant for each different reaction.
#[derive(Debug, Error)]
pub enum DiskError {
    /// The range is not made of whole blocks inside the disk: the caller's mistake.
    #[error("blocks at {offset} for {length} bytes do not lie on a disk of {size} bytes")]
    OutOfRange {
        /// First byte asked for.
        offset: u64,
        /// Bytes asked for.
        length: u64,
        /// Size of the disk in bytes.
        size: u64,
    },
    /// There is no room for what was to be written; nothing was written, reading goes on.
    #[error("the disk is full; discard or delete data to go on")]
    Full,
    /// The disk takes no writes; nothing was written, reading goes on.
    #[error("the disk is read-only: {reason}")]
    ReadOnly {
        /// Why.
        reason: String,
    },
    /// What lies at this place is not what was written there.
    #[error("damaged data at byte {offset}: {what}")]
    Corrupt {
        /// First damaged byte.
        offset: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The layer below failed.
    #[error("input or output failed")]
    Io(#[from] std::io::Error),
    /// An earlier failure stopped the disk; the reason is repeated on every call.
    #[error("the disk has stopped: {reason}")]
    Stopped {
        /// What stopped it.
        reason: String,
    },
}

/// What a disk guarantees to those above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guarantees {
    /// Largest write, in bytes, that a power cut leaves either whole or not there, at any block alignment.
    pub atomic_write_bytes: u64,
    /// Whether a completed write may be lost in a power cut until the next completed flush.
    pub volatile_cache: bool,
}

/// Anything that reads and writes blocks.
pub trait Disk: Send + Sync {
    /// Size in bytes, a multiple of [`BLOCK_BYTES`].
    fn size(&self) -> u64;

    /// What may be relied on.
    fn guarantees(&self) -> Guarantees;

    /// Fills `data` from `offset`.
    ///
    /// # Errors
    /// Any but [`DiskError::Full`].
    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()>;

    /// Writes `data` at `offset`; with `force_unit_access` it is durable when this returns.
    ///
    /// # Errors
    /// Any; after [`DiskError::Full`], [`DiskError::ReadOnly`] and [`DiskError::OutOfRange`] nothing has changed.
    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()>;

    /// Makes every completed write durable.
    ///
    /// # Errors
    /// [`DiskError::Io`] and [`DiskError::Stopped`]; what was to be made durable may be lost.
    fn flush(&self) -> Result<()>;

    /// Gives blocks back; they read as zeroes from then on.
    ///
    /// # Errors
    /// Any but [`DiskError::Corrupt`].
    fn discard(&self, offset: u64, length: u64) -> Result<()>;
}

/// Checks that a range is made of whole blocks inside a disk of `size` bytes.
///
/// # Errors
/// [`DiskError::OutOfRange`].
pub fn check_range(offset: u64, length: u64, size: u64) -> Result<()> {
    let whole = offset.is_multiple_of(BLOCK_BYTES) && length.is_multiple_of(BLOCK_BYTES);
    let inside = offset.checked_add(length).is_some_and(|end| end <= size);
    if whole && inside { Ok(()) } else { Err(DiskError::OutOfRange { offset, length, size }) }
}
