//! The file system for the kernel's requests: one directory, the disk's file, and the texts next to
//! it.
//!
//! `linux/fuse.h` and `fuse(4)` describe the requests.

use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use assay_disk::{BLOCK_BYTES, BlockBuffer, Result};
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, IoctlFlags, KernelConfig, LockOwner, OpenAccMode, OpenFlags, ReplyAttr,
    ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek,
    ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{FallocateFlags, OFlags};

use super::bytes::Bytes;
use super::failures::Failures;
use super::{DISK_FILE, Resize, TextFile};

/// The largest request, in bytes: the kernel's default limit (`/proc/sys/fs/fuse/max_pages_limit`,
/// 256 pages).
const MAX_REQUEST_BYTES: u32 = 1 << 20;

/// Number of asynchronous requests that the kernel sends at once. Direct I/O of a loop device is
/// asynchronous, and a limit below the depth of its queue (128) would be a bottleneck.
const MAX_BACKGROUND: u16 = 1024;

const DISK: INodeNo = INodeNo(2);
const FIRST_TEXT: u64 = 3;

/// Names and sizes are not cached: looking them up costs nothing, and the disk may grow.
const NEVER_KEPT: Duration = Duration::ZERO;

pub(super) struct Server {
    disk: Bytes,
    texts: Vec<TextFile>,
    resize: Option<Resize>,
    answers_itself: bool,
    failures: Failures,
    opened: Mutex<HashMap<u64, Vec<u8>>>,
    last_handle: AtomicU64,
    began: SystemTime,
}

impl Server {
    pub(super) fn new(
        disk: Bytes,
        texts: Vec<TextFile>,
        resize: Option<Resize>,
        answers_itself: bool,
    ) -> Server {
        Server {
            disk,
            texts,
            resize,
            answers_itself,
            failures: Failures::default(),
            opened: Mutex::default(),
            last_handle: AtomicU64::new(0),
            began: SystemTime::now(),
        }
    }

    /// Returns true if a thread of this process sends the request, which is forbidden. The kernel
    /// reports the thread's number (`linux/fuse.h`, `fuse_in_header`), or 0 for a thread that this
    /// process cannot see.
    fn refuses(&self, request: &Request) -> bool {
        let is_ours = |thread| Path::new(&format!("/proc/self/task/{thread}")).exists();
        !self.answers_itself && request.pid() != 0 && is_ours(request.pid())
    }

    fn inode(&self, name: &OsStr) -> Option<INodeNo> {
        let text = self.texts.iter().zip(FIRST_TEXT..).find(|(text, _)| name == text.name.as_str());
        match name == DISK_FILE {
            true => Some(DISK),
            false => text.map(|(_, number)| INodeNo(number)),
        }
    }

    fn text(&self, inode: INodeNo) -> Option<&TextFile> {
        let index = inode.0.checked_sub(FIRST_TEXT)?;
        self.texts.get(usize::try_from(index).ok()?)
    }

    fn attributes(&self, inode: INodeNo) -> Option<FileAttr> {
        match inode {
            INodeNo::ROOT => Some(self.described(inode, FileType::Directory, 0o500, 0)),
            DISK => Some(self.described(inode, FileType::RegularFile, 0o600, self.disk.size())),
            // As for files in /proc, the length is unknown before the file is opened.
            _ => self.text(inode).map(|_| self.described(inode, FileType::RegularFile, 0o400, 0)),
        }
    }

    fn described(&self, ino: INodeNo, kind: FileType, perm: u16, size: u64) -> FileAttr {
        FileAttr {
            ino,
            size,
            blocks: size / 512,
            atime: self.began,
            mtime: self.began,
            ctime: self.began,
            crtime: self.began,
            kind,
            perm,
            nlink: 1,
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            rdev: 0,
            blksize: BLOCK_BYTES as u32,
            flags: 0,
        }
    }

    fn opened(&self) -> parking_lot::MutexGuard<'_, HashMap<u64, Vec<u8>>> {
        self.opened.lock()
    }

    fn open_text(&self, text: &TextFile) -> FileHandle {
        let handle = self.last_handle.fetch_add(1, Ordering::Relaxed) + 1;
        self.opened().insert(handle, (text.content)().into_bytes());
        FileHandle(handle)
    }

    fn read_text(&self, handle: FileHandle, offset: u64, size: u32, reply: ReplyData) {
        let opened = self.opened();
        let Some(text) = opened.get(&handle.0) else { return reply.error(Errno::EBADF) };
        let first = usize::try_from(offset).unwrap_or(usize::MAX).min(text.len());
        let past = first.saturating_add(size as usize).min(text.len());
        reply.data(&text[first..past]);
    }

    fn read_disk(&self, offset: u64, size: u32, reply: ReplyData) {
        thread_local! {
            static BUFFER: RefCell<BlockBuffer> = RefCell::new(BlockBuffer::default());
        }
        BUFFER.with_borrow_mut(|buffer| match self.disk.read(offset, size.into(), buffer) {
            Ok(data) => reply.data(data),
            Err(error) => reply.error(self.failures.errno(&error)),
        });
    }

    fn answer(&self, result: Result<()>, reply: ReplyEmpty) {
        match result {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(self.failures.errno(&error)),
        }
    }

    fn set_size(&self, inode: INodeNo, size: u64) -> std::result::Result<(), Errno> {
        if inode != DISK {
            return Err(Errno::EACCES);
        }
        if size == self.disk.size() {
            return Ok(());
        }
        let resize = self.resize.as_ref().ok_or(Errno::EOPNOTSUPP)?;
        resize(size).map_err(|error| self.failures.errno(&error))
    }
}

/// Returns true if a write by a file with these flags is durable when it returns. `O_SYNC` is the
/// bit of `O_DSYNC` and one more (`open(2)`), and the kernel sets them for `RWF_DSYNC` and
/// `RWF_SYNC`, too; rustix's `DSYNC` is both.
fn is_durable(flags: OpenFlags) -> bool {
    OFlags::from_bits_retain(flags.0.cast_unsigned()).intersects(OFlags::SYNC)
}

/// Returns true for an `fallocate(2)` that only zeroes existing blocks.
fn is_zeroing(mode: i32) -> bool {
    let mode = FallocateFlags::from_bits_retain(mode.cast_unsigned());
    mode == FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE
        || mode - FallocateFlags::KEEP_SIZE == FallocateFlags::ZERO_RANGE
}

impl Filesystem for Server {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let limits = [
            config.set_max_write(MAX_REQUEST_BYTES).err(),
            config.set_max_background(MAX_BACKGROUND).err().map(u32::from),
            config.set_congestion_threshold(MAX_BACKGROUND).err().map(u32::from),
        ];
        if let Some(nearest) = limits.into_iter().flatten().next() {
            return Err(std::io::Error::other(format!("FUSE allows no more than {nearest}")));
        }
        // A kernel without this flag makes direct I/O wait for each request, which is slower but
        // correct.
        if config.add_capabilities(InitFlags::FUSE_ASYNC_DIO).is_err() {
            log::warn!("this kernel's FUSE has no asynchronous direct I/O");
        }
        Ok(())
    }

    fn lookup(&self, req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if self.refuses(req) {
            return reply.error(Errno::EDEADLK);
        }
        let inode = (parent == INodeNo::ROOT).then(|| self.inode(name)).flatten();
        match inode.and_then(|inode| self.attributes(inode)) {
            Some(attributes) => reply.entry(&NEVER_KEPT, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(ino) {
            Some(attributes) => reply.attr(&NEVER_KEPT, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        req: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if mode.or(uid).or(gid).is_some() {
            return reply.error(Errno::EPERM);
        }
        match size.map_or(Ok(()), |size| self.set_size(ino, size)) {
            Ok(()) => self.getattr(req, ino, fh, reply),
            Err(errno) => reply.error(errno),
        }
    }

    fn open(&self, req: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        if self.refuses(req) {
            return reply.error(Errno::EDEADLK);
        }
        let past_the_cache = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH;
        match self.text(ino) {
            _ if ino == DISK => {
                let flags = past_the_cache | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
                reply.opened(FileHandle(0), flags);
            }
            Some(_) if flags.acc_mode() != OpenAccMode::O_RDONLY => reply.error(Errno::EACCES),
            Some(text) => reply.opened(self.open_text(text), past_the_cache),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn read(
        &self,
        _req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match ino {
            DISK => self.read_disk(offset, size, reply),
            _ => self.read_text(fh, offset, size, reply),
        }
    }

    fn write(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if ino != DISK {
            return reply.error(Errno::EBADF);
        }
        match self.disk.write(offset, data, is_durable(flags)) {
            // Like a block device at its end.
            Ok(0) if !data.is_empty() => reply.error(Errno::ENOSPC),
            Ok(written) => reply.written(written as u32),
            Err(error) => reply.error(self.failures.errno(&error)),
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        self.answer(self.disk.flush(), reply);
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fallocate(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let keeps_size = mode & FallocateFlags::KEEP_SIZE.bits().cast_signed() != 0;
        let grows = !keeps_size && offset.saturating_add(length) > self.disk.size();
        if ino != DISK || !is_zeroing(mode) || grows {
            return reply.error(Errno::EOPNOTSUPP);
        }
        self.answer(self.disk.zero(offset, length), reply);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.opened().remove(&fh.0);
        reply.ok();
    }

    fn readdir(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if ino != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let directories = [".", ".."].map(|name| (INodeNo::ROOT, FileType::Directory, name));
        let disk = (DISK, FileType::RegularFile, DISK_FILE);
        let texts = self.texts.iter().zip(FIRST_TEXT..);
        let texts = texts
            .map(|(text, number)| (INodeNo(number), FileType::RegularFile, text.name.as_str()));
        let entries = directories.into_iter().chain([disk]).chain(texts).zip(1..);
        for ((inode, kind, name), next) in entries.skip(offset as usize) {
            if reply.add(inode, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    /// A loop device uses the block size of its file's file system as the unit of discards.
    fn statfs(&self, _req: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        let (blocks, block) = (self.disk.size() / BLOCK_BYTES, BLOCK_BYTES as u32);
        let files = self.texts.len() as u64 + 1;
        reply.statfs(blocks, 0, 0, files, 0, block, 255, block);
    }

    // Requests that programs send for any file and can do without: fuser would log a warning each
    // time.

    fn getxattr(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, reply: ReplyXattr) {
        reply.error(Errno::ENOSYS);
    }

    fn listxattr(&self, _: &Request, _: INodeNo, _: u32, reply: ReplyXattr) {
        reply.error(Errno::ENOSYS);
    }

    fn lseek(&self, _: &Request, _: INodeNo, _: FileHandle, _: i64, _: i32, reply: ReplyLseek) {
        reply.error(Errno::ENOSYS);
    }

    fn ioctl(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        _flags: IoctlFlags,
        _cmd: u32,
        _in_data: &[u8],
        _out_size: u32,
        reply: ReplyIoctl,
    ) {
        reply.error(Errno::ENOTTY);
    }

    fn create(
        &self,
        _req: &Request,
        _parent: INodeNo,
        _name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        reply.error(Errno::EPERM);
    }

    fn unlink(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EPERM);
    }
}
