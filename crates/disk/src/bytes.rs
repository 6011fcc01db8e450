//! Sizes in messages.

use std::fmt;

/// A number of bytes that prints as `64 MiB`, or as `25.0 MiB (26218496 bytes)` if the short form
/// is inexact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bytes(bytes) = *self;
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let power = (bytes.max(1).ilog2() / 10) as usize;
        let Some(unit) = power.checked_sub(1).map(|place| units[place]) else {
            return write!(f, "{bytes} bytes");
        };
        let whole = 1_u64 << (10 * power);
        match bytes.is_multiple_of(whole) {
            true => write!(f, "{} {unit}", bytes / whole),
            false => write!(f, "{:.1} {unit} ({bytes} bytes)", bytes as f64 / whole as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short_and_nothing_of_them_is_lost() {
        let told = [0, 1023, 1024, 64 << 20, 26_218_496, u64::MAX].map(|n| Bytes(n).to_string());
        assert_eq!(
            told,
            [
                "0 bytes",
                "1023 bytes",
                "1 KiB",
                "64 MiB",
                "25.0 MiB (26218496 bytes)",
                "16.0 EiB (18446744073709551615 bytes)"
            ]
        );
    }
}
