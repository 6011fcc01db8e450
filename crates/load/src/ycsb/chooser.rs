//! Which record an operation is about.

use serde::{Deserialize, Serialize};

use super::zipfian::{Scrambled, THETA, Zipfian};
use crate::random::Rng;

/// How popular records are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestDistribution {
    /// Each as much as any other.
    Uniform,
    /// YCSB's scrambled zipfian.
    #[default]
    Zipfian,
    /// The newest most.
    Latest,
}

/// Draws records that exist.
#[derive(Debug, Clone)]
pub enum Chooser {
    /// Each as much as any other, of so many.
    Uniform(u64),
    /// Scrambled zipfian over all that are expected to come.
    Zipfian(Scrambled),
    /// Counted back from the newest.
    Latest(Zipfian),
}

impl Chooser {
    /// Of `records` that there are at first, with `expected_new` that inserts are expected to add.
    #[must_use]
    pub fn new(distribution: RequestDistribution, records: u64, expected_new: u64) -> Chooser {
        match distribution {
            RequestDistribution::Uniform => Chooser::Uniform(records),
            RequestDistribution::Zipfian => {
                Chooser::Zipfian(Scrambled::new(records.saturating_add(expected_new)))
            }
            RequestDistribution::Latest => Chooser::Latest(Zipfian::new(records.max(1), THETA)),
        }
    }

    /// A record number of 0..`existing`. A number beyond is drawn again, as YCSB does it.
    #[inline]
    pub fn draw(&mut self, existing: u64, rng: &mut Rng) -> u64 {
        loop {
            let record = match self {
                Chooser::Uniform(records) => rng.below(*records),
                Chooser::Zipfian(scrambled) => scrambled.draw(rng),
                Chooser::Latest(back) => {
                    back.grow(existing);
                    match (existing - 1).checked_sub(back.draw(rng)) {
                        Some(record) => record,
                        None => continue,
                    }
                }
            };
            if record < existing {
                return record;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_exist_whatever_is_expected_to_come() {
        use RequestDistribution::{Latest, Uniform, Zipfian};
        let mut rng = Rng::new(6, 1);
        for distribution in [Uniform, Zipfian, Latest] {
            let mut chooser = Chooser::new(distribution, 1000, 5000);
            for existing in [1000, 1001, 4000] {
                assert!((0..20_000).all(|_| chooser.draw(existing, &mut rng) < existing));
            }
        }
    }

    #[test]
    fn the_newest_are_the_most_popular_under_latest() {
        let (mut chooser, mut rng) =
            (Chooser::new(RequestDistribution::Latest, 1000, 0), Rng::new(7, 1));
        let newest = (0..100_000).filter(|_| chooser.draw(2000, &mut rng) == 1999).count();
        // 1 ÷ Σ i^-0.99 over 2000.
        let share = newest as f64 / 1e5;
        assert!((share - 0.1180).abs() < 0.005, "{share}");
    }
}
