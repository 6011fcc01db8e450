//! A figure with the bounds that it is known within, and what becomes of them in arithmetic.

use serde::Serialize;

use crate::statistics::{Spread, mean, paired};

/// How often an interval covers the truth.
pub const LEVEL: f64 = 0.95;

/// No rate and no ratio of a machine is less, or more; within them nothing that costs are made of
/// overflows.
const SOUND: (f64, f64) = (1e-9, 1e18);

/// A figure between the bounds of its 95 % interval, in any unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Lower bound.
    pub low: f64,
    /// The figure.
    pub mid: f64,
    /// Upper bound.
    pub high: f64,
}

impl Interval {
    /// A figure of which no bounds are known but itself.
    pub fn exactly(mid: f64) -> Interval {
        Interval { low: mid, mid, high: mid }
    }

    /// The mean of repeats, which are above zero, with Student's interval of their logarithms; of
    /// one repeat no bounds are known. Nothing of none.
    pub fn of_repeats(values: &[f64]) -> Option<Interval> {
        if values.is_empty() || values.iter().any(|value| *value <= 0.0) {
            return None;
        }
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let mid = mean(values);
        Some(paired(&logs).map_or(Interval::exactly(mid), |log| Interval::about(mid, &log)))
    }

    /// A figure and the spread of its logarithm about it; where that has its mean does not matter.
    pub fn about(mid: f64, spread: &Spread) -> Interval {
        let (low, high) = Spread { mean: 0.0, ..*spread }.interval(LEVEL);
        Interval { low: mid * low.exp(), mid, high: mid * high.exp() }
    }

    /// Times a factor that is not below zero.
    pub fn times(self, factor: f64) -> Interval {
        Interval { low: self.low * factor, mid: self.mid * factor, high: self.high * factor }
    }

    /// `amount` over it, which is above zero: the bounds change places.
    pub fn dividing(self, amount: f64) -> Interval {
        Interval { low: amount / self.high, mid: amount / self.mid, high: amount / self.low }
    }

    /// Whether it is what a measurement can be: above zero, and far from where numbers end.
    pub fn is_sound(&self) -> bool {
        self.low >= SOUND.0 && self.high <= SOUND.1
    }

    /// Bound by bound through a function that ascends.
    pub fn map(self, ascending: impl Fn(f64) -> f64) -> Interval {
        Interval { low: ascending(self.low), mid: ascending(self.mid), high: ascending(self.high) }
    }

    /// Bound by bound the larger of both.
    pub fn max(self, other: Interval) -> Interval {
        Interval {
            low: self.low.max(other.low),
            mid: self.mid.max(other.mid),
            high: self.high.max(other.high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_bound_their_mean_and_what_has_none_is_left_out() {
        let found = Interval::of_repeats(&[2.0, 2.0, 2.0]).unwrap();
        assert_eq!(found, Interval::exactly(2.0));
        // The logarithms of 1 and 4 lie ln 2 to each side: Student's t of one degree at 97.5 % is
        // 12.706.
        let wide = Interval::of_repeats(&[1.0, 4.0]).unwrap();
        assert!((wide.high / wide.mid / (12.706_f64 * 2_f64.ln()).exp() - 1.0).abs() < 1e-3);
        assert_eq!(Interval::of_repeats(&[3.0]), Some(Interval::exactly(3.0)));
        assert_eq!((Interval::of_repeats(&[]), Interval::of_repeats(&[1.0, 0.0])), (None, None));
    }

    #[test]
    fn what_no_machine_does_is_not_sound() {
        assert!(Interval { low: 90.0, mid: 100.0, high: 110.0 }.is_sound());
        for (low, high) in [(0.0, 1.0), (1.0, f64::INFINITY), (f64::NAN, 1.0), (1.0, 1e300)] {
            assert!(!Interval { low, mid: 1.0, high }.is_sound(), "{low} {high}");
        }
    }

    #[test]
    fn bounds_stay_around_their_figure() {
        let seen = Interval { low: 90.0, mid: 100.0, high: 110.0 };
        let cost = seen.dividing(990.0);
        assert_eq!((cost.low, cost.mid, cost.high), (9.0, 9.9, 11.0));
        assert_eq!(seen.max(Interval::exactly(100.0)).low, 100.0);
    }
}
