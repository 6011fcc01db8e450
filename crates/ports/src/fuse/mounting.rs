//! Mounts and unmounts with system calls, or with `fusermount3` for users other than root.
//!
//! Guarantees: only Assay's mounts are removed, identified by their type ([`FILE_SYSTEM`]); no
//! request goes to a mounted server, so nothing hangs on one that is dead or stuck.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::{FuseError, copies};
use crate::filesystem::{self, Mount};
use crate::{child, loopdev};

/// File system type of Assay's mounts.
pub const FILE_SYSTEM: &str = "fuse.assay";

/// The kernel's FUSE device.
pub(crate) const DEVICE: &str = "/dev/fuse";
/// The program that mounts for users.
pub(crate) const HELPER: &str = "fusermount3";

/// How long a mount may stay busy after its last use: the kernel closes files a little later.
const BUSY_PATIENCE: Duration = Duration::from_secs(2);

/// A new mount, and the connection over which the kernel sends requests.
pub(super) struct NewMount {
    pub connection: OwnedFd,
    /// The mount point, without links.
    pub mount_point: PathBuf,
    /// As [`Mount::device_number`].
    pub device_number: String,
}

fn open_device() -> Result<File, FuseError> {
    let open = File::options().read(true).write(true).open(DEVICE);
    open.map_err(|reason| FuseError::NoFuse { reason })
}

pub(super) fn mount(mount_point: &Path, name: &str) -> Result<NewMount, FuseError> {
    let failed = |reason| FuseError::Mount { mount_point: mount_point.into(), reason };
    let place = resolved(mount_point).map_err(failed)?;
    if mounted(&place)?.is_some() {
        return Err(FuseError::Taken { mount_point: place });
    }
    let mount_point = place.canonicalize().map_err(failed)?;
    let connection = connect(&mount_point, name)?;
    match mounted(&mount_point) {
        Ok(Some(Mount { device_number, .. })) => {
            Ok(NewMount { connection, mount_point, device_number })
        }
        unlisted => {
            let _ = take_down(&mount_point, UnmountFlags::DETACH, "-uz");
            unlisted.and_then(|_| Err(failed(io::Error::other("the new mount is not listed"))))
        }
    }
}

fn connect(mount_point: &Path, name: &str) -> Result<OwnedFd, FuseError> {
    let connection = open_device()?;
    match mount_as_root(&connection, mount_point, name) {
        Ok(()) => Ok(connection.into()),
        Err(Errno::PERM) => mount_as_user(mount_point, name),
        Err(errno) => {
            Err(FuseError::Mount { mount_point: mount_point.into(), reason: errno.into() })
        }
    }
}

/// Options are described in `mount.fuse3(8)` and the kernel's `Documentation/filesystems/fuse`. The
/// type of the root is in the format of `st_mode`.
fn mount_as_root(connection: &File, mount_point: &Path, name: &str) -> rustix::io::Result<()> {
    let options = format!(
        "fd={},rootmode=40000,user_id={},group_id={},default_permissions",
        connection.as_raw_fd(),
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw()
    );
    let options = CString::new(options).map_err(|_| Errno::INVAL)?;
    let flags = MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOEXEC;
    rustix::mount::mount(name, mount_point, FILE_SYSTEM, flags, options.as_c_str())
}

/// The helper mounts and returns the connection over a socket, whose number is in its environment
/// (libfuse, `util/fusermount.c`): here its standard input, so that no other file must be
/// inherited.
fn mount_as_user(mount_point: &Path, name: &str) -> Result<OwnedFd, FuseError> {
    let failed = |reason| FuseError::Mount { mount_point: mount_point.into(), reason };
    let (ours, theirs) = UnixStream::pair().map_err(failed)?;
    let subtype = FILE_SYSTEM.trim_start_matches("fuse.");
    let name = name.replace('\\', "\\\\").replace(',', "\\,");
    let options =
        format!("nosuid,nodev,noexec,default_permissions,subtype={subtype},fsname={name}");
    let mut helper = Command::new(HELPER);
    helper.args(["-o", &options, "--"]).arg(mount_point).env("_FUSE_COMMFD", "0");
    helper.stdin(Stdio::from(OwnedFd::from(theirs)));
    run_helper(helper).map_err(failed)?;
    receive(&ours).map_err(failed)
}

/// Runs the helper. The kind of an error is that of the errno that the helper prints.
fn run_helper(helper: Command) -> io::Result<()> {
    let output = child::output(helper).map_err(|error| match error.kind() {
        // Denied: an unreadable directory in the search path hides that the program is missing.
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => io::Error::other(format!(
            "mounting needs root or `{HELPER}`; become root or install the package fuse3"
        )),
        _ => error,
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    let kind = match said.ends_with(BUSY) {
        true => io::ErrorKind::ResourceBusy,
        false => io::ErrorKind::Other,
    };
    Err(io::Error::new(kind, if said.is_empty() { child::describe(output.status) } else { said }))
}

/// `strerror(EBUSY)` in the C locale, which the helper keeps: its messages end with the error
/// (libfuse, `util/fusermount.c`).
const BUSY: &str = "Device or resource busy";

fn receive(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let data = &mut [IoSliceMut::new(&mut byte)];
    recvmsg(socket, data, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let files = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let missing = || io::Error::other(format!("`{HELPER}` handed no connection back"));
    files.flatten().next().ok_or_else(missing)
}

/// The topmost mount at `mount_point`, if it is Assay's.
pub(super) fn mounted(mount_point: &Path) -> Result<Option<Mount>, FuseError> {
    let failed = |reason| FuseError::Mount { mount_point: mount_point.into(), reason };
    let mounts = filesystem::mounts().map_err(failed)?;
    let top = mounts.into_iter().rfind(|mount| mount.target == mount_point);
    Ok(top.filter(|mount| mount.file_system == FILE_SYSTEM))
}

/// Unmounts an unused disk from `mount_point`, an absolute path without links; its server then
/// ends, even if another mount namespace has a copy of the mount.
///
/// # Errors
/// [`FuseError::InUse`] while somebody uses the disk, which is still served; the system's error.
pub fn unmount(mount_point: &Path) -> Result<(), FuseError> {
    let mount = resolved(mount_point).ok().and_then(|place| mounted(&place).ok().flatten());
    unmount_here(mount_point)?;
    let Some(mount) = mount else { return Ok(()) };
    match copies::end_if_held(&mount) {
        Ok(holders) => holders.iter().for_each(|holder| {
            log::warn!(
                "{holder} has a copy of the mount at {} in a mount namespace of its own; its \
                 connection was ended",
                mount_point.display()
            );
        }),
        Err(reason) => {
            let held = FuseError::Unmount { mount_point: mount_point.into(), reason };
            log::warn!("{held}; its server goes on until other mount namespaces have let it go");
        }
    }
    Ok(())
}

fn unmount_here(mount_point: &Path) -> Result<(), FuseError> {
    let deadline = Instant::now() + BUSY_PATIENCE;
    loop {
        match take_down(mount_point, UnmountFlags::empty(), "-u") {
            Err(reason) if reason.kind() == io::ErrorKind::ResourceBusy => {
                let users = loopdev::attached_under(mount_point).unwrap_or_default();
                if !users.is_empty() || Instant::now() > deadline {
                    return Err(FuseError::InUse { mount_point: mount_point.into(), users });
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            other => {
                return other.map_err(|reason| FuseError::Unmount {
                    mount_point: mount_point.into(),
                    reason,
                });
            }
        }
    }
}

/// Ends the connection of an Assay mount, whether its server lives, hangs or is dead: pending and
/// later requests fail. A mount in use stays listed, so that the loop devices over it can still be
/// found ([`loopdev::attached_under`]); any other is removed. A missing mount is no error.
///
/// To remove the remains of a dead server: abort, unmount the file systems on its loop devices,
/// detach those, and [`abort_and_unmount`].
///
/// # Errors
/// The system's error, e.g. that only root may do this.
pub fn abort(mount_point: &Path) -> Result<(), FuseError> {
    let failed = |reason| FuseError::Unmount { mount_point: mount_point.into(), reason };
    let place = resolved(mount_point).map_err(failed)?;
    let Some(mount) = mounted(&place)? else { return Ok(()) };
    // A forced unmount ends the connection first, and then fails if the mount is in use
    // (umount(2)).
    match rustix::mount::unmount(&place, UnmountFlags::FORCE | UnmountFlags::NOFOLLOW) {
        Ok(()) | Err(Errno::BUSY) => Ok(()),
        // The owner may end a connection by its number.
        Err(Errno::PERM) => copies::abort(&mount).map_err(failed),
        Err(errno) => Err(failed(errno.into())),
    }
}

/// Removes Assay's mount at `mount_point` like [`abort`], and also if it is in use: its users then
/// have files without names.
///
/// # Errors
/// The system's error, e.g. that only root may do this.
pub fn abort_and_unmount(mount_point: &Path) -> Result<(), FuseError> {
    let failed = |reason| FuseError::Unmount { mount_point: mount_point.into(), reason };
    let place = resolved(mount_point).map_err(failed)?;
    while mounted(&place)?.is_some() {
        if let Err(error) = abort(&place) {
            log::warn!("{error}");
        }
        if mounted(&place)?.is_some() {
            take_down(&place, UnmountFlags::DETACH, "-uz").map_err(failed)?;
        }
    }
    Ok(())
}

/// The path without links, as the kernel lists it. The last part is kept as it is, because
/// resolving it would send a request to the server.
fn resolved(mount_point: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(mount_point)?;
    match (absolute.parent(), absolute.file_name()) {
        (Some(directory), Some(name)) => Ok(directory.canonicalize()?.join(name)),
        _ => Ok(absolute),
    }
}

fn take_down(mount_point: &Path, flags: UnmountFlags, helper_flags: &str) -> io::Result<()> {
    match rustix::mount::unmount(mount_point, flags | UnmountFlags::NOFOLLOW) {
        Err(Errno::PERM) => {
            let mut helper = Command::new(HELPER);
            helper.args([helper_flags, "--"]).arg(mount_point).stdin(Stdio::null());
            run_helper(helper)
        }
        other => Ok(other?),
    }
}
