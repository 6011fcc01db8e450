//! Finds out whether writes to media need space that the file system may lack, and reserves space
//! for them.
//!
//! Guarantees: [`SpaceSource::Allocated`] is reported only if the file has all of its blocks,
//! shares none, and its file system is known to overwrite in place. Space is reserved by a file
//! without a name, which ends with the process; a write that finds no space takes it from there.
//! Another process that fills the file system at that moment may be faster.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use assay_disk::Bytes;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FallocateFlags, IFlags, Mode, OFlags, inotify};

use super::hold::Held;
use super::place::{self, retried};
use crate::extents;

/// File systems by their number in `statfs(2)` (`linux/magic.h`; OpenZFS, `sys/fs/zfs.h`).
const EXT: u32 = 0xEF53;
const XFS: u32 = 0x5846_5342;
const TMPFS: u32 = 0x0102_1994;
const BTRFS: u32 = 0x9123_683E;
const BCACHEFS: u32 = 0xCA45_1A4E;
const NILFS: u32 = 0x3434;
const ZFS: u32 = 0x2FC1_2FC1;

/// Smallest release for a write that found no space, in bytes: a file system copies more than is
/// written (XFS: 128 KiB, `xfs_io(8)`, `cowextsize`).
const RELEASED_AT_ONCE: u64 = 1 << 20;

/// Additional reserve for the file system's metadata, as a fraction of the shared space, and its
/// minimum in bytes: metadata grow when extents are split. On XFS, copying every block separately
/// adds entries of 16, 24 and 12 bytes per 4 KiB to trees that are half full (`xfs_format.h`:
/// `xfs_bmbt_rec`, `xfs_rmap_rec`, `xfs_refcount_rec`): one part in 40.
const RECORDS_PART: u64 = 16;
const RECORDS_BYTES: u64 = 4 << 20;

/// Polling interval for the extents if nobody opens the file: a snapshot of a whole file system
/// opens none.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// The source of space for a write to media.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpaceSource {
    /// A block device, whose space needs no file system.
    Device,
    /// A cluster's pool.
    Remote,
    /// The file's own blocks, overwritten in place.
    Allocated,
    /// Blocks allocated when they are first written.
    Sparse,
    /// New blocks for each write.
    CopyOnWrite,
    /// Some blocks are shared with other files or snapshots, and copied when they are written.
    Shared {
        /// Bytes shared.
        bytes: u64,
        /// Bytes reserved for that: a little more than shared, if available.
        set_aside: u64,
    },
    /// Unknown for this file system.
    Unknown,
}

impl SpaceSource {
    /// The source of space for writes to `file`; reserves nothing.
    ///
    /// # Errors
    /// The system's error.
    pub fn of(file: &File) -> io::Result<SpaceSource> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(SpaceSource::Device);
        }
        // Blocks are counted in 512 bytes (stat(2)).
        if metadata.blocks().saturating_mul(512) < metadata.len() {
            return Ok(SpaceSource::Sparse);
        }
        Ok(match rustix::fs::fstatfs(file)?.f_type as u32 {
            EXT | TMPFS => SpaceSource::Allocated,
            XFS => shared_or_allocated(file)?,
            BTRFS if rustix::fs::ioctl_getflags(file)?.contains(IFlags::NOCOW) => {
                shared_or_allocated(file)?
            }
            BTRFS | BCACHEFS | NILFS | ZFS => SpaceSource::CopyOnWrite,
            _ => SpaceSource::Unknown,
        })
    }
}

fn shared_or_allocated(file: &File) -> io::Result<SpaceSource> {
    let extents = extents::of(file)?;
    let shared = extents.iter().filter(|extent| extent.flags.is_shared());
    match shared.map(|extent| extent.length).sum() {
        0 => Ok(SpaceSource::Allocated),
        bytes => Ok(SpaceSource::Shared { bytes, set_aside: 0 }),
    }
}

/// Makes btrfs overwrite an empty file in place (`ioctl_iflags(2)`, `FS_NOCOW_FL`), without
/// compression and checksums, which a drive has itself. Other file systems are unaffected.
pub(super) fn overwrite_in_place(file: &File) -> rustix::io::Result<()> {
    if rustix::fs::fstatfs(file)?.f_type as u32 != BTRFS {
        return Ok(());
    }
    let flags = rustix::fs::ioctl_getflags(file)?;
    rustix::fs::ioctl_setflags(file, (flags | IFlags::NOCOW) - IFlags::COMPRESSED)
}

/// The space for writes to media that are open for writing.
#[derive(Debug)]
pub(super) struct Room {
    file: Arc<Held>,
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    space: SpaceSource,
    reserve: Option<Reserve>,
}

/// A file without a name that occupies space.
#[derive(Debug)]
struct Reserve {
    file: File,
    bytes: u64,
}

impl Room {
    /// Determines the source of space, reserves space for shared blocks, and repeats that whenever
    /// somebody has had the file open, until this is dropped.
    pub(super) fn watch(file: Arc<Held>, path: &Path) -> Arc<Room> {
        let state = State { space: SpaceSource::Unknown, reserve: None };
        let room = Arc::new(Room { file, path: path.into(), state: Mutex::new(state) });
        room.look();
        if let Err(error) = room.begin_to_watch() {
            log::info!("copies of {} are not noticed at once: {error}", path.display());
        }
        room
    }

    /// The source of space when last checked.
    pub(super) fn space(&self) -> SpaceSource {
        self.state.lock().space
    }

    /// Releases space for a write of `bytes` that found none; returns false if there is nothing to
    /// release.
    pub(super) fn release_for(&self, bytes: u64) -> bool {
        let mut state = self.state.lock();
        let State { space, reserve } = &mut *state;
        let Some(held) = reserve.as_mut().filter(|held| held.bytes > 0) else { return false };
        let left = held.bytes.saturating_sub(bytes.max(RELEASED_AT_ONCE));
        if let Err(error) = held.shrink_to(left) {
            log::warn!("space that was set aside cannot be released: {error}");
            return false;
        }
        if let SpaceSource::Shared { set_aside, .. } = space {
            *set_aside = left;
        }
        true
    }

    fn look(&self) {
        let found = match SpaceSource::of(&self.file) {
            Ok(found) => found,
            Err(error) => {
                log::debug!("where {} lies is not known: {error}", self.path.display());
                SpaceSource::Unknown
            }
        };
        let mut state = self.state.lock();
        let found = match found {
            SpaceSource::Shared { bytes, .. } => {
                let records = bytes / RECORDS_PART + RECORDS_BYTES;
                let set_aside = self.set_aside(&mut state.reserve, bytes + records);
                SpaceSource::Shared { bytes, set_aside }
            }
            other => {
                state.reserve = None;
                other
            }
        };
        let before = std::mem::replace(&mut state.space, found);
        drop(state);
        self.tell_change(before, found);
    }

    /// Reserves as much as is shared, or as much of it as is available; returns the amount.
    fn set_aside(&self, reserve: &mut Option<Reserve>, wanted: u64) -> u64 {
        if reserve.is_none() {
            *reserve = Reserve::begin(place::directory(&self.path)).ok();
        }
        let Some(held) = reserve else { return 0 };
        let changed = match held.bytes >= wanted {
            true => held.shrink_to(wanted),
            false => held.grow_to(wanted),
        };
        if let Err(error) = changed {
            log::debug!("cannot set aside {}: {error}", Bytes(wanted));
        }
        held.bytes
    }

    fn tell_change(&self, before: SpaceSource, now: SpaceSource) {
        let path = self.path.display();
        match (before, now) {
            (SpaceSource::Shared { .. }, SpaceSource::Shared { .. }) => {}
            (_, SpaceSource::Shared { bytes, set_aside }) => log::warn!(
                "{} of {path} are shared with a copy or snapshot, and writing there takes new \
                 space; {} are set aside for that",
                Bytes(bytes),
                Bytes(set_aside)
            ),
            (SpaceSource::Shared { .. }, SpaceSource::Allocated) => {
                log::info!("nothing of {path} is shared with a copy any more");
            }
            _ => {}
        }
    }

    fn begin_to_watch(self: &Arc<Room>) -> io::Result<()> {
        let events = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        // The file itself, independent of its name.
        let itself = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let closed = inotify::WatchFlags::CLOSE_NOWRITE | inotify::WatchFlags::CLOSE_WRITE;
        inotify::add_watch(&events, itself, closed)?;
        let room = Arc::downgrade(self);
        let watch = move || watch(&room, &events);
        std::thread::Builder::new().name("room".into()).spawn(watch).map(drop)
    }
}

/// Checks after each close of the file, and at intervals.
fn watch(room: &Weak<Room>, events: &std::os::fd::OwnedFd) {
    let patience = Timespec { tv_sec: LOOK_EVERY.as_secs() as i64, tv_nsec: 0 };
    let mut buffer = [0; 4096];
    loop {
        let _ = poll(&mut [PollFd::new(events, PollFlags::IN)], Some(&patience));
        let Some(room) = room.upgrade() else { return };
        while rustix::io::read(events, &mut buffer).is_ok_and(|bytes| bytes > 0) {}
        room.look();
    }
}

impl Reserve {
    fn begin(directory: &Path) -> io::Result<Reserve> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR)?);
        overwrite_in_place(&file)?;
        Ok(Reserve { file, bytes: 0 })
    }

    /// Grows the reserve, halving the step as often as the space does not suffice.
    fn grow_to(&mut self, wanted: u64) -> io::Result<()> {
        let mut step = wanted - self.bytes;
        while self.bytes < wanted && step >= RELEASED_AT_ONCE.min(wanted - self.bytes) {
            step = step.min(wanted - self.bytes);
            let (file, offset) = (&self.file, self.bytes);
            let flags = FallocateFlags::empty();
            match retried(|| rustix::fs::fallocate(file, flags, offset, step)) {
                Ok(()) => self.bytes += step,
                Err(rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT) => step /= 2,
                Err(errno) => return Err(errno.into()),
            }
        }
        // A failed request may have allocated a part.
        self.shrink_to(self.bytes)
    }

    fn shrink_to(&mut self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)?;
        self.bytes = bytes;
        Ok(())
    }
}
