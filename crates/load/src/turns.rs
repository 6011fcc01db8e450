//! Turns of loads that share a clock: the spans in which each of them sends.
//!
//! The clock is cut into slices of [`SLICE_S`]. `of` sides take them in the order 0, 1, …, 1, 0 (of
//! two: ABBA), over and over, so a drift that is linear over such a block meets all sides alike.
//! Slices that follow each other are one turn. Slices are counted from the start of the measuring
//! window, those of the warm-up backwards.
//!
//! The first [`GUARD_NS`] of a turn do not count: events of the side before are still in flight,
//! caches are cold, and all workers start at once. An event counts where it ends. In a closed loop
//! as many events begin in the guard and end after it as begin in the turn and end behind it,
//! unless they take longer than the guard: those are rarer than they were without turns.

use serde::{Deserialize, Serialize};

/// Length of a slice, in seconds.
pub const SLICE_S: u32 = 2;

const SECOND_NS: u64 = 1_000_000_000;

const SLICE_NS: u64 = SLICE_S as u64 * SECOND_NS;

/// Start of a turn that does not count, in ns.
pub const GUARD_NS: u64 = 200_000_000;

/// Slices of a side in the shortest sequence that is balanced.
pub const SLICES_BALANCED: u32 = 2;

/// The most sides that take turns.
pub const SIDES_MAX: u32 = 8;

/// The turns of one load among several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turns {
    /// Number of the side, from 0.
    pub side: u32,
    /// Number of sides.
    pub of: u32,
}

impl Turns {
    /// Returns true if there is such a side.
    pub(crate) fn is_possible(self) -> bool {
        self.side < self.of && self.of <= SIDES_MAX
    }

    /// Returns true if the slice with this number is the side's; that of number 0 is the window's
    /// first.
    fn has(self, slice: i64) -> bool {
        let (side, of) = (i64::from(self.side), i64::from(self.of));
        let place = slice.rem_euclid(2 * of);
        place == side || place == 2 * of - 1 - side
    }

    /// Returns true if the second that ends `ended_s` seconds after the window's start is the
    /// side's.
    #[must_use]
    pub fn has_second(self, ended_s: i64) -> bool {
        self.has((ended_s - 1).div_euclid(i64::from(SLICE_S)))
    }

    /// The instant at which a worker that is free at `ns` may start an event: at once within an own
    /// turn, otherwise at the start of the next. The window starts at `window_ns`.
    pub(crate) fn next(self, ns: u64, window_ns: u64) -> u64 {
        let mut slice = slice_at(ns, window_ns);
        if self.has(slice) {
            return ns;
        }
        while !self.has(slice) {
            slice += 1;
        }
        window_ns.saturating_add_signed(slice.saturating_mul(SLICE_NS as i64))
    }

    /// Returns true if an event that ends at `ns` counts.
    pub(crate) fn counts(self, ns: u64, window_ns: u64) -> bool {
        let slice = slice_at(ns, window_ns);
        let into = (ns as i64 - window_ns as i64).rem_euclid(SLICE_NS as i64) as u64;
        self.has(slice) && (into >= GUARD_NS || self.continues(slice))
    }

    /// Returns true if an own slice continues a turn of the window.
    fn continues(self, slice: i64) -> bool {
        slice != 0 && self.has(slice - 1)
    }

    /// Time that counts from the window's start until `end_ns`, in ns.
    pub(crate) fn counted_ns(self, window_ns: u64, end_ns: u64) -> u64 {
        let length = end_ns.saturating_sub(window_ns);
        let counted = |slice: u64| {
            let number = slice as i64;
            if !self.has(number) {
                return 0;
            }
            let guard = if self.continues(number) { 0 } else { GUARD_NS };
            let into = length.saturating_sub(slice * SLICE_NS).min(SLICE_NS);
            into.saturating_sub(guard)
        };
        (0..length.div_ceil(SLICE_NS)).map(counted).sum()
    }

    /// The length on the clock of `seconds` of each side, in seconds.
    #[must_use]
    pub fn on_clock(self, seconds: f64) -> f64 {
        seconds * f64::from(self.of)
    }
}

fn slice_at(ns: u64, window_ns: u64) -> i64 {
    (ns as i64 - window_ns as i64).div_euclid(SLICE_NS as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(of: u32) -> Vec<Turns> {
        (0..of).map(|side| Turns { side, of }).collect()
    }

    fn order(of: u32, slices: std::ops::Range<i64>) -> Vec<u32> {
        let owner = |slice| sides(of).into_iter().find(|turns| turns.has(slice)).unwrap().side;
        slices.map(owner).collect()
    }

    #[test]
    fn two_sides_take_turns_as_abba_and_the_warm_up_ends_where_a_block_does() {
        assert_eq!(order(2, 0..8), [0, 1, 1, 0, 0, 1, 1, 0]);
        assert_eq!(order(2, -2..0), [1, 0], "half a block of warm-up");
        assert_eq!(order(3, 0..6), [0, 1, 2, 2, 1, 0]);
    }

    #[test]
    fn each_instant_is_one_sides_and_what_counts_is_as_long_as_the_sum_says() {
        let window_ns = 17 * SECOND_NS;
        for of in 1..=4 {
            for side in sides(of) {
                let end_ns = window_ns + u64::from(of) * 8 * SECOND_NS;
                for cut_ns in [end_ns, end_ns - 700_000_000, window_ns + 1, window_ns] {
                    let step_ns = 50_000_000;
                    let instants = (window_ns..cut_ns).step_by(step_ns as usize);
                    let counted = instants.filter(|ns| side.counts(*ns, window_ns));
                    let exact = side.counted_ns(window_ns, cut_ns);
                    assert!(exact.abs_diff(counted.count() as u64 * step_ns) <= step_ns, "{exact}");
                }
            }
            for ns in (0..60 * SECOND_NS).step_by(333_333_333) {
                let free = sides(of).into_iter().filter(|one| one.next(ns, window_ns) == ns);
                assert_eq!(free.count(), 1, "{ns}");
            }
        }
    }

    /// The mean instant of what counts, from the window's start in s.
    fn centre_s(side: Turns, seconds: u64) -> f64 {
        let instants = (0..seconds * 1000).map(|ms| ms * 1_000_000);
        let counted: Vec<f64> =
            instants.filter(|ns| side.counts(*ns, 0)).map(|ns| ns as f64 / 1e9).collect();
        counted.iter().sum::<f64>() / counted.len() as f64
    }

    #[test]
    fn a_linear_drift_meets_all_sides_alike() {
        for (of, seconds) in [(2, 8), (2, 40), (3, 12), (3, 36)] {
            let centres: Vec<f64> =
                sides(of).into_iter().map(|side| centre_s(side, seconds)).collect();
            for centre in &centres {
                assert!((centre - centres[0]).abs() < 0.002, "{of} {seconds}: {centres:?}");
            }
        }
    }

    #[test]
    fn a_free_worker_waits_for_the_next_turn_and_seconds_have_their_side() {
        let side = Turns { side: 1, of: 2 };
        let s = |seconds: u64| seconds * SECOND_NS;
        assert_eq!(side.next(s(10), s(10)), s(12));
        assert_eq!(side.next(s(13) + 5, s(10)), s(13) + 5);
        assert_eq!(side.next(s(16), s(10)), s(20));
        let seconds: Vec<i64> = (1..=10).filter(|second| side.has_second(*second)).collect();
        assert_eq!(seconds, [3, 4, 5, 6]);
    }
}
