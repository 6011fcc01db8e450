//! A device's model in a plan: which device, how much smaller, how preconditioned.

use anyhow::{Context, Result, ensure};
use assay_drive::{BLOCK_BYTES, RECORD_OVERHEAD_BYTES};
use assay_models::PAGE_BYTES;
use serde::{Deserialize, Serialize};

use assay_base::Size;
use assay_presets::{Device, Nand, Preset, Scale};

/// A device's model at the bottom of a rig.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// A preset's name, or a TOML file with one, e.g. `"p4610-3.2"`.
    pub preset: String,
    /// How many of them stand side by side as one disk, as if striped at no cost. The scale divides all of them together.
    #[serde(default = "one_device", skip_serializing_if = "is_one_device")]
    pub devices: u32,
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
    /// Share of what the device sells that holds data when a run begins, 0.05 to 1, beyond 1 where it compresses. The file
    /// system takes this much of it; the rest stays as it left the factory.
    #[serde(default = "one")]
    pub fill: f64,
    /// What the data that wear the device in compress to, as a ratio: 2 is 2:1. Matters to devices that compress.
    #[serde(default = "one")]
    pub ratio: f64,
    /// Whether each run's commands are recorded, for `assay replay`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trace: bool,
}

impl ModelSpec {
    /// Checks what can be known without the machine.
    ///
    /// # Errors
    /// One line: no such preset, a scale that leaves too little, a fill that cannot be.
    pub fn check(&self) -> Result<()> {
        ensure!(
            DEVICES.contains(&self.devices),
            "devices is {}; give a number from {} to {}",
            self.devices,
            DEVICES.start(),
            DEVICES.end()
        );
        let (preset, device) = self.device()?;
        ensure!(
            (1.0..=100.0).contains(&self.ratio),
            "ratio is {}; give a number from 1 to 100, such as 2",
            self.ratio
        );
        ensure!(
            self.fill.is_finite(),
            "fill is {}; give the share of the sold capacity to fill, such as 0.8",
            self.fill
        );
        ensure!(
            self.logical != Some(Size(0)),
            "logical is 0; give the size that the host sees, or omit it"
        );
        let logical = self.logical_bytes(&device);
        ensure!(
            logical <= device.user_bytes() || device.compresses(),
            "logical is more than the capacity of {}, which does not compress; omit logical",
            preset.name
        );
        let most = logical as f64 / device.user_bytes() as f64;
        ensure!(
            self.fill <= most,
            "fill is {}: more data than the logical size, which is {most:.2} of the sold capacity; lower it, or raise logical on a device that compresses",
            self.fill
        );
        ensure!(
            self.fill >= 0.05,
            "fill is {}; give a share of the sold capacity from 0.05 to {most:.2}",
            self.fill
        );
        device.nand().map_or(Ok(()), |nand| self.check_flash(nand, &device))
    }

    /// Whether the flash holds what it is filled with, and its drive can map what the host sees.
    fn check_flash(&self, nand: &Nand, device: &Device) -> Result<()> {
        let format = nand.format(self.logical_bytes(device));
        let usable = format.usable_bytes(nand.raw_bytes).context("logical")? as f64;
        let ratio = if nand.compresses() { self.ratio } else { 1.0 };
        let stored = BLOCK_BYTES as f64 / ratio + RECORD_OVERHEAD_BYTES as f64;
        let most_bytes = usable / stored * BLOCK_BYTES as f64;
        let most = most_bytes / device.user_bytes() as f64;
        ensure!(
            self.filled_bytes(device) as f64 <= most_bytes,
            "fill is {} at a ratio of {ratio}: more than the flash holds; give a fill of at most {:.2}, or a larger ratio",
            self.fill,
            (most * 100.0).floor() / 100.0
        );
        Ok(())
    }

    /// The preset, and the device that its scale leaves.
    ///
    /// # Errors
    /// One line: no such preset, or too little is left.
    pub fn device(&self) -> Result<(Preset, Device)> {
        let preset = Preset::find(&self.preset)?;
        let device = Device::new(&preset, self.scale_of_one())?;
        Ok((preset, device))
    }

    /// What one device of the preset is divided by for the modelled disk to be all of them at the scale that is asked for.
    #[must_use]
    pub fn scale_of_one(&self) -> Scale {
        let devices = f64::from(self.devices);
        Scale { capacity: self.capacity_scale / devices, parallel: self.parallel_scale / devices }
    }

    /// Bytes that the host sees.
    #[must_use]
    pub fn logical_bytes(&self, device: &Device) -> u64 {
        self.logical.map_or(device.user_bytes(), |size| size.0)
    }

    /// Bytes from the first on that hold data when a run begins: what the file system takes.
    #[must_use]
    pub fn filled_bytes(&self, device: &Device) -> u64 {
        let bytes = (self.fill * device.user_bytes() as f64) as u64;
        bytes.min(self.logical_bytes(device)) / PAGE_BYTES * PAGE_BYTES
    }
}

/// As many as a server has slots for.
const DEVICES: std::ops::RangeInclusive<u32> = 1..=64;

fn one() -> f64 {
    1.0
}

fn one_device() -> u32 {
    1
}

fn is_one_device(devices: &u32) -> bool {
    *devices == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(keys: &str) -> String {
        let text = format!("preset = \"csd2000-3.2\"\ncapacity_scale = 6400\n{keys}");
        let spec: ModelSpec = toml::from_str(&text).unwrap();
        spec.check().map_or_else(|error| format!("{error:#}"), |()| String::new())
    }

    #[test]
    fn more_than_the_flash_holds_is_refused_before_anything_is_made() {
        assert_eq!(refused("fill = 1.5\nratio = 2\nlogical = \"1G\""), "");
        let line = refused("fill = 1.9\nratio = 1.1\nlogical = \"1G\"");
        let begins =
            "fill is 1.9 at a ratio of 1.1: more than the flash holds; give a fill of at most 1.";
        assert!(line.starts_with(begins), "{line}");
        assert_eq!(refused("fill = 1.0"), "", "what is sold fits, whatever it holds");
    }

    #[test]
    fn sizes_that_no_drive_maps_and_numbers_that_are_none_are_named() {
        let line = refused("logical = \"1000T\"");
        assert!(line.starts_with("logical: the logical size may be"), "{line}");
        assert_eq!(
            refused("logical = \"0\""),
            "logical is 0; give the size that the host sees, or omit it"
        );
        assert!(refused("fill = nan").starts_with("fill is NaN; "));
        assert_eq!(refused("devices = 0"), "devices is 0; give a number from 1 to 64");
        assert!(refused("devices = 65").starts_with("devices is 65; "));
    }

    #[test]
    fn devices_side_by_side_are_one_disk_of_as_many_times_the_size_and_rates() {
        let device = |keys: &str| {
            let text = format!("preset = \"exflash-400\"\ncapacity_scale = 400\n{keys}");
            toml::from_str::<ModelSpec>(&text).unwrap().device().unwrap().1
        };
        let (one, eight) =
            (device("parallel_scale = 4"), device("parallel_scale = 32\ndevices = 8"));
        // The capacity stands first.
        let divided = |device: &Device| -> Vec<f64> {
            device.obtained().iter().skip(1).map(|one| one.factor).collect()
        };
        assert_eq!(divided(&one), divided(&eight), "eight at 1/32 are one at 1/4");
        assert!(divided(&one).len() > 2);
        let times = eight.user_bytes() as f64 / one.user_bytes() as f64;
        assert!((times / 8.0 - 1.0).abs() < 0.01, "{times}");
    }
}
