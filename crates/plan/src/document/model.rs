//! A device's model in a plan: which device, how much smaller, how preconditioned.

use assay_base::Size;
use serde::{Deserialize, Serialize};

/// A device's model at the bottom of a rig.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// A preset's name, or a TOML file with one, e.g. `"p4610-3.2"`.
    pub preset: String,
    /// How many of them stand side by side as one disk, as if striped at no cost. The scale divides
    /// all of them together.
    #[serde(default = "one_device", skip_serializing_if = "is_one_device")]
    pub devices: u32,
    /// Divisor of the capacity.
    #[serde(default = "one")]
    pub capacity_scale: f64,
    /// Divisor of channels, dies, link, operations per second and buffers. Latencies stay.
    #[serde(default = "one")]
    pub parallel_scale: f64,
    /// Bytes that the host sees of a device that compresses; more than it has is its extended
    /// capacity. Default: as it is sold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical: Option<Size>,
    /// Share of what the device sells that holds data when a run begins, 0.05 to 1, beyond 1 where
    /// it compresses. The file system takes this much of it; the rest stays as it left the factory.
    #[serde(default = "one")]
    pub fill: f64,
    /// Compression ratio of the data that precondition the device: 2 is 2:1. Matters to devices
    /// that compress.
    #[serde(default = "one")]
    pub ratio: f64,
    /// Whether each run's commands are recorded, for `assay replay`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trace: bool,
}

fn one() -> f64 {
    1.0
}

fn one_device() -> u32 {
    1
}

fn is_one_device(devices: &u32) -> bool {
    *devices == 1
}
