//! Bytes that a load of files moved, and those of them that the device moved.

use serde::{Deserialize, Serialize};

/// Bytes that a run moved, warm-up included, and those that the device did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceBytes {
    /// Read by the run.
    pub read_bytes: u64,
    /// Read from devices for this process; absent where the kernel does not tell.
    pub read_bytes_device: Option<u64>,
    /// Written by the run.
    pub write_bytes: u64,
    /// Written to the device of the files, by whomever; absent where there is none.
    pub write_bytes_device: Option<u64>,
}

/// A smaller share of the bytes than this, in per cent, came from the device alone.
const WHOLE_PERCENT: f64 = 99.5;

impl DeviceBytes {
    /// Share of the bytes read, in per cent, that the device delivered, where the page cache delivered some.
    #[must_use]
    pub fn read_percent(&self) -> Option<f64> {
        percent(self.read_bytes, self.read_bytes_device)
    }

    /// Share of the bytes written, in per cent, that reached the device, where not all did.
    #[must_use]
    pub fn write_percent(&self) -> Option<f64> {
        percent(self.write_bytes, self.write_bytes_device)
    }
}

fn percent(moved: u64, by_device: Option<u64>) -> Option<f64> {
    let percent = 100.0 * by_device? as f64 / moved as f64;
    (moved > 0 && percent < WHOLE_PERCENT).then_some(percent)
}
