//! The mix of a workload's operations, and drawing the next one.

use serde::{Deserialize, Serialize};

use crate::random::Rng;

/// An operation on one record, or on some that follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Reads a record.
    Read,
    /// Writes one field of a record.
    Update,
    /// Adds a record.
    Insert,
    /// Reads records from one on.
    Scan,
    /// Reads a record, then writes one field of it.
    ReadModifyWrite,
}

impl Operation {
    /// The word for it in a mix.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Update => "update",
            Operation::Insert => "insert",
            Operation::Scan => "scan",
            Operation::ReadModifyWrite => "read_modify_write",
        }
    }
}

/// Shares of the operations, in any unit: only their proportions count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mix {
    /// Share of reads.
    pub read: f64,
    /// Share of updates.
    pub update: f64,
    /// Share of inserts.
    pub insert: f64,
    /// Share of scans.
    pub scan: f64,
    /// Share of reads that are followed by an update.
    pub read_modify_write: f64,
}

impl Mix {
    /// The mix of a run without any proportion, from the code of YCSB's core workload.
    pub(crate) const CORE_DEFAULT: Mix =
        Mix { read: 0.95, update: 0.05, insert: 0.0, scan: 0.0, read_modify_write: 0.0 };

    /// The published workload of this letter, `a` to `f`.
    #[must_use]
    pub fn of(letter: char) -> Option<Mix> {
        let none = Mix::default();
        Some(match letter {
            'a' => Mix { read: 0.5, update: 0.5, ..none },
            'b' => Mix { read: 0.95, update: 0.05, ..none },
            'c' => Mix { read: 1.0, ..none },
            'd' => Mix { read: 0.95, insert: 0.05, ..none },
            'e' => Mix { scan: 0.95, insert: 0.05, ..none },
            'f' => Mix { read: 0.5, read_modify_write: 0.5, ..none },
            _ => return None,
        })
    }

    /// The operations with their shares.
    #[must_use]
    pub fn shares(&self) -> [(Operation, f64); 5] {
        [
            (Operation::Read, self.read),
            (Operation::Update, self.update),
            (Operation::Insert, self.insert),
            (Operation::Scan, self.scan),
            (Operation::ReadModifyWrite, self.read_modify_write),
        ]
    }

    /// The share of `operation` among all; 0 where there are none.
    #[must_use]
    pub fn share(&self, operation: Operation) -> f64 {
        let shares = self.shares();
        let whole: f64 = shares.iter().map(|(_, share)| share).sum();
        let own = shares.iter().find(|(one, _)| *one == operation).map_or(0.0, |(_, share)| *share);
        if whole > 0.0 { own / whole } else { 0.0 }
    }

    /// The next operation, drawn by the shares.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> Operation {
        let shares = self.shares();
        let whole: f64 = shares.iter().map(|(_, share)| share).sum();
        let mut left = rng.unit() * whole;
        for (operation, share) in shares {
            if left < share {
                return operation;
            }
            left -= share;
        }
        Operation::Read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_drawn_by_their_shares() {
        let mut rng = Rng::new(4, 1);
        for letter in ['a', 'b', 'c', 'd', 'e', 'f'] {
            let mix = Mix::of(letter).unwrap();
            let mut counts = std::collections::BTreeMap::new();
            for _ in 0..100_000 {
                *counts.entry(mix.draw(&mut rng)).or_insert(0_u32) += 1;
            }
            for (operation, share) in mix.shares() {
                let drawn = f64::from(counts.get(&operation).copied().unwrap_or(0)) / 1e5;
                assert!((drawn - share).abs() < 0.006, "{letter}: {operation:?} {drawn}");
                assert!(share > 0.0 || drawn == 0.0, "{letter}: {operation:?} is not in it");
            }
        }
        assert_eq!(Mix::of('g'), None);
    }
}
