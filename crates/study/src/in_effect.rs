//! What a plan asks for beside server settings, against what the machine gave: mount options, the file system's own making,
//! extent size hints, direct I/O, CPUs, and options of pools.
//!
//! Guarantees: each pair is kept as it was asked for and as it was read back from the machine. What cannot be read back is
//! not called different.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What kind of thing a plan asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// An option of `mount`, against the kernel's list.
    MountOption,
    /// The mount option `discard`, against what the device takes.
    Discards,
    /// An option of `mkfs`, against the file system's superblock.
    MkfsOption,
    /// The extent size hint of the data directory.
    ExtentSizeHint,
    /// That a loop device goes past the page cache.
    DirectIo,
    /// CPUs of the server, against those that the kernel lets its threads use.
    ServerCpus,
    /// CPUs of the load.
    LoadCpus,
    /// CPUs of the process that serves a drive.
    DriveCpus,
    /// So many CPUs in all, against the quota of the control group.
    CpuTime,
    /// An option of a pool or of its images, against the cluster's answer.
    PoolOption,
}

/// Something that a machine gave otherwise than it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Differing {
    /// What kind of thing.
    pub what: Asked,
    /// As the plan asks for it.
    pub asked: String,
    /// As it is; nothing where there is nothing of the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<String>,
}

impl Differing {
    /// Of a kind, with both sides.
    pub fn new(what: Asked, asked: impl Into<String>, effective: Option<String>) -> Differing {
        Differing { what, asked: asked.into(), effective }
    }
}

/// How a configuration's rig came out, as read back from the machine before the first run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InEffect {
    /// All mount options that the kernel tells, defaults included where it tells them; sorted.
    pub mount_options: Vec<String>,
    /// What the superblock says of how the file system was made, by the names of the file system's own tool.
    pub made: BTreeMap<String, String>,
    /// The extent size hint that new files in the data directory get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extsize_bytes: Option<u64>,
    /// Options of the pool and of its images, by Ceph's names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pool: BTreeMap<String, String>,
    /// What is not as the plan asks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<Differing>,
}

impl InEffect {
    /// Whether the file systems were mounted alike, as far as both were read back.
    #[must_use]
    pub fn is_mounted_like(&self, other: &InEffect) -> bool {
        !self.mount_options.is_empty() && self.mount_options == other.mount_options
    }

    /// Whether the file systems were made alike, as far as both were read back.
    #[must_use]
    pub fn is_made_like(&self, other: &InEffect) -> bool {
        !self.made.is_empty() && self.made == other.made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_read_back_is_not_alike() {
        let none = InEffect::default();
        assert!(!none.is_mounted_like(&none) && !none.is_made_like(&none));
        let one = InEffect {
            mount_options: vec!["noatime".into()],
            made: [("Block size".to_owned(), "4096".to_owned())].into(),
            ..InEffect::default()
        };
        assert!(one.is_mounted_like(&one) && one.is_made_like(&one));
        assert!(!one.is_mounted_like(&none) && !one.is_made_like(&none));
    }
}
