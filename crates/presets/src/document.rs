//! The text of a preset: its sections and names.

use assay_drive::Codec;
use assay_models::WriteCache;
use indexmap::IndexMap;
use serde::{Deserialize, Deserializer};

use super::figure::{PresetFigure, Published};

/// The text of a preset.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresetDocument {
    pub kind: DeviceKind,
    /// The device, in one line.
    pub title: String,
    /// Notes for the reader.
    pub about: String,
    /// Its capacity; for the kinds `network` and `mirror` that of the device behind.
    pub capacity: Option<CapacitySection>,
    /// Flash, of kind `nand`.
    pub flash: Option<Flash>,
    /// The controller before the flash.
    pub host: Option<HostSection>,
    /// The compression engine, if there is one.
    pub engine: Option<Engine>,
    /// Each disk, of kind `rotating`.
    pub spindle: Option<Spindle>,
    /// The disks together, of kind `rotating`.
    pub array: Option<Array>,
    /// The volume's limits, of kind `volume`.
    pub volume: Option<Volume>,
    /// The network, of kind `network`.
    pub network: Option<NetworkSection>,
    /// The sides of a mirror, of kind `mirror`.
    pub mirror: Option<Mirror>,
    /// GuaranteesSection of completed writes.
    #[serde(default)]
    pub guarantees: GuaranteesSection,
    /// Injected faults.
    #[serde(default)]
    pub fault: FaultSection,
    /// Price and endurance, by name.
    #[serde(default)]
    pub worth: IndexMap<String, PresetFigure<f64>>,
    /// Published figures, by name.
    #[serde(default)]
    pub published: IndexMap<String, Published>,
}

/// The timing of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
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

impl DeviceKind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            DeviceKind::Nand => "nand",
            DeviceKind::Rotating => "rotating",
            DeviceKind::Volume => "volume",
            DeviceKind::Network => "network",
            DeviceKind::Mirror => "mirror",
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacitySection {
    pub user_bytes: PresetFigure<u64>,
    /// Media for each byte of that, hidden spare media included.
    pub raw_per_user: Option<PresetFigure<f64>>,
}

/// See [`assay_models::nand::FlashGeometry`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    pub channels: PresetFigure<u32>,
    pub dies_per_channel: PresetFigure<u32>,
    pub planes: PresetFigure<u32>,
    pub page_bytes: PresetFigure<u32>,
    pub pages_per_block: PresetFigure<u32>,
    pub read_us: PresetFigure<f64>,
    pub program_us: PresetFigure<f64>,
    pub erase_us: PresetFigure<f64>,
    pub program_suspend_us: PresetFigure<f64>,
    pub erase_suspend_us: PresetFigure<f64>,
    pub bus_bytes_per_s: PresetFigure<f64>,
    pub buffer_bytes: PresetFigure<u64>,
}

/// See [`assay_models::nand::HostLimits`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSection {
    pub read_firmware_us: PresetFigure<f64>,
    pub write_firmware_us: PresetFigure<f64>,
    pub operations_per_s: Option<PresetFigure<f64>>,
    pub link_bytes_per_s: PresetFigure<f64>,
    pub pcie_generation: Option<PresetFigure<u32>>,
    pub pcie_lanes: Option<PresetFigure<u32>>,
    pub cache: PresetFigure<CacheName>,
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
    pub codec: PresetFigure<CodecName>,
    pub latency_us: PresetFigure<f64>,
    pub bytes_per_s: PresetFigure<f64>,
}

/// See [`assay_models::rotating::SpindleGeometry`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spindle {
    pub rotation_us: PresetFigure<f64>,
    pub track_to_track_us: PresetFigure<f64>,
    pub read_seek_us: PresetFigure<f64>,
    pub write_seek_us: PresetFigure<f64>,
    pub full_stroke_us: Option<PresetFigure<f64>>,
    pub media_bytes_per_s: PresetFigure<f64>,
    pub read_ahead_bytes: PresetFigure<u64>,
}

/// See [`assay_models::rotating::ArrayGeometry`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Array {
    pub spindles: PresetFigure<u32>,
    pub mirrored: PresetFigure<bool>,
    pub chunk_bytes: PresetFigure<u64>,
    pub command_us: PresetFigure<f64>,
    pub link_bytes_per_s: PresetFigure<f64>,
    pub patience_us: PresetFigure<f64>,
    pub cache: PresetFigure<CacheName>,
    pub cache_bytes: PresetFigure<u64>,
}

/// See [`assay_models::volume::VolumeLimits`]; latencies are lognormal.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    pub operations_per_s: PresetFigure<f64>,
    pub operations_credit: Option<PresetFigure<f64>>,
    pub operations_peak_per_s: Option<PresetFigure<f64>>,
    pub bytes_per_s: PresetFigure<f64>,
    pub bytes_credit: Option<PresetFigure<f64>>,
    pub bytes_peak_per_s: Option<PresetFigure<f64>>,
    pub bytes_per_operation: PresetFigure<u64>,
    pub rest_us: PresetFigure<f64>,
    pub read_us: PresetFigure<f64>,
    pub read_p99_us: PresetFigure<f64>,
    pub write_us: PresetFigure<f64>,
    pub write_p99_us: PresetFigure<f64>,
    pub flush_us: PresetFigure<f64>,
}

/// A network and what lies behind it, see [`assay_models::network`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSection {
    /// The preset of what lies behind it, one of ours.
    pub over: PresetFigure<String>,
    /// From request to answer without data; half of all take no longer.
    pub round_trip_us: PresetFigure<f64>,
    /// One in a hundred takes longer.
    pub round_trip_p99_us: PresetFigure<f64>,
    /// In each direction.
    pub bytes_per_s: PresetFigure<f64>,
    /// Whole copies of what is written.
    pub copies: Option<PresetFigure<u32>>,
    /// Pieces that what is written is cut into.
    pub data_pieces: Option<PresetFigure<u32>>,
    /// Pieces of parity beside them.
    pub parity_pieces: Option<PresetFigure<u32>>,
}

/// Devices that hold the same data, see [`assay_models::MirrorTiming`].
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mirror {
    /// The preset of each side, one of ours.
    pub over: PresetFigure<String>,
    pub sides: PresetFigure<u32>,
}

/// A codec, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodecName(pub Codec);

impl<'de> Deserialize<'de> for CodecName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<CodecName, D::Error> {
        String::deserialize(from)?.parse().map(CodecName).map_err(serde::de::Error::custom)
    }
}

/// GuaranteesSection of writes at a power cut.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuaranteesSection {
    /// The largest write that a power cut leaves whole or not there.
    pub atomic_write_bytes: Option<PresetFigure<u64>>,
}

/// A flaw that no maker would sell: put there to show that what measures notices it. See
/// [`super::fault`].
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultSection {
    pub stall_ms: Option<PresetFigure<f64>>,
    /// From the beginning of one stall to that of the next.
    pub every_s: Option<PresetFigure<f64>>,
    /// Factor of every latency, and divisor of every rate.
    pub slower: Option<PresetFigure<f64>>,
    /// Whether a crash can tear a write that was not flushed.
    pub tears: Option<PresetFigure<bool>>,
}
