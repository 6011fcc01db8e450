//! The rig as the document has it, from the bottom up.

use std::path::PathBuf;

use assay_drive::Codec;
use serde::{Deserialize, Serialize};

use super::endpoint::EndpointSpec;
use super::media::MediaSpec;
use super::model::ModelSpec;
use super::pool::PoolSpec;
use assay_base::Size;
use assay_presets::{CompressionUnit, codec_name};

/// Place of a server's data, from the bottom up; `PlannedRig::of` checks which keys a kind needs
/// and allows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RigSpec {
    #[serde(default)]
    pub kind: RigKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSpec>,
    /// The pool, and the image in it; a drive may lie on one too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolSpec>,
    /// The server that somebody else runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<EndpointSpec>,
    /// Size of an image, e.g. `"4G"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// The block device to overwrite, e.g. `/dev/nvme1n1`; a drive may lie on one too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<PathBuf>,
    /// Space on the disk for a drive in a file, e.g. `"2G"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Size>,
    /// Size of the drive that the host sees. Default: that of its media.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical: Option<Size>,
    /// Compression of the drive. Default: zstd.
    #[serde(default, with = "codec_name", skip_serializing_if = "Option::is_none")]
    pub codec: Option<Codec>,
    /// Bytes that the drive compresses together. Default: 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<CompressionUnit>,
    /// Whether the drive trains dictionaries from what is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dictionary: bool,
    /// Memory for the drive's map; parts beyond it are read again when needed. Default: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
    /// Fewest bytes that the drive reads at once, e.g. `"40K"`, for volumes billed by the
    /// operation. Default: no more than needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead: Option<Size>,
    /// Threads of the drive that answer, 1 to 1024. Default: as `assay drive attach` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u16>,
    /// The file system to make on an image, a device or a drive. Default: ext4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystemKind>,
    /// Options of `mkfs`, as on its command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mkfs_options: Vec<String>,
    /// Options of `mount`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
    /// XFS only: extent size hint of the data directory, e.g. `"16K"`: with aligned free space
    /// pages are not split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extsize: Option<Size>,
    /// Behaviour of its media at a power cut, for `assay powercut`; runs ignore it. Default: they
    /// tear at 4 KiB, under a drive at 512 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSpec>,
}

/// The bottom of a rig.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RigKind {
    /// A directory in the plan's location, on the file system that is there.
    #[default]
    Directory,
    /// A file in the plan's location on a loop device, with a file system of its own.
    Image,
    /// A block device, which is overwritten.
    Device,
    /// Our software drive, over a file in the plan's location, over a block device or over an image
    /// of a pool, with a file system of its own.
    Drive,
    /// A device's model, with a file system of its own.
    Model,
    /// An image of a Ceph pool, with a file system of its own.
    Pool,
    /// A server that somebody else runs.
    Endpoint,
}

/// File systems that a rig can be made with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileSystemKind {
    /// ext4.
    #[default]
    Ext4,
    /// XFS.
    Xfs,
    /// Btrfs, which can compress too, but not data written past the page cache.
    Btrfs,
}

impl FileSystemKind {
    /// The name that `mkfs` and `mount` know.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FileSystemKind::Ext4 => "ext4",
            FileSystemKind::Xfs => "xfs",
            FileSystemKind::Btrfs => "btrfs",
        }
    }
}

impl RigKind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RigKind::Directory => "directory",
            RigKind::Image => "image",
            RigKind::Device => "device",
            RigKind::Drive => "drive",
            RigKind::Model => "model",
            RigKind::Pool => "pool",
            RigKind::Endpoint => "endpoint",
        }
    }
}
