//! A device made smaller: one divisor for what it stores, one for what it does at once. Latencies
//! stay.
//!
//! Dies and channels come whole, so what a scale asks for is not always what can be had; what was
//! had is told.

use std::cmp::Ordering;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::bounds::plain;

/// By how much a device is divided.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// Divisor of the capacity.
    pub capacity: f64,
    /// Divisor of parallelism: channels, dies, spindles, operations and bytes a second, buffers.
    pub parallel: f64,
}

impl Default for Scale {
    fn default() -> Scale {
        Scale { capacity: 1.0, parallel: 1.0 }
    }
}

/// The least and the greatest divisor: from a thousand times the device to so little of it that no
/// device is left.
const DIVISOR_MIN: f64 = 0.001;
const DIVISOR_MAX: f64 = 1e6;

fn is_divisor(number: f64) -> bool {
    (DIVISOR_MIN..=DIVISOR_MAX).contains(&number)
}

/// A resource as a scale leaves it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Obtained {
    /// Its name, unit last.
    pub resource: String,
    /// Amount of the device.
    pub real: f64,
    /// Amount of the model.
    pub modelled: f64,
    /// The divisor that this is.
    pub factor: f64,
}

impl Scale {
    /// Reads a divisor as it is typed.
    ///
    /// # Errors
    /// A sentence: it is no number, or out of bounds.
    pub fn parse_one(text: &str) -> Result<f64, String> {
        let number: Option<f64> = text.parse().ok().filter(|number| is_divisor(*number));
        number.ok_or_else(|| {
            format!(
                "`{text}` is not a divisor; give a number from {DIVISOR_MIN} to {DIVISOR_MAX}, \
                such as 100"
            )
        })
    }

    /// Checks it.
    ///
    /// # Errors
    /// One line: which divisor is out of bounds.
    pub fn check(self) -> Result<()> {
        for (name, divisor) in [("capacity", self.capacity), ("parallel", self.parallel)] {
            ensure!(
                is_divisor(divisor),
                "the {name} scale is {}; give a number from {DIVISOR_MIN} to {DIVISOR_MAX}, such \
                as 100",
                plain(divisor)
            );
        }
        Ok(())
    }
}

impl Obtained {
    /// Scales one resource.
    #[must_use]
    pub fn new(resource: &str, real: f64, modelled: f64) -> Obtained {
        Obtained { resource: resource.into(), real, modelled, factor: real / modelled }
    }
}

/// Channels and dies of each, whole and at least one, so that all dies together come nearest to `1
/// / divisor` of what there is; of several such pairs the one whose channels do.
#[must_use]
pub fn whole_dies(channels: u32, dies_per_channel: u32, divisor: f64) -> (u32, u32) {
    let wanted_channels = f64::from(channels) / divisor;
    let wanted = wanted_channels * f64::from(dies_per_channel);
    let most = channels.max(wanted_channels.ceil().min(65_536.0) as u32);
    let off = |count: u32, wanted: f64| (f64::from(count) / wanted).ln().abs();
    let pairs =
        (1..=most).flat_map(|channels| (1..=dies_per_channel).map(move |dies| (channels, dies)));
    let distance = |(channels, dies): &(u32, u32)| {
        // Rounded, so that what is equally far is found to be so.
        let all = (off(channels * dies, wanted) * 1e9).round();
        (all, off(*channels, wanted_channels))
    };
    pairs
        .min_by(|one, other| distance(one).partial_cmp(&distance(other)).unwrap_or(Ordering::Equal))
        .unwrap_or((1, 1))
}

/// Reads a ratio as it is typed.
///
/// # Errors
/// A sentence: it is none.
pub fn parse_ratio(text: &str) -> Result<f64, String> {
    let ratio: Option<f64> = text.parse().ok().filter(|ratio| (1.0..=100.0).contains(ratio));
    ratio.ok_or_else(|| format!("`{text}` is not a ratio; give a number from 1 to 100, such as 2"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dies_come_whole_and_as_near_as_they_can() {
        for (divisor, dies) in [
            (1.0, (12, 6)),
            (2.0, (6, 6)),
            (12.0, (1, 6)),
            (36.0, (1, 2)),
            (72.0, (1, 1)),
            (1000.0, (1, 1)),
            (10.0, (7, 1)),
            (0.25, (48, 6)),
        ] {
            let got = whole_dies(12, 6, divisor);
            assert_eq!(got.0 * got.1, dies.0 * dies.1, "{divisor}: {got:?}");
        }
    }

    #[test]
    fn divisors_are_above_zero() {
        assert_eq!(Scale::parse_one("0.25"), Ok(0.25));
        assert_eq!(Scale::parse_one("1000000"), Ok(1e6));
        for text in ["0", "-1", "inf", "NaN", "ten", "0.0009", "1000001", "1e-300"] {
            assert!(Scale::parse_one(text).unwrap_err().contains("is not a divisor"), "{text}");
        }
        let error = Scale { capacity: 1.0, parallel: 1e-300 }.check().unwrap_err().to_string();
        let wanted =
            "the parallel scale is 1e-300; give a number from 0.001 to 1000000, such as 100";
        assert_eq!(error, wanted);
        assert!(Scale::default().check().is_ok());
    }
}
