//! Offset of a host's clock from ours, and its uncertainty.
//!
//! As in NTP (RFC 5905, section 8): for a request that leaves at t1, arrives at t2, is answered at
//! t3 and returns at t4, the answering clock is ahead by ((t2 − t1) + (t3 − t4)) ÷ 2, with an
//! uncertainty of half the round trip. The fastest of several round trips counts: a delay only
//! raises the uncertainty.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::failure::FailureReason;

/// Highest uncertainty, in ms, at which seconds of two hosts may be merged: a twentieth of a
/// second.
pub const UNCERTAINTY_MS_MAX: f64 = 50.0;

/// Highest plausible offset, in ms: a hundred years.
const OFFSET_MS_MAX: f64 = 3.2e12;

/// Highest drift against our clock during a load, in ms, in addition to the uncertainty of the
/// comparisons.
const MOVE_MS_MAX: f64 = 20.0;

/// A request and its answer, in ns since 1970 by the clock of the machine that takes the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoundTrip {
    /// When the request left, by our clock.
    pub(crate) asked_ns: u64,
    /// When it arrived, by the host's clock.
    pub(crate) received_ns: u64,
    /// When it was answered, by the host's clock.
    pub(crate) answered_ns: u64,
    /// When the answer arrived, by our clock.
    pub(crate) heard_ns: u64,
}

/// A host's clock compared with ours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// The host's time minus ours, in ms.
    pub offset_ms: f64,
    /// Uncertainty of the offset, in ms, either way.
    pub uncertainty_ms: f64,
    /// The shortest round trip, in ms.
    pub round_trip_ms: f64,
}

fn difference_ms(a: u64, b: u64) -> f64 {
    (i128::from(a) - i128::from(b)) as f64 / 1e6
}

impl RoundTrip {
    /// Duration of both ways, in ms.
    fn delay_ms(self) -> f64 {
        let there = difference_ms(self.answered_ns, self.received_ns);
        (difference_ms(self.heard_ns, self.asked_ns) - there).max(0.0)
    }

    fn offset_ms(self) -> f64 {
        let ahead = difference_ms(self.received_ns, self.asked_ns);
        f64::midpoint(ahead, difference_ms(self.answered_ns, self.heard_ns))
    }
}

impl ClockOffset {
    /// The offset by the fastest round trip; `None` without one.
    pub(crate) fn of(trips: &[RoundTrip]) -> Option<ClockOffset> {
        let best = trips.iter().copied().min_by(|a, b| a.delay_ms().total_cmp(&b.delay_ms()))?;
        Some(ClockOffset {
            offset_ms: best.offset_ms(),
            uncertainty_ms: best.delay_ms() / 2.0,
            round_trip_ms: best.delay_ms(),
        })
    }

    /// Returns true for a plausible offset: a clock that was never set shows 1970.
    pub(crate) fn is_plausible(self) -> bool {
        self.offset_ms.abs() <= OFFSET_MS_MAX && self.round_trip_ms <= OFFSET_MS_MAX
    }

    /// Checks that seconds of both clocks may be merged.
    pub(crate) fn check(self) -> Result<(), FailureReason> {
        match self.uncertainty_ms <= UNCERTAINTY_MS_MAX {
            true => Ok(()),
            false => Err(FailureReason::ClockUncertain {
                uncertainty_ms: self.uncertainty_ms,
                allowed_ms: UNCERTAINTY_MS_MAX,
            }),
        }
    }

    /// Checks that the clock has kept pace with ours until `later`.
    ///
    /// # Errors
    /// The clock was set, or drifted.
    pub(crate) fn check_until(self, later: ClockOffset) -> Result<(), FailureReason> {
        let by_ms = later.offset_ms - self.offset_ms;
        match by_ms.abs() <= self.uncertainty_ms + later.uncertainty_ms + MOVE_MS_MAX {
            true => Ok(()),
            false => Err(FailureReason::ClockMoved { by_ms }),
        }
    }

    /// The host's time at our time `ours_ns`.
    pub(crate) fn theirs_ns(self, ours_ns: u64) -> u64 {
        ours_ns.saturating_add_signed(self.offset_ns())
    }

    /// Our time at the host's time `theirs_ns`.
    #[must_use]
    pub fn ours_ns(self, theirs_ns: u64) -> u64 {
        theirs_ns.saturating_add_signed(self.offset_ns().saturating_neg())
    }

    fn offset_ns(self) -> i64 {
        (self.offset_ms * 1e6) as i64
    }
}

/// The time of a past instant, in ns since 1970 by our clock.
#[must_use]
pub fn ns_of(instant: Instant) -> u64 {
    now_ns().saturating_sub(instant.elapsed().as_nanos() as u64)
}

/// The instant of a past time by our clock; now, for a time to come.
#[must_use]
pub fn instant_of(ns: u64) -> Instant {
    let ago = Duration::from_nanos(now_ns().saturating_sub(ns));
    let now = Instant::now();
    now.checked_sub(ago).unwrap_or(now)
}

/// The time in ns since 1970 by our clock.
pub(crate) fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    now.tv_sec.cast_unsigned().saturating_mul(1_000_000_000) + now.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW_NS: u64 = 1_800_000_000_000_000_000;

    /// A round trip to a clock that is `ahead`, in µs.
    fn trip(ahead: i64, there: u64, between: u64, back: u64) -> RoundTrip {
        let theirs = |ours: u64| ours.saturating_add_signed(ahead * 1000);
        let arrived = NOW_NS + there * 1000;
        let answered = arrived + between * 1000;
        RoundTrip {
            asked_ns: NOW_NS,
            received_ns: theirs(arrived),
            answered_ns: theirs(answered),
            heard_ns: answered + back * 1000,
        }
    }

    proptest! {
        #[test]
        fn the_truth_lies_within_what_is_said(
            ahead in -10_000_000_000i64..10_000_000_000,
            ways in prop::collection::vec((0u64..400_000, 0u64..400_000, 0u64..400_000), 1..20),
        ) {
            let trips: Vec<_> = ways.iter().map(|(a, b, c)| trip(ahead, *a, *b, *c)).collect();
            let found = ClockOffset::of(&trips).unwrap();
            let error_ms = (found.offset_ms - ahead as f64 / 1e3).abs();
            prop_assert!(error_ms <= found.uncertainty_ms + 1e-6, "{found:?}, {ahead} µs");
            let least = ways.iter().map(|(a, _, c)| a + c).min().unwrap() as f64 / 1e3;
            prop_assert!((found.round_trip_ms - least).abs() < 1e-6);
        }
    }

    #[test]
    fn the_shortest_trip_is_believed_and_time_spent_there_does_not_count() {
        let found = ClockOffset::of(&[trip(5000, 90_000, 0, 10), trip(5000, 100, 70_000, 100)]);
        let found = found.unwrap();
        assert!((found.offset_ms - 5.0).abs() < 1e-6 && found.uncertainty_ms < 0.11, "{found:?}");
        assert_eq!(found.theirs_ns(NOW_NS), NOW_NS + 5_000_000);
        assert_eq!(ClockOffset::of(&[]), None);
    }

    #[test]
    fn what_is_uncertain_or_moved_is_refused() {
        let of = |offset_ms, uncertainty_ms| ClockOffset {
            offset_ms,
            uncertainty_ms,
            round_trip_ms: 2.0 * uncertainty_ms,
        };
        assert!(of(3e6, 49.0).check().is_ok(), "a clock may be wrong: it is corrected");
        assert!(matches!(of(0.0, 51.0).check(), Err(FailureReason::ClockUncertain { .. })));
        let before = of(100.0, 5.0);
        assert!(before.check_until(of(129.0, 5.0)).is_ok());
        let moved = before.check_until(of(60.0, 5.0));
        assert!(matches!(moved, Err(FailureReason::ClockMoved { by_ms }) if by_ms == -40.0));
    }
}
