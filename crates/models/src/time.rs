//! Points and spans of a model's time, and rates.

use std::ops::{Add, AddAssign, Mul, Rem, Sub};
use std::time::Duration;

/// A point of time on a model's clock, or a span of it, in picoseconds: at three million operations
/// a second, nanoseconds would round a rate by a thousandth. Saturates at 213 days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

const PICOSECONDS_PER_S: f64 = 1e12;

impl Time {
    /// The clock's beginning; an empty span.
    pub const ZERO: Time = Time(0);

    /// The clock's end.
    pub const MAX: Time = Time(u64::MAX);

    /// From seconds; zero for a negative value or NaN.
    #[must_use]
    pub fn from_s(seconds: f64) -> Time {
        Time((seconds * PICOSECONDS_PER_S).round() as u64)
    }

    /// From microseconds; zero for a negative value or NaN.
    #[must_use]
    pub fn from_us(microseconds: f64) -> Time {
        Time::from_s(microseconds * 1e-6)
    }

    /// From nanoseconds.
    #[must_use]
    pub const fn from_ns(nanoseconds: u64) -> Time {
        Time(nanoseconds.saturating_mul(1000))
    }

    /// In seconds.
    #[must_use]
    pub fn as_s(self) -> f64 {
        self.0 as f64 / PICOSECONDS_PER_S
    }

    /// In microseconds.
    #[must_use]
    pub fn as_us(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// In nanoseconds, rounded up, so that waiting for it never ends early.
    #[must_use]
    pub fn as_ns(self) -> u64 {
        self.0.div_ceil(1000)
    }

    /// `times` / `parts` of it, rounded down; `parts` must not be zero.
    #[must_use]
    pub fn scaled(self, times: u64, parts: u64) -> Time {
        // Dividing 128 bits takes ten times as long, and is rarely needed.
        if let Some(product) = self.0.checked_mul(times) {
            return Time(product / parts);
        }
        let scaled = u128::from(self.0) * u128::from(times) / u128::from(parts);
        Time(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

impl From<Duration> for Time {
    fn from(span: Duration) -> Time {
        Time(u64::try_from(span.as_nanos() * 1000).unwrap_or(u64::MAX))
    }
}

impl Add for Time {
    type Output = Time;

    fn add(self, span: Time) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, span: Time) {
        *self = *self + span;
    }
}

/// The span since an earlier point; zero if it is later.
impl Sub for Time {
    type Output = Time;

    fn sub(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
}

impl Mul<u64> for Time {
    type Output = Time;

    fn mul(self, times: u64) -> Time {
        Time(self.0.saturating_mul(times))
    }
}

/// The remainder of division by `period`, which must not be zero.
impl Rem for Time {
    type Output = Time;

    fn rem(self, period: Time) -> Time {
        Time(self.0 % period.0)
    }
}

/// Bytes or operations a second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Rate(pub f64);

impl Rate {
    /// Time of `amount` at this rate.
    #[must_use]
    pub fn time_for(self, amount: u64) -> Time {
        Time::from_s(amount as f64 / self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_agree_and_ends_hold() {
        assert_eq!(Time::from_us(1.5), Time::from_ns(1500));
        assert_eq!(Time::from(Duration::from_micros(2)).as_us(), 2.0);
        assert_eq!(Time::from_s(1e-12).as_ns(), 1);
        assert_eq!(Time::from_s(-1.0), Time::ZERO);
        assert_eq!(Time::ZERO - Time::from_us(1.0), Time::ZERO);
        assert_eq!(Time::MAX + Time::from_us(1.0), Time::MAX);
        assert_eq!(Time::from_us(7.0) % Time::from_us(2.0), Time::from_us(1.0));
        assert_eq!(Time::from_ns(100).scaled(1050, 1000), Time::from_ns(105));
        assert_eq!(Time::MAX.scaled(3, 2), Time::MAX);
        assert_eq!(Rate(4096e6).time_for(4096), Time::from_us(1.0));
    }
}
