//! System calls for media: locks, allocation, direct I/O, discards.

use std::fs::File;
use std::io;
use std::path::Path;

use assay_disk::{BLOCK_BYTES, BlockBuffer};
use rustix::fs::{FallocateFlags, FlockOperation, OFlags};
use rustix::io::Errno;

use super::{Access, Allocation, room};
use crate::blockdev;

/// Locks the file, or fails with `WOULDBLOCK`. The lock belongs to the open file, so it excludes
/// other users in this process, too, and ends with the process (`flock(2)`).
pub(super) fn lock(file: &File, access: Access) -> rustix::io::Result<()> {
    let operation = match access {
        Access::ReadOnly => FlockOperation::NonBlockingLockShared,
        Access::ReadWrite => FlockOperation::NonBlockingLockExclusive,
    };
    rustix::fs::flock(file, operation)
}

pub(super) fn take_space(file: &File, size: u64, allocation: Allocation) -> io::Result<()> {
    if allocation == Allocation::Full {
        room::overwrite_in_place(file)?;
        match retried(|| rustix::fs::fallocate(file, FallocateFlags::empty(), 0, size)) {
            Err(Errno::OPNOTSUPP) => return fill(file, size),
            other => other?,
        }
    }
    file.set_len(size)
}

/// Allocates space by writing, if the file system cannot reserve it.
fn fill(file: &File, size: u64) -> io::Result<()> {
    io::copy(&mut io::Read::take(io::repeat(0), size), &mut &*file).map(drop)
}

pub(super) fn directory(path: &Path) -> &Path {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    directory.unwrap_or(Path::new("."))
}

/// Switches to direct I/O and tests it with one block; returns false if it does not work.
///
/// The flag is set after opening, because opening with it may fail and still leave a new file
/// behind; and a place may accept the flag but require an alignment greater than a block.
pub(super) fn bypass_cache(file: &File) -> rustix::io::Result<bool> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    if let Err(errno) = rustix::fs::fcntl_setfl(file, flags | OFlags::DIRECT) {
        return if errno == Errno::INVAL { Ok(false) } else { Err(errno) };
    }
    let mut block = BlockBuffer::zeroed(BLOCK_BYTES as usize);
    match retried(|| rustix::io::pread(file, block.as_mut(), 0)) {
        Ok(_) => Ok(true),
        Err(Errno::INVAL) => rustix::fs::fcntl_setfl(file, flags).map(|()| false),
        Err(errno) => Err(errno),
    }
}

/// Switches back to the page cache.
pub(super) fn use_cache(file: &File) -> rustix::io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    rustix::fs::fcntl_setfl(file, flags - OFlags::DIRECT)
}

/// The atomic write size of the device with that number: its physical sector, which the kernel
/// derives from the device's claims about power failures if there are any (NVMe: AWUPF), but at
/// most a block, because a larger sector is atomic at its own alignment only. Every device provides
/// at least 512.
pub(super) fn atomic_write_bytes(device: u64) -> u64 {
    let directory = blockdev::sysfs_directory(device).ok();
    // A partition has no queue of its own; its disk has one.
    let sector = directory
        .into_iter()
        .flat_map(|directory| [directory.join("queue"), directory.join("../queue")]);
    let bytes = sector
        .filter_map(|queue| std::fs::read_to_string(queue.join("physical_block_size")).ok())
        .find_map(|text| text.trim().parse::<u64>().ok());
    if bytes.is_some_and(|bytes| bytes >= BLOCK_BYTES) { BLOCK_BYTES } else { 512 }
}

/// `BLKDISCARD` (`linux/fs.h`: `_IO(0x12, 119)`, offset and length in bytes).
pub(super) fn discard_device(file: &File, offset: u64, length: u64) -> rustix::io::Result<()> {
    const BLKDISCARD: rustix::ioctl::Opcode = rustix::ioctl::opcode::none(0x12, 119);
    // SAFETY: the request reads two 64-bit numbers through its pointer and writes to none of our
    // memory.
    #[allow(unsafe_code)]
    unsafe {
        let range = rustix::ioctl::Setter::<BLKDISCARD, [u64; 2]>::new([offset, length]);
        rustix::ioctl::ioctl(file, range)
    }
}

/// Repeats a system call that a signal interrupted.
pub(super) fn retried<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}
