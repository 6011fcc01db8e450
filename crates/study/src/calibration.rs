//! Calibration of the machine: some seconds of measurement before the first run.
//!
//! Guarantees: figures of one measurement, in the units of their names; figures that could not be
//! measured are absent. Nothing here judges except [`Port::keeps_per_s`], the rule for the fastest
//! device that can be emulated.

use serde::{Deserialize, Serialize};

use super::warning::CpuUse;

/// The machine when the study began, or was last resumed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Calibration {
    /// Number of usable CPUs.
    pub cpus: u32,
    /// CPU time that one busy thread on each CPU got, in percent of all CPUs.
    pub cpu_granted_percent: f64,
    /// Use of the remaining CPU time; other programs' share is what is left after all others.
    pub cpu: CpuUse,
    /// Smallest quota of the enclosing control groups, in CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_cpus: Option<f64>,
    /// Delay of waking a sleeping thread, in µs: median and 99th percentile.
    pub wake_up_us_p50: f64,
    pub wake_up_us_p99: f64,
    /// The port of emulated devices and software drives, if the plan has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<Port>,
    /// Configurations whose emulated device is faster than the port.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub too_fast: Vec<TooFast>,
}

/// Throughput of the port with a device that answers immediately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Port {
    /// Median round trip of single 4 KiB reads, in µs.
    pub round_trip_us: f64,
    /// Concurrent 16 KiB reads per second, with all CPUs.
    pub reads_per_s: f64,
}

/// Share of the port's throughput that is left next to a loaded server: the measurement gives the
/// port every CPU.
const SHARE_MAX: f64 = 0.5;

impl Port {
    /// Highest rate, in operations per second, that an emulated device can have on this machine
    /// next to a server.
    #[must_use]
    pub fn keeps_per_s(&self) -> f64 {
        self.reads_per_s * SHARE_MAX
    }
}

/// An emulated device that is too fast for this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TooFast {
    pub config: String,
    /// Rate of the device in 16 KiB operations per second.
    pub operations_per_s: f64,
    /// The `parallel_scale` that brings the device down to the rate of this machine.
    pub parallel_scale: f64,
}

impl Calibration {
    /// CPU time that a run would lose, to any user, in percent of all CPUs.
    #[must_use]
    pub fn lost_percent(&self) -> f64 {
        (100.0 - self.cpu_granted_percent).clamp(0.0, 100.0)
    }
}
