//! Random numbers from a seed, the same on every machine and in every version.

use super::time::Time;

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// Evenly from 0 to `end` - 1.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// Evenly from 0, less than 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From the normal distribution of mean 0 and deviation 1, by one half of a pair (Box and
    /// Muller, "A note on the generation of random normal deviates", 1958).
    pub(super) fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.unit(), self.unit());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

/// The distribution of a latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LatencyModel {
    /// Always the same.
    Fixed(Time),
    /// Lognormal.
    Lognormal {
        /// Half of all take no longer.
        median: Time,
        /// Standard deviation of its natural logarithm.
        sigma: f64,
    },
    /// A usual latency, and sometimes a slow one, as in a bound of the form "99.9 % within …".
    TwoPoint {
        /// Latency of most commands.
        usual: Time,
        /// Latency of the others.
        slow: Time,
        /// Share of slow ones, 0 to 1.
        slow_share: f64,
    },
}

/// The normal distribution's 99th percentile, in deviations.
const P99_DEVIATIONS: f64 = 2.326_347_874_040_841;

impl LatencyModel {
    /// The lognormal latency with this median and 99th percentile: sigma = ln(p99 / median) /
    /// 2.326.
    #[must_use]
    pub fn lognormal(median: Time, p99: Time) -> LatencyModel {
        let sigma = (p99.as_s() / median.as_s()).ln().max(0.0) / P99_DEVIATIONS;
        LatencyModel::Lognormal { median, sigma }
    }

    /// The mean; of a lognormal latency, median × exp(sigma² / 2).
    #[must_use]
    pub fn mean(&self) -> Time {
        match *self {
            LatencyModel::Fixed(time) => time,
            LatencyModel::Lognormal { median, sigma } => {
                Time::from_s(median.as_s() * (sigma * sigma / 2.0).exp())
            }
            LatencyModel::TwoPoint { usual, slow, slow_share } => {
                Time::from_s(usual.as_s() * (1.0 - slow_share) + slow.as_s() * slow_share)
            }
        }
    }

    pub(super) fn draw(&self, random: &mut Random) -> Time {
        match *self {
            LatencyModel::Fixed(time) => time,
            LatencyModel::Lognormal { median, sigma } => {
                Time::from_s(median.as_s() * (sigma * random.normal()).exp())
            }
            LatencyModel::TwoPoint { usual, slow, slow_share } => {
                if random.unit() < slow_share {
                    slow
                } else {
                    usual
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(latency: LatencyModel) -> Vec<f64> {
        let mut random = Random::new(3);
        let mut drawn: Vec<f64> = (0..100_000).map(|_| latency.draw(&mut random).as_us()).collect();
        drawn.sort_by(f64::total_cmp);
        drawn
    }

    fn near(figure: f64, expected: f64) -> bool {
        (figure / expected - 1.0).abs() < 0.02
    }

    #[test]
    fn what_is_drawn_has_the_mean_the_median_and_the_tail_that_were_asked_for() {
        let latency = LatencyModel::lognormal(Time::from_us(500.0), Time::from_us(2000.0));
        let drawn = drawn(latency);
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        assert!(near(drawn[50_000], 500.0), "median {}", drawn[50_000]);
        assert!(near(drawn[99_000], 2000.0), "99th percentile {}", drawn[99_000]);
        assert!(near(mean, latency.mean().as_us()), "mean {mean} for {}", latency.mean().as_us());
    }

    #[test]
    fn one_in_a_hundred_is_slow() {
        let (usual, slow) = (Time::from_us(500.0), Time::from_us(10_000.0));
        let latency = LatencyModel::TwoPoint { usual, slow, slow_share: 0.01 };
        let drawn = drawn(latency);
        let slow = drawn.iter().filter(|&&us| us == 10_000.0).count();
        assert!((900..1100).contains(&slow), "{slow} slow");
        assert!(near(drawn.iter().sum::<f64>() / drawn.len() as f64, latency.mean().as_us()));
    }
}
