//! Flaws that a preset's `[fault]` puts into a device, whatever its kind: it stalls, is slower,
//! tears writes. To show that what measures would notice; a command that a stall held up longest is
//! counted as having waited for `fault`.

use std::fmt;

use anyhow::{Result, bail, ensure};
use assay_models::synthetic::{Slower, Stalling};
use assay_models::{Time, Timing};

use super::document::{self, DeviceKind, PresetDocument};

/// Slowness comes in whole parts of so many.
const PARTS: f64 = 1000.0;

/// Slower than this is no longer that device.
const SLOWER_MAX: f64 = 100.0;

/// Injected faults of a device.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct InjectedFault {
    stall: Option<Stall>,
    slower_per_mille: u32,
    /// Whether its drive tears writes.
    pub tears: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Stall {
    period: Time,
    length: Time,
}

impl InjectedFault {
    /// The faults of a checked document.
    #[must_use]
    pub fn new(said: &document::FaultSection) -> InjectedFault {
        let stall = said.stall_ms.as_ref().zip(said.every_s.as_ref());
        let slower = said.slower.as_ref().map_or(1.0, |figure| figure.value);
        InjectedFault {
            stall: stall.map(|(length, period)| Stall {
                period: Time::from_s(period.value),
                length: Time::from_us(length.value * 1e3),
            }),
            slower_per_mille: ((slower - 1.0) * PARTS).round() as u32,
            tears: said.tears.as_ref().is_some_and(|figure| figure.value),
        }
    }

    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == InjectedFault::default()
    }

    /// One part of a device with it. Each part is slower by itself, so that together they are: what
    /// lies between them, such as the drive's log, takes no time.
    #[must_use]
    pub fn part(&self, timing: Box<dyn Timing>) -> Box<dyn Timing> {
        match self.slower_per_mille {
            0 => timing,
            per_mille => Box::new(Slower::new(timing, per_mille)),
        }
    }

    /// The uppermost part of a device with it.
    #[must_use]
    pub fn top(&self, timing: Box<dyn Timing>) -> Box<dyn Timing> {
        match self.stall {
            None => timing,
            Some(Stall { period, length }) => Box::new(Stalling::new(timing, period, length)),
        }
    }

    /// Factor by which commands take longer on average; `None` if none takes longer. One command at
    /// a time meets a stall once in a period, so the factor equals the loss of rate.
    #[must_use]
    pub fn times_as_long(&self) -> Option<f64> {
        if *self == (InjectedFault { tears: self.tears, ..InjectedFault::default() }) {
            return None;
        }
        let stalled =
            self.stall.map_or(0.0, |Stall { period, length }| length.as_s() / period.as_s());
        Some((1.0 + f64::from(self.slower_per_mille) / PARTS) / (1.0 - stalled))
    }
}

impl fmt::Display for InjectedFault {
    /// The faults in words; `nothing` without any.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stalls = self.stall.map(|Stall { period, length }| {
            format!("stalls for {} ms every {} s", length.as_us() / 1e3, period.as_s())
        });
        let times = 1.0 + f64::from(self.slower_per_mille) / PARTS;
        let is_slower = (self.slower_per_mille > 0).then(|| format!("takes {times} times as long"));
        let tears = self.tears.then(|| "tears writes that were not flushed".to_owned());
        let said: Vec<_> = [stalls, is_slower, tears].into_iter().flatten().collect();
        if said.is_empty() { f.write_str("nothing") } else { f.write_str(&said.join(", ")) }
    }
}

/// Checks what is said of flaws.
///
/// # Errors
/// One line: which number cannot be, or what is missing.
pub fn check(document: &PresetDocument) -> Result<()> {
    let document::FaultSection { stall_ms, every_s, slower, tears } = &document.fault;
    match (stall_ms, every_s) {
        (Some(length), Some(period)) => stall(length.value, period.value)?,
        (Some(_), None) => bail!("a stall needs the key fault.every_s"),
        (None, Some(_)) => bail!("fault.every_s needs the key fault.stall_ms"),
        (None, None) => {}
    }
    if let Some(slower) = slower {
        let times = slower.value;
        ensure!(
            (1.0..=SLOWER_MAX).contains(&times),
            "fault.slower is {times}; give what latencies are multiplied by, from 1 to \
            {SLOWER_MAX}, such as 1.05"
        );
    }
    let has_drive = document.kind == DeviceKind::Nand;
    ensure!(
        has_drive || !tears.as_ref().is_some_and(|figure| figure.value),
        "fault.tears is true; only a model of kind nand can tear writes, and this is of kind {}",
        document.kind.name()
    );
    Ok(())
}

fn stall(length_ms: f64, period_s: f64) -> Result<()> {
    for (name, value) in [("stall_ms", length_ms), ("every_s", period_s)] {
        let is_some_time = value.is_finite() && value > 0.0;
        ensure!(is_some_time, "fault.{name} is {value}; it must be above 0");
    }
    ensure!(
        length_ms < period_s * 1e3,
        "fault.stall_ms is {length_ms}; it must be less than the {period_s} s of fault.every_s"
    );
    Ok(())
}
