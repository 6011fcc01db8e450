//! Finds the devices that a write passes on its way from a file system to the drive, and their
//! effect on it.
//!
//! Guarantee: an unknown type of device is reported as unknown, never as one that passes writes on
//! unchanged.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A block device of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceLayer {
    /// Its name in `/sys/class/block`.
    pub name: String,
    pub kind: LayerKind,
    /// The limits of its queue; `None` for a partition, which has no queue of its own.
    pub limits: Option<Limits>,
}

/// The type of a block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum LayerKind {
    Partition {
        /// Its offset on the disk.
        start_bytes: u64,
    },
    /// A file shown as a device.
    Loop {
        file: PathBuf,
        /// True if the file is written with direct I/O.
        is_direct: bool,
    },
    /// Software RAID.
    Raid {
        /// Level under `md`'s name: `raid0`, `raid1`, `raid10`, `raid5`, …
        level: String,
        /// Bytes on one disk before the next disk follows; 0 if the level has no chunks.
        chunk_bytes: u64,
    },
    /// Device mapper: LVM, encryption, multipath and others.
    Mapper {
        /// Prefix of its identifier: `LVM`, `CRYPT`, `mpath`, …
        made_by: String,
    },
    /// An NVMe drive, local or over a network.
    Nvme,
    /// A SCSI or SATA disk, or one that emulates it.
    Scsi,
    /// A disk provided by a hypervisor.
    Virtual,
    /// A disk reached over the network.
    Network,
    /// Memory.
    Memory,
    Other,
}

/// Limits of a device's queue (`Documentation/ABI/stable/sysfs-block`), in bytes; 0 is no limit or
/// nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The longest request (`max_sectors_kb`).
    pub request_bytes_max: u64,
    /// No request crosses a multiple of this (`chunk_sectors`).
    pub chunk_bytes: u64,
    /// The unit in which the drive itself reads and writes (`physical_block_size`).
    pub physical_block_bytes: u64,
    /// The unit of addresses (`logical_block_size`).
    pub logical_block_bytes: u64,
    /// The longest discard (`discard_max_bytes`).
    pub discard_bytes_max: u64,
    /// The longest write that is atomic on request (`atomic_write_unit_max_bytes`, since Linux
    /// 6.11).
    pub atomic_bytes_max: u64,
}

/// The devices below a file system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceChain {
    /// From the top; if a device lies on several, they follow it one after the other.
    pub layers: Vec<DeviceLayer>,
    /// Files behind devices of the chain; each lies on a file system of its own.
    pub files: Vec<PathBuf>,
}

impl DeviceLayer {
    /// Returns true if a layer encrypts: identifiers of LUKS and plain dm-crypt have this prefix
    /// (cryptsetup, `dm_prepare_uuid`).
    #[must_use]
    pub fn encrypts(&self) -> bool {
        matches!(&self.kind, LayerKind::Mapper { made_by } if made_by == "CRYPT")
    }
}

/// Offset of the first device on its disk.
#[must_use]
pub fn start_bytes(layers: &[DeviceLayer]) -> u64 {
    match layers.first().map(|layer| &layer.kind) {
        Some(LayerKind::Partition { start_bytes }) => *start_bytes,
        _ => 0,
    }
}

/// Walks down from the block device with that number. The chain is empty if the number is not a
/// block device's.
#[must_use]
pub fn walk(device: u64) -> DeviceChain {
    let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    walk_in(&Path::new("/sys/dev/block").join(number))
}

fn walk_in(directory: &Path) -> DeviceChain {
    let mut chain = DeviceChain::default();
    if let Ok(directory) = directory.canonicalize() {
        descend(&directory, &mut chain, DEPTH_MAX);
    }
    chain
}

/// No working stack is deeper.
const DEPTH_MAX: u32 = 32;

fn descend(directory: &Path, chain: &mut DeviceChain, depth: u32) {
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let kind = kind_of(directory, &name);
    if chain.layers.iter().any(|layer| layer.name == name) || depth == 0 {
        return;
    }
    let limits = directory.join("queue");
    let limits = limits.is_dir().then(|| limits_of(&limits));
    if let LayerKind::Loop { file, .. } = &kind {
        chain.files.push(file.clone());
    }
    let is_part = matches!(kind, LayerKind::Partition { .. });
    chain.layers.push(DeviceLayer { name, kind, limits });
    let below = match directory.parent().filter(|_| is_part) {
        Some(disk) => vec![disk.to_owned()],
        None => slaves(directory),
    };
    for device in below {
        descend(&device, chain, depth - 1);
    }
}

fn slaves(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.join("slaves")).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> =
        entries.filter_map(|entry| entry.path().canonicalize().ok()).collect();
    all.sort();
    all
}

fn text(path: PathBuf) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn number(path: PathBuf) -> u64 {
    text(path).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The kernel's sector, independent of the device's.
const SECTOR_BYTES: u64 = 512;

fn limits_of(queue: &Path) -> Limits {
    let of = |name: &str| number(queue.join(name));
    Limits {
        request_bytes_max: of("max_sectors_kb") * 1024,
        chunk_bytes: of("chunk_sectors") * SECTOR_BYTES,
        physical_block_bytes: of("physical_block_size"),
        logical_block_bytes: of("logical_block_size"),
        discard_bytes_max: of("discard_max_bytes"),
        atomic_bytes_max: of("atomic_write_unit_max_bytes"),
    }
}

/// Drivers by the prefix of their devices' names (`Documentation/admin-guide/devices.txt` and each
/// driver).
const NAMED: [(&str, LayerKind); 12] = [
    ("nvme", LayerKind::Nvme),
    ("sd", LayerKind::Scsi),
    ("vd", LayerKind::Virtual),
    ("xvd", LayerKind::Virtual),
    ("nbd", LayerKind::Network),
    ("rbd", LayerKind::Network),
    ("drbd", LayerKind::Network),
    ("ublkb", LayerKind::Other),
    ("mmcblk", LayerKind::Other),
    ("zram", LayerKind::Memory),
    ("ram", LayerKind::Memory),
    ("pmem", LayerKind::Memory),
];

fn kind_of(directory: &Path, name: &str) -> LayerKind {
    if directory.join("partition").exists() {
        return LayerKind::Partition {
            start_bytes: number(directory.join("start")) * SECTOR_BYTES,
        };
    }
    if directory.join("md").is_dir() {
        return LayerKind::Raid {
            level: text(directory.join("md/level")).unwrap_or_default(),
            chunk_bytes: number(directory.join("md/chunk_size")),
        };
    }
    if directory.join("dm").is_dir() {
        let identifier = text(directory.join("dm/uuid")).unwrap_or_default();
        let made_by = identifier.split('-').next().unwrap_or_default();
        return LayerKind::Mapper { made_by: made_by.to_owned() };
    }
    if let Some(file) = text(directory.join("loop/backing_file")) {
        let is_direct = number(directory.join("loop/dio")) == 1;
        return LayerKind::Loop { file: file.into(), is_direct };
    }
    let named = |(beginning, _): &&(&str, LayerKind)| {
        // A driver's prefix is followed by a number or by one letter for the disk.
        name.strip_prefix(beginning).is_some_and(|rest| !rest.is_empty())
    };
    NAMED.iter().find(named).map_or(LayerKind::Other, |(_, kind)| kind.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn link(root: &Path, from: &str, to: &str) {
        let from = root.join(from);
        fs::create_dir_all(from.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(root.join(to), from).unwrap();
    }

    #[test]
    fn a_stack_is_walked_from_the_file_system_to_all_its_drives() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        put(&root, "block/dm-0/dm/uuid", "LVM-abc");
        put(&root, "block/dm-0/queue/max_sectors_kb", "512");
        link(&root, "block/dm-0/slaves/md0", "block/md0");
        put(&root, "block/md0/md/level", "raid10");
        put(&root, "block/md0/md/chunk_size", "524288");
        put(&root, "block/md0/queue/chunk_sectors", "1024");
        for drive in ["nvme0n1", "nvme1n1"] {
            let part = format!("block/{drive}/{drive}p1");
            put(&root, &format!("{part}/partition"), "1");
            put(&root, &format!("{part}/start"), "2048");
            put(&root, &format!("block/{drive}/queue/atomic_write_unit_max_bytes"), "16384");
            put(&root, &format!("block/{drive}/queue/physical_block_size"), "4096");
            link(&root, &format!("block/md0/slaves/{drive}p1"), &part);
        }
        let chain = walk_in(&root.join("block/dm-0"));
        let names: Vec<&str> = chain.layers.iter().map(|layer| layer.name.as_str()).collect();
        assert_eq!(names, ["dm-0", "md0", "nvme0n1p1", "nvme0n1", "nvme1n1p1", "nvme1n1"]);
        let kind = |place: usize| chain.layers[place].kind.clone();
        assert_eq!(kind(0), LayerKind::Mapper { made_by: "LVM".into() });
        assert!(chain.layers.iter().all(|layer| !layer.encrypts()));
        assert_eq!(kind(1), LayerKind::Raid { level: "raid10".into(), chunk_bytes: 512 << 10 });
        assert_eq!(kind(2), LayerKind::Partition { start_bytes: 1 << 20 });
        assert_eq!((kind(3), kind(5)), (LayerKind::Nvme, LayerKind::Nvme));
        let limits = |place: usize| chain.layers[place].limits.unwrap();
        assert_eq!((limits(0).request_bytes_max, limits(1).chunk_bytes), (512 << 10, 512 << 10));
        assert_eq!((limits(3).atomic_bytes_max, limits(3).physical_block_bytes), (16384, 4096));
        assert_eq!(chain.layers[2].limits, None, "its disk's");
    }

    /// The directory imitates the kernel's, because not every machine has a device mapper.
    #[test]
    fn encryption_above_a_device_is_seen() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        put(&root, "block/dm-0/dm/uuid", "CRYPT-LUKS2-0123456789abcdef-data");
        put(&root, "block/loop0/loop/backing_file", "/run/assay/disk");
        link(&root, "block/dm-0/slaves/loop0", "block/loop0");
        let chain = walk_in(&root.join("block/dm-0"));
        let encrypts: Vec<bool> = chain.layers.iter().map(DeviceLayer::encrypts).collect();
        assert_eq!(encrypts, [true, false]);
    }

    #[test]
    fn a_loop_device_names_its_file_and_what_nobody_knows_is_called_so() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        put(&root, "block/loop3/loop/backing_file", "/data/disk.img");
        put(&root, "block/loop3/loop/dio", "1");
        let chain = walk_in(&root.join("block/loop3"));
        let file = PathBuf::from("/data/disk.img");
        assert_eq!(chain.layers[0].kind, LayerKind::Loop { file: file.clone(), is_direct: true });
        assert_eq!(chain.files, [file]);
        put(&root, "block/bcache0/queue/max_sectors_kb", "512");
        assert_eq!(walk_in(&root.join("block/bcache0")).layers[0].kind, LayerKind::Other);
        assert_eq!(walk_in(&root.join("block/none")), DeviceChain::default());
    }

    #[test]
    fn this_machines_root_is_walked_without_a_guess() {
        use std::os::unix::fs::MetadataExt;
        let chain = walk(fs::metadata("/").unwrap().dev());
        for layer in &chain.layers {
            assert!(Path::new("/sys/class/block").join(&layer.name).exists(), "{layer:?}");
        }
    }
}
