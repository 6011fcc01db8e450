//! Excludes other users of media, on every path to them.
//!
//! A file is locked, a block device is opened exclusively; neither implies the other. So opening a
//! loop device also locks the media below it, and a file behind a loop device is not written to.

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

/// How long to wait for a lock without a known living holder.
const INHERITED_PATIENCE: Duration = Duration::from_secs(5);

/// A file or device that is held until this is dropped.
///
/// A lock belongs to the open file: a child inherits it until it calls `exec`. So the lock is
/// released explicitly, not by closing alone (flock(2)). For locks of killed processes see
/// [`lock`].
#[derive(Debug)]
pub(super) struct Held(File);

impl Held {
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

/// Media below that are held together with their owner.
#[derive(Debug, Default)]
pub(super) struct Below {
    _held: Vec<Held>,
}

/// Opens a file or block device exclusively, but not yet the media below.
pub(super) fn open(path: &Path, access: Access) -> Result<Held, MediaError> {
    let io = |reason| MediaError::Io { path: path.into(), reason };
    let kind = std::fs::metadata(path).map_err(io)?.file_type();
    let mut flags = OFlags::CLOEXEC;
    flags |= if access == Access::ReadOnly { OFlags::RDONLY } else { OFlags::RDWR };
    if kind.is_block_device() {
        // Without O_CREAT it refuses a device that is mounted or opened exclusively (open(2)).
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

/// Locks a file. A lock that a killed process has left to a child is waited for: it ends when the
/// child calls `exec`, or ends.
pub(super) fn lock(path: &Path, file: &File, access: Access) -> Result<(), MediaError> {
    lock_within(INHERITED_PATIENCE, file, access).map_err(|errno| match errno {
        Errno::WOULDBLOCK => MediaError::InUse { path: path.into() },
        errno => failed(path, errno),
    })
}

/// Locks a file: waits up to `patience` if no living holder is known, otherwise does not wait.
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

/// Returns true if a living process holds a lock on the file, according to the kernel.
fn has_living_holder(file: &File) -> bool {
    let holders = file.metadata().and_then(|metadata| file_locks::holders(&metadata));
    holders.unwrap_or_default().into_iter().any(|pid| child::identity(pid).is_some())
}

/// Refuses to write to a file behind a loop device, whose users could write, too.
pub(super) fn ensure_not_shown(path: &Path, file: &File) -> Result<(), MediaError> {
    let io = |reason| MediaError::Io { path: path.into(), reason };
    let metadata = file.metadata().map_err(io)?;
    match loopdev::showing(FileId::of(&metadata), metadata.dev()).map_err(io)?.into_iter().next() {
        None => Ok(()),
        Some(device) => Err(MediaError::Shown { path: path.into(), device }),
    }
}

/// Holds the media below the block device `path` of that number, all the way down. Media without a
/// name, or without permission to open them, cannot be held.
pub(super) fn below(path: &Path, number: u64, access: Access) -> Result<Below, MediaError> {
    let mut below = Below::default();
    let mut directories: Vec<PathBuf> = blockdev::sysfs_directory(number).into_iter().collect();
    while let Some(directory) = directories.pop() {
        // The kernel itself protects the disk of a partition and the devices below mappers.
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
