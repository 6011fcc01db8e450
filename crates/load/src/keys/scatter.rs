//! A seeded bijection of 0..n, so that popular ranks need not be neighbours.
//!
//! Odd multiplications and right shifts are bijections of w-bit words; whatever they carry beyond n
//! is carried again until it falls inside ("cycle walking", Black and Rogaway, 2002), which takes
//! less than two turns on average.

use crate::random::splitmix64;

/// A seeded permutation of the numbers 0..n.
#[derive(Debug, Clone)]
pub struct Scatter {
    count: u64,
    mask: u64,
    shift: u32,
    multipliers: [u64; 3],
    offset: u64,
}

impl Scatter {
    /// The permutation of 0..`count` for a seed.
    #[must_use]
    pub fn new(count: u64, seed: u64) -> Scatter {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let mut counter = seed;
        Scatter {
            count,
            mask: u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0),
            shift: (bits / 2).max(1),
            multipliers: std::array::from_fn(|_| splitmix64(&mut counter) | 1),
            offset: splitmix64(&mut counter),
        }
    }

    /// The place of `rank`; both are less than n, and no two ranks share a place.
    #[inline]
    #[must_use]
    pub fn place(&self, rank: u64) -> u64 {
        let mut x = rank;
        loop {
            x = x.wrapping_add(self.offset) & self.mask;
            for multiplier in self.multipliers {
                x = x.wrapping_mul(multiplier) & self.mask;
                x ^= x >> self.shift;
            }
            if x < self.count || self.count == 0 {
                return x;
            }
        }
    }
}
