//! Checks a block device that a user names: that it is one, and that nothing uses it.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::filesystem;

/// Why a path may not be overwritten as a block device.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// The device cannot be read.
    #[error("{path}: {reason}")]
    Unreadable {
        /// The path as given.
        path: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
    /// The path is no block device.
    #[error("{path} is not a block device; name one such as /dev/nvme1n1 (`lsblk` lists them)")]
    NotBlock {
        /// The path as given.
        path: PathBuf,
    },
    /// The device, or a partition of it, is mounted.
    #[error("{path} is in use: {device} is mounted on {target}; unmount it or name another device")]
    Mounted {
        /// The path as given.
        path: PathBuf,
        /// The mounted device.
        device: String,
        /// The mount point.
        target: PathBuf,
    },
    /// Another device or the swap holds the device.
    #[error("{path} is in use by {holder}; release it or name another device")]
    Held {
        /// The path as given.
        path: PathBuf,
        /// The name of the holder.
        holder: String,
    },
}

/// Checks that `path` is a block device that nothing uses: neither it nor a partition is mounted,
/// held by another device (RAID, LVM, encryption) or used as swap. Returns its size in bytes.
///
/// # Errors
/// [`DeviceError`], which names the user of the device.
pub fn check_unused(path: &Path) -> Result<u64, DeviceError> {
    let metadata = std::fs::metadata(path).map_err(unreadable(path))?;
    if !metadata.file_type().is_block_device() {
        return Err(DeviceError::NotBlock { path: path.into() });
    }
    let system = sysfs_directory(metadata.rdev()).map_err(unreadable(path))?;
    for directory in with_partitions(&system).map_err(unreadable(path))? {
        check_mounts(path, &directory)?;
        check_holders(path, &directory)?;
    }
    // Sectors of 512 bytes, independent of the device's own sector
    // (Documentation/ABI/stable/sysfs-block, `size`).
    let sectors = std::fs::read_to_string(system.join("size")).map_err(unreadable(path))?;
    Ok(sectors.trim().parse::<u64>().map_or(0, |sectors| sectors * 512))
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> DeviceError {
    move |reason| DeviceError::Unreadable { path: path.into(), reason }
}

/// The directory in `/sys` of the block device with that number (`st_dev` or `st_rdev` of
/// `stat(2)`).
///
/// # Errors
/// `NotFound` for a number that is no block device's, such as those of file systems without a
/// device.
pub fn sysfs_directory(device: u64) -> io::Result<PathBuf> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    Path::new("/sys/dev/block").join(format!("{major}:{minor}")).canonicalize()
}

fn with_partitions(system: &Path) -> io::Result<Vec<PathBuf>> {
    let mut directories = vec![system.to_owned()];
    for entry in std::fs::read_dir(system)? {
        let directory = entry?.path();
        if directory.join("partition").is_file() {
            directories.push(directory);
        }
    }
    Ok(directories)
}

/// The largest discard of a block device in bytes, 0 if it takes no discards; `None` if the kernel
/// does not report it (`queue/discard_max_bytes`, `Documentation/ABI/stable/sysfs-block`).
#[must_use]
pub fn discard_max_bytes(device: &Path) -> Option<u64> {
    let directory = sysfs_directory(std::fs::metadata(device).ok()?.rdev()).ok()?;
    let disk = if directory.join("partition").is_file() { directory.parent()? } else { &directory };
    std::fs::read_to_string(disk.join("queue/discard_max_bytes")).ok()?.trim().parse().ok()
}

/// The directories in `/sys` of the block devices below the one with this directory: the disk of a
/// partition, the parts of a mapper or RAID.
#[must_use]
pub fn lies_on(directory: &Path) -> Vec<PathBuf> {
    let slaves = std::fs::read_dir(directory.join("slaves")).into_iter().flatten().flatten();
    let parts = slaves.filter_map(|slave| slave.path().canonicalize().ok());
    let disk = directory.join("partition").is_file().then(|| directory.parent()).flatten();
    parts.chain(disk.map(Path::to_owned)).collect()
}

fn check_mounts(path: &Path, directory: &Path) -> Result<(), DeviceError> {
    let number = std::fs::read_to_string(directory.join("dev")).map_err(unreadable(path))?;
    let mounts = filesystem::mounts().map_err(unreadable(path))?;
    match mounts.into_iter().find(|mount| mount.device_number == number.trim()) {
        None => Ok(()),
        Some(mount) => Err(DeviceError::Mounted {
            path: path.into(),
            device: format!("/dev/{}", file_name(directory)),
            target: mount.target,
        }),
    }
}

fn check_holders(path: &Path, directory: &Path) -> Result<(), DeviceError> {
    let held = |holder| Err(DeviceError::Held { path: path.into(), holder });
    let holders = std::fs::read_dir(directory.join("holders")).into_iter().flatten();
    if let Some(holder) = holders.flatten().next() {
        return held(file_name(&holder.path()));
    }
    let device = format!("/dev/{}", file_name(directory));
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    match swaps.lines().any(|line| line.split_whitespace().next() == Some(&device)) {
        true => held("the swap".into()),
        false => Ok(()),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_numbers_have_no_directory() {
        let number = std::fs::metadata("/proc").unwrap().dev();
        assert_eq!(sysfs_directory(number).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_and_a_missing_path_are_refused_by_name() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = check_unused(file.path()).unwrap_err();
        assert!(matches!(error, DeviceError::NotBlock { .. }));
        assert!(error.to_string().contains("is not a block device; name one"));
        let error = check_unused(Path::new("/dev/nonexistent")).unwrap_err();
        assert!(error.to_string().starts_with("/dev/nonexistent: "), "{error}");
    }
}
