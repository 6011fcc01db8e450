//! Loop devices: a file shown by the kernel as a block device.
//!
//! They use direct I/O, so that measurements see the disk below the file and not a second page
//! cache.

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

/// Time limit for a detached device to close its file: programs that probe new devices (udev) may
/// have it open for a moment.
const DETACH_PATIENCE: Duration = Duration::from_secs(10);

/// Why a loop device is not as it should be.
#[derive(Debug, Error)]
pub enum LoopError {
    /// `losetup` failed: no loop devices, no permission, no such file.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The device uses the page cache.
    #[error("{file} does not support direct I/O; put it on a file system that does")]
    NotDirect {
        /// The file that was to be shown.
        file: PathBuf,
    },
    /// The kernel would merge writes beyond the disk's atomic size.
    #[error("cannot limit the requests of {device}: {reason}")]
    Limit {
        /// The device.
        device: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
    /// The kernel keeps the device's file.
    #[error("cannot detach {device}: {reason}")]
    Kept {
        /// The device.
        device: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
    /// The kernel's list of devices cannot be read.
    #[error("cannot read the loop devices in /sys/block: {0}")]
    Unread(io::Error),
    /// Detaching was requested; it happens when the remaining users have ended.
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
    /// True if the kernel uses direct I/O for the file.
    pub is_direct: bool,
}

/// Attaches `backing` to a free loop device, with direct I/O if its file system supports it.
///
/// # Errors
/// The message of `losetup`: no loop devices, no permission, no such file.
pub fn attach(backing: &Path) -> Result<LoopDevice, LoopError> {
    let device = match find_and_show(&["--direct-io=on"], backing) {
        // Some file systems do not support direct I/O, e.g. tmpfs of older kernels.
        Err(ProgramError::Failed { .. }) => find_and_show(&[], backing)?,
        other => other?,
    };
    Ok(LoopDevice { is_direct: is_direct(&device), device })
}

/// Attaches the file of a served disk to a free loop device: sectors of one block, direct I/O, and
/// requests of up to `atomic_write_bytes`.
///
/// The kernel merges adjacent writes up to its limit. A merged write longer than the disk's atomic
/// size could be split anywhere, also within one of the original writes.
///
/// # Errors
/// [`LoopError::NotDirect`], [`LoopError::Limit`], or the message of `losetup`; nothing is attached
/// then.
pub fn attach_disk(file: &Path, atomic_write_bytes: u64) -> Result<PathBuf, LoopError> {
    let device = attach_direct(file, OFlags::RDWR, &[])?;
    if let Err(reason) = limit_requests(&device, atomic_write_bytes) {
        give_back(&device)?;
        return Err(LoopError::Limit { device, reason });
    }
    Ok(device)
}

/// Like [`attach_disk`], for a read-only disk: the device is read-only, too.
///
/// # Errors
/// [`LoopError::NotDirect`], or the message of `losetup`; nothing is attached then.
pub fn attach_disk_read_only(file: &Path) -> Result<PathBuf, LoopError> {
    attach_direct(file, OFlags::RDONLY, &["--read-only"])
}

fn attach_direct(file: &Path, access: OFlags, options: &[&str]) -> Result<PathBuf, LoopError> {
    let not_direct = || LoopError::NotDirect { file: file.into() };
    let sector = format!("--sector-size={BLOCK_BYTES}");
    let device = match find_and_show(&[options, &["--direct-io=on", &sector]].concat(), file) {
        // For the whole request, newer kernels only report "Invalid argument".
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

/// Called only after a failure: a server that opens its own file could not be killed meanwhile.
fn takes_direct_io(file: &Path, access: OFlags) -> bool {
    let flags = access | OFlags::DIRECT | OFlags::CLOEXEC;
    rustix::fs::open(file, flags, Mode::empty()).err() != Some(Errno::INVAL)
}

/// Flushes a device's page cache to its file, by another process: the file's server could not be
/// killed while it waited for itself ([`crate::fuse::FuseOptions::asked_by`]).
///
/// # Errors
/// The message of `blockdev`.
pub fn hand_over(device: &Path) -> Result<(), LoopError> {
    Ok(run("blockdev", ["--flushbufs".as_ref(), device.as_os_str()]).map(drop)?)
}

/// Detaches a device that was just attached, and that nobody else knows yet.
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
    // A former user of the device has disabled discards. The kernel keeps that for the device's
    // number, and accepts no other limit once it is zero; a new device has no limit.
    run("losetup", ["--detach".as_ref(), device.as_os_str()])?;
    if let Err(error) = renew(&device) {
        log::warn!("{} refuses discards and cannot be made anew: {error}", device.display());
    }
    run("losetup", &words).map(PathBuf::from)
}

/// Returns true if discards are disabled on a device that could take them.
fn refuses_discards(device: &Path) -> bool {
    let is_zero = |name: &str| {
        std::fs::read_to_string(queue(device).join(name)).is_ok_and(|text| text.trim() == "0")
    };
    is_zero("discard_max_bytes") && !is_zero("discard_max_hw_bytes")
}

/// Removes an unused device, and with it all limits of its number.
///
/// # Errors
/// The system's error: the device is in use, or the caller is not root.
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

/// `max_sectors_kb` can be set below the device's own limit
/// (`Documentation/ABI/stable/sysfs-block`).
fn limit_requests(device: &Path, bytes: u64) -> io::Result<()> {
    let queue = queue(device);
    let most = std::fs::read_to_string(queue.join("max_hw_sectors_kb"))?;
    let most: u64 = most.trim_end().parse().map_err(io::Error::other)?;
    std::fs::write(queue.join("max_sectors_kb"), most.min(bytes / 1024).to_string())
}

/// Restores the device's original limit, which belongs to its number and would apply to the next
/// file.
fn unlimit_requests(device: &Path) -> io::Result<()> {
    let queue = queue(device);
    let limit = queue.join("max_sectors_kb");
    // Zero selects the kernel's default; older kernels refuse it.
    std::fs::write(&limit, "0")
        .or_else(|_| std::fs::write(&limit, std::fs::read(queue.join("max_hw_sectors_kb"))?))
}

fn queue(device: &Path) -> PathBuf {
    directory(device).join("queue")
}

/// Older kernels silently skip direct I/O if the file does not support it, and report that only
/// here (`Documentation/ABI/testing/sysfs-block-loop`).
fn is_direct(device: &Path) -> bool {
    attribute(device, "dio").is_ok_and(|dio| dio == "1")
}

/// An attribute in `/sys/block/loopN/loop/`, a directory that exists while a file is attached.
fn attribute(device: &Path, name: &str) -> io::Result<String> {
    let path = directory(device).join("loop").join(name);
    Ok(std::fs::read_to_string(path)?.trim_end().to_owned())
}

fn directory(device: &Path) -> PathBuf {
    Path::new("/sys/block").join(device.file_name().unwrap_or_default())
}

/// The file behind the loop device with that directory in `/sys`, under the name that the kernel
/// keeps; `None` for any other device, and while nothing is attached. The name of a deleted file
/// leads nowhere.
#[must_use]
pub fn backing(directory: &Path) -> Option<PathBuf> {
    let mut name = std::fs::read(directory.join("loop/backing_file")).ok()?;
    name.pop_if(|last| *last == b'\n');
    Some(OsString::from_vec(name).into())
}

/// Gives the device the present size of its file.
///
/// # Errors
/// The message of `losetup`.
pub fn update_size(device: &Path) -> Result<(), LoopError> {
    // Older kernels use a cached size; a `stat` makes them ask the file's server.
    let _ = backing(&directory(device)).map(std::fs::metadata);
    Ok(run("losetup", ["--set-capacity".as_ref(), device.as_os_str()]).map(drop)?)
}

/// A loop device with an attached file, in the kernel's terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopEntry {
    /// The device, e.g. `/dev/loop0`.
    pub device: PathBuf,
    /// The kernel's name of the file: it follows renaming, and ends with [`DELETED`] once no name
    /// is left.
    pub backing: PathBuf,
    /// The identity of the file, which stays allocated while attached; `None` without permission to
    /// ask.
    pub id: Option<FileId>,
}

/// Suffix of the kernel's name of a deleted file (`d_path()`,
/// `Documentation/filesystems/path-lookup.rst`).
pub const DELETED: &str = " (deleted)";

/// Every loop device with an attached file. No file is opened.
///
/// # Errors
/// The message of `losetup`; `/sys` cannot be read.
pub fn shown() -> Result<Vec<LoopEntry>, LoopError> {
    let options = ["--list", "--raw", "--noheadings", "--output", "NAME,BACK-INO,BACK-MAJ:MIN"];
    let listed = run("losetup", options)?;
    let id = |device: &Path| listed.lines().find_map(|line| id_in(line, device));
    let all = all().map_err(LoopError::Unread)?.into_iter();
    Ok(all.map(|(device, backing)| LoopEntry { id: id(&device), device, backing }).collect())
}

/// The last two fields of `/dev/loop0 1234 253:1`, if the first is `device` (`losetup(8)`: device,
/// inode, file system).
fn id_in(line: &str, device: &Path) -> Option<FileId> {
    // Some versions pad the numbers, and escape blanks within a column.
    let line = line.replace("\\x20", "");
    let mut words = line.split_whitespace();
    let mut word = || words.next();
    let (name, inode, number) = (word()?, word()?, word()?);
    let (major, minor) = number.split_once(':')?;
    let file_system = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
    let inode = inode.parse().ok()?;
    (Path::new(name) == device).then(|| FileId::on(file_system, inode))
}

/// The loop devices whose files lie in `directory`, an absolute path without links, by the kernel's
/// names. Neither the directory nor the files are opened, so this works even if their server is
/// dead or stuck; but not once the directory's mount is gone, because the files then have no names.
///
/// # Errors
/// `/sys` cannot be read.
pub fn attached_under(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let all = all()?.into_iter().filter(|(_, backing)| backing.starts_with(directory));
    Ok(all.map(|(device, _)| device).collect())
}

/// The loop devices over the file or block device `id`, under any name, on the file system `device`
/// (`st_dev`). No request goes to a stuck server, unless the file is its own.
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

/// Every loop device with an attached file, and that file.
fn all() -> io::Result<Vec<(PathBuf, PathBuf)>> {
    let entries = match std::fs::read_dir("/sys/block") {
        // Without `/sys/block` there are no loop devices.
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

/// Detaches a loop device over `backing`, or over a file below it, by the kernel's name, and waits
/// until the file is closed. Unflushed data are written to the file first, or lost if the file
/// cannot be written. A device over another file, or without one, stays: another process was
/// faster, and the number may be another disk's.
///
/// # Errors
/// [`LoopError::InUse`] while the device is open; [`LoopError::Kept`].
pub fn detach(device: &Path, backing: &Path) -> Result<(), LoopError> {
    let is_meant = || {
        let shown = self::backing(&directory(device));
        shown.is_some_and(|shown| shown.starts_with(backing))
    };
    let kept = |reason| LoopError::Kept { device: device.into(), reason };
    match File::open(device) {
        Err(reason) if is_meant() => return Err(kept(reason)),
        Err(_) => return Ok(()),
        // The kernel does not detach the file of an open device, so the association is stable until
        // this handle is closed.
        Ok(open) if is_meant() => {
            let _ = unlimit_requests(device);
            clear_when_closed(&open).map_err(kept)?;
        }
        Ok(_) => return Ok(()),
    }
    let deadline = Instant::now() + DETACH_PATIENCE;
    // An open device is detached at its last close, which the kernel does not announce.
    while is_meant() {
        if Instant::now() > deadline {
            let holders = mount_holders::of(|mount| mount.is_of(device));
            return Err(LoopError::InUse { device: device.into(), holders });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// `LOOP_CLR_FD` (`linux/loop.h`): detaches the file, at once or at the last close. A missing file
/// is no error.
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
