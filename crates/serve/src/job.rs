//! The job of a serving process: what it serves, and with which options.

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

/// Options for serving a drive; the arguments of `assay drive attach`.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
pub struct AttachOptions {
    /// Expose the drive as the file `disk` in this empty directory, without a loop device; works
    /// without root
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// I/O threads: the maximum number of concurrent reads and writes
    #[arg(long, default_value_t = DEFAULT_THREADS as u16,
        value_parser = clap::value_parser!(u16).range(1..=1024))]
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
    /// Open the reserve of a full drive, so that its file system can replay its journal and delete
    /// files; reattach without this afterwards
    #[arg(long)]
    pub rescue: bool,
    /// Write in halves, to show that a test notices torn writes
    #[cfg(feature = "tear")]
    #[arg(long, hide = true)]
    pub tear: bool,
}

/// The disk that a server exports.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Export {
    /// The drive on the media.
    #[default]
    Drive,
    /// The image itself, without a drive on it.
    Image,
    /// A model of a device.
    Model {
        device: ModelJob,
        /// The model's time jumps ahead until the server is told to keep it, so that the model can
        /// be filled quickly.
        keeps_time_when_told: bool,
        /// New file, by its absolute path, to which the model's commands are recorded.
        trace: Option<PathBuf>,
    },
    /// A disk whose power can be cut.
    Powered(PowerJob),
}

impl Export {
    /// A model that keeps time from the start, without a trace.
    #[must_use]
    pub fn model(device: ModelJob) -> Export {
        Export::Model { device, keeps_time_when_told: false, trace: None }
    }

    /// The device of a model.
    #[must_use]
    pub fn modelled(&self) -> Option<&ModelJob> {
        match self {
            Export::Model { device, .. } => Some(device),
            Export::Drive | Export::Image | Export::Powered(_) => None,
        }
    }

    pub(crate) fn keeps_time_when_told(&self) -> bool {
        matches!(self, Export::Model { keeps_time_when_told: true, .. })
    }
}

/// A device whose model is served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelJob {
    /// Name of the preset.
    pub name: String,
    /// Text of the preset, so that the server need not find its file.
    pub text: String,
    pub scale: Scale,
}

impl ModelJob {
    #[must_use]
    pub fn new(preset: &Preset, scale: Scale) -> ModelJob {
        ModelJob { name: preset.name.clone(), text: preset.text.clone(), scale }
    }

    pub fn preset(&self) -> Result<Preset> {
        Preset::parse(&self.name, &self.text)
    }
}

/// Media whose power can be cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerJob {
    /// The effect of a power cut.
    pub nature: Volatility,
    /// True if the media are served as they are, without a drive on them.
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
    /// When it completes: the modelled device protects its memory against power failure.
    #[value(skip)]
    Protected,
}

impl CacheMode {
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
            #[cfg(feature = "tear")]
            tear: false,
        }
    }
}

impl AttachOptions {
    /// Returns true if writes are torn on purpose.
    pub(crate) fn tears(&self) -> bool {
        #[cfg(feature = "tear")]
        return self.tear;
        #[cfg(not(feature = "tear"))]
        false
    }

    /// The options that the drive itself takes.
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
                // A drive without a model has no protected memory.
                CacheMode::Writethrough | CacheMode::Protected => Cache::Writethrough,
            },
            read_only: self.read_only,
            rescue: self.rescue,
            ..DriveOptions::default()
        }
    }
}

/// The job of a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerJob {
    /// Absolute path of the media, without links, or the name of an image with its cluster.
    pub media: PathBuf,
    /// Identity of the media, whose name can change.
    pub media_id: Option<FileId>,
    /// Absolute path of the mount point; only its parents may be links.
    pub mount_point: PathBuf,
    /// Absolute path of the server's own directory.
    pub directory: PathBuf,
    pub options: AttachOptions,
    pub export: Export,
    /// True if the server outlives the process that started it: then it keeps its own ledger and
    /// log.
    pub is_independent: bool,
}

impl ServerJob {
    /// When a completed write is on stable media: for a model the guarantee of its device,
    /// independent of the options.
    pub fn guaranteed_cache(&self) -> CacheMode {
        let device = |job: &ModelJob| Device::new(&job.preset().ok()?, job.scale).ok();
        let device = self.export.modelled().and_then(device);
        device.map_or(self.options.cache, |device| device.cache().into())
    }

    /// The ledger's entry for the server's resources, with its directory.
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
