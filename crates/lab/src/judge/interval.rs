//! A figure with the bounds that it is known within, and what becomes of them in arithmetic.

use serde::Serialize;

/// A figure between two bounds, in any unit. What they are bounds of, the caller says: of a mean, or of what was seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Interval {
    /// Lower bound.
    pub(crate) low: f64,
    /// The figure.
    pub(crate) mid: f64,
    /// Upper bound.
    pub(crate) high: f64,
}

impl Interval {
    /// A figure of which no bounds are known but itself.
    #[cfg(test)]
    pub(crate) fn exactly(mid: f64) -> Interval {
        Interval { low: mid, mid, high: mid }
    }

    /// Mean, lowest and highest of these; nothing of none.
    pub(crate) fn seen(values: &[f64]) -> Option<Interval> {
        let first = *values.first()?;
        Some(Interval {
            low: values.iter().copied().fold(first, f64::min),
            mid: values.iter().sum::<f64>() / values.len() as f64,
            high: values.iter().copied().fold(first, f64::max),
        })
    }

    /// Times a factor that is not below zero.
    pub(crate) fn times(self, factor: f64) -> Interval {
        Interval { low: self.low * factor, mid: self.mid * factor, high: self.high * factor }
    }

    /// `amount` over it, which is above zero: the bounds change places.
    pub(crate) fn dividing(self, amount: f64) -> Interval {
        Interval { low: amount / self.high, mid: amount / self.mid, high: amount / self.low }
    }

    /// One that is above zero over another that is: as wide as both together allow.
    pub(crate) fn over(self, other: Interval) -> Interval {
        Interval {
            low: self.low / other.high,
            mid: self.mid / other.mid,
            high: self.high / other.low,
        }
    }

    /// Bound by bound through a function that ascends.
    pub(crate) fn map(self, ascending: impl Fn(f64) -> f64) -> Interval {
        Interval { low: ascending(self.low), mid: ascending(self.mid), high: ascending(self.high) }
    }

    /// Bound by bound the larger of both.
    pub(crate) fn max(self, other: Interval) -> Interval {
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
    fn bounds_stay_around_their_figure() {
        let seen = Interval::seen(&[90.0, 110.0, 100.0]).unwrap();
        assert_eq!(seen, Interval { low: 90.0, mid: 100.0, high: 110.0 });
        assert_eq!(Interval::seen(&[]), None);
        let cost = seen.dividing(990.0);
        assert_eq!((cost.low, cost.mid, cost.high), (9.0, 9.9, 11.0));
        let ratio = seen.over(Interval::exactly(10.0).times(1.0));
        assert_eq!((ratio.low, ratio.high), (9.0, 11.0));
        let wide = seen.over(seen);
        assert!(wide.low < 1.0 && wide.mid == 1.0 && wide.high > 1.0);
        assert_eq!(seen.max(Interval::exactly(100.0)).low, 100.0);
    }
}
