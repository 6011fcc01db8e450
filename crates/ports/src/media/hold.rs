//! Keeping others out of media, by whichever way they come to it.
//!
//! A file is locked, a block device is opened for ourselves; neither knows of the other. So whoever takes a loop device
//! takes what lies below it too, and nobody writes to a file that a loop device shows.

use std::fs::File;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_base::file_locks;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::{Access, MediaError, failed, place};
use crate::file_id::FileId;
use crate::{blockdev, child, loopdev};

/// How long is waited for a lock of which nobody is known that lives and has it.
const INHERITED_PATIENCE: Duration = Duration::from_secs(5);

/// A file or device that is held until this is dropped.
///
/// A lock belongs to what was opened, not to who opened it: a child that was started meanwhile has it as well until it runs
/// its own program. So it is given back in so many words, and not by closing alone (flock(2)). Whoever was killed could not do
/// that, see [`lock`].
#[derive(Debug)]
pub(super) struct Held(File);

impl Held {
    /// Keeps what has been locked.
    pub(super) fn new(file: File) -> Held {
        Held(file)
    }
}

impl Deref for Held {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Err(errno) = rustix::fs::flock(&self.0, FlockOperation::Unlock) {
            log::debug!("a lock was left to the closing of its file: {errno}");
        }
    }
}

/// What is open and held, so that it goes with its owner.
#[derive(Debug, Default)]
pub(super) struct Below {
    _held: Vec<Held>,
}

/// Opens a file or block device and keeps others out of it, but not yet out of what lies below.
pub(super) fn open(path: &Path, access: Access) -> Result<Held, MediaError> {
    let io = |reason| MediaError::Io { path: path.into(), reason };
    let kind = std::fs::metadata(path).map_err(io)?.file_type();
    let mut flags = OFlags::CLOEXEC;
    flags |= if access == Access::ReadOnly { OFlags::RDONLY } else { OFlags::RDWR };
    if kind.is_block_device() {
        // Without O_CREAT it refuses a device that is mounted or held this way already (open(2)).
        flags |= OFlags::EXCL;
    } else if !kind.is_file() {
        return Err(MediaError::Kind { path: path.into() });
    }
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::BUSY => MediaError::InUse { path: path.into() },
        errno => failed(path, errno),
    })?;
    let file = File::from(file);
    if !kind.is_block_device() {
        lock(path, &file, access)?;
    }
    Ok(Held::new(file))
}

/// Locks a file, or says that someone has it. A lock that a killed process has left to a child which it had just started is
/// waited for: it goes when the child begins its own program, or ends.
pub(super) fn lock(path: &Path, file: &File, access: Access) -> Result<(), MediaError> {
    lock_within(INHERITED_PATIENCE, file, access).map_err(|errno| match errno {
        Errno::WOULDBLOCK => MediaError::InUse { path: path.into() },
        errno => failed(path, errno),
    })
}

/// Locks a file that nobody alive is known to hold within `patience`, any other at once or not at all.
pub(super) fn lock_within(
    patience: Duration,
    file: &File,
    access: Access,
) -> rustix::io::Result<()> {
    let deadline = Instant::now() + patience;
    loop {
        match place::lock(file, access) {
            Err(Errno::WOULDBLOCK) if Instant::now() < deadline && !has_living_holder(file) => {
                std::thread::sleep(Duration::from_millis(5));
            }
            locked => return locked,
        }
    }
}

/// Whether a process that lives has taken a lock on the file, as far as the kernel tells.
fn has_living_holder(file: &File) -> bool {
    let holders = file.metadata().and_then(|metadata| file_locks::holders(&metadata));
    holders.unwrap_or_default().into_iter().any(|pid| child::identity(pid).is_some())
}

/// Refuses to write to what a loop device shows: whoever has that device writes there too.
pub(super) fn ensure_not_shown(path: &Path, file: &File) -> Result<(), MediaError> {
    let io = |reason| MediaError::Io { path: path.into(), reason };
    let metadata = file.metadata().map_err(io)?;
    match loopdev::showing(FileId::of(&metadata), metadata.dev()).map_err(io)?.into_iter().next() {
        None => Ok(()),
        Some(device) => Err(MediaError::Shown { path: path.into(), device }),
    }
}

/// Holds what lies below the block device `path` of that number, as far down as it goes. What has no name, or one that
/// we may not open, cannot be held.
pub(super) fn below(path: &Path, number: u64, access: Access) -> Result<Below, MediaError> {
    let mut below = Below::default();
    let mut directories: Vec<PathBuf> = blockdev::sysfs_directory(number).into_iter().collect();
    while let Some(directory) = directories.pop() {
        // The kernel itself keeps others out of the disk of a partition and out of what mappers lie on.
        directories.extend(blockdev::lies_on(&directory));
        let Some(backing) = loopdev::backing(&directory) else { continue };
        match open(&backing, access) {
            Ok(file) => {
                let metadata =
                    file.metadata().ok().filter(|file| file.file_type().is_block_device());
                directories
                    .extend(metadata.and_then(|it| blockdev::sysfs_directory(it.rdev()).ok()));
                below._held.push(file);
            }
            Err(MediaError::InUse { .. }) => {
                return Err(MediaError::BelowInUse { path: path.into(), below: backing });
            }
            Err(error) => log::debug!("what {} lies on is not held: {error}", path.display()),
        }
    }
    Ok(below)
}
