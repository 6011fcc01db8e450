//! Requests of a plan other than server settings, compared with the machine: mount options, options
//! of `mkfs`, extent size hints, direct I/O, CPUs, and options of pools.
//!
//! Guarantees: each pair holds the request and the value read back from the machine. A value that
//! cannot be read back is not reported as different.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// An option of `mount`, compared with the kernel's list.
    MountOption,
    /// The mount option `discard`, compared with the device's support.
    Discards,
    /// An option of `mkfs`, compared with the file system's superblock.
    MkfsOption,
    ExtentSizeHint,
    /// Direct I/O of a loop device, past the page cache.
    DirectIo,
    /// CPUs of the server, compared with its threads' affinity.
    ServerCpus,
    LoadCpus,
    /// CPUs of the process that serves a drive.
    DriveCpus,
    /// Number of CPUs, compared with the quota of the control group.
    CpuTime,
    /// An option of a pool or of its images, compared with the cluster's answer.
    PoolOption,
}

/// A request that the machine did not meet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Differing {
    pub what: Asked,
    /// Value in the plan.
    pub asked: String,
    /// Value read back; `None` if there is nothing of the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<String>,
}

impl Differing {
    pub fn new(what: Asked, asked: impl Into<String>, effective: Option<String>) -> Differing {
        Differing { what, asked: asked.into(), effective }
    }
}

/// Properties of a configuration's rig, read back from the machine before the first run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InEffect {
    /// All mount options that the kernel reports, sorted.
    pub mount_options: Vec<String>,
    /// Properties of the file system from its superblock, by the names of its own tool.
    pub made: BTreeMap<String, String>,
    /// Extent size hint of new files in the data directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extsize_bytes: Option<u64>,
    /// Options of the pool and of its images, by Ceph's names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pool: BTreeMap<String, String>,
    /// Requests that were not met.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<Differing>,
}

impl InEffect {
    /// Returns true if both file systems have the same mount options, as far as both were read
    /// back.
    #[must_use]
    pub fn is_mounted_like(&self, other: &InEffect) -> bool {
        !self.mount_options.is_empty() && self.mount_options == other.mount_options
    }

    /// Returns true if both file systems were created alike, as far as both were read back.
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
