//! The 32-bit arithmetic of sysbench 0.4 and 0.5, with what it does to large tables.
//!
//! Both draw `random() % 0x3fffffff` and compute in 32-bit words that wrap. `special` draws from a
//! range four times the table's; once that exceeds what can be drawn, the bell gets more than its
//! quarter, and what folds back at the end of the range adds to it before: 25 to 33 % up to 178 M
//! rows, 74.5 % at 800 M. The bell is a sum of twelve draws divided by twelve; at 358 M rows and
//! above the sum wraps at 2³² and the bell with it. At 800 M rows more than half of the table is
//! never drawn.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Distribution, KeyArithmetic, RandType};
use crate::random::Rng;

/// Number of different draws: 0 to one less (`SB_MAX_RND` of sysbench 0.4 and 0.5).
const DRAWN: u32 = 0x3fff_ffff;

/// A distribution computed in words.
#[derive(Debug, Clone)]
pub(super) struct Words {
    rand_type: RandType,
    rows: u32,
    iterations: u32,
    /// The range that `special` draws from.
    range: u32,
    hot_rows: u32,
    hot_from: u32,
    /// True if the arithmetic counts ids from 1, as in 0.4; 0.5 adds the first id at the end.
    from_one: bool,
}

impl Words {
    /// The distribution over `rows` rows; `None` if it is not computed in words.
    pub(super) fn new(distribution: &Distribution, rows: u64) -> Option<Words> {
        let d = distribution;
        let from_one = match d.arithmetic {
            KeyArithmetic::Words04 => true,
            KeyArithmetic::Words05 => false,
            KeyArithmetic::Exact | KeyArithmetic::Narrow => return None,
        };
        if !matches!(d.rand_type, RandType::Uniform | RandType::Gaussian | RandType::Special) {
            return None;
        }
        let rows = u32::try_from(rows).unwrap_or(u32::MAX).max(1);
        let pct = d.spec_pct as u32;
        Some(Words {
            rand_type: d.rand_type,
            rows,
            iterations: d.spec_iter.max(1),
            // A range of 0 makes sysbench divide by zero.
            range: rows.wrapping_mul(factor(d.spec_res)).max(1),
            hot_rows: (rows.wrapping_mul(pct) / 100).max(1),
            hot_from: (rows / 2).wrapping_sub(rows.wrapping_mul(pct) / 200),
            from_one,
        })
    }

    /// The next rank, from 0. It may exceed the table.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        let id = match self.rand_type {
            RandType::Gaussian => self.bell(rng),
            RandType::Special => self.special(rng),
            _ => self.one() + drawn(rng) % self.rows,
        };
        u64::from(id.saturating_sub(self.one()))
    }

    fn one(&self) -> u32 {
        u32::from(self.from_one)
    }

    fn bell(&self, rng: &mut Rng) -> u32 {
        let add = |sum: u32, _| sum.wrapping_add(self.one() + drawn(rng) % self.rows);
        (0..self.iterations).fold(0, add) / self.iterations
    }

    fn special(&self, rng: &mut Rng) -> u32 {
        let place = drawn(rng) % self.range;
        if place < self.rows {
            return self.bell(rng);
        }
        ((self.one() + place) % self.hot_rows).wrapping_add(self.hot_from)
    }

    /// The share of `special`'s draws that fall on the bell.
    fn bell_share(&self) -> f64 {
        let (whole, rest) = (DRAWN / self.range, DRAWN % self.range);
        let bell = self.rows.min(self.range);
        let count = u64::from(whole) * u64::from(bell) + u64::from(rest.min(bell));
        count as f64 / f64::from(DRAWN)
    }
}

/// The multiple of the table's size that `special` draws from.
fn factor(res: f64) -> u32 {
    (100.0 / (100.0 - res)) as u32
}

#[inline]
fn drawn(rng: &mut Rng) -> u32 {
    // `random()` has 31 bits (POSIX).
    (rng.next_u64() >> 33) as u32 % DRAWN
}

/// The effect of 32-bit arithmetic on a distribution over a large table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Distortion {
    /// Rows in the table.
    pub rows: u64,
    /// Share of the draws that fall on the bell of `special`, 0 to 1; absent for other
    /// distributions.
    pub bell_share: Option<f64>,
    /// The configured share.
    pub bell_share_asked: f64,
    /// The largest id that the bell, or a uniform draw, can give, if that is not the last.
    pub last_id: Option<u64>,
}

impl Distortion {
    /// The distortion on a table of `rows` rows; `None` without an overflow.
    #[must_use]
    pub fn of(distribution: &Distribution, rows: u64) -> Option<Distortion> {
        let words = Words::new(distribution, rows)?;
        let sum = rows.saturating_mul(u64::from(words.iterations));
        let range = rows.saturating_mul(u64::from(factor(distribution.spec_res)));
        // The sum is a C `int`, whose overflow is undefined long before the division shows it.
        let overflows = match words.rand_type {
            RandType::Gaussian => sum > i32::MAX as u64,
            RandType::Special => sum > i32::MAX as u64 || range > u64::from(DRAWN),
            _ => rows > u64::from(DRAWN),
        };
        let last = match words.rand_type {
            RandType::Gaussian | RandType::Special => u32::MAX / words.iterations,
            _ => DRAWN,
        };
        overflows.then(|| Distortion {
            rows,
            bell_share: (words.rand_type == RandType::Special).then(|| words.bell_share()),
            bell_share_asked: (100.0 - distribution.spec_res) / 100.0,
            last_id: (u64::from(last) < rows).then_some(u64::from(last)),
        })
    }
}

impl fmt::Display for Distortion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sysbench's 32-bit arithmetic overflows at {} rows", self.rows)?;
        if let Some(share) = self.bell_share {
            let (found, asked) = (100.0 * share, 100.0 * self.bell_share_asked);
            write!(f, ": {found:.1} % of the keys are of special's bell in place of {asked:.0} %")?;
        }
        match (self.last_id, self.bell_share) {
            (None, _) => Ok(()),
            (Some(last), Some(_)) => write!(f, ", none of which lies above {last}"),
            (Some(last), None) => write!(f, ": no key lies above {last}"),
        }
    }
}

#[cfg(test)]
mod tests;
