//! The rig of a configuration, resolved: which disk the server's data lies on, with all that
//! follows from its keys.
//!
//! Guarantees: a rig that was made here has every key that its kind needs and none that it does not
//! know, defaults are in place, and a model's preset has been read.

mod endpoint;
mod model;
mod pool;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use assay_base::Size;
use assay_drive::{BLOCK_BYTES, Codec, Format};
use assay_models::power::Volatility;
use assay_ports::fuse::DEFAULT_THREADS;
use assay_ports::permitted;
use assay_presets::{CompressionUnit, THREADS, read_ahead};

use super::document::{FileSystemKind, PoolSpec, RigKind, RigSpec};
pub use endpoint::{EndpointLogin, PlannedEndpoint, RestoreCommand, RestoreWay};
pub use model::PlannedModel;
pub use pool::{PlannedCluster, PlannedPool, PoolPlace, PrivatePool};

/// The server's own files take about 200 MB before the first row.
const SERVER_DISK_MIN: Size = Size(512 << 20);

/// The same files compressed, and room in which a drive can collect.
const SERVER_CAPACITY_MIN: Size = Size(256 << 20);

/// The largest disk: no file system here is larger (ext4: 1 EiB, `ext4(5)`).
const DISK_MAX: Size = Size(1 << 60);

/// The place of a server's data.
#[derive(Debug, Clone)]
pub enum PlannedRig {
    /// A directory in the plan's location, on the file system that is there.
    Directory,
    /// A disk with a file system of its own.
    Disk(Box<PlannedDisk>),
    /// A server that somebody else runs.
    Endpoint(PlannedEndpoint),
}

/// A disk with a file system of its own.
#[derive(Debug, Clone)]
pub struct PlannedDisk {
    pub base: DiskBase,
    pub file_system: PlannedFileSystem,
}

/// The disk below a rig's file system.
#[derive(Debug, Clone)]
pub enum DiskBase {
    /// A file in the plan's location on a loop device.
    Image {
        size: Size,
        /// The effect of a power cut on the file, for `assay powercut`.
        volatility: Volatility,
    },
    /// A block device, which is overwritten.
    Device(PathBuf),
    /// The software drive.
    Drive(PlannedDrive),
    /// The model of a device.
    Model(Box<PlannedModel>),
    /// An image of a Ceph pool, served by this many threads.
    Pool(PlannedPool, u16),
}

/// A file in the place of media, whose power can be cut.
#[derive(Debug, Clone, Copy)]
pub struct PoweredFile<'a> {
    pub size: Size,
    /// The effect of a power cut.
    pub volatility: Volatility,
    /// The drive on the file; `None` if the file system lies on it.
    pub drive: Option<&'a PlannedDrive>,
    pub file_system: &'a PlannedFileSystem,
    /// The disk that the file is a part of.
    pub disk: &'a PlannedDisk,
}

/// The software drive, over media that it uses whole.
#[derive(Debug, Clone)]
pub struct PlannedDrive {
    pub media: DriveMedia,
    /// Size that the host sees; `None`: that of the media.
    pub logical: Option<Size>,
    pub codec: Codec,
    pub unit: CompressionUnit,
    /// Whether it trains dictionaries from what is written.
    pub dictionary: bool,
    /// Memory for its map; `None`: as much as the whole map takes.
    pub memory: Option<Size>,
    /// Fewest bytes that it reads at once; `None`: no more than needed.
    pub read_ahead: Option<Size>,
    /// Threads that answer the kernel.
    pub threads: u16,
}

/// The media of a drive.
#[derive(Debug, Clone)]
pub enum DriveMedia {
    /// A file in the plan's location.
    File {
        capacity: Size,
        /// The effect of a power cut on the file, for `assay powercut`.
        volatility: Volatility,
    },
    /// A block device, which is overwritten.
    Device(PathBuf),
    /// An image of a Ceph pool.
    Image(PlannedPool),
}

/// The file system on a rig's disk.
#[derive(Debug, Clone)]
pub struct PlannedFileSystem {
    pub kind: FileSystemKind,
    /// Options of `mkfs`, as on its command line.
    pub mkfs_options: Vec<String>,
    pub mount_options: Vec<String>,
    /// Extent size hint of the data directory, which only XFS has.
    pub extsize: Option<Size>,
}

impl PlannedRig {
    /// Resolves the rig of a plan.
    ///
    /// # Errors
    /// One line naming the key and what it should be.
    pub fn of(spec: &RigSpec) -> Result<PlannedRig> {
        check_keys(spec)?;
        check_sizes(spec)?;
        check_drive(spec)?;
        let base = match spec.kind {
            RigKind::Directory => {
                ensure!(
                    !has_options(spec),
                    "a directory rig has no file system of its own to set options for; use kind \
                    = \"image\""
                );
                return Ok(PlannedRig::Directory);
            }
            RigKind::Endpoint => {
                let endpoint = needed(spec, "endpoint", spec.endpoint.as_ref())?;
                let endpoint = PlannedEndpoint::of(endpoint).context("endpoint")?;
                ensure!(
                    !has_options(spec),
                    "an endpoint is a server that somebody else runs, whose file system is \
                    theirs; remove its options"
                );
                return Ok(PlannedRig::Endpoint(endpoint));
            }
            RigKind::Image => {
                let size = needed(spec, "size", spec.size)?;
                DiskBase::Image { size, volatility: volatility(spec, false)? }
            }
            RigKind::Device => DiskBase::Device(needed(spec, "device", spec.device.clone())?),
            RigKind::Drive => DiskBase::Drive(PlannedDrive::of(spec)?),
            RigKind::Model => {
                let model = needed(spec, "model", spec.model.as_ref())?;
                let threads = spec.threads.unwrap_or(THREADS);
                DiskBase::Model(Box::new(PlannedModel::of(model, threads).context("model")?))
            }
            RigKind::Pool => {
                let pool = needed(spec, "pool", spec.pool.as_ref())?;
                DiskBase::Pool(PlannedPool::of(pool).context("pool")?, threads(spec))
            }
        };
        let file_system = PlannedFileSystem::of(spec)?;
        Ok(PlannedRig::Disk(Box::new(PlannedDisk { base, file_system })))
    }

    /// The disk, where the rig has one of its own.
    #[must_use]
    pub fn disk(&self) -> Option<&PlannedDisk> {
        match self {
            PlannedRig::Disk(disk) => Some(disk),
            PlannedRig::Directory | PlannedRig::Endpoint(_) => None,
        }
    }

    /// The server, where it is somebody else's.
    #[must_use]
    pub fn endpoint(&self) -> Option<&PlannedEndpoint> {
        match self {
            PlannedRig::Endpoint(endpoint) => Some(endpoint),
            PlannedRig::Directory | PlannedRig::Disk(_) => None,
        }
    }

    /// The model below the file system.
    #[must_use]
    pub fn model(&self) -> Option<&PlannedModel> {
        self.disk()?.model()
    }

    /// The pool that the image below the rig lies in.
    #[must_use]
    pub fn pool(&self) -> Option<&PlannedPool> {
        self.disk()?.pool()
    }

    /// The block device that is overwritten.
    #[must_use]
    pub fn device(&self) -> Option<&Path> {
        match &self.disk()?.base {
            DiskBase::Device(path) => Some(path),
            DiskBase::Drive(PlannedDrive { media: DriveMedia::Device(path), .. }) => Some(path),
            _ => None,
        }
    }
}

impl PlannedDisk {
    /// Size of the disk, as far as the plan gives it.
    #[must_use]
    pub fn size(&self) -> Option<Size> {
        match &self.base {
            DiskBase::Image { size, .. } => Some(*size),
            DiskBase::Drive(drive) => drive.size(),
            DiskBase::Pool(pool, _) => Some(pool.size),
            DiskBase::Device(_) | DiskBase::Model(_) => None,
        }
    }

    /// The model below the file system.
    #[must_use]
    pub fn model(&self) -> Option<&PlannedModel> {
        match &self.base {
            DiskBase::Model(model) => Some(model),
            _ => None,
        }
    }

    /// The pool that the disk's image lies in.
    #[must_use]
    pub fn pool(&self) -> Option<&PlannedPool> {
        match &self.base {
            DiskBase::Pool(pool, _) => Some(pool),
            DiskBase::Drive(PlannedDrive { media: DriveMedia::Image(pool), .. }) => Some(pool),
            _ => None,
        }
    }

    /// Whether a process of ours serves the disk: a drive, a model, or an image of a pool.
    #[must_use]
    pub fn is_served(&self) -> bool {
        matches!(self.base, DiskBase::Drive(_) | DiskBase::Model(_) | DiskBase::Pool(..))
    }

    /// The file below the disk, if its power can be cut.
    #[must_use]
    pub fn powered(&self) -> Option<PoweredFile<'_>> {
        let (size, volatility, drive) = match &self.base {
            DiskBase::Image { size, volatility } => (*size, *volatility, None),
            DiskBase::Drive(drive) => match drive.media {
                DriveMedia::File { capacity, volatility } => (capacity, volatility, Some(drive)),
                DriveMedia::Device(_) | DriveMedia::Image(_) => return None,
            },
            _ => return None,
        };
        Some(PoweredFile { size, volatility, drive, file_system: &self.file_system, disk: self })
    }
}

impl PlannedDrive {
    fn of(spec: &RigSpec) -> Result<PlannedDrive> {
        let volatility = volatility(spec, true)?;
        let media = [
            ("capacity", spec.capacity.map(|capacity| DriveMedia::File { capacity, volatility })),
            ("device", spec.device.clone().map(DriveMedia::Device)),
            ("pool", spec.pool.as_ref().map(image).transpose()?),
        ];
        let mut given = media.into_iter().filter_map(|(key, media)| Some((key, media?)));
        let (key, media) = given.next().context(
            "a rig of kind \"drive\" needs the key capacity, for a drive in a file, device, for \
            one on a whole device, or pool, for one on an image; add one",
        )?;
        let keys: Vec<&str> = std::iter::once(key).chain(given.map(|(key, _)| key)).collect();
        ensure!(
            keys.len() == 1,
            "a drive lies on one thing, and uses all of it; keep one of {}",
            keys.join(", ")
        );
        Ok(PlannedDrive {
            media,
            logical: spec.logical,
            codec: codec(spec),
            unit: spec.unit.unwrap_or_default(),
            dictionary: spec.dictionary,
            memory: spec.memory,
            read_ahead: spec.read_ahead,
            threads: threads(spec),
        })
    }

    /// Size of the drive that the host sees, as far as the plan gives it.
    #[must_use]
    pub fn size(&self) -> Option<Size> {
        self.logical.or(match &self.media {
            DriveMedia::File { capacity, .. } => Some(*capacity),
            DriveMedia::Image(pool) => Some(pool.size),
            DriveMedia::Device(_) => None,
        })
    }
}

impl PlannedFileSystem {
    fn of(spec: &RigSpec) -> Result<PlannedFileSystem> {
        let kind = spec.file_system.unwrap_or_default();
        permitted::check_mkfs(kind.name(), &spec.mkfs_options)
            .map_err(|what| anyhow!("mkfs_options: {what}"))?;
        permitted::check_mount(kind.name(), &spec.mount_options)
            .map_err(|what| anyhow!("mount_options: {what}"))?;
        ensure!(
            spec.extsize.is_none() || kind == FileSystemKind::Xfs,
            "extsize needs xfs; remove it or set file_system = \"xfs\""
        );
        Ok(PlannedFileSystem {
            kind,
            mkfs_options: spec.mkfs_options.clone(),
            mount_options: spec.mount_options.clone(),
            extsize: spec.extsize,
        })
    }
}

fn image(pool: &PoolSpec) -> Result<DriveMedia> {
    Ok(DriveMedia::Image(PlannedPool::of(pool).context("pool")?))
}

fn codec(spec: &RigSpec) -> Codec {
    spec.codec.unwrap_or(Codec::Zstd)
}

fn threads(spec: &RigSpec) -> u16 {
    spec.threads.unwrap_or(DEFAULT_THREADS as u16)
}

fn volatility(spec: &RigSpec, is_under_drive: bool) -> Result<Volatility> {
    spec.media.clone().unwrap_or_default().volatility(is_under_drive).context("media")
}

fn has_options(spec: &RigSpec) -> bool {
    spec.file_system.is_some()
        || spec.extsize.is_some()
        || !(spec.mkfs_options.is_empty() && spec.mount_options.is_empty())
}

fn needed<T>(spec: &RigSpec, key: &str, value: Option<T>) -> Result<T> {
    let kind = spec.kind.name();
    value.with_context(|| format!("a rig of kind \"{kind}\" needs the key {key}; add it"))
}

/// Refuses keys that the kind does not know.
fn check_keys(spec: &RigSpec) -> Result<()> {
    use RigKind::{Device, Drive, Endpoint, Image, Model, Pool};
    for (key, is_there, kinds) in [
        ("size", spec.size.is_some(), &[Image][..]),
        ("device", spec.device.is_some(), &[Device, Drive]),
        ("capacity", spec.capacity.is_some(), &[Drive]),
        ("logical", spec.logical.is_some(), &[Drive]),
        ("codec", spec.codec.is_some(), &[Drive]),
        ("unit", spec.unit.is_some(), &[Drive]),
        ("dictionary", spec.dictionary, &[Drive]),
        ("memory", spec.memory.is_some(), &[Drive]),
        ("model", spec.model.is_some(), &[Model]),
        ("pool", spec.pool.is_some(), &[Pool, Drive]),
        ("endpoint", spec.endpoint.is_some(), &[Endpoint]),
        ("read_ahead", spec.read_ahead.is_some(), &[Drive]),
        ("threads", spec.threads.is_some(), &[Drive, Model, Pool]),
        ("media", spec.media.is_some(), &[Image, Drive]),
    ] {
        let kind = spec.kind.name();
        ensure!(
            !is_there || kinds.contains(&spec.kind),
            "{key} does not apply to a rig of kind \"{kind}\"; remove it or change kind"
        );
    }
    Ok(())
}

fn check_sizes(spec: &RigSpec) -> Result<()> {
    let floor = |key: &str, size: Option<Size>, least: Size| {
        ensure!(
            size.is_none_or(|size| size >= least),
            "the {} is too small for a server; give {key} = \"{least}\" or more",
            spec.kind.name()
        );
        Ok(())
    };
    // The format checks how large a drive can be.
    ensure!(
        spec.size.is_none_or(|size| size <= DISK_MAX),
        "the {} is too large for a file system; give size = \"{DISK_MAX}\" or less",
        spec.kind.name()
    );
    floor("size", spec.size, SERVER_DISK_MIN)?;
    floor("capacity", spec.capacity, SERVER_CAPACITY_MIN)?;
    let image = spec.pool.as_ref().map(|pool| pool.size);
    let is_drive = spec.kind == RigKind::Drive;
    floor("pool.size", image, if is_drive { SERVER_CAPACITY_MIN } else { SERVER_DISK_MIN })?;
    let drive = spec.logical.or(spec.capacity).or(image).filter(|_| is_drive);
    floor("logical", drive, SERVER_DISK_MIN)?;
    for (key, size) in
        [("logical", spec.logical), ("capacity", spec.capacity), ("pool.size", image)]
    {
        ensure!(
            size.is_none_or(|size| size.0.is_multiple_of(BLOCK_BYTES)),
            "{key} is not a multiple of {BLOCK_BYTES} bytes; round it"
        );
    }
    Ok(())
}

/// Whether there can be such a drive; of one on a whole device that is known when it is made.
fn check_drive(spec: &RigSpec) -> Result<()> {
    ensure!(
        !spec.dictionary || codec(spec) == Codec::Zstd,
        "dictionary needs the codec zstd; remove it or set codec = \"zstd\""
    );
    ensure!(
        spec.threads.is_none_or(|threads| (1..=1024).contains(&threads)),
        "threads of a drive must be from 1 to 1024"
    );
    if let Some(size) = spec.read_ahead {
        read_ahead(size).map_err(|what| anyhow!("read_ahead: {what}"))?;
    }
    let pool = spec.pool.as_ref().filter(|_| spec.kind == RigKind::Drive);
    let Some(capacity) = spec.capacity.or(pool.map(|pool| pool.size)) else { return Ok(()) };
    let format = Format {
        drive_id: 0,
        logical_bytes: spec.logical.unwrap_or(capacity).0,
        codec: codec(spec),
        units: spec.unit == Some(CompressionUnit::Page),
        dictionary: spec.dictionary,
        segment_bytes: None,
    };
    format.check(capacity.0).context("drive")
}
