//! The trait of everything that reads and writes blocks, its errors, and its guarantees.
//!
//! Offsets and lengths are in bytes and multiples of [`BLOCK_BYTES`]. Methods take `&self`, because
//! a host keeps many commands in flight.

use thiserror::Error;

/// The unit that a host addresses, in bytes.
pub const BLOCK_BYTES: u64 = 4096;

/// Result of a disk command.
pub type Result<T, E = DiskError> = std::result::Result<T, E>;

/// The reason for which a command failed, one variant for each reaction of a caller.
#[derive(Debug, Error)]
pub enum DiskError {
    /// The range is not made of whole blocks inside the disk, a mistake of the caller.
    #[error("blocks at {offset} for {length} bytes do not lie on a disk of {size} bytes")]
    OutOfRange {
        /// First requested byte.
        offset: u64,
        /// Requested bytes.
        length: u64,
        /// Size of the disk in bytes.
        size: u64,
    },
    /// There is no room for the write; nothing was written, reads go on.
    #[error("the disk is full; discard or delete data to go on")]
    Full,
    /// The disk takes no writes; nothing was written, reads go on.
    #[error("the disk is read-only: {reason}")]
    ReadOnly {
        /// The reason, for messages.
        reason: String,
    },
    /// The data at this place are not those that were written.
    #[error("damaged data at byte {offset}: {what}")]
    Corrupt {
        /// First damaged byte.
        offset: u64,
        /// A description of the damage.
        what: String,
    },
    /// The layer below failed.
    #[error("input or output failed")]
    Io(#[from] std::io::Error),
    /// An earlier failure stopped the disk; every call repeats the reason.
    #[error("the disk has stopped: {reason}")]
    Stopped {
        /// The failure, for messages.
        reason: String,
    },
}

/// The guarantees of a disk to its users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guarantees {
    /// Largest write, in bytes, that is atomic under a power cut, at any block alignment.
    pub atomic_write_bytes: u64,
    /// Whether a power cut may lose a completed write until the next completed flush.
    pub volatile_cache: bool,
}

/// Anything that reads and writes blocks.
///
/// Most disks stand over another one. This one counts the writes of its host:
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use assay_disk::{BLOCK_BYTES, Disk, Guarantees, MemoryDisk, Result};
///
/// struct Counted {
///     below: Arc<dyn Disk>,
///     writes: AtomicU64,
/// }
///
/// impl Disk for Counted {
///     fn size(&self) -> u64 {
///         self.below.size()
///     }
///
///     fn guarantees(&self) -> Guarantees {
///         self.below.guarantees()
///     }
///
///     fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
///         self.below.read(offset, data)
///     }
///
///     fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
///         self.writes.fetch_add(1, Ordering::Relaxed);
///         self.below.write(offset, data, force_unit_access)
///     }
///
///     fn flush(&self) -> Result<()> {
///         self.below.flush()
///     }
///
///     fn discard(&self, offset: u64, length: u64) -> Result<()> {
///         self.below.discard(offset, length)
///     }
/// }
///
/// let below = Arc::new(MemoryDisk::new(64 * BLOCK_BYTES)?);
/// let disk = Counted { below, writes: AtomicU64::new(0) };
/// disk.write(8 * BLOCK_BYTES, &[7; 2 * BLOCK_BYTES as usize], false)?;
/// disk.flush()?;
///
/// let mut data = [0; BLOCK_BYTES as usize];
/// disk.read(9 * BLOCK_BYTES, &mut data)?;
/// assert_eq!(data, [7; BLOCK_BYTES as usize]);
/// assert_eq!(disk.writes.load(Ordering::Relaxed), 1);
/// # Ok::<(), assay_disk::DiskError>(())
/// ```
pub trait Disk: Send + Sync {
    /// Size in bytes, a multiple of [`BLOCK_BYTES`].
    fn size(&self) -> u64;

    /// The guarantees to users of the disk.
    fn guarantees(&self) -> Guarantees;

    /// Fills `data` from `offset`.
    ///
    /// # Errors
    /// Any except [`DiskError::Full`].
    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()>;

    /// Writes `data` at `offset`. With `force_unit_access`, the data are durable when this returns.
    ///
    /// # Errors
    /// Any. After [`DiskError::Full`], [`DiskError::ReadOnly`] and [`DiskError::OutOfRange`],
    /// nothing has changed.
    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()>;

    /// Makes every completed write durable.
    ///
    /// # Errors
    /// [`DiskError::Io`] and [`DiskError::Stopped`]; writes since the last completed flush may be
    /// lost.
    fn flush(&self) -> Result<()>;

    /// Discards blocks, which read as zeroes from then on.
    ///
    /// # Errors
    /// Any except [`DiskError::Corrupt`].
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
