//! Copies of a mount in other mount namespaces, and ending a connection held by one of them.
//!
//! The kernel ends a FUSE connection with the last copy of its mount, so the server of a disk that
//! is detached here would run on while a container, a service or `unshare --mount` has a copy.

use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags};

use super::FILE_SYSTEM;
use crate::filesystem::Mount;
use crate::mount_holders::{self, Holder};

/// Processes whose mount namespace lists the mount.
fn holders(mount: &Mount) -> Vec<Holder> {
    mount_holders::of(|copy| {
        copy.device_number == mount.device_number
            && copy.source == mount.source
            && copy.file_system == FILE_SYSTEM
    })
}

/// Ends the connection of a mount that was just unmounted here, if another namespace has a copy.
/// Returns the processes with a copy. If the kernel's control file system is not mounted, only root
/// may do this.
///
/// # Errors
/// What the system answered: only root may end it where the kernel's control file system is not
/// mounted.
pub(super) fn end_if_held(mount: &Mount) -> io::Result<Vec<Holder>> {
    let holders = holders(mount);
    if !holders.is_empty() {
        abort(mount)?;
    }
    Ok(holders)
}

/// Usual mount point of the kernel's control file system (`Documentation/filesystems/fuse.rst`,
/// "Control filesystem").
const CONTROL: &str = "/sys/fs/fuse/connections";

/// Ends a connection by its number, the minor number of the mount's device.
pub(super) fn abort(mount: &Mount) -> io::Result<()> {
    let minor = mount.device_number.split_once(':').map_or("", |(_, minor)| minor);
    let by = |control: &Path| std::fs::write(control.join(minor).join("abort"), "1");
    match by(Path::new(CONTROL)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => by(&OwnControl::mount()?.0),
        other => other,
    }
}

/// The control file system mounted in a private place until this is dropped.
struct OwnControl(PathBuf);

impl OwnControl {
    fn mount() -> io::Result<OwnControl> {
        // A name that nobody can have taken before.
        let mut random = [0; 6];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let place =
            std::env::temp_dir().join(format!("assay-fusectl-{}-{random}", std::process::id()));
        std::fs::create_dir(&place)?;
        let control = OwnControl(place);
        let mounted =
            rustix::mount::mount("fusectl", &control.0, "fusectl", MountFlags::empty(), None);
        mounted.map_err(|_| io::Error::other("ending it here needs root"))?;
        Ok(control)
    }
}

impl Drop for OwnControl {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, UnmountFlags::DETACH);
        let _ = std::fs::remove_dir(&self.0);
    }
}
