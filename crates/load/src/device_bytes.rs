//! Bytes moved by a load of files, and by the device.

use serde::{Deserialize, Serialize};

/// Bytes moved by a run, warm-up included, and by the device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceBytes {
    /// Bytes read by the run.
    pub read_bytes: u64,
    /// Bytes read from devices for this process; absent if the kernel does not report them.
    pub read_bytes_device: Option<u64>,
    /// Bytes written by the run.
    pub write_bytes: u64,
    /// Bytes written to the device of the files, by any process; absent without a device.
    pub write_bytes_device: Option<u64>,
}

/// Percentage of the bytes from which on the device counts as having moved all.
const WHOLE_PERCENT: f64 = 99.5;

impl DeviceBytes {
    /// Percentage of the read bytes that the device delivered, if the page cache delivered some.
    #[must_use]
    pub fn read_percent(&self) -> Option<f64> {
        percent(self.read_bytes, self.read_bytes_device)
    }

    /// Percentage of the written bytes that reached the device, if not all did.
    #[must_use]
    pub fn write_percent(&self) -> Option<f64> {
        percent(self.write_bytes, self.write_bytes_device)
    }
}

fn percent(moved: u64, by_device: Option<u64>) -> Option<f64> {
    let percent = 100.0 * by_device? as f64 / moved as f64;
    (moved > 0 && percent < WHOLE_PERCENT).then_some(percent)
}
