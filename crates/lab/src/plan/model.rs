//! A device's model in a plan: which device, how much smaller, how worn.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::units::Size;
use crate::models::{Device, Preset, Scale};

/// A device's model at the bottom of a rig.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// A preset's name, or a TOML file with one, e.g. `"p4610-3.2"`.
    pub preset: String,
    /// What its capacity is divided by.
    #[serde(default = "one")]
    pub capacity_scale: f64,
    /// What its channels, dies, link, operations a second and buffers are divided by. Latencies stay.
    #[serde(default = "one")]
    pub parallel_scale: f64,
    /// Bytes that the host sees of a device that compresses; more than it has is its extended capacity. Default: as it is
    /// sold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical: Option<Size>,
    /// Share of what the device sells that holds data when a cell begins, 0.05 to 1, beyond 1 where it compresses. The file
    /// system takes this much of it; the rest stays as it left the factory.
    #[serde(default = "one")]
    pub fill: f64,
    /// What the data that wear the device in compress to, as a ratio: 2 is 2:1. Matters to devices that compress.
    #[serde(default = "one")]
    pub ratio: f64,
    /// Whether each cell's commands are recorded, for `assay replay`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trace: bool,
}

/// Wear of a device that is filled and overwritten before a cell: whole pages of MySQL.
const PAGE_BYTES: u64 = 16 << 10;

impl ModelSpec {
    /// Checks what can be known without the machine.
    ///
    /// # Errors
    /// One line: no such preset, a scale that leaves too little, a fill that cannot be.
    pub fn check(&self) -> Result<()> {
        let (preset, device) = self.device()?;
        ensure!(
            (1.0..=100.0).contains(&self.ratio),
            "ratio is {}; give a number from 1 to 100, such as 2",
            self.ratio
        );
        let logical = self.logical_bytes(&device);
        ensure!(
            logical <= device.user_bytes() || device.compresses(),
            "logical is more than {} has, and it does not compress; drop logical",
            preset.name
        );
        let most = logical as f64 / device.user_bytes() as f64;
        ensure!(
            self.fill <= most,
            "fill is {}: more data than the logical drive, which is {most:.2} of what is sold; lower it, or give a device \
             that compresses a larger logical",
            self.fill
        );
        ensure!(
            self.fill >= 0.05,
            "fill is {}; give a share of what the device sells from 0.05 to {most:.2}",
            self.fill
        );
        Ok(())
    }

    /// The preset, and the device that its scale leaves.
    ///
    /// # Errors
    /// One line: no such preset, or too little is left.
    pub fn device(&self) -> Result<(Preset, Device)> {
        let preset = Preset::find(&self.preset)?;
        let device = Device::new(&preset, self.scale())?;
        Ok((preset, device))
    }

    /// Both divisors.
    #[must_use]
    pub fn scale(&self) -> Scale {
        Scale { capacity: self.capacity_scale, parallel: self.parallel_scale }
    }

    /// Bytes that the host sees.
    #[must_use]
    pub fn logical_bytes(&self, device: &Device) -> u64 {
        self.logical.map_or(device.user_bytes(), |size| size.0)
    }

    /// Bytes from the first on that hold data when a cell begins: what the file system takes.
    #[must_use]
    pub fn filled_bytes(&self, device: &Device) -> u64 {
        let bytes = (self.fill * device.user_bytes() as f64) as u64;
        bytes.min(self.logical_bytes(device)) / PAGE_BYTES * PAGE_BYTES
    }
}

fn one() -> f64 {
    1.0
}
