//! Copies of a mount in other mount namespaces, and the end of a connection that one of them holds.
//!
//! The kernel ends a FUSE connection with the last copy of its mount, so the server of a disk that is
//! detached here would go on as long as any container, service or `unshare --mount` has a copy.

use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags};

use super::FILE_SYSTEM;
use crate::filesystem::Mount;
use crate::mount_holders::{self, Holder};

/// Processes in whose mount namespace that mount of ours is listed.
fn holders(mount: &Mount) -> Vec<Holder> {
    mount_holders::of(|one| {
        one.device_number == mount.device_number
            && one.source == mount.source
            && one.file_system == FILE_SYSTEM
    })
}

/// Ends the connection of a mount that was just unmounted here, if another namespace has a copy.
/// Returns who has one.
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

/// Where the kernel's control file system is mounted by custom
/// (`Documentation/filesystems/fuse.rst`, "Control filesystem").
const CONTROL: &str = "/sys/fs/fuse/connections";

/// Ends a connection by its number: the minor one of the mount's device.
pub(super) fn abort(mount: &Mount) -> io::Result<()> {
    let minor = mount.device_number.split_once(':').map_or("", |(_, minor)| minor);
    let by = |control: &Path| std::fs::write(control.join(minor).join("abort"), "1");
    match by(Path::new(CONTROL)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => by(&OwnControl::mount()?.0),
        other => other,
    }
}

/// The control file system at a place of our own, for as long as this lives.
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
