//! Numbers that never repeat, in no visible order: identifiers for inserts without auto-increment.
//!
//! The quadratic residues modulo a prime p ≡ 3 (mod 4) permute 0..p (J. Preshing, "How to generate a sequence of
//! unique random integers", 2012); applied twice with an offset and a mask they permute all 32-bit numbers.
//! A counter shared by all threads runs through them, so threads never collide. [`Walk`] is how sysbench 0.4 does it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::random::splitmix64;

/// The largest prime below 2³² that is 3 modulo 4.
const PRIME: u64 = 4_294_967_291;

/// A shared sequence of distinct 32-bit numbers.
#[derive(Debug)]
pub(crate) struct Unique {
    counter: AtomicU32,
    offset: u32,
    mask: u32,
}

impl Unique {
    pub(crate) fn new(seed: u64) -> Unique {
        let mut state = seed;
        let mut next = || (splitmix64(&mut state) >> 32) as u32;
        Unique { counter: AtomicU32::new(next()), offset: next(), mask: next() }
    }

    /// The next number; the first repeat comes after 2³² of them.
    pub(crate) fn next(&self) -> u32 {
        self.place(self.counter.fetch_add(1, Ordering::Relaxed))
    }

    fn place(&self, index: u32) -> u32 {
        residue(residue(index).wrapping_add(self.offset) ^ self.mask)
    }
}

fn residue(x: u32) -> u32 {
    let wide = u64::from(x);
    if wide >= PRIME {
        return x;
    }
    let square = wide * wide % PRIME;
    (if wide <= PRIME / 2 { square } else { PRIME - square }) as u32
}

/// A shared walk through all rows of a table, by steps of a prime: each is met once before any is met again, as long as
/// their number is no multiple of it (sysbench 0.4, `LARGE_PRIME`).
#[derive(Debug)]
pub(crate) struct Walk {
    rows: u64,
    place: AtomicU64,
}

impl Walk {
    const STEP: u64 = 2_147_483_647;

    pub(crate) fn new(rows: u64) -> Walk {
        Walk { rows: rows.max(1), place: AtomicU64::new(Walk::STEP) }
    }

    /// The next id, from 1.
    pub(crate) fn next(&self) -> u64 {
        self.place.fetch_add(Walk::STEP, Ordering::Relaxed) % self.rows + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_numbers_are_distinct() {
        let unique = Unique::new(3);
        let mut seen: Vec<u32> = (0..1_000_000).map(|_| unique.next()).collect();
        let in_order = seen.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((450_000..550_000).contains(&in_order), "{in_order}");
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1_000_000);
    }

    #[test]
    fn a_walk_meets_every_row_once() {
        let walk = Walk::new(1000);
        assert_eq!([walk.next(), walk.next()], [648, 295]);
        let mut seen: Vec<u64> = (2..1000).map(|_| walk.next()).chain([648, 295]).collect();
        seen.sort_unstable();
        assert_eq!(seen, (1..=1000).collect::<Vec<u64>>());
    }
}
