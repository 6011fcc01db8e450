//! Media: a file or a block device as a [`Disk`].
//!
//! Guarantees: an existing file is never created anew; a file or device is held by one writer at a
//! time, across processes and on every path to it, until the value is dropped; a failed creation
//! leaves nothing behind. Reads and writes bypass the page cache if the place supports that.

mod condition;
mod error;
mod hold;
mod new_file;
mod place;
mod room;
mod transfer;

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::condition::{MediaCondition, MediaLoss};
pub use self::error::MediaError;
pub use self::new_file::NewFile;
pub use self::room::SpaceSource;

use self::room::Room;

use assay_disk::{BLOCK_BYTES, BlockBuffer, Disk, DiskError, Guarantees, Result, check_range};
use rustix::fs::{FallocateFlags, SeekFrom};
use rustix::io::Errno;

use self::hold::{Below, Held};
use self::place::retried;

/// When a new file's space is allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocation {
    /// At once, so that it cannot be missing later if the file system overwrites in place
    /// ([`SpaceSource`]). Most file systems mark the space as unwritten, which makes the first
    /// write to each block a little slower.
    Full,
    /// With the first write; a full file system shows as [`DiskError::Full`].
    Sparse,
}

/// How media are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// For reading only; several processes may read a file, but not while it is written.
    ReadOnly,
    /// For reading and writing, exclusively.
    ReadWrite,
}

/// A file or block device as a disk.
#[derive(Debug)]
pub struct FileMedia {
    file: Arc<Held>,
    path: PathBuf,
    size: u64,
    access: Access,
    is_device: bool,
    direct: bool,
    atomic_write_bytes: u64,
    keeps_zeroes: bool,
    condition: Arc<MediaCondition>,
    room: Option<Arc<Room>>,
    _below: Below,
    syncs: bool,
}

impl FileMedia {
    /// Creates a file of `size` bytes that reads as zeroes, readable by its owner alone.
    ///
    /// # Errors
    /// [`MediaError`]; there is no file then, unless there was one before.
    pub fn create(
        path: &Path,
        size: u64,
        allocation: Allocation,
    ) -> std::result::Result<FileMedia, MediaError> {
        let (media, file) = FileMedia::begin(path, size, allocation)?;
        file.finish()?;
        Ok(media)
    }

    /// Like [`FileMedia::create`], but the file gets its name when it is finished: it can be filled
    /// before anyone sees it.
    ///
    /// # Errors
    /// [`MediaError`]; no file is left then.
    pub fn begin(
        path: &Path,
        size: u64,
        allocation: Allocation,
    ) -> std::result::Result<(FileMedia, NewFile), MediaError> {
        check_size(path, size)?;
        if i64::try_from(size).is_err() {
            // File offsets end there (off_t, lseek(2)).
            return Err(MediaError::Full { path: path.into(), size });
        }
        let new = NewFile::begin(path)?;
        hold::lock(path, &new.file, Access::ReadWrite)?;
        place::take_space(&new.file, size, allocation).map_err(|reason| match reason.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => MediaError::Full { path: path.into(), size },
            _ => MediaError::Io { path: path.into(), reason },
        })?;
        let file = new.file.try_clone();
        let file = file.map_err(|reason| MediaError::Io { path: path.into(), reason })?;
        Ok((FileMedia::over(path, Held::new(file), Access::ReadWrite)?, new))
    }

    /// Opens a file, or a block device that is neither mounted nor opened exclusively. The media
    /// below the device are held as well; a file behind a loop device is not written to.
    ///
    /// # Errors
    /// [`MediaError`].
    pub fn open(path: &Path, access: Access) -> std::result::Result<FileMedia, MediaError> {
        let file = hold::open(path, access)?;
        if access == Access::ReadWrite {
            hold::ensure_not_shown(path, &file)?;
        }
        FileMedia::over(path, file, access)
    }

    fn over(path: &Path, file: Held, access: Access) -> std::result::Result<FileMedia, MediaError> {
        let io = |reason| MediaError::Io { path: path.into(), reason };
        let metadata = file.metadata().map_err(io)?;
        let is_device = metadata.file_type().is_block_device();
        let size = match is_device {
            // A device has no length, but an end; a partial block at the end is unused.
            true => {
                rustix::fs::seek(&file, SeekFrom::End(0)).map_err(|errno| failed(path, errno))?
                    / BLOCK_BYTES
                    * BLOCK_BYTES
            }
            false => metadata.len(),
        };
        check_size(path, size)?;
        let holding = if is_device { metadata.rdev() } else { metadata.dev() };
        let below = if is_device { hold::below(path, holding, access)? } else { Below::default() };
        let direct = place::bypass_cache(&file).map_err(|errno| failed(path, errno))?;
        let file = Arc::new(file);
        Ok(FileMedia {
            condition: Arc::new(MediaCondition::new(Arc::clone(&file), is_device, size)),
            file,
            path: path.into(),
            size,
            access,
            is_device,
            direct,
            atomic_write_bytes: place::atomic_write_bytes(holding),
            keeps_zeroes: true,
            room: None,
            _below: below,
            syncs: true,
        })
    }

    /// Makes discarding a hint: fast, skipped if the place does not support it, and **discarded
    /// blocks may then read as anything**. For an owner that writes every block before it reads it,
    /// as a log does.
    ///
    /// Otherwise discarded blocks read as zeroes, as [`Disk`] guarantees, and zeroes are written if
    /// the place cannot discard.
    #[must_use]
    pub fn discarding_loosely(mut self) -> FileMedia {
        self.keeps_zeroes = false;
        self
    }

    /// Reserves space for writes to blocks shared with a copy or snapshot, as soon as one is seen.
    #[must_use]
    pub fn keeping_room(mut self) -> FileMedia {
        if !self.is_device && self.access == Access::ReadWrite {
            let room = Room::watch(Arc::clone(&self.file), &self.path);
            self.condition.watches(Arc::clone(&room));
            self.room = Some(room);
        }
        self
    }

    /// Uses the page cache, and leaves writing it out to the kernel: a flush does nothing, and
    /// written data survive the process but **not the machine**. For models, whose time must not
    /// depend on this machine's disk.
    ///
    /// # Errors
    /// [`MediaError::Io`].
    pub fn in_memory_of_kernel(mut self) -> std::result::Result<FileMedia, MediaError> {
        if self.direct {
            place::use_cache(&self.file).map_err(|errno| failed(&self.path, errno))?;
        }
        (self.direct, self.syncs) = (false, false);
        Ok(self)
    }

    /// Returns true for direct I/O.
    #[must_use]
    pub fn direct(&self) -> bool {
        self.direct
    }

    /// The condition, now and later.
    #[must_use]
    pub fn condition(&self) -> &Arc<MediaCondition> {
        &self.condition
    }

    /// The path as given when the media were opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn check_writable(&self) -> Result<()> {
        match self.access {
            Access::ReadWrite => Ok(()),
            Access::ReadOnly => Err(DiskError::Io(io::Error::new(
                io::ErrorKind::ReadOnlyFilesystem,
                format!("{} was opened for reading only", self.path.display()),
            ))),
        }
    }

    /// The failure of the operation `what`.
    fn io_error(&self, what: &str, reason: impl Into<io::Error>) -> DiskError {
        let reason = reason.into();
        let text = format!("{}: cannot {what}: {reason}", self.path.display());
        DiskError::Io(io::Error::new(reason.kind(), text))
    }

    fn io_error_at(&self, what: &str, offset: u64, reason: impl Into<io::Error>) -> DiskError {
        self.io_error(&format!("{what} at byte {offset}"), reason)
    }

    fn punch(&self, offset: u64, length: u64) -> rustix::io::Result<()> {
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        retried(|| rustix::fs::fallocate(&self.file, punch, offset, length))
    }

    /// Writes zeroes if blocks cannot be discarded. A block device writes them itself if it must;
    /// few file systems support the request, so a file gets plain writes.
    fn write_zeroes(&self, offset: u64, length: u64) -> Result<()> {
        let zero = FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE;
        match retried(|| rustix::fs::fallocate(&self.file, zero, offset, length)) {
            Err(Errno::OPNOTSUPP) => {}
            other => return other.map_err(|errno| self.io_error_at("zero", offset, errno)),
        }
        let zeroes = BlockBuffer::zeroed(length.min(transfer::PIECE_BYTES) as usize);
        let mut done = 0;
        while done < length {
            let piece = zeroes.as_ref().len().min((length - done) as usize);
            self.write(offset + done, &zeroes.as_ref()[..piece], false)?;
            done += piece as u64;
        }
        Ok(())
    }

    fn discard_loosely(&self, offset: u64, length: u64) -> Result<()> {
        let done = match self.is_device {
            true => place::discard_device(&self.file, offset, length),
            false => self.punch(offset, length),
        };
        match done {
            Ok(()) | Err(Errno::OPNOTSUPP) => Ok(()),
            Err(errno) => Err(self.io_error_at("discard", offset, errno)),
        }
    }
}

impl Disk for FileMedia {
    fn size(&self) -> u64 {
        self.size
    }

    /// A write is atomic in the units in which the device below claims to be: 4096 bytes if its
    /// physical sector is that large, else 512. A completed write may be lost until a flush, and
    /// also after one if the media use the page cache.
    fn guarantees(&self) -> Guarantees {
        Guarantees { atomic_write_bytes: self.atomic_write_bytes, volatile_cache: true }
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        check_range(offset, data.len() as u64, self.size)?;
        transfer::read(&self.file, self.direct, offset, data).map_err(|failure| {
            let error = self.io_error_at("read", failure.offset, failure.reason);
            if let DiskError::Io(reason) = &error {
                self.condition.note_failed_read(reason.to_string());
            }
            error
        })
    }

    /// [`DiskError::Full`] only if nothing was written; a file system that fills up during a write
    /// is [`DiskError::Io`], because the beginning is written.
    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        check_range(offset, data.len() as u64, self.size)?;
        self.check_writable()?;
        // A truncated file would grow again, which would hide the loss.
        let _ = self.condition.loss();
        let is_durable = force_unit_access && self.syncs;
        let mut from = offset;
        loop {
            let rest = &data[(from - offset) as usize..];
            let written = transfer::write(&self.file, self.direct, from, rest, is_durable);
            let Err(failure) = written else { return Ok(()) };
            let is_full = matches!(
                failure.reason.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            );
            let room = self.room.as_ref().filter(|_| is_full);
            if room.is_some_and(|room| room.release_for(rest.len() as u64)) {
                from = failure.offset;
                continue;
            }
            return Err(match is_full && failure.offset == offset {
                true => DiskError::Full,
                false => self.io_error_at("write", failure.offset, failure.reason),
            });
        }
    }

    fn flush(&self) -> Result<()> {
        if !self.syncs {
            return Ok(());
        }
        rustix::fs::fdatasync(&self.file).map_err(|errno| self.io_error("flush", errno))
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        check_range(offset, length, self.size)?;
        self.check_writable()?;
        if length == 0 {
            return Ok(());
        }
        if !self.keeps_zeroes {
            return self.discard_loosely(offset, length);
        }
        match self.punch(offset, length) {
            Ok(()) => Ok(()),
            Err(Errno::OPNOTSUPP) => self.write_zeroes(offset, length),
            Err(errno) => Err(self.io_error_at("discard", offset, errno)),
        }
    }
}

fn failed(path: &Path, errno: Errno) -> MediaError {
    MediaError::Io { path: path.into(), reason: errno.into() }
}

fn check_size(path: &Path, size: u64) -> std::result::Result<(), MediaError> {
    match size > 0 && size.is_multiple_of(BLOCK_BYTES) {
        true => Ok(()),
        false => Err(MediaError::Size { path: path.into(), size }),
    }
}

#[cfg(test)]
mod tests;
