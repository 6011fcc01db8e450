//! A device's model at the bottom of a rig, resolved: its preset is read, and the device that the
//! scale leaves is known.

use anyhow::{Context, Result, ensure};
use assay_base::Size;
use assay_drive::{BLOCK_BYTES, RECORD_OVERHEAD_BYTES};
use assay_models::PAGE_BYTES;
use assay_presets::{Device, Nand, Preset, Scale};

use crate::document::ModelSpec;

/// Numbers of devices in one disk: a server has no more slots.
const DEVICES: std::ops::RangeInclusive<u32> = 1..=64;

/// A device's model.
#[derive(Debug, Clone)]
pub struct PlannedModel {
    /// The preset's name or file, as the plan has it.
    pub named: String,
    pub preset: Preset,
    /// The device at its scale, all devices together.
    pub device: Device,
    /// The scale of one device of the preset at which all of them are at the scale that the plan
    /// asks for.
    pub scale_of_one: Scale,
    pub devices: u32,
    pub capacity_scale: f64,
    pub parallel_scale: f64,
    /// Size that the plan gives the disk; `None`: as it is sold.
    pub logical: Option<Size>,
    /// Share of the sold capacity that holds data when a run begins.
    pub fill: f64,
    /// Ratio that the data which wear the device in compress to.
    pub ratio: f64,
    /// Whether each run's commands are recorded.
    pub trace: bool,
    /// Threads that answer the kernel.
    pub threads: u16,
}

impl PlannedModel {
    /// Resolves the model of a plan.
    ///
    /// # Errors
    /// One line: no such preset, a scale that leaves too little, a fill that cannot be.
    pub fn of(spec: &ModelSpec, threads: u16) -> Result<PlannedModel> {
        ensure!(
            DEVICES.contains(&spec.devices),
            "devices is {}; give a number from {} to {}",
            spec.devices,
            DEVICES.start(),
            DEVICES.end()
        );
        let devices = f64::from(spec.devices);
        let scale_of_one = Scale {
            capacity: spec.capacity_scale / devices,
            parallel: spec.parallel_scale / devices,
        };
        let preset = Preset::find(&spec.preset)?;
        let model = PlannedModel {
            named: spec.preset.clone(),
            device: Device::new(&preset, scale_of_one)?,
            preset,
            scale_of_one,
            devices: spec.devices,
            capacity_scale: spec.capacity_scale,
            parallel_scale: spec.parallel_scale,
            logical: spec.logical,
            fill: spec.fill,
            ratio: spec.ratio,
            trace: spec.trace,
            threads,
        };
        model.check()?;
        Ok(model)
    }

    /// Bytes that the host sees.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        self.logical.map_or(self.device.user_bytes(), |size| size.0)
    }

    /// Bytes from the first on that hold data when a run begins: the size of the file system.
    #[must_use]
    pub fn filled_bytes(&self) -> u64 {
        let bytes = (self.fill * self.device.user_bytes() as f64) as u64;
        bytes.min(self.logical_bytes()) / PAGE_BYTES * PAGE_BYTES
    }

    fn check(&self) -> Result<()> {
        let (preset, device) = (&self.preset, &self.device);
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
        let logical = self.logical_bytes();
        ensure!(
            logical <= device.user_bytes() || device.compresses(),
            "logical is more than the capacity of {}, which does not compress; omit logical",
            preset.name
        );
        let most = logical as f64 / device.user_bytes() as f64;
        ensure!(
            self.fill <= most,
            "fill is {}: more data than the logical size, which is {most:.2} of the sold \
            capacity; lower it, or raise logical on a device that compresses",
            self.fill
        );
        ensure!(
            self.fill >= 0.05,
            "fill is {}; give a share of the sold capacity from 0.05 to {most:.2}",
            self.fill
        );
        device.nand().map_or(Ok(()), |nand| self.check_flash(nand))
    }

    /// Whether the flash holds the data that it is filled with, and its drive can map what the host
    /// sees.
    fn check_flash(&self, nand: &Nand) -> Result<()> {
        let format = nand.format(self.logical_bytes());
        let usable = format.usable_bytes(nand.raw_bytes).context("logical")? as f64;
        let ratio = if nand.compresses() { self.ratio } else { 1.0 };
        let stored = BLOCK_BYTES as f64 / ratio + RECORD_OVERHEAD_BYTES as f64;
        let most_bytes = usable / stored * BLOCK_BYTES as f64;
        let most = most_bytes / self.device.user_bytes() as f64;
        ensure!(
            self.filled_bytes() as f64 <= most_bytes,
            "fill is {} at a ratio of {ratio}: more than the flash holds; give a fill of at most \
            {:.2}, or a larger ratio",
            self.fill,
            (most * 100.0).floor() / 100.0
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(keys: &str) -> String {
        let text = format!("preset = \"csd2000-3.2\"\ncapacity_scale = 6400\n{keys}");
        let spec: ModelSpec = toml::from_str(&text).unwrap();
        PlannedModel::of(&spec, 1).map_or_else(|error| format!("{error:#}"), |_| String::new())
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
            PlannedModel::of(&toml::from_str(&text).unwrap(), 1).unwrap().device
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
