//! Bounds of a preset's numbers, by the unit that a name ends with: what is beyond them no device
//! is, and no clock could keep.

use anyhow::{Result, ensure};

/// The longest time that anything of a device takes: an hour.
const TIME_US_MAX: f64 = 3.6e9;

/// The least rate: one a second.
const PER_S_MIN: f64 = 1.0;

/// The largest number of any kind, and the smallest that is not zero: so that a message can tell
/// them.
const NUMBER_MAX: f64 = 1e18;
const NUMBER_MIN: f64 = 1e-9;

/// Checks the number of this name. What is none, or below zero, is left to those who know what it
/// is for.
///
/// # Errors
/// One line: the name, the number and the bound.
pub fn check_number(name: &str, number: f64) -> Result<()> {
    if !number.is_finite() || number == 0.0 {
        return Ok(());
    }
    let shown = plain(number);
    let most = time_max(name);
    ensure!(
        most.is_none_or(|most| number <= most),
        "{name} is {shown}; nothing takes more than an hour, {}",
        plain(most.unwrap_or_default())
    );
    ensure!(
        !name.ends_with("_per_s") || !(0.0..PER_S_MIN).contains(&number),
        "{name} is {shown}; a rate is at least {PER_S_MIN} a second"
    );
    let size = number.abs();
    ensure!(
        (NUMBER_MIN..=NUMBER_MAX).contains(&size),
        "{name} is {shown}; a number is 0, or from {NUMBER_MIN:e} to {NUMBER_MAX:e}"
    );
    Ok(())
}

fn time_max(name: &str) -> Option<f64> {
    match name {
        name if name.ends_with("_us") => Some(TIME_US_MAX),
        name if name.ends_with("_ms") => Some(TIME_US_MAX / 1e3),
        _ => None,
    }
}

/// A number in a message: with an exponent where it would be spelt with many digits.
#[must_use]
pub fn plain(number: f64) -> String {
    let size = number.abs();
    match size == 0.0 || !size.is_finite() || (1e-6..1e15).contains(&size) {
        true => number.to_string(),
        false => format!("{number:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_device_is_is_refused_with_the_number_and_the_bound() {
        let refused = |name: &str, number| check_number(name, number).unwrap_err().to_string();
        assert_eq!(
            refused("flash.read_us", 1e300),
            "flash.read_us is 1e300; nothing takes more than an hour, 3600000000"
        );
        assert!(refused("fault.stall_ms", 3_600_001.0).contains("an hour, 3600000"));
        let line = refused("volume.operations_per_s", 0.5);
        assert_eq!(line, "volume.operations_per_s is 0.5; a rate is at least 1 a second");
        assert!(refused("volume.bytes_per_s", 1e300).ends_with("from 1e-9 to 1e18"));
        assert!(
            refused("capacity.raw_per_user", 1e-300)
                .starts_with("capacity.raw_per_user is 1e-300;")
        );
        for (name, number) in
            [("a_us", 3.6e9), ("a_us", 0.0), ("a_per_s", 1.0), ("a_bytes", 3.2e12)]
        {
            assert!(check_number(name, number).is_ok(), "{name} {number}");
        }
    }
}
