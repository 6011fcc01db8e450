//! The drive: a disk made of a codec, a log, a map and garbage collection over another disk, its
//! media.
//!
//! Many host commands run concurrently. Each compresses in its own thread. Placing records in the
//! log and updating the map is the only serial part; it copies memory and does no input or output.
//! Locks are taken in this order: maintenance, log, map. Only the maintenance lock is held during
//! input and output.
//!
//! The drive starts no thread: the caller runs [`Drive::maintain`] as often as it likes. A host
//! write that finds no free segment collects garbage itself.

use std::sync::Arc;

use assay_disk::{DiskError, Result};

use crate::codec::Codec;
use crate::format::CHUNK_BYTES_MAX;
use crate::options::{DriveOptions, Emulation};
use crate::reading::read::Reader;
use crate::shell::parts::Shell;
use crate::status::Recovery;
use crate::upkeep::maintain::{Rest, Upkeep};
use crate::writing::write::Writer;

/// The software drive.
pub struct Drive {
    pub(crate) shell: Shell,
    pub(crate) reader: Arc<Reader>,
    pub(crate) upkeep: Arc<Upkeep>,
    pub(crate) writer: Writer,
    pub(crate) options: DriveOptions,
    pub(crate) recovery: Recovery,
    /// The reason for which the drive takes no writes.
    pub(crate) read_only: Option<String>,
}

impl Drive {
    /// Puts a drive together from its shell.
    pub(crate) fn new(
        shell: Shell,
        options: DriveOptions,
        recovery: Recovery,
        read_only: Option<String>,
    ) -> Drive {
        let reader = Arc::new(Reader::new(&shell, options.read_ahead_bytes));
        let upkeep = Arc::new(Upkeep::new(&shell, &reader, &options));
        let writer = Writer::new(&shell, &reader, &upkeep);
        Drive { shell, reader, upkeep, writer, options, recovery, read_only }
    }

    /// Turns the drive into the inside of a device's model. Call this before the first command.
    #[must_use]
    pub fn emulating(mut self, emulation: Emulation) -> Drive {
        self.shell.log.lock_unchecked().limits.chunk_bytes =
            emulation.chunk_bytes.unwrap_or(CHUNK_BYTES_MAX);
        self.writer.set_emulation(emulation);
        self
    }

    /// The codec of host writes.
    #[must_use]
    pub fn codec(&self) -> Codec {
        self.shell.media.identity.codec
    }

    /// Does one piece of the work that is due: collection, a checkpoint, or writing out what rests
    /// in memory.
    ///
    /// A thread of the caller calls this in a loop: at once after [`Rest::More`], otherwise after
    /// some tens of milliseconds. If the host writes nothing between two calls, everything in
    /// memory is written to the media.
    ///
    /// # Errors
    /// Those of the media, which stop the drive.
    pub fn maintain(&self) -> Result<Rest> {
        self.running()?;
        if self.read_only.is_some() {
            return Ok(Rest::Idle);
        }
        // A write buffer that survives a power cut need not be written out.
        self.upkeep.maintain(!self.keeps_cache())
    }

    /// Changes the logical size.
    ///
    /// # Errors
    /// [`DiskError::OutOfRange`] if blocks beyond the new end are in use, or the drive cannot have
    /// this size; [`DiskError::Full`] if there is no room for the larger map. The drive is
    /// unchanged then.
    pub fn resize(&self, logical_bytes: u64) -> Result<()> {
        self.writable()?;
        self.writer.resize(logical_bytes)
    }

    /// Writes everything out and marks the drive as properly closed. A concurrent or later command
    /// opens it again.
    ///
    /// # Errors
    /// Those of the media.
    pub fn close(&self) -> Result<()> {
        self.running()?;
        if self.read_only.is_some() { Ok(()) } else { self.upkeep.close() }
    }

    pub(crate) fn running(&self) -> Result<()> {
        self.shell.media.health.running()
    }

    /// # Errors
    /// [`DiskError::ReadOnly`] if the drive takes no writes.
    pub(crate) fn writable(&self) -> Result<()> {
        self.running()?;
        match &self.read_only {
            Some(reason) => Err(DiskError::ReadOnly { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// Whether the write buffer counts as one that survives a power cut.
    pub(crate) fn keeps_cache(&self) -> bool {
        self.writer.emulation().keeps_cache
    }
}
