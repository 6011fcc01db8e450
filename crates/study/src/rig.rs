//! What a configuration's server stood on, from the media up: kept with the study, so that a report judges by what was
//! run and not by presets as they have become since.
//!
//! Guarantees: what decides is a value here; sentences are made of it where it is shown. Sizes are in bytes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_base::protection::{PoolCompression, Protection};
use serde::{Deserialize, Serialize};

use super::in_effect::InEffect;

/// A configuration's rig.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rig {
    /// The block device, or the directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
    /// Where the server is somebody else's: then nothing below it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub existing: Option<ExistingServer>,
    /// Nothing in a directory, whose file system was there before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystem>,
    /// How its disk and file system came out, where that was read back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_effect: Option<InEffect>,
    /// How many servers run at once, each on a disk of its own, where that is more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<Servers>,
    /// The server's version, in its own words.
    pub server: String,
    /// What lies on it, of each data profile of the plan, or of the only one.
    pub data: Vec<Data>,
}

impl Rig {
    /// The emulated device under it, if it stands on one.
    #[must_use]
    pub fn model(&self) -> Option<&Model> {
        self.disk.as_ref()?.model()
    }

    /// Its tables for a data profile.
    #[must_use]
    pub fn tables(&self, data_profile: Option<&str>) -> Option<&Tables> {
        let its = self.data.iter().find(|one| one.data_profile.as_deref() == data_profile);
        let only = || self.data.first().filter(|_| self.data.len() == 1);
        its.or_else(only).map(|one| &one.tables)
    }

    /// RigLayer by layer, from the media up.
    #[must_use]
    pub fn layers(&self) -> Vec<RigLayer> {
        let model = self.model();
        let disk = self.disk.as_ref().map(|disk| RigLayer::Disk(disk.media.clone()));
        let set = |one: &Data| one.data_profile.clone();
        let tables = self.data.iter().map(|one| (set(one), one.tables.clone())).collect();
        let fills = || self.data.iter().map(|one| (set(one), one.fill.clone())).collect();
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
            self.data.iter().any(|one| one.tables.count > 0).then_some(RigLayer::Tables(tables)),
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

/// Several servers at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Servers {
    /// How many.
    pub count: u32,
    /// What the last of them is loaded with, where that is not the run's workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<String>,
}

impl Servers {
    /// Those under the run's own load.
    #[must_use]
    pub fn own(&self) -> u32 {
        self.count.saturating_sub(u32::from(self.neighbour.is_some())).max(1)
    }
}

/// A server that somebody else runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExistingServer {
    /// Where it listens.
    pub address: String,
    /// How each run came back to the same start.
    pub restored: Restored,
}

/// How each run on somebody else's server came back to the same start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restored {
    /// The tables were loaded anew.
    Loaded,
    /// By a program of the user's.
    ByCommand,
    /// Not at all.
    Never,
}

/// One layer of a rig.
#[derive(Debug, Clone, PartialEq)]
pub enum RigLayer {
    /// What stands for everything below a server that somebody else runs.
    Existing(ExistingServer),
    /// The block device, or the directory.
    Disk(Media),
    /// The file system; nothing where it was there before.
    FileSystem(Option<FileSystem>),
    /// Several servers at once.
    Servers(Servers),
    /// The server.
    Server(String),
    /// The tables of each data profile.
    Tables(Vec<(Option<String>, Tables)>),
    /// How full the emulated device is, of each data profile.
    Filled(Vec<(Option<String>, Option<Fill>)>),
    /// What is left of each of its resources.
    Scale(Vec<Resource>),
    /// Where its preset's numbers are from.
    Numbers {
        /// The preset.
        preset: String,
        /// How many of each sort.
        numbers: Vec<Count>,
    },
    /// What is wrong with it on purpose.
    Fault(Fault),
}

impl RigLayer {
    /// Its name.
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

/// The disk under a configuration's server, and what it guarantees and is worth.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Disk {
    /// What it is.
    #[serde(flatten)]
    pub media: Media,
    /// Bytes that a power cut leaves whole or not there, and who says so; nothing where nobody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atomic_write_bytes: Option<Atomic>,
    /// Whether the file system gives a page of 16 KiB room in one piece, so that it comes down as one write.
    pub keeps_pages_together: bool,
    /// What a completed write survives, of a model. Of other disks the device alone knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// What the kernel believes of the device's cache (`queue/write_cache`): `write back` or `write through`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_cache: Option<String>,
    /// How its file system is mounted: as the kernel tells it, or as it was asked for where that was not read back.
    pub mount_options: Vec<String>,
    /// Bytes that the whole disk is sold with: all of its devices, a model's not divided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_bytes: Option<f64>,
    /// Bytes of flash for each of those, of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_per_user: Option<f64>,
    /// What the preset says that one whole device costs and how long it lasts, by name with the unit last.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub worth: BTreeMap<String, Worth>,
}

impl Disk {
    /// The emulated device, if it is one.
    #[must_use]
    pub fn model(&self) -> Option<&Model> {
        match &self.media {
            Media::Model(model) => Some(model),
            _ => None,
        }
    }

    /// What its rates are divided by, of those that it stands for: an emulated device's parallelism, and 1 of what is none.
    /// Nothing of a model whose scale the study does not keep, as older ones did not, or of one that nobody wrote.
    #[must_use]
    pub fn parallel_scale(&self) -> Option<f64> {
        let scale = self.model().map_or(1.0, |model| model.parallel_scale);
        Some(scale).filter(|scale| SCALES.contains(scale))
    }

    /// How many devices it is made of, each of which is bought: more than one of an emulated disk that stands for several.
    #[must_use]
    pub fn devices(&self) -> f64 {
        self.model().map_or(1.0, |model| f64::from(model.devices.max(1)))
    }

    /// The pool below it, if there is one, also below a software drive.
    #[must_use]
    pub fn pool(&self) -> Option<&Pool> {
        match &self.media {
            Media::Pool(pool) => Some(pool),
            Media::Drive(drive) => drive.pool.as_ref(),
            _ => None,
        }
    }

    /// Whether it is the software drive.
    #[must_use]
    pub fn is_drive(&self) -> bool {
        matches!(self.media, Media::Drive(_))
    }
}

/// What models are divided by, and more.
const SCALES: std::ops::RangeInclusive<f64> = 1e-3..=1e9;

/// What a disk is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Media {
    /// A directory on a file system that was there.
    Directory {
        /// Where.
        path: PathBuf,
    },
    /// A file as a loop device.
    Image {
        /// Its size.
        bytes: u64,
        /// Where it lies.
        directory: PathBuf,
    },
    /// A block device.
    Device {
        /// Its node.
        path: PathBuf,
    },
    /// The software drive.
    Drive(Drive),
    /// An emulated device.
    Model(Model),
    /// An image of a pool.
    Pool(Pool),
}

impl Default for Media {
    fn default() -> Media {
        Media::Directory { path: PathBuf::new() }
    }
}

/// A software drive.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Drive {
    /// What the host sees; nothing where that follows from its device.
    pub bytes: Option<u64>,
    /// The block device below it; nothing of an image.
    pub device: Option<PathBuf>,
    /// The pool whose image is below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Pool>,
    /// Where its image lies.
    pub directory: PathBuf,
    /// The image's size.
    pub capacity_bytes: Option<u64>,
    /// What it compresses with.
    pub codec: String,
    /// Whether it trains dictionaries.
    pub has_dictionaries: bool,
    /// What it compresses together.
    pub unit_bytes: u64,
    /// What it reads at least at once.
    pub read_ahead_bytes: Option<u64>,
}

/// A pool of a Ceph cluster, and the image in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pool {
    /// Whose cluster it is.
    pub cluster: PoolCluster,
    /// The image's size.
    pub bytes: u64,
}

/// A cluster, and how the pool keeps data in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolCluster {
    /// A private one on this machine, and the pool that was made in it.
    Private {
        /// Its stores.
        stores: u16,
        /// What keeps data when stores are lost.
        protection: Protection,
        /// What the stores compress, if anything.
        compression: Option<PoolCompression>,
        /// Most I/Os a second of each image.
        image_iops: Option<u64>,
        /// Most bytes a second of each image.
        image_bytes_per_s: Option<u64>,
    },
    /// An existing one, and a pool that was there.
    Existing {
        /// Its configuration file.
        conf: PathBuf,
        /// The pool.
        pool: String,
    },
}

/// An emulated device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Model {
    /// Its preset.
    pub preset: String,
    /// The device's name.
    pub title: String,
    /// How many of them stand side by side as one disk.
    #[serde(default = "one_device", skip_serializing_if = "is_one_device")]
    pub devices: u32,
    /// What the capacity of all of them is divided by.
    pub capacity_scale: f64,
    /// What the parallelism of all of them, and so their rates, are divided by.
    pub parallel_scale: f64,
    /// What that leaves of each resource.
    pub resources: Vec<Resource>,
    /// How many of the preset's numbers come from where, the strongest first.
    pub numbers: Vec<Count>,
    /// What is wrong with it on purpose.
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
    /// What it is divided by.
    #[must_use]
    pub fn scale(&self) -> Scale {
        Scale { capacity: self.capacity_scale, parallel: self.parallel_scale }
    }
}

/// What an emulated device is divided by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Its capacity.
    pub capacity: f64,
    /// Its parallelism, and so its rates.
    pub parallel: f64,
}

/// A resource of an emulated device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// Its name, unit last.
    pub name: String,
    /// How much of it the device has.
    pub real: f64,
    /// What that is divided by.
    pub factor: f64,
}

/// So many of a sort.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// The sort.
    pub sort: String,
    /// How many.
    pub count: usize,
}

/// What is wrong with an emulated device on purpose.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// How long it answers nothing, and from the beginning of one such time to the next.
    pub stall: Option<Stall>,
    /// What every latency is multiplied by.
    pub slower: Option<f64>,
    /// Whether a write that was not flushed may be half there after a crash.
    pub tears: bool,
}

/// Times in which a device answers nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// How long.
    pub length_ms: f64,
    /// How often.
    pub every_s: f64,
}

/// A file system that was made for the rig.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FileSystem {
    /// `ext4`, `xfs` or `btrfs`.
    pub name: String,
    /// What it was made with, as on the command line.
    pub mkfs_options: Vec<String>,
    /// What it was mounted with.
    pub mount_options: Vec<String>,
    /// The extent size hint of the data's directory.
    pub extsize_bytes: Option<u64>,
}

/// What lies on a rig.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// The plan's data profile, if it has any.
    pub data_profile: Option<String>,
    /// The tables.
    pub tables: Tables,
    /// How full an emulated device is.
    pub fill: Option<Fill>,
}

/// Tables that are all alike.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tables {
    /// How many.
    pub count: u32,
    /// Rows in each.
    pub rows: u64,
    /// Whether they have columns of text.
    pub has_text: bool,
    /// Whose tables, if not those of the sysbench of today.
    pub generator: Option<String>,
    /// What `CREATE TABLE` ends with, such as compression.
    pub create_options: String,
}

impl Tables {
    /// Whether they hold the same rows, however they are stored.
    #[must_use]
    pub fn are_as_many(&self, other: &Tables) -> bool {
        let bare = |tables: &Tables| Tables { create_options: String::new(), ..tables.clone() };
        bare(self) == bare(other)
    }
}

/// How full an emulated device is when a run begins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fill {
    /// Share of what it is sold with.
    pub percent: f64,
    /// What it is sold with, divided.
    pub user_bytes: u64,
    /// What the host sees.
    pub logical_bytes: u64,
    /// What the data that preconditioned it compress to, 2 being 2:1.
    pub ratio: f64,
}

/// What a completed write survives in a device's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// Nothing: a flush is needed.
    Volatile,
    /// A power cut: the cache has power of its own.
    Protected,
    /// All: there is none.
    Writethrough,
}

/// A size that is written all or nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Atomic {
    /// In bytes.
    pub bytes: u64,
    /// Whether our own drive's format keeps it, and not a device's word.
    pub by_format: bool,
}

/// A figure of a preset with where it is from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// In the unit that its name ends with.
    pub value: f64,
    /// How it came to be: `published`, `computed`, `unsourced` or `fitted`.
    pub mark: String,
    /// Where it is from.
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
        let disk = Disk {
            media: Media::Model(model),
            atomic_write_bytes: Some(Atomic { bytes: 16 << 10, by_format: false }),
            cache: Some(Cache::Volatile),
            worth: [("price_usd".to_owned(), worth)].into(),
            ..Disk::default()
        };
        let rig = Rig { disk: Some(disk), server: "mysqld 9.7".into(), ..Rig::default() };
        let json = serde_json::to_string(&rig).unwrap();
        assert_eq!(serde_json::from_str::<Rig>(&json).unwrap(), rig);
        assert!(json.contains("\"kind\":\"model\""), "{json}");
        let names: Vec<&str> = rig.layers().iter().map(RigLayer::name).collect();
        assert_eq!(names, ["disk", "file system", "server", "filled", "scale", "numbers", "fault"]);
    }

    #[test]
    fn nothing_is_known_below_a_server_that_somebody_else_runs() {
        let existing = ExistingServer { address: "db1:3306".into(), restored: Restored::Loaded };
        let rig = Rig { existing: Some(existing), server: "8.4.3".into(), ..Rig::default() };
        let json = serde_json::to_string(&rig).unwrap();
        assert_eq!(serde_json::from_str::<Rig>(&json).unwrap(), rig);
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
