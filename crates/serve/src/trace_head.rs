//! The description of a trace, in its text: the device, its state, and the time.

use anyhow::{Context, Result, ensure};
use assay_models::Time;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::ModelJob;
use assay_presets::{check_number, plain};

/// The text of a trace, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceHead {
    /// Name, preset and scale of the device.
    pub model: ModelJob,
    /// Size for the host.
    pub logical_bytes: u64,
    /// Bytes with data when recording began; unknown for a device without flash.
    pub used_bytes: u64,
    /// Bytes of data per stored byte, for a device that compresses.
    pub ratio: Option<f64>,
    /// Round trip of the port alone, a part of the observed latency.
    pub port_us: f64,
    /// Start of the recording on the trace's clock.
    pub began_s: f64,
    /// The kernel's monotonic time (`clock_gettime(2)`) at the zero of the trace's clock.
    pub clock_zero_s: f64,
}

impl TraceHead {
    /// Parses the text of a trace.
    pub fn parse(text: &str) -> Result<TraceHead> {
        let head: TraceHead = serde_json::from_str(text)
            .context("this trace was made by another program or version")?;
        head.check().context("the trace's head")?;
        Ok(head)
    }

    /// A head is text, which anybody may have changed.
    fn check(&self) -> Result<()> {
        self.model.scale.check()?;
        for (name, number) in [
            ("port_us", self.port_us),
            ("began_s", self.began_s),
            ("clock_zero_s", self.clock_zero_s),
            ("ratio", self.ratio.unwrap_or(1.0)),
        ] {
            check_number(name, number)?;
        }
        let ratio = self.ratio.unwrap_or(1.0);
        ensure!(ratio > 0.0, "ratio is {}; it must be above 0", plain(ratio));
        ensure!(self.port_us >= 0.0, "port_us is {}; give 0 or more", plain(self.port_us));
        Ok(())
    }

    /// The time on the trace's clock when the monotonic clock shows `monotonic_s`.
    #[must_use]
    pub fn on_clock(&self, monotonic_s: f64) -> Time {
        Time::from_s(monotonic_s - self.clock_zero_s)
    }
}

/// The kernel's monotonic time, in seconds.
#[must_use]
pub fn monotonic_s() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_presets::{Preset, Scale};

    #[test]
    fn a_head_comes_back_and_knows_its_clock() {
        let preset = Preset::find("gp3").unwrap();
        let head = TraceHead {
            model: ModelJob::new(&preset, Scale { capacity: 100.0, parallel: 2.0 }),
            logical_bytes: 1 << 30,
            used_bytes: 1 << 20,
            ratio: Some(1.8),
            port_us: 31.5,
            began_s: 0.25,
            clock_zero_s: 1000.0,
        };
        assert_eq!(TraceHead::parse(&serde_json::to_string(&head).unwrap()).unwrap(), head);
        assert_eq!(head.on_clock(1000.5), Time::from_s(0.5));
        let refused = |head: TraceHead| {
            let text = serde_json::to_string(&head).unwrap();
            format!("{:#}", TraceHead::parse(&text).unwrap_err())
        };
        let line = refused(TraceHead { port_us: 1e300, ..head.clone() });
        assert!(line.contains("port_us is 1e300; nothing takes more than an hour"), "{line}");
        let model = ModelJob::new(&preset, Scale { capacity: 1e-300, parallel: 1.0 });
        let line = refused(TraceHead { model, ..head });
        assert!(line.contains("the capacity scale is 1e-300; give a number from 0.001"), "{line}");
        let error = TraceHead::parse("{}").unwrap_err();
        assert!(error.to_string().starts_with("this trace was made by another program"), "{error}");
    }
}
