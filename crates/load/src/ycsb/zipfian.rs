//! Zipfian ranks by the closed form of Gray et al. (SIGMOD 1994), and YCSB's scrambled form of
//! them.
//!
//! The closed form is an approximation: ranks 0 and 1 have their exact shares, the others nearly.
//! YCSB's scrambled form draws a rank of ten billion with a sum that is fixed in its source,
//! whatever the number of records, and hashes it to a record: the hottest record always gets 3.778
//! % of the requests, and ranks that hash to one record add up.

use super::key::fnv_64;
use crate::random::Rng;

/// YCSB's default exponent.
pub const THETA: f64 = 0.99;

/// Items that the scrambled form draws from, and the sum Σ i^-0.99 over them, as YCSB has them.
const SCRAMBLED_ITEMS: u64 = 10_000_000_000;
const SCRAMBLED_ZETA: f64 = 26.469_028_201_783_02;

/// Ranks 0..items, rank r nearly in proportion to (r + 1)^-θ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zipfian {
    items: u64,
    /// Initial number of items: YCSB keeps it in η when more are added.
    first_items: u64,
    theta: f64,
    zeta: f64,
    alpha: f64,
    eta: f64,
}

impl Zipfian {
    /// The distribution over `items` items. Sums over all of them: seconds for a billion.
    #[must_use]
    pub fn new(items: u64, theta: f64) -> Zipfian {
        Zipfian::with_zeta(items, theta, zeta(0, items, theta, 0.0))
    }

    fn with_zeta(items: u64, theta: f64, zeta_of_items: f64) -> Zipfian {
        let alpha = 1.0 / (1.0 - theta);
        let mut made =
            Zipfian { items, first_items: items, theta, zeta: zeta_of_items, alpha, eta: 0.0 };
        made.eta = made.eta();
        made
    }

    fn eta(&self) -> f64 {
        let zeta_of_two = zeta(0, 2, self.theta, 0.0);
        let share = (2.0 / self.first_items as f64).powf(1.0 - self.theta);
        (1.0 - share) / (1.0 - zeta_of_two / self.zeta)
    }

    /// Extends the distribution to more items from the known sum, for newly inserted records.
    pub fn grow(&mut self, items: u64) {
        if items > self.items {
            self.zeta = zeta(self.items, items, self.theta, self.zeta);
            self.items = items;
            self.eta = self.eta();
        }
    }

    /// Number of items.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The rank of a uniform number `u` of [0, 1).
    #[inline]
    #[must_use]
    pub fn rank(&self, u: f64) -> u64 {
        let uz = u * self.zeta;
        if uz < 1.0 {
            return 0;
        }
        if uz < 1.0 + 0.5_f64.powf(self.theta) {
            return 1;
        }
        (self.items as f64 * (self.eta * u - self.eta + 1.0).powf(self.alpha)) as u64
    }

    /// The next rank.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        self.rank(rng.unit())
    }
}

/// Σ i^-θ over the items numbered from `from` + 1 to `to`, added to `sum`.
fn zeta(from: u64, to: u64, theta: f64, sum: f64) -> f64 {
    (from..to).fold(sum, |sum, item| sum + 1.0 / ((item + 1) as f64).powf(theta))
}

/// YCSB's scrambled zipfian: popular records are anywhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scrambled {
    ranks: Zipfian,
    items: u64,
}

impl Scrambled {
    /// The distribution over records 0..items.
    #[must_use]
    pub fn new(items: u64) -> Scrambled {
        // YCSB's lowest and highest item both count.
        let ranks = Zipfian::with_zeta(SCRAMBLED_ITEMS + 1, THETA, SCRAMBLED_ZETA);
        Scrambled { ranks, items: items.max(1) }
    }

    /// The record of a uniform number `u` of [0, 1).
    #[inline]
    #[must_use]
    pub fn record(&self, u: f64) -> u64 {
        fnv_64(self.ranks.rank(u)) % self.items
    }

    /// The next record.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        self.record(rng.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(value: f64, published: f64) -> bool {
        (value / published - 1.0).abs() < 1e-9
    }

    #[test]
    fn sums_and_ranks_are_those_of_ycsb() {
        let hundred = Zipfian::new(100, THETA);
        assert!(is_near(hundred.zeta, 5.294_568_831), "{}", hundred.zeta);
        assert!(is_near(hundred.eta, 0.053_579_742_993), "{}", hundred.eta);
        let thousand = Zipfian::new(1000, THETA);
        assert!(is_near(thousand.zeta, 7.728_953_217), "{}", thousand.zeta);
        assert!((thousand.eta - 0.074_806_087).abs() < 1e-9, "{}", thousand.eta);
        let ranks = [0.05, 0.15, 0.25, 0.5, 0.75, 0.9, 0.99].map(|u| thousand.rank(u));
        assert_eq!(ranks, [0, 1, 3, 22, 151, 471, 927]);
    }

    #[test]
    fn growing_adds_to_the_sum_and_keeps_what_ycsb_keeps() {
        let mut grown = Zipfian::new(100, THETA);
        grown.grow(1000);
        grown.grow(10);
        let made = Zipfian::new(1000, THETA);
        assert_eq!(grown.items(), 1000);
        assert!(is_near(grown.zeta, made.zeta));
        let eta =
            (1.0 - (2.0_f64 / 100.0).powf(0.01)) / (1.0 - (1.0 + 0.5_f64.powf(THETA)) / made.zeta);
        assert!(is_near(grown.eta, eta), "{} {eta}", grown.eta);
    }

    #[test]
    fn scrambled_ranks_and_records_are_those_of_ycsb() {
        let scrambled = Scrambled::new(32_000_000);
        let uniform = [0.03, 0.05, 0.1, 0.25, 0.5, 0.75];
        let ranks = uniform.map(|u| scrambled.ranks.rank(u));
        assert_eq!(ranks, [0, 1, 6, 296, 134_552, 42_924_421]);
        assert!((scrambled.ranks.eta - 0.212_200_033_81).abs() < 1e-9);
        let records = uniform.map(|u| scrambled.record(u));
        let published = [27_377_211, 18_966_620, 2_995_587, 13_933_614, 7_280_260, 23_210_439];
        assert_eq!(records, published);
    }

    #[test]
    fn the_hottest_record_has_its_share_whatever_their_number() {
        for items in [1000, 1_000_000] {
            let (scrambled, mut rng) = (Scrambled::new(items), Rng::new(5, 1));
            let [hottest, second] = [0, 1].map(|rank| fnv_64(rank) % items);
            let mut counts = [0_u32; 2];
            for _ in 0..1_000_000 {
                let record = scrambled.draw(&mut rng);
                counts[0] += u32::from(record == hottest);
                counts[1] += u32::from(record == second);
            }
            // Each of a thousand records also gets a thousandth of the uniform rest.
            let rest = 0.6 * 1e6 / items as f64;
            for (count, share) in counts.into_iter().zip([37_780.0, 19_020.0]) {
                let excess = f64::from(count) - share;
                assert!((-800.0..800.0 + rest).contains(&excess), "{items}: {counts:?}");
            }
        }
    }
}
