//! The rig as a plan asks for it: what a server's data lies on, from the bottom up, and which keys fit together.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail, ensure};
use assay_drive::{BLOCK_BYTES, Codec, Format};
use serde::{Deserialize, Serialize};

use super::endpoint::EndpointSpec;
use super::media::MediaSpec;
use super::model::ModelSpec;
use super::pool::PoolSpec;
use assay_base::Size;
use assay_ports::permitted;
use assay_presets::{Unit, codec_name, read_ahead};

/// The server's own files take about 200 MB before the first row.
const SERVER_DISK_MIN: Size = Size(512 << 20);

/// The same files compressed, and room in which a drive can collect.
const SERVER_CAPACITY_MIN: Size = Size(256 << 20);

/// The largest disk: no file system here is larger (ext4: 1 EiB, `ext4(5)`).
const DISK_MAX: Size = Size(1 << 60);

/// What a server's data lies on, from the bottom up. Which keys a kind needs and allows is checked with the plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RigSpec {
    /// What is at the bottom.
    #[serde(default)]
    pub kind: RigKind,
    /// The device whose model it is.
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
    /// What a drive in an image may take of the disk, e.g. `"2G"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Size>,
    /// Size of the drive that the host sees. Default: what it lies on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical: Option<Size>,
    /// What the drive compresses with. Default: zstd.
    #[serde(default, with = "codec_name", skip_serializing_if = "Option::is_none")]
    pub codec: Option<Codec>,
    /// What the drive compresses together. Default: 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// Whether the drive trains dictionaries from what is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dictionary: bool,
    /// Memory for the drive's map; parts beyond it are read again when needed. Default: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
    /// What the drive reads at least at once, e.g. `"40K"`, for volumes that are paid by the operation. Default: what is
    /// needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead: Option<Size>,
    /// Threads of the drive that answer, 1 to 1024. Default: as `assay drive attach` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u16>,
    /// The file system to make on an image, a device or a drive. Default: ext4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystem>,
    /// Options of `mkfs`, as on its command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mkfs_options: Vec<String>,
    /// Options of `mount`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
    /// XFS only: extent size hint of the data directory, e.g. `"16K"`: with aligned free space pages are not split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extsize: Option<Size>,
    /// What its media are when they lose power, for `assay powercut`; runs take no notice of it. Default: they tear at 4 KiB, under
    /// a drive at 512 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSpec>,
}

/// What a rig begins with.
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
    /// Our software drive, over a file in the plan's location, over a block device or over an image of a pool, with a file
    /// system of its own.
    Drive,
    /// A device's model, with a file system of its own.
    Model,
    /// An image of a Ceph pool, with a file system of its own.
    Pool,
    /// A server that somebody else runs, on whatever it stands.
    Endpoint,
}

/// File systems that a rig can be made with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileSystem {
    /// ext4.
    #[default]
    Ext4,
    /// XFS.
    Xfs,
    /// Btrfs, which can compress too. What is written past the page cache it stores as it is.
    Btrfs,
}

impl FileSystem {
    /// The name that `mkfs` and `mount` know.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FileSystem::Ext4 => "ext4",
            FileSystem::Xfs => "xfs",
            FileSystem::Btrfs => "btrfs",
        }
    }
}

impl RigKind {
    /// The word for it.
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

impl RigSpec {
    /// What the drive compresses with.
    #[must_use]
    pub fn drive_codec(&self) -> Codec {
        self.codec.unwrap_or(Codec::Zstd)
    }

    /// Size of the disk that the file system is made on, as far as the plan tells.
    #[must_use]
    pub fn disk_size(&self) -> Option<Size> {
        let pool = self.pool.as_ref().map(|pool| pool.size);
        self.size.or(self.logical).or(self.capacity).or(pool)
    }

    /// What its image takes of the location's disk.
    #[must_use]
    pub fn image_size(&self) -> Option<Size> {
        self.size.or(self.capacity)
    }

    /// Checks that the keys fit the kind and one another.
    ///
    /// # Errors
    /// One line naming the key and what it should be.
    pub fn check(&self) -> Result<()> {
        self.check_keys()?;
        self.check_sizes()?;
        ensure!(
            !self.dictionary || self.drive_codec() == Codec::Zstd,
            "dictionary needs the codec zstd; remove it or set codec = \"zstd\""
        );
        ensure!(
            self.threads.is_none_or(|threads| (1..=1024).contains(&threads)),
            "threads of a drive must be from 1 to 1024"
        );
        if let Some(size) = self.read_ahead {
            read_ahead(size).map_err(|what| anyhow!("read_ahead: {what}"))?;
        }
        self.check_drive()?;
        if let Some(model) = &self.model {
            model.check().context("model")?;
        }
        if let Some(pool) = &self.pool {
            pool.check().context("pool")?;
        }
        if let Some(endpoint) = &self.endpoint {
            endpoint.check().context("endpoint")?;
        }
        if let Some(media) = &self.media {
            media.check().context("media")?;
        }
        let has_options = self.file_system.is_some()
            || self.extsize.is_some()
            || !(self.mkfs_options.is_empty() && self.mount_options.is_empty());
        ensure!(
            self.kind != RigKind::Directory || !has_options,
            "a directory rig has no file system of its own to set options for; use kind = \"image\""
        );
        ensure!(
            self.kind != RigKind::Endpoint || !has_options,
            "an endpoint is a server that somebody else runs, whose file system is theirs; remove its options"
        );
        let made_as = self.file_system.unwrap_or_default().name();
        permitted::check_mkfs(made_as, &self.mkfs_options)
            .map_err(|what| anyhow!("mkfs_options: {what}"))?;
        permitted::check_mount(made_as, &self.mount_options)
            .map_err(|what| anyhow!("mount_options: {what}"))?;
        ensure!(
            self.extsize.is_none() || self.file_system == Some(FileSystem::Xfs),
            "extsize needs xfs; remove it or set file_system = \"xfs\""
        );
        Ok(())
    }

    /// Whether there can be such a drive; of one on a whole device that is known when it is looked at.
    fn check_drive(&self) -> Result<()> {
        let pool = self.pool.as_ref().filter(|_| self.kind == RigKind::Drive);
        let Some(capacity) = self.capacity.or(pool.map(|pool| pool.size)) else { return Ok(()) };
        let format = Format {
            drive_id: 0,
            logical_bytes: self.logical.unwrap_or(capacity).0,
            codec: self.drive_codec(),
            units: self.unit == Some(Unit::Page),
            dictionary: self.dictionary,
            segment_bytes: None,
        };
        format.check(capacity.0).context("drive")
    }

    fn check_keys(&self) -> Result<()> {
        use RigKind::{Device, Drive, Endpoint, Image, Model, Pool};
        for (key, is_there, kinds) in [
            ("size", self.size.is_some(), &[Image][..]),
            ("device", self.device.is_some(), &[Device, Drive]),
            ("capacity", self.capacity.is_some(), &[Drive]),
            ("logical", self.logical.is_some(), &[Drive]),
            ("codec", self.codec.is_some(), &[Drive]),
            ("unit", self.unit.is_some(), &[Drive]),
            ("dictionary", self.dictionary, &[Drive]),
            ("memory", self.memory.is_some(), &[Drive]),
            ("model", self.model.is_some(), &[Model]),
            ("pool", self.pool.is_some(), &[Pool, Drive]),
            ("endpoint", self.endpoint.is_some(), &[Endpoint]),
            ("read_ahead", self.read_ahead.is_some(), &[Drive]),
            ("threads", self.threads.is_some(), &[Drive, Model, Pool]),
            ("media", self.media.is_some(), &[Image, Drive]),
        ] {
            let kind = self.kind.name();
            ensure!(
                !is_there || kinds.contains(&self.kind),
                "{key} does not apply to a rig of kind \"{kind}\"; remove it or change kind"
            );
        }
        let needed = match self.kind {
            Image if self.size.is_none() => "size",
            Model if self.model.is_none() => "model",
            Pool if self.pool.is_none() => "pool",
            Endpoint if self.endpoint.is_none() => "endpoint",
            Device if self.device.is_none() => "device",
            Drive => return self.check_media_of_drive(),
            _ => return Ok(()),
        };
        bail!("a rig of kind \"{}\" needs the key {needed}; add it", self.kind.name())
    }

    /// A drive lies on one thing.
    fn check_media_of_drive(&self) -> Result<()> {
        let media = [
            ("capacity", self.capacity.is_some()),
            ("device", self.device.is_some()),
            ("pool", self.pool.is_some()),
        ];
        let given: Vec<&str> =
            media.into_iter().filter(|(_, is_there)| *is_there).map(|(key, _)| key).collect();
        ensure!(
            !given.is_empty(),
            "a rig of kind \"drive\" needs the key capacity, for a drive in a file, device, for one on a whole device, or pool, for one on an image; add one"
        );
        ensure!(
            given.len() == 1,
            "a drive lies on one thing, and uses all of it; keep one of {}",
            given.join(", ")
        );
        Ok(())
    }

    fn check_sizes(&self) -> Result<()> {
        let floor = |key: &str, size: Option<Size>, least: Size| {
            ensure!(
                size.is_none_or(|size| size >= least),
                "the {} is too small for a server; give {key} = \"{least}\" or more",
                self.kind.name()
            );
            Ok(())
        };
        // What a drive can be it says itself.
        ensure!(
            self.size.is_none_or(|size| size <= DISK_MAX),
            "the {} is too large for a file system; give size = \"{DISK_MAX}\" or less",
            self.kind.name()
        );
        floor("size", self.size, SERVER_DISK_MIN)?;
        floor("capacity", self.capacity, SERVER_CAPACITY_MIN)?;
        let image = self.pool.as_ref().map(|pool| pool.size);
        let least = if self.kind == RigKind::Drive { SERVER_CAPACITY_MIN } else { SERVER_DISK_MIN };
        floor("pool.size", image, least)?;
        let disk = self.disk_size().filter(|_| self.kind == RigKind::Drive);
        floor("logical", disk, SERVER_DISK_MIN)?;
        for (key, size) in
            [("logical", self.logical), ("capacity", self.capacity), ("pool.size", image)]
        {
            ensure!(
                size.is_none_or(|size| size.0.is_multiple_of(BLOCK_BYTES)),
                "{key} is not a multiple of {BLOCK_BYTES} bytes; round it"
            );
        }
        Ok(())
    }
}
