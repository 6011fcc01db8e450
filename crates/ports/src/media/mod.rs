//! Media: a file or a block device as a [`Disk`].
//!
//! Guarantees: a file that exists is never made anew; a file or device is held by one writer at a time, also across
//! processes and by whichever of the two it is reached, until the value is dropped; what cannot be made leaves nothing
//! behind. Reads and writes go past the page cache where the place can do that.

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

pub use self::condition::{Condition, Loss};
pub use self::error::MediaError;
pub use self::new_file::NewFile;
pub use self::room::Space;

use self::room::Room;

use assay_disk::{BLOCK_BYTES, BlockBuffer, Disk, DiskError, Guarantees, Result, check_range};
use rustix::fs::{FallocateFlags, SeekFrom};
use rustix::io::Errno;

use self::hold::{Below, Held};
use self::place::retried;

/// Whether a new file takes its space at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocation {
    /// All of it, so that it cannot be missing later where the file system overwrites in place ([`Space`]). Most file systems
    /// note the space as unwritten, which makes the first write to each place a little dearer than later ones.
    Full,
    /// What is written only; a file system that fills up shows as [`DiskError::Full`].
    Sparse,
}

/// Whether media may be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading only; several may read a file at a time, but nobody while it is written.
    ReadOnly,
    /// Reading and writing, alone.
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
    condition: Arc<Condition>,
    room: Option<Arc<Room>>,
    _below: Below,
    syncs: bool,
}

impl FileMedia {
    /// Makes a file of `size` bytes that reads as zeroes, readable by its owner alone.
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

    /// As [`FileMedia::create`], but the file has no name until it is finished: it can be filled before anyone sees it.
    ///
    /// # Errors
    /// [`MediaError`]; nothing is there then.
    pub fn begin(
        path: &Path,
        size: u64,
        allocation: Allocation,
    ) -> std::result::Result<(FileMedia, NewFile), MediaError> {
        check_size(path, size)?;
        if i64::try_from(size).is_err() {
            // No file has offsets beyond (off_t, lseek(2)).
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

    /// Opens a file, or a block device that nothing has mounted or opened for itself. What lies below the device is
    /// held as well; a file that a loop device shows is not written to.
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
            // A device has no length of its own, but it has an end; a rest below a block is of no use.
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
            condition: Arc::new(Condition::new(Arc::clone(&file), is_device, size)),
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

    /// Makes discarding a mere hint: quick, left out where the place cannot do it, and **what is discarded may then
    /// read as anything**. For an owner that writes every block before it reads it, as a log does.
    ///
    /// Without this, discarded blocks read as zeroes as [`Disk`] guarantees, and a place that cannot give blocks back
    /// has zeroes written to it.
    #[must_use]
    pub fn discarding_loosely(mut self) -> FileMedia {
        self.keeps_zeroes = false;
        self
    }

    /// Sets space aside for writes to blocks that a copy or snapshot shares, as soon as one is seen.
    #[must_use]
    pub fn keeping_room(mut self) -> FileMedia {
        if !self.is_device && self.access == Access::ReadWrite {
            let room = Room::watch(Arc::clone(&self.file), &self.path);
            self.condition.watches(Arc::clone(&room));
            self.room = Some(room);
        }
        self
    }

    /// Reads and writes through the page cache and hands nothing on to the disk below but what the kernel does by
    /// itself: a flush does nothing, and what is written survives the process but **not the machine**. For models, whose
    /// time must not be this machine's disk's.
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

    /// Whether reads and writes go past the page cache.
    #[must_use]
    pub fn direct(&self) -> bool {
        self.direct
    }

    /// How it is, now and later.
    #[must_use]
    pub fn condition(&self) -> &Arc<Condition> {
        &self.condition
    }

    /// What was named when it was opened.
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

    /// The failure of doing `what`, in words.
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

    /// Zeroes where blocks cannot be given back. A block device writes them itself if it must; few file systems
    /// know the request without the other, so a file gets them written.
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

    /// A write is atomic as far as the device below says that its own sectors are: 4096 bytes where its physical
    /// sector is that large, else 512. A completed write may be lost until a flush, and after one too where nothing
    /// is handed on.
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

    /// [`DiskError::Full`] only when nothing was written; a file system that fills up in the middle of a write is
    /// [`DiskError::Io`], for the beginning is there.
    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        check_range(offset, data.len() as u64, self.size)?;
        self.check_writable()?;
        // A file that was cut short would grow again, and nobody would know.
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
