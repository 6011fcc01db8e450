//! The media below the drive: reads and writes are counted, and a write or flush that fails stops
//! the drive.
//!
//! A read that fails does not stop it. A disk may fail once, so a failed read is repeated, then
//! tried block by block. A block that cannot be read even so counts as zeroes, which no structure
//! of the drive passes for.

use std::ops::Range;
use std::sync::Arc;

use assay_disk::{BLOCK_BYTES, BlockBuffer, Disk, DiskError, Result};

use crate::format::Identity;
use crate::shell::health::Health;
use crate::status::Counters;

/// Bytes of a block, as an index.
const BLOCK: usize = BLOCK_BYTES as usize;

/// The disk below the drive, with the drive's geometry, counters and health.
pub(crate) struct Media {
    disk: Arc<dyn Disk>,
    pub(crate) identity: Identity,
    pub(crate) counters: Counters,
    pub(crate) health: Health,
}

impl Media {
    pub(crate) fn new(disk: Arc<dyn Disk>, identity: Identity, counters: Counters) -> Media {
        Media { disk, identity, counters, health: Health::default() }
    }

    /// The disk itself, whose errors the caller judges.
    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    pub(crate) fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        Counters::add(&self.counters.reads_media, 1);
        Counters::add(&self.counters.read_bytes_media, bytes.len() as u64);
        self.disk.read(offset, bytes)
    }

    /// Reads a span of a segment.
    ///
    /// # Errors
    /// Those of the media.
    pub(crate) fn read_span<'buffer>(
        &self,
        segment: u32,
        span: &Range<u32>,
        buffer: &'buffer mut BlockBuffer,
    ) -> Result<&'buffer [u8]> {
        let bytes = buffer.first(span.len());
        self.read(self.identity.segment_start(segment) + u64::from(span.start), bytes)?;
        Ok(bytes)
    }

    /// Like [`Media::read_span`], with a second attempt after a failure.
    ///
    /// # Errors
    /// Those of the media.
    pub(crate) fn read_span_stubbornly<'buffer>(
        &self,
        segment: u32,
        span: &Range<u32>,
        buffer: &'buffer mut BlockBuffer,
    ) -> Result<&'buffer [u8]> {
        let bytes = buffer.first(span.len());
        let start = self.identity.segment_start(segment) + u64::from(span.start);
        match self.read(start, bytes) {
            Err(DiskError::Io(_)) => self.read(start, bytes)?,
            read => read?,
        }
        Ok(bytes)
    }

    /// Reads as much as can be read and fills the rest with zeroes. Returns true if there is such a
    /// rest.
    ///
    /// # Errors
    /// Any except [`DiskError::Io`].
    pub(crate) fn read_tolerant(&self, offset: u64, bytes: &mut [u8]) -> Result<bool> {
        if self.try_read(offset, bytes)? || self.try_read(offset, bytes)? {
            return Ok(false);
        }
        let mut is_unreadable = false;
        for (at, block) in (offset..).step_by(BLOCK).zip(bytes.chunks_mut(BLOCK)) {
            if !self.try_read(at, block)? && !self.try_read(at, block)? {
                block.fill(0);
                is_unreadable = true;
                self.health.report(format!("the media cannot be read at its byte {at}"));
            }
        }
        Ok(is_unreadable)
    }

    /// Returns false if the media reports an input or output error.
    pub(crate) fn try_read(&self, offset: u64, bytes: &mut [u8]) -> Result<bool> {
        match self.read(offset, bytes) {
            Ok(()) => Ok(true),
            Err(DiskError::Io(_)) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Stops the drive after a failed write.
    pub(crate) fn stop_writing(&self, error: &DiskError) -> DiskError {
        self.health.stop(format!("a write to the media failed: {}", media_failure(error)))
    }

    /// Flushes the media. A failure stops the drive, because it is not known what was lost.
    pub(crate) fn sync(&self) -> Result<()> {
        Counters::add(&self.counters.flushes_media, 1);
        self.disk.flush().map_err(|error| {
            self.health.stop(format!("a flush of the media failed: {}", media_failure(&error)))
        })
    }

    /// Tells a bad place from media that are gone, after a read has failed: flushes, and reads a
    /// superblock. If that fails, the drive stops before it gives anything up.
    pub(crate) fn check_alive(&self) -> Result<()> {
        self.sync()?;
        check_superblocks(&*self.disk, self.identity.media_bytes).map_err(|error| {
            self.health.stop(format!("the media cannot be read: {}", chain(&error)))
        })
    }
}

/// Reads one of the superblocks, the second if the first fails. If neither can be read, the media
/// are gone, and nothing that was found out about bad places counts.
pub(crate) fn check_superblocks(disk: &dyn Disk, media_bytes: u64) -> Result<()> {
    let mut block = BlockBuffer::zeroed(BLOCK);
    let [first, second] = Identity::superblock_places(media_bytes);
    disk.read(first, block.as_mut()).or_else(|_| disk.read(second, block.as_mut()))
}

/// A failure of the media in words for the drive's owner. The words of [`DiskError::Full`] are for
/// the drive's host, and deleting data there frees nothing below.
pub(crate) fn media_failure(error: &DiskError) -> String {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    const ADVICE: &str = "free space there, then detach the drive and attach it again";
    match error {
        DiskError::Full => {
            format!("the file system or pool that holds the media is full; {ADVICE}")
        }
        DiskError::Io(reason) if matches!(reason.kind(), StorageFull | QuotaExceeded) => {
            format!("{}; the file system that holds the media is full; {ADVICE}", chain(error))
        }
        other => chain(other),
    }
}

/// An error with its causes, on one line.
pub(crate) fn chain(error: &DiskError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
