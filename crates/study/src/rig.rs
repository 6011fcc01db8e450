//! The rig of a configuration, from the media up, stored with the study: reports judge by what was
//! run, not by presets as they are today.
//!
//! Guarantees: decisions rest on values; sentences are made of them where they are shown. Sizes are
//! in bytes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_base::protection::{PoolCompression, Protection};
use serde::{Deserialize, Serialize};

use super::in_effect::InEffect;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RigRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskRecord>,
    /// Set for a server that somebody else runs; nothing below it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub existing: Option<ExistingServer>,
    /// `None` in a directory, whose file system existed before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystem>,
    /// Properties of disk and file system as read back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_effect: Option<InEffect>,
    /// Set for several concurrent servers, each on a disk of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<Servers>,
    /// Version as the server reports it.
    pub server: String,
    /// Data of each data profile of the plan, or of the only one.
    pub data: Vec<Data>,
}

impl RigRecord {
    /// The emulated device, if there is one.
    #[must_use]
    pub fn model(&self) -> Option<&Model> {
        self.disk.as_ref()?.model()
    }

    /// The tables of a data profile.
    #[must_use]
    pub fn tables(&self, data_profile: Option<&str>) -> Option<&Tables> {
        let its = self.data.iter().find(|data| data.data_profile.as_deref() == data_profile);
        let only = || self.data.first().filter(|_| self.data.len() == 1);
        its.or_else(only).map(|data| &data.tables)
    }

    /// The layers from the media up.
    #[must_use]
    pub fn layers(&self) -> Vec<RigLayer> {
        let model = self.model();
        let disk = self.disk.as_ref().map(|disk| RigLayer::Disk(disk.media.clone()));
        let set = |one: &Data| one.data_profile.clone();
        let tables = self.data.iter().map(|data| (set(data), data.tables.clone())).collect();
        let fills = || self.data.iter().map(|data| (set(data), data.fill.clone())).collect();
        let filled = model.is_some().then(|| RigLayer::Filled(fills()));
        let numbers = model.map(|model| RigLayer::Numbers {
            preset: model.preset.clone(),
            numbers: model.numbers.clone(),
        });
        [
            self.existing.clone().map(RigLayer::Existing),
            disk,
            self.disk.as_ref().map(|_| RigLayer::FileSystem(self.file_system.clone())),
            self.servers.clone().map(RigLayer::Servers),
            (!self.server.is_empty()).then(|| RigLayer::Server(self.server.clone())),
            self.data.iter().any(|data| data.tables.count > 0).then_some(RigLayer::Tables(tables)),
            filled,
            model.map(|model| RigLayer::Scale(model.resources.clone())),
            numbers,
            model.and_then(|model| model.fault.clone()).map(RigLayer::Fault),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Several concurrent servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Servers {
    pub count: u32,
    /// Workload of the last server, if not the run's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<String>,
}

impl Servers {
    /// Number of servers under the run's own load.
    #[must_use]
    pub fn own(&self) -> u32 {
        self.count.saturating_sub(u32::from(self.neighbour.is_some())).max(1)
    }
}

/// A server that somebody else runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExistingServer {
    /// Address.
    pub address: String,
    pub restored: Restored,
}

/// Way in which each run on somebody else's server starts from the same state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restored {
    /// Tables are loaded for each run.
    Loaded,
    /// A program of the user's restores the state.
    ByCommand,
    /// The state is never restored.
    Never,
}

/// A layer of a rig.
#[derive(Debug, Clone, PartialEq)]
pub enum RigLayer {
    /// Everything below a server that somebody else runs.
    Existing(ExistingServer),
    Disk(Media),
    /// `None` if the file system existed before.
    FileSystem(Option<FileSystem>),
    /// Several concurrent servers.
    Servers(Servers),
    Server(String),
    /// Tables of each data profile.
    Tables(Vec<(Option<String>, Tables)>),
    /// Fill of the emulated device for each data profile.
    Filled(Vec<(Option<String>, Option<Fill>)>),
    /// Remaining part of each resource.
    Scale(Vec<ScaledResource>),
    /// Sources of the preset's numbers.
    Numbers {
        preset: String,
        /// Number of figures for each kind of source.
        numbers: Vec<Count>,
    },
    /// Injected fault.
    Fault(Fault),
}

impl RigLayer {
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            RigLayer::Existing(_) => "endpoint",
            RigLayer::Disk(_) => "disk",
            RigLayer::FileSystem(_) => "file system",
            RigLayer::Servers(_) => "servers",
            RigLayer::Server(_) => "server",
            RigLayer::Tables(_) => "tables",
            RigLayer::Filled(_) => "filled",
            RigLayer::Scale(_) => "scale",
            RigLayer::Numbers { .. } => "numbers",
            RigLayer::Fault(_) => "fault",
        }
    }
}

/// The disk under a configuration's server, with its guarantees and its worth.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskRecord {
    #[serde(flatten)]
    pub media: Media,
    /// Size of a write that is atomic at a power cut, with its guarantor; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atomic_write_bytes: Option<Atomic>,
    /// True if the file system places a page of 16 KiB contiguously, so that it becomes a single
    /// write.
    pub keeps_pages_together: bool,
    /// Cache of a model; for other disks only the device knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheDurability>,
    /// The kernel's setting for the device's cache (`queue/write_cache`): `write back` or `write
    /// through`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_cache: Option<String>,
    /// Mount options as the kernel reports them, or as requested if they were not read back.
    pub mount_options: Vec<String>,
    /// Sold capacity of all devices together, undivided for a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_bytes: Option<f64>,
    /// Bytes of flash per sold byte, for a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_per_user: Option<f64>,
    /// Price and endurance of one undivided device, from the preset, by name with the unit last.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub worth: BTreeMap<String, Worth>,
}

impl DiskRecord {
    /// The emulated device, if the disk is one.
    #[must_use]
    pub fn model(&self) -> Option<&Model> {
        match &self.media {
            Media::Model(model) => Some(model),
            _ => None,
        }
    }

    /// Divisor of the disk's rates relative to the device that it stands for: the scale of
    /// parallelism for an emulated device, 1 for others. `None` for a model whose scale the study
    /// lacks, as older ones did, or holds out of range.
    #[must_use]
    pub fn parallel_scale(&self) -> Option<f64> {
        let scale = self.model().map_or(1.0, |model| model.parallel_scale);
        Some(scale).filter(|scale| SCALES.contains(scale))
    }

    /// Number of devices to buy: more than one for an emulated disk that stands for several.
    #[must_use]
    pub fn devices(&self) -> f64 {
        self.model().map_or(1.0, |model| f64::from(model.devices.max(1)))
    }

    /// The pool below the disk or its software drive, if there is one.
    #[must_use]
    pub fn pool(&self) -> Option<&Pool> {
        match &self.media {
            Media::Pool(pool) => Some(pool),
            Media::Drive(drive) => drive.pool.as_ref(),
            _ => None,
        }
    }

    /// Returns true for the software drive.
    #[must_use]
    pub fn is_drive(&self) -> bool {
        matches!(self.media, Media::Drive(_))
    }
}

/// Range of valid scales.
const SCALES: std::ops::RangeInclusive<f64> = 1e-3..=1e9;

/// Kind of a disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Media {
    /// A directory on an existing file system.
    Directory {
        path: PathBuf,
    },
    /// A file, attached as a loop device.
    Image {
        bytes: u64,
        directory: PathBuf,
    },
    Device {
        path: PathBuf,
    },
    Drive(DriveRecord),
    Model(Model),
    Pool(Pool),
}

impl Default for Media {
    fn default() -> Media {
        Media::Directory { path: PathBuf::new() }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveRecord {
    /// Size visible to the host; `None` if it follows from the device.
    pub bytes: Option<u64>,
    /// Block device below the drive; `None` for an image.
    pub device: Option<PathBuf>,
    /// Pool of the image below the drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Pool>,
    /// Directory of the image.
    pub directory: PathBuf,
    /// Size of the image.
    pub capacity_bytes: Option<u64>,
    pub codec: String,
    /// True if the drive trains dictionaries.
    pub has_dictionaries: bool,
    /// Bytes that are compressed together.
    pub unit_bytes: u64,
    /// Smallest read from media.
    pub read_ahead_bytes: Option<u64>,
}

/// An image in a pool of a Ceph cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pool {
    pub cluster: PoolCluster,
    /// Size of the image.
    pub bytes: u64,
}

/// A cluster, and the pool's protection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolCluster {
    /// A private cluster on this machine, with a pool of its own.
    Private {
        /// Number of stores.
        stores: u16,
        /// Protection against the loss of stores.
        protection: Protection,
        /// Compression by the stores.
        compression: Option<PoolCompression>,
        /// Limit of each image's operations per second.
        image_iops: Option<u64>,
        /// Limit of each image's bytes per second.
        image_bytes_per_s: Option<u64>,
    },
    /// An existing cluster and pool.
    Existing {
        /// Ceph's configuration file.
        conf: PathBuf,
        pool: String,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Model {
    pub preset: String,
    /// Name of the device.
    pub title: String,
    /// Number of devices that form one disk.
    #[serde(default = "one_device", skip_serializing_if = "is_one_device")]
    pub devices: u32,
    /// Divisor of the capacity.
    pub capacity_scale: f64,
    /// Divisor of the parallelism, and so of the rates.
    pub parallel_scale: f64,
    /// Resources after the division.
    pub resources: Vec<ScaledResource>,
    /// Number of the preset's figures for each kind of source, the strongest first.
    pub numbers: Vec<Count>,
    /// Injected fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

fn one_device() -> u32 {
    1
}

fn is_one_device(devices: &u32) -> bool {
    *devices == 1
}

impl Model {
    /// The divisors.
    #[must_use]
    pub fn scale(&self) -> DeviceDivisors {
        DeviceDivisors { capacity: self.capacity_scale, parallel: self.parallel_scale }
    }
}

/// Divisors of an emulated device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceDivisors {
    /// Divisor of the capacity.
    pub capacity: f64,
    /// Divisor of the parallelism, and so of the rates.
    pub parallel: f64,
}

/// A resource of an emulated device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScaledResource {
    /// Name, unit last.
    pub name: String,
    /// Amount of the real device.
    pub real: f64,
    /// Divisor.
    pub factor: f64,
}

/// Number of figures of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    pub sort: String,
    pub count: usize,
}

/// Fault injected into an emulated device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// Periods without answers.
    pub stall: Option<PeriodicStall>,
    /// Factor of every latency.
    pub slower: Option<f64>,
    /// True if an unflushed write may be torn by a crash.
    pub tears: bool,
}

/// Periodic stalls of a device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PeriodicStall {
    pub length_ms: f64,
    pub every_s: f64,
}

/// A file system created for the rig.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FileSystem {
    /// `ext4`, `xfs` or `btrfs`.
    pub name: String,
    /// Options of `mkfs`.
    pub mkfs_options: Vec<String>,
    /// Mount options.
    pub mount_options: Vec<String>,
    /// Extent size hint of the data directory.
    pub extsize_bytes: Option<u64>,
}

/// Data on a rig.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// Data profile, if the plan has any.
    pub data_profile: Option<String>,
    pub tables: Tables,
    /// Fill of an emulated device.
    pub fill: Option<Fill>,
}

/// Identical tables.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tables {
    pub count: u32,
    /// Rows of each table.
    pub rows: u64,
    /// True if the tables have text columns.
    pub has_text: bool,
    /// Generator, if not today's sysbench.
    pub generator: Option<String>,
    /// Options at the end of `CREATE TABLE`, such as compression.
    pub create_options: String,
}

impl Tables {
    /// Returns true if the tables hold the same rows, stored in any way.
    #[must_use]
    pub fn are_as_many(&self, other: &Tables) -> bool {
        let bare = |tables: &Tables| Tables { create_options: String::new(), ..tables.clone() };
        bare(self) == bare(other)
    }
}

/// Fill of an emulated device at the start of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fill {
    /// Percent of the sold capacity.
    pub percent: f64,
    /// Sold capacity after division.
    pub user_bytes: u64,
    /// Size visible to the host.
    pub logical_bytes: u64,
    /// Compression ratio of the preconditioning data; 2 means 2:1.
    pub ratio: f64,
}

/// Durability of completed writes in a device's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheDurability {
    /// Lost at a power cut without a flush.
    Volatile,
    /// Survives a power cut: the cache has its own power.
    Protected,
    /// No cache.
    Writethrough,
}

/// Size of an atomic write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Atomic {
    pub bytes: u64,
    /// True if the software drive's format guarantees it; false for a device's word.
    pub by_format: bool,
}

/// A figure of a preset with its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// Value in the unit that its name ends with.
    pub value: f64,
    /// Kind of source: `published`, `computed`, `unsourced` or `fitted`.
    pub mark: String,
    pub source: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rig_is_read_as_it_was_written() {
        let worth = Worth { value: 1570.0, mark: "published".into(), source: "a paper".into() };
        let model = Model {
            preset: "csd2000-3.2".into(),
            capacity_scale: 4000.0,
            parallel_scale: 36.0,
            fault: Some(Fault { slower: Some(1.5), ..Fault::default() }),
            ..Model::default()
        };
        let disk = DiskRecord {
            media: Media::Model(model),
            atomic_write_bytes: Some(Atomic { bytes: 16 << 10, by_format: false }),
            cache: Some(CacheDurability::Volatile),
            worth: [("price_usd".to_owned(), worth)].into(),
            ..DiskRecord::default()
        };
        let rig =
            RigRecord { disk: Some(disk), server: "mysqld 9.7".into(), ..RigRecord::default() };
        let json = serde_json::to_string(&rig).unwrap();
        assert_eq!(serde_json::from_str::<RigRecord>(&json).unwrap(), rig);
        assert!(json.contains("\"kind\":\"model\""), "{json}");
        let names: Vec<&str> = rig.layers().iter().map(RigLayer::name).collect();
        assert_eq!(names, ["disk", "file system", "server", "filled", "scale", "numbers", "fault"]);
    }

    #[test]
    fn nothing_is_known_below_a_server_that_somebody_else_runs() {
        let existing = ExistingServer { address: "db1:3306".into(), restored: Restored::Loaded };
        let rig =
            RigRecord { existing: Some(existing), server: "8.4.3".into(), ..RigRecord::default() };
        let json = serde_json::to_string(&rig).unwrap();
        assert_eq!(serde_json::from_str::<RigRecord>(&json).unwrap(), rig);
        let names: Vec<&str> = rig.layers().iter().map(RigLayer::name).collect();
        assert_eq!(names, ["endpoint", "server"]);
    }

    #[test]
    fn tables_that_are_stored_otherwise_hold_as_many_rows() {
        let tables = |rows, create_options: &str| Tables {
            count: 2,
            rows,
            create_options: create_options.into(),
            ..Tables::default()
        };
        assert!(tables(10, "").are_as_many(&tables(10, "COMPRESSION='zlib'")));
        assert!(!tables(10, "").are_as_many(&tables(11, "")));
    }
}
