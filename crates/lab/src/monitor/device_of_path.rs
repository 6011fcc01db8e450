//! The block device under a path.
//!
//! Devices are found by number, `st_dev` to `/sys/dev/block/MAJ:MIN`, so partitions and disks are
//! told apart and no byte is counted twice. Btrfs uses numbers of its own; a btrfs on a single
//! device has that device. File systems without a device (overlay, tmpfs, network) have none. A
//! loop device names the file behind it, and that file lies on another device.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use assay_ports::{blockdev, filesystem};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Device {
    /// The kernel's name, e.g. `nvme0n1p2`.
    pub(crate) name: String,
    pub(crate) partition: bool,
    /// The file behind a loop device.
    pub(crate) backing_file: Option<PathBuf>,
    /// In `/sys`.
    directory: PathBuf,
}

impl Device {
    /// The device under `path`, or `path` itself if it is a device; `None` if there is none.
    ///
    /// # Errors
    /// `path` cannot be read.
    pub(crate) fn under(path: &Path) -> io::Result<Option<Device>> {
        let metadata = fs::metadata(path)?;
        let number =
            if metadata.file_type().is_block_device() { metadata.rdev() } else { metadata.dev() };
        let found = blockdev::sysfs_directory(number).ok().and_then(Device::in_directory);
        Ok(found.or_else(|| Device::of_btrfs(path)))
    }

    /// The device of a btrfs on a single device.
    fn of_btrfs(path: &Path) -> Option<Device> {
        let mount = filesystem::mount_of(path).ok()??;
        if mount.file_system != "btrfs" {
            return None;
        }
        let number = fs::metadata(mount.source).ok()?.rdev();
        let device = Device::in_directory(blockdev::sysfs_directory(number).ok()?)?;
        is_only_one(Path::new("/sys/fs/btrfs"), &device.name).then_some(device)
    }

    fn in_directory(directory: PathBuf) -> Option<Device> {
        let name = directory.file_name()?.to_str()?.to_owned();
        let partition = directory.join("partition").exists();
        let disk = if partition { directory.parent()?.to_path_buf() } else { directory.clone() };
        let backing_file = fs::read_to_string(disk.join("loop/backing_file")).ok();
        let backing_file = backing_file.map(|path| PathBuf::from(path.trim_end_matches('\n')));
        Some(Device { name, partition, backing_file, directory })
    }

    /// The device's counters (`Documentation/block/stat.rst` of the kernel).
    pub(super) fn stat_path(&self) -> PathBuf {
        self.directory.join("stat")
    }

    pub(super) fn is_counted(&self) -> bool {
        let queue = if self.partition { "../queue/iostats" } else { "queue/iostats" };
        fs::read_to_string(self.directory.join(queue)).map_or(true, |text| text.trim() != "0")
    }
}

/// Returns true if the btrfs has no other device: each file system has a directory with one entry
/// for each of its devices.
fn is_only_one(file_systems: &Path, device: &str) -> bool {
    let directories = fs::read_dir(file_systems).into_iter().flatten().flatten();
    let mut lists = directories.map(|directory| directory.path().join("devices"));
    lists
        .find(|devices| devices.join(device).exists())
        .is_some_and(|devices| fs::read_dir(devices).is_ok_and(|entries| entries.count() == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pseudo_file_systems_have_no_device() {
        assert_eq!(Device::under(Path::new("/proc")).unwrap(), None);
        assert!(Device::under(Path::new("/nonexistent/directory")).is_err());
    }

    #[test]
    fn a_file_system_on_two_devices_has_no_single_one() {
        let sys = tempfile::tempdir().unwrap();
        fs::create_dir_all(sys.path().join("features")).unwrap();
        for device in ["one/devices/sda", "two/devices/sdb", "two/devices/sdc"] {
            fs::create_dir_all(sys.path().join(device)).unwrap();
        }
        let is_only_one = |device| is_only_one(sys.path(), device);
        assert_eq!(["sda", "sdb", "sdd"].map(is_only_one), [true, false, false]);
    }

    #[test]
    fn a_partition_is_told_from_a_disk_and_a_loop_names_its_file() {
        let sys = tempfile::tempdir().unwrap();
        let part = sys.path().join("loop3/loop3p1");
        fs::create_dir_all(&part).unwrap();
        fs::create_dir_all(sys.path().join("loop3/loop")).unwrap();
        fs::write(part.join("partition"), "1\n").unwrap();
        fs::write(sys.path().join("loop3/loop/backing_file"), "/data/disk.img\n").unwrap();
        let device = Device::in_directory(part).unwrap();
        assert_eq!((device.name.as_str(), device.partition), ("loop3p1", true));
        assert_eq!(device.backing_file, Some(PathBuf::from("/data/disk.img")));
        let disk = Device::in_directory(sys.path().join("loop3")).unwrap();
        assert!(!disk.partition && disk.is_counted());
    }
}
