//! What some seconds of trying showed of the machine, before anything long began.
//!
//! Guarantees: figures of one try, in the units of their names; what could not be tried is absent. Nothing here judges, but for
//! [`Port::keeps`], the one rule of how fast an emulated device may be.

use serde::{Deserialize, Serialize};

use super::warning::CpuUse;

/// The machine as it was when the study began, or was resumed last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Calibration {
    /// CPUs that may be used.
    pub cpus: u32,
    /// What a thread on each of them got while nothing but these was to run, in percent of all CPUs.
    pub cpu_granted_percent: f64,
    /// Who had the rest. Of other programs it is what is left when the rest is known.
    pub cpu: CpuUse,
    /// The least quota of the control groups around us, in CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_cpus: Option<f64>,
    /// How late a thread that slept was woken, half of all times and 99 of 100, in microseconds.
    pub wake_up_us_p50: f64,
    /// See there.
    pub wake_up_us_p99: f64,
    /// The way to an emulated device or a software drive, where the plan has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<Port>,
    /// Configurations whose emulated device does more than the port can carry.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub too_fast: Vec<TooFast>,
}

/// What the port carries when the device behind it answers at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Port {
    /// Of one read of 4 KiB at a time, half of all, in microseconds.
    pub round_trip_us: f64,
    /// Reads of 16 KiB a second, of several at once, with all CPUs at it.
    pub reads_per_s: f64,
}

/// The share of what the port carries that a server under load leaves it: at its limit the port has every CPU to itself.
const SHARE_MAX: f64 = 0.5;

impl Port {
    /// The most operations a second of an emulated device that this machine can keep the time of, while it also runs a server.
    #[must_use]
    pub fn keeps_per_s(&self) -> f64 {
        self.reads_per_s * SHARE_MAX
    }
}

/// An emulated device that is too fast for this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TooFast {
    /// The configuration.
    pub config: String,
    /// Operations of 16 KiB a second that the device does by its numbers.
    pub operations_per_s: f64,
    /// The `parallel_scale` with which it would do what this machine can keep.
    pub parallel_scale: f64,
}

impl Calibration {
    /// What a run would not get of the CPUs, in percent of all of them, whoever takes it.
    #[must_use]
    pub fn lost_percent(&self) -> f64 {
        (100.0 - self.cpu_granted_percent).clamp(0.0, 100.0)
    }
}
