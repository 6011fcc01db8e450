//! Loop devices: a file shown to the kernel as a block device.
//!
//! Direct I/O is asked for, so that what is measured is the disk under the file and not a second page cache.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_disk::BLOCK_BYTES;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{IntegerSetter, NoArg, Opcode, ioctl};
use thiserror::Error;

use crate::file_id::FileId;
use crate::filesystem;
use crate::mount_holders::{self, Holder};
use crate::program::{ProgramError, run};

/// How long a device may take to let go of its file after it was detached: whoever looks at new devices (udev)
/// may have it open for a moment.
const DETACH_PATIENCE: Duration = Duration::from_secs(10);

/// Why a loop device is not as it should be.
#[derive(Debug, Error)]
pub enum LoopError {
    /// `losetup` failed: no loop devices, not allowed, no such file.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The device reads and writes the file through the page cache.
    #[error("{file} does not support direct I/O; put it on a file system that does")]
    NotDirect {
        /// The file that was to be shown.
        file: PathBuf,
    },
    /// The kernel would join writes beyond what the disk writes all or nothing.
    #[error("cannot limit the requests of {device}: {reason}")]
    Limit {
        /// The device.
        device: PathBuf,
        /// What the system answered.
        reason: io::Error,
    },
    /// The kernel keeps the file of the device.
    #[error("cannot detach {device}: {reason}")]
    Kept {
        /// The device.
        device: PathBuf,
        /// What the system answered.
        reason: io::Error,
    },
    /// The kernel does not tell what there is.
    #[error("cannot read the loop devices in /sys/block: {0}")]
    Unread(io::Error),
    /// The device was told to go, and will when whoever uses it has ended.
    #[error("{device} is still in use{}; unmount or close what uses it", by(.holders))]
    InUse {
        /// The device.
        device: PathBuf,
        /// Processes that have it mounted in mount namespaces of their own.
        holders: Vec<Holder>,
    },
}

fn by(holders: &[Holder]) -> String {
    let names: Vec<String> = holders.iter().map(ToString::to_string).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" by {}, in a mount namespace of its own", names.join(", ")),
    }
}

/// An attached loop device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopDevice {
    /// The device, e.g. `/dev/loop0`.
    pub device: PathBuf,
    /// Whether the kernel reads and writes the file past the page cache.
    pub is_direct: bool,
}

/// Attaches `backing` to a free loop device, with direct I/O where its file system can.
///
/// # Errors
/// What `losetup` said: no loop devices, not allowed, no such file.
pub fn attach(backing: &Path) -> Result<LoopDevice, LoopError> {
    let device = match find_and_show(&["--direct-io=on"], backing) {
        // Some file systems (tmpfs of older kernels, for one) know no direct I/O.
        Err(ProgramError::Failed { .. }) => find_and_show(&[], backing)?,
        other => other?,
    };
    Ok(LoopDevice { is_direct: is_direct(&device), device })
}

/// Attaches the file of a served disk to a free loop device: sectors of one block, direct I/O or not at all, and
/// requests of up to `atomic_write_bytes`.
///
/// The kernel joins writes that lie side by side, as far as its limit allows. A joined one that is longer than what the
/// disk writes all or nothing would be cut anywhere, also within one of the writes it was made of.
///
/// # Errors
/// [`LoopError::NotDirect`], [`LoopError::Limit`], or what `losetup` said; nothing is attached then.
pub fn attach_disk(file: &Path, atomic_write_bytes: u64) -> Result<PathBuf, LoopError> {
    let device = attach_direct(file, OFlags::RDWR, &[])?;
    if let Err(reason) = limit_requests(&device, atomic_write_bytes) {
        give_back(&device)?;
        return Err(LoopError::Limit { device, reason });
    }
    Ok(device)
}

/// As [`attach_disk`], for a disk that takes no writes: the device says so too.
///
/// # Errors
/// [`LoopError::NotDirect`], or what `losetup` said; nothing is attached then.
pub fn attach_disk_read_only(file: &Path) -> Result<PathBuf, LoopError> {
    attach_direct(file, OFlags::RDONLY, &["--read-only"])
}

fn attach_direct(file: &Path, access: OFlags, options: &[&str]) -> Result<PathBuf, LoopError> {
    let not_direct = || LoopError::NotDirect { file: file.into() };
    let sector = format!("--sector-size={BLOCK_BYTES}");
    let device = match find_and_show(&[options, &["--direct-io=on", &sector]].concat(), file) {
        // Newer kernels answer the whole request with no more than "Invalid argument".
        Err(ProgramError::Failed { .. }) if !takes_direct_io(file, access) => {
            return Err(not_direct());
        }
        other => other?,
    };
    if is_direct(&device) {
        return Ok(device);
    }
    give_back(&device)?;
    Err(not_direct())
}

/// Asked only when something has failed: a server that opened its own file could not be killed meanwhile.
fn takes_direct_io(file: &Path, access: OFlags) -> bool {
    let flags = access | OFlags::DIRECT | OFlags::CLOEXEC;
    rustix::fs::open(file, flags, Mode::empty()).err() != Some(Errno::INVAL)
}

/// Has what was written to a device handed to its file, by another process: the server of the file could not be killed while it
/// waited for itself ([`crate::fuse::FuseOptions::asked_by`]).
///
/// # Errors
/// What `blockdev` said.
pub fn hand_over(device: &Path) -> Result<(), LoopError> {
    Ok(run("blockdev", ["--flushbufs".as_ref(), device.as_os_str()]).map(drop)?)
}

/// Detaches what was attached just now, of which nobody else knows yet.
fn give_back(device: &Path) -> Result<(), LoopError> {
    backing(&directory(device)).map_or(Ok(()), |backing| detach(device, &backing))
}

/// Attaches the file to a free device that takes discards if its file system does.
fn find_and_show(options: &[&str], file: &Path) -> Result<PathBuf, ProgramError> {
    let words = ["--find", "--show"].iter().chain(options).map(AsRef::<OsStr>::as_ref);
    let words: Vec<&OsStr> = words.chain([file.as_os_str()]).collect();
    let device = PathBuf::from(run("losetup", &words)?);
    if !refuses_discards(&device) {
        return Ok(device);
    }
    // Whoever used the device before has forbidden them. The kernel keeps that for the device's
    // number, and takes no other limit once it is zero; a device that is made anew has none.
    run("losetup", ["--detach".as_ref(), device.as_os_str()])?;
    if let Err(error) = renew(&device) {
        log::warn!("{} refuses discards and cannot be made anew: {error}", device.display());
    }
    run("losetup", &words).map(PathBuf::from)
}

/// Whether discards are forbidden on a device that could take them.
fn refuses_discards(device: &Path) -> bool {
    let is_zero = |name: &str| {
        std::fs::read_to_string(queue(device).join(name)).is_ok_and(|text| text.trim() == "0")
    };
    is_zero("discard_max_bytes") && !is_zero("discard_max_hw_bytes")
}

/// Removes a device that shows nothing, and with it all limits of its number.
///
/// # Errors
/// What the system answered: the device is in use, or the caller is not root.
pub fn renew(device: &Path) -> io::Result<()> {
    let name = device.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let number = name.strip_prefix("loop").and_then(|number| number.parse::<usize>().ok());
    let number = number.ok_or(io::ErrorKind::InvalidInput)?;
    let control = File::options().read(true).write(true).open("/dev/loop-control")?;
    // SAFETY: the argument is a number, which the kernel does not take for a pointer.
    #[allow(unsafe_code)]
    unsafe {
        ioctl(&control, IntegerSetter::<CTL_REMOVE>::new_usize(number))?;
    }
    Ok(())
}

/// `LOOP_CTL_REMOVE` (`linux/loop.h`).
const CTL_REMOVE: Opcode = 0x4C81;

/// `max_sectors_kb` can be lowered below what the device could take (`Documentation/ABI/stable/sysfs-block`).
fn limit_requests(device: &Path, bytes: u64) -> io::Result<()> {
    let queue = queue(device);
    let most = std::fs::read_to_string(queue.join("max_hw_sectors_kb"))?;
    let most: u64 = most.trim_end().parse().map_err(io::Error::other)?;
    std::fs::write(queue.join("max_sectors_kb"), most.min(bytes / 1024).to_string())
}

/// Gives the device the limit that it came with: it belongs to the device's number and would stay for whatever is
/// attached there next.
fn unlimit_requests(device: &Path) -> io::Result<()> {
    let queue = queue(device);
    let limit = queue.join("max_sectors_kb");
    // Zero is the kernel's own choice; older kernels refuse it.
    std::fs::write(&limit, "0")
        .or_else(|_| std::fs::write(&limit, std::fs::read(queue.join("max_hw_sectors_kb"))?))
}

fn queue(device: &Path) -> PathBuf {
    directory(device).join("queue")
}

/// Older kernels go without direct I/O when the file cannot do it, and say so only here
/// (`Documentation/ABI/testing/sysfs-block-loop`).
fn is_direct(device: &Path) -> bool {
    attribute(device, "dio").is_ok_and(|dio| dio == "1")
}

/// What `/sys/block/loopN/loop/` says: it is there while something is attached.
fn attribute(device: &Path, name: &str) -> io::Result<String> {
    let path = directory(device).join("loop").join(name);
    Ok(std::fs::read_to_string(path)?.trim_end().to_owned())
}

fn directory(device: &Path) -> PathBuf {
    Path::new("/sys/block").join(device.file_name().unwrap_or_default())
}

/// What the loop device with that directory in `/sys` shows, by the name that the kernel keeps; nothing of any other device
/// and while nothing is attached. What was deleted since has a name that leads nowhere.
#[must_use]
pub fn backing(directory: &Path) -> Option<PathBuf> {
    let mut name = std::fs::read(directory.join("loop/backing_file")).ok()?;
    name.pop_if(|last| *last == b'\n');
    Some(OsString::from_vec(name).into())
}

/// Gives the device the size that its file has now.
///
/// # Errors
/// What `losetup` said.
pub fn update_size(device: &Path) -> Result<(), LoopError> {
    // Older kernels take the size that they remember; looking at the file makes them ask its server.
    let _ = backing(&directory(device)).map(std::fs::metadata);
    Ok(run("losetup", ["--set-capacity".as_ref(), device.as_os_str()]).map(drop)?)
}

/// A loop device that shows something, as the kernel tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The device, e.g. `/dev/loop0`.
    pub device: PathBuf,
    /// The name that the kernel keeps of the file: it follows a renaming and ends with [`DELETED`] when nothing leads
    /// there any more.
    pub backing: PathBuf,
    /// The file itself, which the device keeps from being given up; nothing where one may not ask.
    pub id: Option<FileId>,
}

/// How the kernel's name of a file ends that was deleted (`d_path()`, `Documentation/filesystems/path-lookup.rst`).
pub const DELETED: &str = " (deleted)";

/// Every loop device that shows something. No file is touched.
///
/// # Errors
/// What `losetup` said; `/sys` cannot be read.
pub fn shown() -> Result<Vec<Shown>, LoopError> {
    let options = ["--list", "--raw", "--noheadings", "--output", "NAME,BACK-INO,BACK-MAJ:MIN"];
    let listed = run("losetup", options)?;
    let id = |device: &Path| listed.lines().find_map(|line| id_in(line, device));
    let all = all().map_err(LoopError::Unread)?.into_iter();
    Ok(all.map(|(device, backing)| Shown { id: id(&device), device, backing }).collect())
}

/// Of `/dev/loop0 1234 253:1` the last two, if the first is `device` (`losetup(8)`: device, inode, file system).
fn id_in(line: &str, device: &Path) -> Option<FileId> {
    // Some versions pad the numbers, and write blanks within a column so.
    let line = line.replace("\\x20", "");
    let mut words = line.split_whitespace();
    let mut word = || words.next();
    let (name, inode, number) = (word()?, word()?, word()?);
    let (major, minor) = number.split_once(':')?;
    let file_system = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
    let inode = inode.parse().ok()?;
    (Path::new(name) == device).then(|| FileId::on(file_system, inode))
}

/// The loop devices whose files lie in `directory`, an absolute path without links, by the names that the kernel
/// keeps. Neither the directory nor the files are touched, so it answers even when whoever serves them is dead or
/// stuck; but not once the directory's mount is gone, for the files have no names then.
///
/// # Errors
/// `/sys` cannot be read.
pub fn attached_under(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let all = all()?.into_iter().filter(|(_, backing)| backing.starts_with(directory));
    Ok(all.map(|(device, _)| device).collect())
}

/// The loop devices that show the file or block device `id`, by whatever name, which lies on the file system `device`
/// (`st_dev`). A server that is stuck is not asked, unless it is the one that has the file.
///
/// # Errors
/// `/sys` or `/proc` cannot be read.
pub fn showing(id: FileId, device: u64) -> io::Result<Vec<PathBuf>> {
    let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let mounts = filesystem::mounts()?;
    let is_elsewhere = |backing: &Path| {
        let mount = filesystem::holding(&mounts, backing);
        mount.is_some_and(|it| it.file_system.starts_with("fuse") && it.device_number != number)
    };
    let is_it = |backing: &Path| {
        !is_elsewhere(backing) && FileId::named(backing).is_ok_and(|found| found == id)
    };
    let all = all()?.into_iter().filter(|(_, backing)| is_it(backing));
    Ok(all.map(|(device, _)| device).collect())
}

/// Every loop device that shows something, and what.
fn all() -> io::Result<Vec<(PathBuf, PathBuf)>> {
    let entries = match std::fs::read_dir("/sys/block") {
        // Without block devices none of them is a loop device.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry?;
        let shown = backing(&entry.path());
        all.extend(shown.map(|backing| (Path::new("/dev").join(entry.file_name()), backing)));
    }
    Ok(all)
}

/// Detaches a loop device that shows `backing`, or a file below it, by the name that the kernel keeps, and waits until it
/// has let go of the file. What was written to it and not flushed is handed to the file first, or lost when the file can
/// no longer be written. A device that shows something else, or nothing, is left as it is: somebody else was first, and
/// its number may be another disk's by now.
///
/// # Errors
/// [`LoopError::InUse`] when something keeps the device open; [`LoopError::Kept`].
pub fn detach(device: &Path, backing: &Path) -> Result<(), LoopError> {
    let is_meant = || {
        let shown = self::backing(&directory(device));
        shown.is_some_and(|shown| shown.starts_with(backing))
    };
    let kept = |reason| LoopError::Kept { device: device.into(), reason };
    match File::open(device) {
        Err(reason) if is_meant() => return Err(kept(reason)),
        Err(_) => return Ok(()),
        // The kernel takes no file from a device that is open, so what it shows now it shows until this is closed.
        Ok(open) if is_meant() => {
            let _ = unlimit_requests(device);
            clear_when_closed(&open).map_err(kept)?;
        }
        Ok(_) => return Ok(()),
    }
    let deadline = Instant::now() + DETACH_PATIENCE;
    // A device that is open goes when it is closed last, which the kernel does not announce.
    while is_meant() {
        if Instant::now() > deadline {
            let holders = mount_holders::of(|mount| mount.is_of(device));
            return Err(LoopError::InUse { device: device.into(), holders });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// `LOOP_CLR_FD` (`linux/loop.h`): the device lets go of its file, at once or when it is closed last. Nothing attached is
/// no error.
fn clear_when_closed(device: &File) -> io::Result<()> {
    const LOOP_CLR_FD: Opcode = 0x4C01;
    // SAFETY: the request has no argument and touches none of our memory.
    #[allow(unsafe_code)]
    let cleared = unsafe { ioctl(device, NoArg::<LOOP_CLR_FD>::new()) };
    match cleared {
        Err(Errno::NXIO) => Ok(()),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_what_losetup_tells_padded_or_not() {
        let id = FileId::on(rustix::fs::makedev(254, 3), 77);
        let of = |line: &str| id_in(line, Path::new("/dev/loop1"));
        assert_eq!(of("/dev/loop1 77 254:3"), Some(id));
        assert_eq!(of(r"/dev/loop1 77 \x20\x20\x20\x20254:3\x20\x20"), Some(id));
        assert_eq!(of("/dev/loop10 77 254:3"), None);
        assert_eq!(of("/dev/loop1"), None, "where one may not ask");
    }
}
