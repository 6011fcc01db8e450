//! Values as people write them in plans: `"4G"`, `true` for `ON`.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Block size of disks in bytes.
const BLOCK_BYTES: u64 = 4096;

/// A number of bytes, written as a number or with a binary suffix: `4G` is 4 × 2³⁰, as in MySQL and
/// fio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl Size {
    /// Reads `"512"`, `"4G"` and `"1.5G"`, with the suffixes K, M, G, T, P and E in either case,
    /// each 1024 times the one before (MySQL reference manual, "Using Options to Set Program
    /// Variables"). A following `B` or `iB` is allowed. Fractions of an M or more are rounded down
    /// to whole blocks of 4 KiB. An error is a sentence with the expected form.
    pub fn parse(text: &str) -> Result<Size, String> {
        let bad = || {
            format!("`{text}` is not a size such as 512M, 1.5G or 4G (of 1024, 1024², 1024³ bytes)")
        };
        let upper = text.trim().to_ascii_uppercase();
        let bare = upper.trim_end_matches('B').trim_end_matches('I');
        let digits = bare.trim_end_matches(char::is_alphabetic);
        let shift = match &bare[digits.len()..] {
            "" => 0,
            "K" => 10,
            "M" => 20,
            "G" => 30,
            "T" => 40,
            "P" => 50,
            "E" => 60,
            _ => return Err(bad()),
        };
        let (whole, part) = digits.trim().split_once('.').unwrap_or((digits.trim(), ""));
        let count: u64 = whole.parse().map_err(|_| bad())?;
        let part = part_bytes(part, shift).filter(|_| !digits.contains('.') || !part.is_empty());
        count
            .checked_mul(1 << shift)
            .zip(part)
            .and_then(|(all, part)| all.checked_add(part))
            .map(Size)
            .ok_or_else(bad)
    }
}

/// Bytes of a decimal fraction of 2^`shift` bytes; `None` if it is no fraction or no whole number
/// of bytes.
fn part_bytes(digits: &str, shift: u32) -> Option<u64> {
    if digits.is_empty() {
        return Some(0);
    }
    let is_number = digits.len() <= 9 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u128 = digits.parse().ok().filter(|_| is_number)?;
    let (all, tens) = (number << shift, 10_u128.pow(digits.len() as u32));
    let bytes = u64::try_from(all / tens).ok()?;
    match shift {
        20.. => Some(bytes / BLOCK_BYTES * BLOCK_BYTES),
        _ => all.is_multiple_of(tens).then_some(bytes),
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(60, "E"), (50, "P"), (40, "T"), (30, "G"), (20, "M"), (10, "K")];
        let whole = |shift: u32| self.0 > 0 && self.0.trailing_zeros() >= shift;
        match units.into_iter().find(|&(shift, _)| whole(shift)) {
            Some((shift, unit)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}", self.0),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        Size::parse(&SettingValue::deserialize(deserializer)?.0).map_err(D::Error::custom)
    }
}

/// The value of a server variable, as it is written on the server's command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SettingValue(pub String);

impl<'de> Deserialize<'de> for SettingValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SettingValue, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl Visitor<'_> for ValueVisitor {
    type Value = SettingValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true or false")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<SettingValue, E> {
        Ok(SettingValue(text.to_owned()))
    }

    fn visit_bool<E: Error>(self, is_on: bool) -> Result<SettingValue, E> {
        Ok(SettingValue(if is_on { "ON" } else { "OFF" }.to_owned()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<SettingValue, E> {
        Ok(SettingValue(number.to_string()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<SettingValue, E> {
        Ok(SettingValue(number.to_string()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<SettingValue, E> {
        Ok(SettingValue(number.to_string()))
    }
}
