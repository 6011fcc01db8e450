//! From a file system down to the drive: which devices a write passes, and what each does to it.
//!
//! Guarantee: a device whose ways are not known is told as such, never as one that passes writes on.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A block device of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Its name in `/sys/class/block`.
    pub name: String,
    /// What it is.
    pub kind: LayerKind,
    /// What its queue does to requests; a partition has none of its own.
    pub limits: Option<Limits>,
}

/// What a block device is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum LayerKind {
    /// A part of a disk.
    Partition {
        /// Where it begins, in bytes.
        start_bytes: u64,
    },
    /// A file shown as a device.
    Loop {
        /// The file.
        file: PathBuf,
        /// Whether the file is written past the page cache.
        is_direct: bool,
    },
    /// Software RAID.
    Raid {
        /// As `md` calls it: `raid0`, `raid1`, `raid10`, `raid5`, …
        level: String,
        /// Bytes that lie on one disk before the next follows; 0 where there is no such thing.
        chunk_bytes: u64,
    },
    /// Device mapper: LVM, encryption, multipath and others.
    Mapper {
        /// What made it, as its identifier begins: `LVM`, `CRYPT`, `mpath`, …
        made_by: String,
    },
    /// An NVMe drive, or one that is reached over the network as if it were one.
    Nvme,
    /// A SCSI or SATA disk, or what passes for one.
    Scsi,
    /// A disk that a hypervisor shows.
    Virtual,
    /// A disk that is reached over the network.
    Network,
    /// Memory.
    Memory,
    /// Something else.
    Other,
}

/// What a device's queue does to requests (`Documentation/ABI/stable/sysfs-block`), in bytes; 0 is no limit or nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// No request is longer (`max_sectors_kb`).
    pub request_bytes_max: u64,
    /// No request crosses a multiple of it (`chunk_sectors`).
    pub chunk_bytes: u64,
    /// The unit that a drive reads and writes by itself (`physical_block_size`).
    pub physical_block_bytes: u64,
    /// The unit of addresses (`logical_block_size`).
    pub logical_block_bytes: u64,
    /// The longest discard that it takes (`discard_max_bytes`).
    pub discard_bytes_max: u64,
    /// The most that it writes whole when asked to (`atomic_write_unit_max_bytes`, since Linux 6.11).
    pub atomic_bytes_max: u64,
}

/// What became of a walk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// From above; where a device lies on several, one after the other below it.
    pub layers: Vec<Layer>,
    /// Files that devices of the chain show: each lies on a file system of its own.
    pub files: Vec<PathBuf>,
}

impl Layer {
    /// Whether it encrypts what passes: LUKS and plain dm-crypt have identifiers that begin so (cryptsetup, `dm_prepare_uuid`).
    #[must_use]
    pub fn encrypts(&self) -> bool {
        matches!(&self.kind, LayerKind::Mapper { made_by } if made_by == "CRYPT")
    }
}

/// How far behind the beginning of its disk the first of these devices begins, in bytes.
#[must_use]
pub fn start_bytes(layers: &[Layer]) -> u64 {
    match layers.first().map(|layer| &layer.kind) {
        Some(LayerKind::Partition { start_bytes }) => *start_bytes,
        _ => 0,
    }
}

/// Walks down from the block device of that number; an empty chain where it is no block device's.
#[must_use]
pub fn walk(device: u64) -> Chain {
    let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    walk_in(&Path::new("/sys/dev/block").join(number))
}

fn walk_in(directory: &Path) -> Chain {
    let mut chain = Chain::default();
    if let Ok(directory) = directory.canonicalize() {
        descend(&directory, &mut chain, DEPTH_MAX);
    }
    chain
}

/// Deeper stacks than any that works.
const DEPTH_MAX: u32 = 32;

fn descend(directory: &Path, chain: &mut Chain, depth: u32) {
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let kind = kind_of(directory, &name);
    if chain.layers.iter().any(|one| one.name == name) || depth == 0 {
        return;
    }
    let limits = directory.join("queue");
    let limits = limits.is_dir().then(|| limits_of(&limits));
    if let LayerKind::Loop { file, .. } = &kind {
        chain.files.push(file.clone());
    }
    let is_part = matches!(kind, LayerKind::Partition { .. });
    chain.layers.push(Layer { name, kind, limits });
    let below = match directory.parent().filter(|_| is_part) {
        Some(disk) => vec![disk.to_owned()],
        None => slaves(directory),
    };
    for one in below {
        descend(&one, chain, depth - 1);
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

/// The kernel's own name for a sector, whatever the device's is.
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

/// Drivers by how their devices' names begin (`Documentation/admin-guide/devices.txt` and each driver).
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
        // The letters of a name end where a number or one letter for the disk follows.
        name.strip_prefix(beginning).is_some_and(|rest| !rest.is_empty())
    };
    NAMED.iter().find(named).map_or(LayerKind::Other, |(_, kind)| kind.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of `/sys`, below `root`.
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
        let names: Vec<&str> = chain.layers.iter().map(|one| one.name.as_str()).collect();
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

    /// A directory made by hand as the kernel's looks, for a device mapper is not everywhere.
    #[test]
    fn encryption_above_a_device_is_seen() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        put(&root, "block/dm-0/dm/uuid", "CRYPT-LUKS2-0123456789abcdef-data");
        put(&root, "block/loop0/loop/backing_file", "/run/assay/disk");
        link(&root, "block/dm-0/slaves/loop0", "block/loop0");
        let chain = walk_in(&root.join("block/dm-0"));
        let encrypts: Vec<bool> = chain.layers.iter().map(Layer::encrypts).collect();
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
        assert_eq!(walk_in(&root.join("block/none")), Chain::default());
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
