//! Numbers that never repeat, in no visible order: identifiers for inserts without auto-increment.
//!
//! The quadratic residues modulo a prime p ≡ 3 (mod 4) permute 0..p (J. Preshing, "How to generate
//! a sequence of unique random integers", 2012); applied twice with an offset and a mask they
//! permute all 32-bit numbers. A counter shared by all threads runs through them, so threads never
//! collide. [`Walk`] is how sysbench 0.4 does it.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::part::Deal;
use crate::random::splitmix64;

/// The largest prime below 2³² that is 3 modulo 4.
const PRIME: u64 = 4_294_967_291;

/// A shared sequence of distinct 32-bit numbers.
#[derive(Debug)]
pub(crate) struct Unique {
    deal: Deal,
    taken: AtomicU64,
    first: u32,
    offset: u32,
    mask: u32,
}

impl Unique {
    /// The numbers of one part for a seed.
    pub(crate) fn new(seed: u64, deal: Deal) -> Unique {
        let mut state = seed;
        let mut next = || (splitmix64(&mut state) >> 32) as u32;
        Unique { deal, taken: AtomicU64::new(0), first: next(), offset: next(), mask: next() }
    }

    /// The next number; the first repeat comes after 2³² of them.
    pub(crate) fn next(&self) -> u32 {
        let number = self.deal.nth(self.taken.fetch_add(1, Ordering::Relaxed));
        self.place(self.first.wrapping_add(number as u32))
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

/// A shared walk through all rows of a table, by steps of a prime: each is met once before any is
/// met again, as long as their number is no multiple of it (sysbench 0.4, `LARGE_PRIME`).
#[derive(Debug)]
pub(crate) struct Walk {
    rows: u64,
    deal: Deal,
    taken: AtomicU64,
}

impl Walk {
    const STEP: u64 = 2_147_483_647;

    /// The steps of one part.
    pub(crate) fn new(rows: u64, deal: Deal) -> Walk {
        Walk { rows: rows.max(1), deal, taken: AtomicU64::new(0) }
    }

    /// The next id, from 1.
    pub(crate) fn next(&self) -> u64 {
        let steps = 1 + self.deal.nth(self.taken.fetch_add(1, Ordering::Relaxed));
        steps.wrapping_mul(Walk::STEP) % self.rows + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::LoadPart;

    #[test]
    fn a_million_numbers_are_distinct() {
        let unique = Unique::new(3, Deal::to(1));
        let mut seen: Vec<u32> = (0..1_000_000).map(|_| unique.next()).collect();
        let in_order = seen.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((450_000..550_000).contains(&in_order), "{in_order}");
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1_000_000);
    }

    #[test]
    fn a_walk_meets_every_row_once() {
        let walk = Walk::new(1000, Deal::to(1));
        assert_eq!([walk.next(), walk.next()], [648, 295]);
        let mut seen: Vec<u64> = (2..1000).map(|_| walk.next()).chain([648, 295]).collect();
        seen.sort_unstable();
        assert_eq!(seen, (1..=1000).collect::<Vec<u64>>());
    }

    #[test]
    fn parts_have_together_what_the_whole_has() {
        let deals = |of| (0..of).map(move |number| Deal::new(LoadPart { number, of }, 5));
        let unique = |of| -> Vec<u32> {
            let of_part = |deal: Deal| {
                let unique = Unique::new(9, deal);
                (0..deal.below(1000)).map(|_| unique.next()).collect::<Vec<u32>>()
            };
            let mut all: Vec<u32> = deals(of).flat_map(of_part).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(unique(3), unique(1));
        let mut met: Vec<u64> = deals(2)
            .flat_map(|deal| {
                let walk = Walk::new(1000, deal);
                (0..deal.below(1000)).map(|_| walk.next()).collect::<Vec<u64>>()
            })
            .collect();
        met.sort_unstable();
        assert_eq!(met, (1..=1000).collect::<Vec<u64>>());
    }
}
