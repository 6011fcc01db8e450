//! Interval arithmetic over printed numbers: a value, and the bounds that its rounding allows.
//!
//! Guarantees: the result of an operation encloses every result of unrounded operands. If a number
//! occurs twice in an expression, the enclosure is wider than necessary, never narrower. So two
//! disjoint enclosures prove that figures disagree; overlapping ones prove nothing (R. E. Moore,
//! "Interval Analysis", 1966).

/// Bound of the relative error of floating-point operations, with a margin.
const SLACK: f64 = 1e-9;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundingInterval {
    pub low: f64,
    /// Value if nothing was rounded.
    pub value: f64,
    pub high: f64,
}

impl RoundingInterval {
    #[must_use]
    pub fn exact(value: f64) -> RoundingInterval {
        RoundingInterval { low: value, value, high: value }
    }

    /// `value` ± `within`.
    #[must_use]
    pub fn around(value: f64, within: f64) -> RoundingInterval {
        RoundingInterval { low: value - within, value, high: value + within }
    }

    #[must_use]
    pub fn is_finite(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    #[must_use]
    pub fn is_exact(self) -> bool {
        self.high - self.low <= self.slack()
    }

    /// Widens both bounds by a share of the magnitude.
    #[must_use]
    pub fn widened(self, percent: f64) -> RoundingInterval {
        let more = |bound: f64| bound.abs() * percent / 100.0;
        RoundingInterval {
            low: self.low - more(self.low),
            high: self.high + more(self.high),
            ..self
        }
    }

    #[must_use]
    pub fn plus(self, other: RoundingInterval) -> RoundingInterval {
        RoundingInterval {
            low: self.low + other.low,
            value: self.value + other.value,
            high: self.high + other.high,
        }
    }

    #[must_use]
    pub fn negated(self) -> RoundingInterval {
        RoundingInterval { low: -self.high, value: -self.value, high: -self.low }
    }

    #[must_use]
    pub fn times(self, other: RoundingInterval) -> RoundingInterval {
        let corners = [
            self.low * other.low,
            self.low * other.high,
            self.high * other.low,
            self.high * other.high,
        ];
        RoundingInterval {
            low: corners.into_iter().fold(f64::INFINITY, f64::min),
            value: self.value * other.value,
            high: corners.into_iter().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    /// The quotient; `None` if the divisor may be zero.
    #[must_use]
    pub fn divided_by(self, other: RoundingInterval) -> Option<RoundingInterval> {
        let may_be_zero = other.low <= 0.0 && other.high >= 0.0;
        let inverse = RoundingInterval {
            low: 1.0 / other.high,
            value: 1.0 / other.value,
            high: 1.0 / other.low,
        };
        // Divides the value: multiplying by the rounded inverse would round twice.
        let value = self.value / other.value;
        (!may_be_zero).then(|| RoundingInterval { value, ..self.times(inverse) })
    }

    #[must_use]
    pub fn min(self, other: RoundingInterval) -> RoundingInterval {
        self.by_bound(other, f64::min)
    }

    #[must_use]
    pub fn max(self, other: RoundingInterval) -> RoundingInterval {
        self.by_bound(other, f64::max)
    }

    #[must_use]
    pub fn abs(self) -> RoundingInterval {
        let (low, high) = (self.low.abs(), self.high.abs());
        let crosses_zero = self.low <= 0.0 && self.high >= 0.0;
        RoundingInterval {
            low: if crosses_zero { 0.0 } else { low.min(high) },
            value: self.value.abs(),
            high: low.max(high),
        }
    }

    #[must_use]
    pub fn rounded(self) -> RoundingInterval {
        RoundingInterval {
            low: self.low.round(),
            value: self.value.round(),
            high: self.high.round(),
        }
    }

    /// Returns true if both can be the same number.
    #[must_use]
    pub fn may_equal(self, other: RoundingInterval) -> bool {
        self.may_reach(other) && other.may_reach(self)
    }

    /// Returns true if `self` can be at least `other`.
    #[must_use]
    pub fn may_reach(self, other: RoundingInterval) -> bool {
        self.high >= other.low - self.slack().max(other.slack())
    }

    /// Returns true if `self` can be greater than `other`.
    #[must_use]
    pub fn may_exceed(self, other: RoundingInterval) -> bool {
        self.high > other.low + self.slack().max(other.slack())
    }

    fn by_bound(self, other: RoundingInterval, pick: fn(f64, f64) -> f64) -> RoundingInterval {
        RoundingInterval {
            low: pick(self.low, other.low),
            value: pick(self.value, other.value),
            high: pick(self.high, other.high),
        }
    }

    fn slack(self) -> f64 {
        self.low.abs().max(self.high.abs()) * SLACK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(interval: RoundingInterval) -> (f64, f64, f64) {
        let near = |value: f64| (value * 1e6).round() / 1e6;
        (near(interval.low), near(interval.value), near(interval.high))
    }

    #[test]
    fn operations_enclose_what_rounding_allows() {
        let (a, b) = (RoundingInterval::around(10.0, 1.0), RoundingInterval::around(-2.0, 0.5));
        assert_eq!(bounds(a.plus(b)), (6.5, 8.0, 9.5));
        assert_eq!(bounds(a.plus(b.negated())), (10.5, 12.0, 13.5));
        assert_eq!(bounds(a.times(b)), (-27.5, -20.0, -13.5));
        assert_eq!(bounds(a.divided_by(b).unwrap()), (-7.333333, -5.0, -3.6));
        assert_eq!(bounds(b.abs()), (1.5, 2.0, 2.5));
        assert_eq!(bounds(RoundingInterval::around(0.2, 0.5).abs()), (0.0, 0.2, 0.7));
        assert_eq!(bounds(a.min(b)), (-2.5, -2.0, -1.5));
        assert_eq!(bounds(a.max(b)), (9.0, 10.0, 11.0));
        assert_eq!(bounds(RoundingInterval::around(2.6, 0.2).rounded()), (2.0, 3.0, 3.0));
    }

    #[test]
    fn what_may_be_zero_divides_nothing() {
        assert_eq!(
            RoundingInterval::exact(1.0).divided_by(RoundingInterval::around(0.2, 0.5)),
            None
        );
        assert_eq!(RoundingInterval::exact(1.0).divided_by(RoundingInterval::exact(0.0)), None);
    }

    #[test]
    fn intervals_that_touch_may_be_equal_and_others_not() {
        let (a, b) = (RoundingInterval::around(1.0, 0.5), RoundingInterval::around(2.0, 0.5));
        assert!(a.may_equal(b) && b.may_equal(a) && a.may_reach(b) && !a.may_exceed(b));
        let c = RoundingInterval::around(2.1, 0.5);
        assert!(!a.may_equal(c) && !a.may_reach(c) && c.may_exceed(a));
        assert!(a.widened(10.0).may_equal(c));
    }
}
