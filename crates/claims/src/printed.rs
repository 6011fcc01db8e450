//! A printed number: its digits give the rounding.

use serde::{Deserialize, Deserializer, Serialize};

use super::interval::RoundingInterval;
use super::text;

/// A number in the digits of the paper.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(into = "String")]
pub struct PrintedNumber {
    digits: String,
    value: f64,
    /// Half a unit of the last digit.
    within: f64,
}

impl PrintedNumber {
    /// Parses digits, e.g. `"79.8"`, `"-19"`, `"1e-20"`.
    pub fn parse(text: &str) -> Result<PrintedNumber, String> {
        let no_number =
            || format!("`{text}` is not a printed number; give digits such as \"79.8\"");
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b".-eE".contains(&byte));
        let value: f64 = text.parse().map_err(|_| no_number())?;
        if !is_plain || !value.is_finite() {
            return Err(no_number());
        }
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().map_err(|_| no_number())?;
        let decimals = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let decimals = i32::try_from(decimals).map_err(|_| no_number())?;
        let within = 0.5 * 10f64.powi(exponent.saturating_sub(decimals));
        Ok(PrintedNumber { digits: text.into(), value, within })
    }

    /// The values that round to the number: ± `within`, by default half a unit of the last digit.
    #[must_use]
    pub fn interval(&self, within: Option<f64>) -> RoundingInterval {
        RoundingInterval::around(self.value, within.unwrap_or(self.within))
    }

    /// The form that reports print.
    #[must_use]
    pub fn shown(&self) -> String {
        text::digits(&self.digits)
    }
}

impl From<PrintedNumber> for String {
    fn from(printed: PrintedNumber) -> String {
        printed.digits
    }
}

impl<'de> Deserialize<'de> for PrintedNumber {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<PrintedNumber, D::Error> {
        PrintedNumber::parse(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_tell_the_rounding() {
        let bounds = |text: &str| {
            let interval = PrintedNumber::parse(text).unwrap().interval(None);
            [interval.low, interval.value, interval.high].map(|bound| (bound * 1e4).round() / 1e4)
        };
        assert_eq!(bounds("27"), [26.5, 27.0, 27.5]);
        assert_eq!(bounds("79.8"), [79.75, 79.8, 79.85]);
        assert_eq!(bounds("44.26"), [44.255, 44.26, 44.265]);
        assert_eq!(bounds("-19"), [-19.5, -19.0, -18.5]);
        assert_eq!(bounds("2e3"), [1500.0, 2000.0, 2500.0]);
        assert!(PrintedNumber::parse("27").unwrap().interval(Some(0.0)).is_exact());
        assert_eq!(PrintedNumber::parse("1000000").unwrap().shown(), "1 000 000");
    }

    #[test]
    fn what_is_no_number_is_said() {
        for text in ["", "27x", "15,024", "nan", "inf", "1e", "+1", "e5", "1e999"] {
            assert!(PrintedNumber::parse(text).is_err(), "{text}");
        }
    }
}
