//! What the serving process is told.

use std::path::PathBuf;

use anyhow::Result;
use assay_drive::{Cache, DriveOptions, Policy};
use assay_models::WriteCache;
use assay_models::power::Volatility;
use assay_ports::file_id::FileId;
use assay_ports::fuse::DEFAULT_THREADS;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use assay_base::Size;
use assay_presets::read_ahead;
use assay_presets::{Device, Preset, Scale};
use assay_system::OwnDirectory;
use assay_system::resource::Resource;

/// How a drive is attached; `attach` takes it from its command line.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
pub struct AttachOptions {
    /// Expose the drive as the file `disk` in this empty directory, without a loop device; works without root
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// I/O threads: the maximum number of concurrent reads and writes
    #[arg(long, default_value_t = DEFAULT_THREADS as u16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: u16,
    /// Memory limit for the map, e.g. 256M; the rest is read when needed [default: the whole map]
    #[arg(long, value_name = "SIZE", value_parser = Size::parse)]
    pub memory: Option<Size>,
    /// Minimum read size, up to 256K: for volumes with IOPS limits [default: none]
    #[arg(long, value_name = "SIZE", value_parser = parse_read_ahead)]
    pub read_ahead: Option<Size>,
    /// When writes reach stable media: at the next flush, or on completion
    #[arg(long, value_enum, default_value_t)]
    pub cache: CacheMode,
    /// How garbage collection chooses segments
    #[arg(long, value_enum, default_value_t)]
    pub gc: GcPolicy,
    /// Refuse writes, and do not write to the media
    #[arg(long)]
    pub read_only: bool,
    /// Open the reserve of a full drive, so that its file system can replay its journal and delete files; reattach without this afterwards
    #[arg(long)]
    pub rescue: bool,
    /// Give up writing all or nothing, to show that a test would notice
    #[arg(long, hide = true)]
    pub tear: bool,
    /// The image itself is to be shown, in place of a drive on it.
    #[arg(skip)]
    #[serde(default)]
    pub image: bool,
    /// The device to be shown, in place of a mere drive.
    #[arg(skip)]
    #[serde(default)]
    pub model: Option<ModelJob>,
    /// The power can be cut of what is shown.
    #[arg(skip)]
    #[serde(default)]
    pub power: Option<PowerJob>,
    /// A model lets its time jump ahead until it is told to keep it, so that it can be filled quickly.
    #[arg(skip)]
    #[serde(default)]
    pub keeps_time_when_told: bool,
    /// New file, by its absolute path, to which the commands of a model are recorded.
    #[arg(skip)]
    #[serde(default)]
    pub trace: Option<PathBuf>,
}

/// A device whose model is to be served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelJob {
    /// What the preset is called by.
    pub name: String,
    /// Its text: whoever serves need not find it again.
    pub text: String,
    /// By how much the device is divided.
    pub scale: Scale,
}

impl ModelJob {
    /// Of this preset.
    #[must_use]
    pub fn new(preset: &Preset, scale: Scale) -> ModelJob {
        ModelJob { name: preset.name.clone(), text: preset.text.clone(), scale }
    }

    /// The preset.
    ///
    /// # Errors
    /// One line: what is wrong with it.
    pub fn preset(&self) -> Result<Preset> {
        Preset::parse(&self.name, &self.text)
    }
}

/// Media whose power can be cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerJob {
    /// What a power cut does to them.
    pub nature: Volatility,
    /// Whether they are shown as they are, in place of a drive on them.
    pub is_plain: bool,
}

/// When a write is on stable media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// At the next flush.
    #[default]
    Volatile,
    /// When it completes.
    Writethrough,
    /// When it completes, by the guarantee of a device that is modelled: its memory has power of its own.
    #[value(skip)]
    Protected,
}

impl CacheMode {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            CacheMode::Volatile => "volatile",
            CacheMode::Writethrough => "writethrough",
            CacheMode::Protected => "protected",
        }
    }
}

impl From<WriteCache> for CacheMode {
    fn from(cache: WriteCache) -> CacheMode {
        match cache {
            WriteCache::Volatile => CacheMode::Volatile,
            WriteCache::Writethrough => CacheMode::Writethrough,
            WriteCache::Protected => CacheMode::Protected,
        }
    }
}

/// How collection chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GcPolicy {
    /// By age and live share.
    #[default]
    CostBenefit,
    /// By live share alone.
    Greedy,
}

impl GcPolicy {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            GcPolicy::CostBenefit => "cost-benefit",
            GcPolicy::Greedy => "greedy",
        }
    }
}

fn parse_read_ahead(text: &str) -> std::result::Result<Size, String> {
    read_ahead(Size::parse(text)?)
}

impl Default for AttachOptions {
    fn default() -> AttachOptions {
        AttachOptions {
            directory: None,
            threads: DEFAULT_THREADS as u16,
            memory: None,
            read_ahead: None,
            cache: CacheMode::default(),
            gc: GcPolicy::default(),
            read_only: false,
            rescue: false,
            tear: false,
            image: false,
            model: None,
            power: None,
            keeps_time_when_told: false,
            trace: None,
        }
    }
}

impl AttachOptions {
    /// When a write is on stable media: of a model what its device guarantees, whatever serves it.
    pub fn guaranteed_cache(&self) -> CacheMode {
        let device = |job: &ModelJob| Device::new(&job.preset().ok()?, job.scale).ok();
        self.model.as_ref().and_then(device).map_or(self.cache, |device| device.cache().into())
    }

    /// What of these is the drive's.
    #[must_use]
    pub fn drive(&self) -> DriveOptions {
        DriveOptions {
            map_bytes: self.memory.map(|size| size.0),
            read_ahead_bytes: self.read_ahead.map_or(0, |size| size.0 as u32),
            policy: match self.gc {
                GcPolicy::CostBenefit => Policy::CostBenefit,
                GcPolicy::Greedy => Policy::Greedy,
            },
            cache: match self.cache {
                CacheMode::Volatile => Cache::Volatile,
                // A mere drive has no memory with power of its own.
                CacheMode::Writethrough | CacheMode::Protected => Cache::Writethrough,
            },
            read_only: self.read_only,
            rescue: self.rescue,
            ..DriveOptions::default()
        }
    }
}

/// What a server is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// Absolute path of the media, without links, or the name of an image with its cluster.
    pub media: PathBuf,
    /// What tells it from others, whatever it is called.
    pub media_id: Option<FileId>,
    /// Absolute path of the directory to mount on, without links but those of its parents.
    pub mount_point: PathBuf,
    /// Absolute path of the server's own directory.
    pub directory: PathBuf,
    /// How.
    pub options: AttachOptions,
    /// Whether it outlives whoever started it: then it keeps its own ledger and log.
    pub is_independent: bool,
}

impl Job {
    /// What is made by serving, for a ledger, in that directory of ours.
    pub fn resource(&self, directory: OwnDirectory) -> Resource {
        Resource::Drive {
            media: self.media.clone(),
            media_id: self.media_id,
            mount_point: self.mount_point.clone(),
            directory,
            mounted: None,
        }
    }
}
