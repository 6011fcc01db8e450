//! The properties of a file system that decide where a page lies and how it is written.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use assay_ports::extents::extent_size_hint;
use assay_ports::filesystem::{self, Mount};
use serde::{Deserialize, Serialize};

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountedFileSystem {
    /// Its type, under the kernel's name.
    pub name: String,
    /// The mounted device, or its equivalent.
    pub source: String,
    /// The mount point.
    pub target: PathBuf,
    pub options: String,
    /// Block size in bytes.
    pub block_bytes: u64,
    /// How it writes a page.
    pub manner: Manner,
}

/// How a file system writes a page that replaces an older version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Manner {
    /// In place, in one piece per extent: ext2, ext3, ext4.
    Ext {
        /// Allocation unit in bytes, if it is larger than a block; `None` if the superblock cannot
        /// be read.
        cluster_bytes: Option<u64>,
        /// True if data pass through the journal, and so through the page cache.
        journals_data: bool,
    },
    /// In place, in one piece per extent: XFS.
    Xfs {
        /// Extent size hint for new files of the directory in bytes, if one is set.
        extent_bytes: Option<u32>,
    },
    /// To a new place, followed by an update of the metadata: btrfs, ZFS, bcachefs.
    CopyOnWrite {
        /// True if a mount option disables copy-on-write.
        is_off: bool,
    },
    /// In memory only.
    Memory,
    /// On another machine.
    Remote,
    /// On another file system, which is invisible from here.
    Stacked,
    Unknown,
}

impl MountedFileSystem {
    /// The file system that holds a directory.
    pub fn of(directory: &Path) -> io::Result<MountedFileSystem> {
        let mount = filesystem::mount_of(directory)?;
        let mount = mount.ok_or_else(|| io::Error::other("the kernel lists no mount for it"))?;
        let status = rustix::fs::statvfs(directory)?;
        let manner = manner(&mount, directory);
        let Mount { file_system, source, target, options, .. } = mount;
        Ok(MountedFileSystem {
            name: file_system,
            source,
            target,
            options,
            block_bytes: status.f_frsize,
            manner,
        })
    }
}

fn manner(mount: &Mount, directory: &Path) -> Manner {
    let has = |option: &str| mount.options.split(',').any(|name| name == option);
    match mount.file_system.as_str() {
        "ext2" | "ext3" | "ext4" => Manner::Ext {
            cluster_bytes: cluster_bytes(mount).ok(),
            journals_data: has("data=journal"),
        },
        "xfs" => Manner::Xfs {
            extent_bytes: File::open(directory)
                .and_then(|directory| extent_size_hint(&directory))
                .ok()
                .flatten(),
        },
        "btrfs" => Manner::CopyOnWrite { is_off: has("nodatacow") },
        "zfs" | "bcachefs" => Manner::CopyOnWrite { is_off: false },
        "tmpfs" | "ramfs" => Manner::Memory,
        "nfs" | "nfs4" | "cifs" | "smb3" | "ceph" | "9p" | "glusterfs" | "virtiofs" | "lustre"
        | "beegfs" => Manner::Remote,
        "overlay" => Manner::Stacked,
        _ => Manner::Unknown,
    }
}

/// Positions of the magic number, the block size, the cluster size and the features in ext4's
/// superblock, which begins at byte 1024 (`Documentation/filesystems/ext4/super.rst`).
const SUPERBLOCK_AT: u64 = 1024;
const MAGIC: u16 = 0xef53;
const BIGALLOC: u32 = 0x200;

/// The cluster size of an ext file system, from its superblock, which contains no file data.
fn cluster_bytes(mount: &Mount) -> io::Result<u64> {
    let number = Path::new("/sys/dev/block").join(&mount.device_number).canonicalize()?;
    let name = number.file_name().ok_or(io::ErrorKind::NotFound)?;
    let mut device = File::open(Path::new("/dev").join(name))?;
    device.seek(SeekFrom::Start(SUPERBLOCK_AT))?;
    let mut superblock = [0; 256];
    device.read_exact(&mut superblock)?;
    cluster_of(&superblock).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn cluster_of(superblock: &[u8; 256]) -> Option<u64> {
    let number = |at: usize| {
        u32::from_le_bytes([
            superblock[at],
            superblock[at + 1],
            superblock[at + 2],
            superblock[at + 3],
        ])
    };
    let is_ext = u16::from_le_bytes([superblock[0x38], superblock[0x39]]) == MAGIC;
    let log = if number(0x64) & BIGALLOC != 0 { number(0x1c) } else { number(0x18) };
    (is_ext && log < 32).then(|| 1024 << log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_a_block_unless_bigalloc_says_more() {
        let mut superblock = [0; 256];
        assert_eq!(cluster_of(&superblock), None);
        superblock[0x38..0x3a].copy_from_slice(&MAGIC.to_le_bytes());
        superblock[0x18] = 2;
        superblock[0x1c] = 4;
        assert_eq!(cluster_of(&superblock), Some(4096), "clusters are used by bigalloc alone");
        superblock[0x65] = 0x2;
        assert_eq!(cluster_of(&superblock), Some(16384));
    }

    #[test]
    fn what_is_not_known_is_no_guess() {
        let mount = |name: &str, options: &str| Mount {
            device_number: "0:0".into(),
            target: "/".into(),
            file_system: name.into(),
            source: "none".into(),
            options: options.into(),
        };
        let of = |name: &str, options: &str| manner(&mount(name, options), Path::new("/"));
        assert_eq!(of("fuse.sshfs", ""), Manner::Unknown);
        assert_eq!(of("f2fs", ""), Manner::Unknown);
        assert_eq!(of("nfs4", ""), Manner::Remote);
        assert_eq!(of("overlay", ""), Manner::Stacked);
        assert_eq!(of("btrfs", "rw,nodatacow"), Manner::CopyOnWrite { is_off: true });
        let Manner::Ext { cluster_bytes: None, journals_data: true } =
            of("ext4", "rw,data=journal")
        else {
            panic!("its device is not there")
        };
    }

    #[test]
    fn the_file_system_of_this_place_is_found() {
        let found = MountedFileSystem::of(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(!found.name.is_empty() && found.block_bytes > 0, "{found:?}");
    }
}
