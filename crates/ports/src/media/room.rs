//! Whether a write to media needs space that the file system may no longer have, and space set aside for such writes.
//!
//! Guarantees: [`Space::Allocated`] is reported only where the file has all of its blocks, shares none, and its file
//! system is known to overwrite blocks in place. Space is set aside as a file without a name, which goes with the process;
//! a write that finds no space takes it from there. Others who fill the file system at that moment may be quicker.

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

/// File systems by the number that `statfs(2)` reports (`linux/magic.h`; OpenZFS, `sys/fs/zfs.h`).
const EXT: u32 = 0xEF53;
const XFS: u32 = 0x5846_5342;
const TMPFS: u32 = 0x0102_1994;
const BTRFS: u32 = 0x9123_683E;
const BCACHEFS: u32 = 0xCA45_1A4E;
const NILFS: u32 = 0x3434;
const ZFS: u32 = 0x2FC1_2FC1;

/// At least so much is released at once to a write that found no space, in bytes: a file system copies more than is
/// written (XFS: 128 KiB, `xfs_io(8)`, `cowextsize`).
const RELEASED_AT_ONCE: u64 = 1 << 20;

/// The file system's own records grow when blocks of an extent part: one part in so many more is set aside, and so many bytes.
/// On XFS, copying every block by itself adds entries of 16, 24 and 12 bytes for 4 KiB to trees that are half full
/// (`xfs_format.h`: `xfs_bmbt_rec`, `xfs_rmap_rec`, `xfs_refcount_rec`): one part in 40.
const RECORDS_PART: u64 = 16;
const RECORDS_BYTES: u64 = 4 << 20;

/// How often the extents are looked at where nobody opens the file: a snapshot of all of a file system opens none.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// Where the space for a write to media comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// A block device, whose space is not a file system's.
    Device,
    /// A cluster's pool.
    Remote,
    /// The blocks of the file are its own and are overwritten in place.
    Allocated,
    /// Blocks are allocated when they are first written.
    Sparse,
    /// The file system writes to new blocks each time.
    CopyOnWrite,
    /// Other files or snapshots have some of the file's blocks, which are copied when they are written.
    Shared {
        /// How much, in bytes.
        bytes: u64,
        /// How much is set aside for that, in bytes: a little more where there is enough.
        set_aside: u64,
    },
    /// Not known of this file system.
    Unknown,
}

impl Space {
    /// Where the space for writes to `file` comes from; nothing is set aside.
    ///
    /// # Errors
    /// The system's answer.
    pub fn of(file: &File) -> io::Result<Space> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(Space::Device);
        }
        // Blocks are counted in 512 bytes (stat(2)).
        if metadata.blocks().saturating_mul(512) < metadata.len() {
            return Ok(Space::Sparse);
        }
        Ok(match rustix::fs::fstatfs(file)?.f_type as u32 {
            EXT | TMPFS => Space::Allocated,
            XFS => shared_or_allocated(file)?,
            BTRFS if rustix::fs::ioctl_getflags(file)?.contains(IFlags::NOCOW) => {
                shared_or_allocated(file)?
            }
            BTRFS | BCACHEFS | NILFS | ZFS => Space::CopyOnWrite,
            _ => Space::Unknown,
        })
    }
}

fn shared_or_allocated(file: &File) -> io::Result<Space> {
    let extents = extents::of(file)?;
    let shared = extents.iter().filter(|extent| extent.flags.is_shared());
    match shared.map(|extent| extent.length).sum() {
        0 => Ok(Space::Allocated),
        bytes => Ok(Space::Shared { bytes, set_aside: 0 }),
    }
}

/// Makes an empty file one that btrfs overwrites in place (`ioctl_iflags(2)`, `FS_NOCOW_FL`), which it then neither
/// compresses nor checks: a drive does both. Elsewhere nothing happens.
pub(super) fn overwrite_in_place(file: &File) -> rustix::io::Result<()> {
    if rustix::fs::fstatfs(file)?.f_type as u32 != BTRFS {
        return Ok(());
    }
    let flags = rustix::fs::ioctl_getflags(file)?;
    rustix::fs::ioctl_setflags(file, (flags | IFlags::NOCOW) - IFlags::COMPRESSED)
}

/// The space for writes to media that are held for writing.
#[derive(Debug)]
pub(super) struct Room {
    file: Arc<Held>,
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    space: Space,
    reserve: Option<Reserve>,
}

/// A file without a name that takes space.
#[derive(Debug)]
struct Reserve {
    file: File,
    bytes: u64,
}

impl Room {
    /// Looks where the space for writes comes from, sets aside what shared blocks need, and does so again whenever somebody has
    /// had the file open, until this is dropped.
    pub(super) fn watch(file: Arc<Held>, path: &Path) -> Arc<Room> {
        let state = State { space: Space::Unknown, reserve: None };
        let room = Arc::new(Room { file, path: path.into(), state: Mutex::new(state) });
        room.look();
        if let Err(error) = room.begin_to_watch() {
            log::info!("copies of {} are not noticed at once: {error}", path.display());
        }
        room
    }

    /// Where it comes from now, as far as was seen.
    pub(super) fn space(&self) -> Space {
        self.state.lock().space
    }

    /// Releases space for a write of `bytes` that found none; false if there is nothing to release.
    pub(super) fn release_for(&self, bytes: u64) -> bool {
        let mut state = self.state.lock();
        let State { space, reserve } = &mut *state;
        let Some(held) = reserve.as_mut().filter(|held| held.bytes > 0) else { return false };
        let left = held.bytes.saturating_sub(bytes.max(RELEASED_AT_ONCE));
        if let Err(error) = held.shrink_to(left) {
            log::warn!("space that was set aside cannot be released: {error}");
            return false;
        }
        if let Space::Shared { set_aside, .. } = space {
            *set_aside = left;
        }
        true
    }

    fn look(&self) {
        let found = match Space::of(&self.file) {
            Ok(found) => found,
            Err(error) => {
                log::debug!("where {} lies is not known: {error}", self.path.display());
                Space::Unknown
            }
        };
        let mut state = self.state.lock();
        let found = match found {
            Space::Shared { bytes, .. } => {
                let records = bytes / RECORDS_PART + RECORDS_BYTES;
                let set_aside = self.set_aside(&mut state.reserve, bytes + records);
                Space::Shared { bytes, set_aside }
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

    /// Takes as much as is shared, or as much of it as there is; gives how much that is.
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

    fn tell_change(&self, before: Space, now: Space) {
        let path = self.path.display();
        match (before, now) {
            (Space::Shared { .. }, Space::Shared { .. }) => {}
            (_, Space::Shared { bytes, set_aside }) => log::warn!(
                "{} of {path} are shared with a copy or snapshot, and writing there takes new space; {} are set aside for that",
                Bytes(bytes),
                Bytes(set_aside)
            ),
            (Space::Shared { .. }, Space::Allocated) => {
                log::info!("nothing of {path} is shared with a copy any more");
            }
            _ => {}
        }
    }

    fn begin_to_watch(self: &Arc<Room>) -> io::Result<()> {
        let events = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        // The file itself, whatever it is called by now.
        let itself = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let closed = inotify::WatchFlags::CLOSE_NOWRITE | inotify::WatchFlags::CLOSE_WRITE;
        inotify::add_watch(&events, itself, closed)?;
        let room = Arc::downgrade(self);
        let watch = move || watch(&room, &events);
        std::thread::Builder::new().name("room".into()).spawn(watch).map(drop)
    }
}

/// Looks each time that the file was closed, and every so often.
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

    /// Takes more, or half of the rest as often as there is not enough for all.
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
        // A request that failed may have taken a part.
        self.shrink_to(self.bytes)
    }

    fn shrink_to(&mut self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)?;
        self.bytes = bytes;
        Ok(())
    }
}
