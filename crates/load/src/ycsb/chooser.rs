//! The choice of an operation's record.
//!
//! The behaviour of YCSB's core, as observed: scrambled zipfian hashes ranks to the existing
//! records, those that inserts are expected to add, and one more; latest never draws record 0;
//! uniform and hotspot keep to the records that existed at the start. A record that does not exist
//! is drawn again.

use serde::{Deserialize, Serialize};

use super::zipfian::{Scrambled, THETA, Zipfian};
use super::{Operation, YcsbOptions};
use crate::keys::{Distribution, KeyChooser, RandType};
use crate::mode::Mode;
use crate::random::Rng;
use crate::recipe::Recipe;

/// The popularity of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestDistribution {
    /// Equal popularity.
    Uniform,
    /// A few records far above the others, anywhere in the table.
    #[default]
    Zipfian,
    /// The newest records most.
    Latest,
    /// `rand_hot_share` of the requests go to `rand_hot_fraction` of the records.
    Hotspot,
    /// The newest records most: 95 % of the requests go to the newest six sevenths.
    Exponential,
}

/// YCSB's `exponential.percentile` and `exponential.frac`: this percentage of the requests goes to
/// this fraction of the records.
const EXPONENTIAL_PERCENT: f64 = 95.0;
const EXPONENTIAL_FRACTION: f64 = 0.857_142_857_1;
/// YCSB doubles the inserts it expects.
const EXPECTED_FACTOR: f64 = 2.0;

/// The hot records of hotspot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hot {
    /// Fraction of the records, 0 to 1.
    pub(crate) fraction: f64,
    /// Share of the requests, 0 to 1.
    pub(crate) share: f64,
}

/// Draws existing records.
#[derive(Debug, Clone)]
pub(crate) enum Chooser {
    /// The records that existed at the start (YCSB), or all existing ones.
    Uniform(Option<u64>),
    /// YCSB's scrambled zipfian.
    Scrambled(Scrambled),
    /// YCSB's latest: counted back from the newest.
    Latest(Zipfian),
    /// Counted back from the newest, with gaps of this mean.
    Exponential(f64),
    /// Ranks by the exact law, or hot and cold records.
    Keys(KeyChooser),
    /// Ranks by the exact law, counted back from the newest.
    Newest(KeyChooser),
}

impl Chooser {
    /// The chooser of `recipe` on `records` records, which mode `strict` scatters by the seed.
    pub(crate) fn of(
        options: &YcsbOptions,
        recipe: Recipe,
        mode: Mode,
        hot: &Hot,
        records: u64,
        scatter_seed: u64,
    ) -> Chooser {
        use RequestDistribution::{Exponential, Hotspot, Latest, Uniform, Zipfian as Zipf};
        let is_compat = mode == Mode::Compat;
        let distribution = Distribution {
            zipfian_exp: options.zipfian_exp,
            hot_fraction: hot.fraction,
            hot_share: hot.share,
            ..Distribution::default()
        };
        let keys = |rand_type, seed| {
            KeyChooser::new(&Distribution { rand_type, ..distribution }, 0, records - 1, seed)
        };
        match options.request_distribution(recipe) {
            Uniform => Chooser::Uniform(is_compat.then_some(records)),
            Zipf if is_compat => {
                let inserts =
                    options.operation_count as f64 * options.mix(recipe).share(Operation::Insert);
                let expected = (inserts * EXPECTED_FACTOR) as u64;
                Chooser::Scrambled(Scrambled::new(records + expected + 1))
            }
            Zipf => Chooser::Keys(keys(RandType::Zipf, Some(scatter_seed))),
            Latest if is_compat => Chooser::Latest(Zipfian::new((records - 1).max(1), THETA)),
            Latest => Chooser::Newest(keys(RandType::Zipf, None)),
            // YCSB's hot records are the first ones.
            Hotspot => Chooser::Keys(keys(RandType::Hotspot, (!is_compat).then_some(scatter_seed))),
            Exponential => {
                let part = records as f64 * EXPONENTIAL_FRACTION;
                Chooser::Exponential(-part / (1.0 - EXPONENTIAL_PERCENT / 100.0).ln())
            }
        }
    }

    /// A record number of 0..`existing`; 0 where none exists.
    #[inline]
    pub(crate) fn draw(&mut self, existing: u64, rng: &mut Rng) -> u64 {
        if existing <= 1 {
            return 0;
        }
        loop {
            let record = match self {
                Chooser::Uniform(records) => Some(rng.below(records.unwrap_or(existing))),
                Chooser::Scrambled(scrambled) => Some(scrambled.draw(rng)),
                Chooser::Latest(back) => {
                    back.grow(existing - 1);
                    (existing - 1).checked_sub(back.draw(rng))
                }
                Chooser::Exponential(mean) => {
                    (existing - 1).checked_sub((-*mean * (1.0 - rng.unit()).ln()) as u64)
                }
                Chooser::Keys(keys) => Some(keys.draw(rng)),
                Chooser::Newest(keys) => (existing - 1).checked_sub(keys.draw(rng)),
            };
            if let Some(record) = record.filter(|record| *record < existing) {
                return record;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ycsb::Mix;

    fn chooser(distribution: RequestDistribution, mode: Mode, records: u64) -> Chooser {
        let ycsb = YcsbOptions {
            request_distribution: Some(distribution),
            operation_count: 5000,
            mix: Some(Mix { insert: 1.0, ..Mix::default() }),
            ..YcsbOptions::default()
        };
        let hot = Hot { fraction: 0.2, share: 0.8 };
        Chooser::of(&ycsb, Recipe::Ycsb, mode, &hot, records, 77)
    }

    fn drawn(chooser: &mut Chooser, existing: u64, draws: u64) -> Vec<u64> {
        let mut rng = Rng::new(6, 1);
        (0..draws).map(|_| chooser.draw(existing, &mut rng)).collect()
    }

    #[test]
    fn records_exist_whatever_is_expected_to_come() {
        use RequestDistribution::{Exponential, Hotspot, Latest, Uniform, Zipfian};
        for distribution in [Uniform, Zipfian, Latest, Hotspot, Exponential] {
            for mode in [Mode::Compat, Mode::Strict] {
                let mut chooser = chooser(distribution, mode, 1000);
                for existing in [1000, 1001, 4000] {
                    let all = drawn(&mut chooser, existing, 20_000);
                    assert!(
                        all.iter().all(|record| *record < existing),
                        "{distribution:?} {mode:?}"
                    );
                }
                assert_eq!(drawn(&mut chooser, 1, 5), [0; 5], "the only record");
            }
        }
    }

    #[test]
    fn the_newest_are_the_most_popular_under_latest() {
        for mode in [Mode::Compat, Mode::Strict] {
            let mut latest = chooser(RequestDistribution::Latest, mode, 2000);
            let all = drawn(&mut latest, 2000, 100_000);
            let share = all.iter().filter(|record| **record == 1999).count() as f64 / 1e5;
            // 1 ÷ Σ i^-0.99 over 2000.
            assert!((share - 0.1180).abs() < 0.005, "{mode:?} {share}");
            // YCSB's latest never draws the first record.
            assert_eq!(all.contains(&0), mode == Mode::Strict);
        }
    }

    #[test]
    fn exponential_keeps_to_the_newest_as_far_as_it_says() {
        let mut exponential = chooser(RequestDistribution::Exponential, Mode::Compat, 100_000);
        let all = drawn(&mut exponential, 100_000, 100_000);
        let within = all.iter().filter(|record| 99_999 - **record < 85_714).count() as f64 / 1e5;
        // The share after drawing again: 95 % of 97 %.
        assert!((within - 0.9798).abs() < 0.003, "{within}");
    }

    /// The exact law gives the hottest record its share, and the scatter loses no record.
    #[test]
    fn the_repaired_zipfian_knows_how_many_records_there_are() {
        let mut zipfian = chooser(RequestDistribution::Zipfian, Mode::Strict, 1000);
        let mut counts = [0_u32; 1000];
        drawn(&mut zipfian, 1000, 200_000).iter().for_each(|record| counts[*record as usize] += 1);
        counts.sort_unstable();
        // 1 ÷ 7.728953217, where YCSB's hottest has 3.8 %.
        let hottest = f64::from(counts[999]) / 2e5;
        assert!((hottest - 0.12938).abs() < 0.004, "{hottest}");
        assert!(counts[0] > 0, "every record is asked for");
    }
}
