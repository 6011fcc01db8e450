//! The text of a preset: its sections and names.

use assay_drive::Codec;
use assay_models::WriteCache;
use indexmap::IndexMap;
use serde::{Deserialize, Deserializer};

use super::figure::{Figure, Published};

/// The text of a preset.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    pub kind: Kind,
    /// The device, in one line.
    pub title: String,
    /// Notes for the reader.
    pub about: String,
    /// Its capacity; for the kinds `network` and `mirror` that of the device behind.
    pub capacity: Option<Capacity>,
    /// Flash, of kind `nand`.
    pub flash: Option<Flash>,
    /// The controller before the flash.
    pub host: Option<Host>,
    /// The compression engine, if there is one.
    pub engine: Option<Engine>,
    /// Each disk, of kind `rotating`.
    pub spindle: Option<Spindle>,
    /// The disks together, of kind `rotating`.
    pub array: Option<Array>,
    /// The volume's limits, of kind `volume`.
    pub volume: Option<Volume>,
    /// The network, of kind `network`.
    pub network: Option<Network>,
    /// The sides of a mirror, of kind `mirror`.
    pub mirror: Option<Mirror>,
    /// Guarantees of completed writes.
    #[serde(default)]
    pub guarantees: Guarantees,
    /// Injected faults.
    #[serde(default)]
    pub fault: Fault,
    /// Price and endurance, by name.
    #[serde(default)]
    pub worth: IndexMap<String, Figure<f64>>,
    /// Published figures, by name.
    #[serde(default)]
    pub published: IndexMap<String, Published>,
}

/// The timing of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Flash behind a translation layer, which is our drive.
    Nand,
    /// Disks that turn.
    Rotating,
    /// A cloud volume.
    Volume,
    /// Another device behind a network.
    Network,
    /// Several flash devices that hold the same data.
    Mirror,
}

impl Kind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Nand => "nand",
            Kind::Rotating => "rotating",
            Kind::Volume => "volume",
            Kind::Network => "network",
            Kind::Mirror => "mirror",
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capacity {
    pub user_bytes: Figure<u64>,
    /// Media for each byte of that, hidden spare media included.
    pub raw_per_user: Option<Figure<f64>>,
}

/// See [`assay_models::nand::FlashGeometry`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    pub channels: Figure<u32>,
    pub dies_per_channel: Figure<u32>,
    pub planes: Figure<u32>,
    pub page_bytes: Figure<u32>,
    pub pages_per_block: Figure<u32>,
    pub read_us: Figure<f64>,
    pub program_us: Figure<f64>,
    pub erase_us: Figure<f64>,
    pub program_suspend_us: Figure<f64>,
    pub erase_suspend_us: Figure<f64>,
    pub bus_bytes_per_s: Figure<f64>,
    pub buffer_bytes: Figure<u64>,
}

/// See [`assay_models::nand::HostLimits`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    pub read_firmware_us: Figure<f64>,
    pub write_firmware_us: Figure<f64>,
    pub operations_per_s: Option<Figure<f64>>,
    pub link_bytes_per_s: Figure<f64>,
    pub pcie_generation: Option<Figure<u32>>,
    pub pcie_lanes: Option<Figure<u32>>,
    pub cache: Figure<CacheName>,
}

/// Durability of a completed write, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheName {
    /// A power cut only after a flush.
    Volatile,
    /// A power cut, for its memory has power of its own.
    Protected,
    /// A power cut, for it has no such memory.
    Writethrough,
}

impl CacheName {
    /// The same for the drive.
    #[must_use]
    pub fn cache(self) -> WriteCache {
        match self {
            CacheName::Volatile => WriteCache::Volatile,
            CacheName::Protected => WriteCache::Protected,
            CacheName::Writethrough => WriteCache::Writethrough,
        }
    }
}

/// See [`assay_models::nand::CompressionEngine`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    pub codec: Figure<CodecName>,
    pub latency_us: Figure<f64>,
    pub bytes_per_s: Figure<f64>,
}

/// See [`assay_models::rotating::SpindleGeometry`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spindle {
    pub rotation_us: Figure<f64>,
    pub track_to_track_us: Figure<f64>,
    pub read_seek_us: Figure<f64>,
    pub write_seek_us: Figure<f64>,
    pub full_stroke_us: Option<Figure<f64>>,
    pub media_bytes_per_s: Figure<f64>,
    pub read_ahead_bytes: Figure<u64>,
}

/// See [`assay_models::rotating::ArrayGeometry`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Array {
    pub spindles: Figure<u32>,
    pub mirrored: Figure<bool>,
    pub chunk_bytes: Figure<u64>,
    pub command_us: Figure<f64>,
    pub link_bytes_per_s: Figure<f64>,
    pub patience_us: Figure<f64>,
    pub cache: Figure<CacheName>,
    pub cache_bytes: Figure<u64>,
}

/// See [`assay_models::volume::VolumeLimits`]; latencies are lognormal.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    pub operations_per_s: Figure<f64>,
    pub operations_credit: Option<Figure<f64>>,
    pub operations_peak_per_s: Option<Figure<f64>>,
    pub bytes_per_s: Figure<f64>,
    pub bytes_credit: Option<Figure<f64>>,
    pub bytes_peak_per_s: Option<Figure<f64>>,
    pub bytes_per_operation: Figure<u64>,
    pub rest_us: Figure<f64>,
    pub read_us: Figure<f64>,
    pub read_p99_us: Figure<f64>,
    pub write_us: Figure<f64>,
    pub write_p99_us: Figure<f64>,
    pub flush_us: Figure<f64>,
}

/// A network and what lies behind it, see [`assay_models::network`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The preset of what lies behind it, one of ours.
    pub over: Figure<String>,
    /// From request to answer without data; half of all take no longer.
    pub round_trip_us: Figure<f64>,
    /// One in a hundred takes longer.
    pub round_trip_p99_us: Figure<f64>,
    /// In each direction.
    pub bytes_per_s: Figure<f64>,
    /// Whole copies of what is written.
    pub copies: Option<Figure<u32>>,
    /// Pieces that what is written is cut into.
    pub data_pieces: Option<Figure<u32>>,
    /// Pieces of parity beside them.
    pub parity_pieces: Option<Figure<u32>>,
}

/// Devices that hold the same data, see [`assay_models::MirrorTiming`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mirror {
    /// The preset of each side, one of ours.
    pub over: Figure<String>,
    pub sides: Figure<u32>,
}

/// A codec, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodecName(pub Codec);

impl<'de> Deserialize<'de> for CodecName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<CodecName, D::Error> {
        String::deserialize(from)?.parse().map(CodecName).map_err(serde::de::Error::custom)
    }
}

/// Guarantees of writes at a power cut.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guarantees {
    /// The largest write that a power cut leaves whole or not there.
    pub atomic_write_bytes: Option<Figure<u64>>,
}

/// A flaw that no maker would sell: put there to show that what measures notices it. See
/// [`super::fault`].
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub stall_ms: Option<Figure<f64>>,
    /// From the beginning of one stall to that of the next.
    pub every_s: Option<Figure<f64>>,
    /// Factor of every latency, and divisor of every rate.
    pub slower: Option<Figure<f64>>,
    /// Whether a crash can tear a write that was not flushed.
    pub tears: Option<Figure<bool>>,
}
