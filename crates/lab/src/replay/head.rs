//! What a trace says of itself, in its text: which device was asked, how it was then, and when.

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::drive::ModelJob;

/// The text of a trace, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceHead {
    /// The device: its name, preset and scale.
    pub model: ModelJob,
    /// Bytes that the host saw.
    pub logical_bytes: u64,
    /// Bytes that held data when recording began; of a device without flash nobody knows or needs to.
    pub used_bytes: u64,
    /// Bytes of data for each byte that they took, of a device that compresses.
    pub ratio: Option<f64>,
    /// The round trip of the port alone, which is a part of what was shown, in microseconds.
    pub port_us: f64,
    /// When recording began, on the clock of the trace, in seconds.
    pub began_s: f64,
}

impl TraceHead {
    /// Reads it.
    ///
    /// # Errors
    /// One line: this is not what we write.
    pub fn parse(text: &str) -> Result<TraceHead> {
        serde_json::from_str(text).context("another program, or another version, made this trace")
    }
}

/// The kernel's monotonic time (`clock_gettime(2)`), in seconds.
#[must_use]
pub fn monotonic_s() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{Preset, Scale};

    #[test]
    fn a_head_comes_back() {
        let preset = Preset::find("gp3").unwrap();
        let head = TraceHead {
            model: ModelJob::new(&preset, Scale { capacity: 100.0, parallel: 2.0 }),
            logical_bytes: 1 << 30,
            used_bytes: 1 << 20,
            ratio: Some(1.8),
            port_us: 31.5,
            began_s: 0.25,
        };
        assert_eq!(TraceHead::parse(&serde_json::to_string(&head).unwrap()).unwrap(), head);
        let error = TraceHead::parse("{}").unwrap_err();
        assert!(error.to_string().starts_with("another program"), "{error}");
    }
}
