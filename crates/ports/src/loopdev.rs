//! Loop devices: a file shown to the kernel as a block device.
//!
//! Direct I/O is asked for, so that what is measured is the disk under the file and not a second page cache.

use std::path::{Path, PathBuf};

use crate::program::{ProgramError, run};

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
pub fn attach(backing: &Path) -> Result<LoopDevice, ProgramError> {
    let file = backing.as_os_str();
    let direct =
        run("losetup", ["--find".as_ref(), "--show".as_ref(), "--direct-io=on".as_ref(), file]);
    let device = match direct {
        Ok(device) => device,
        // Some file systems (tmpfs of older kernels, for one) know no direct I/O.
        Err(ProgramError::Failed { .. }) => {
            run("losetup", ["--find".as_ref(), "--show".as_ref(), file])?
        }
        Err(error) => return Err(error),
    };
    let device = PathBuf::from(device);
    let is_direct = run(
        "losetup",
        ["--noheadings".as_ref(), "--output".as_ref(), "DIO".as_ref(), device.as_os_str()],
    )?
    .trim()
        == "1";
    Ok(LoopDevice { device, is_direct })
}

/// The loop devices that show `backing`.
///
/// # Errors
/// What `losetup` said.
pub fn attached_to(backing: &Path) -> Result<Vec<PathBuf>, ProgramError> {
    let arguments =
        ["--noheadings", "--output", "NAME", "--associated"].map(AsRef::<std::ffi::OsStr>::as_ref);
    let devices = run("losetup", arguments.into_iter().chain([backing.as_os_str()]))?;
    Ok(devices.lines().map(str::trim).filter(|line| !line.is_empty()).map(PathBuf::from).collect())
}

/// Detaches a loop device.
///
/// # Errors
/// What `losetup` said.
pub fn detach(device: &Path) -> Result<(), ProgramError> {
    run("losetup", ["--detach".as_ref(), device.as_os_str()]).map(drop)
}
