//! Empirical distribution functions, whole or at some points only, and the distance between two.

use serde::{Deserialize, Serialize};

/// Points that a recording keeps of a distribution function.
const POINTS: u64 = 40;

/// An empirical distribution function.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Distribution {
    /// Values in ascending order, each with the number of draws up to it.
    points: Vec<(i64, u64)>,
    /// Whether `points` holds every value drawn.
    #[serde(skip)]
    is_whole: bool,
}

impl Distribution {
    pub fn of(mut sample: Vec<i64>) -> Distribution {
        sample.sort_unstable();
        let mut points: Vec<(i64, u64)> = Vec::new();
        for (value, drawn) in sample.into_iter().zip(1..) {
            match points.last_mut() {
                Some(last) if last.0 == value => last.1 = drawn,
                _ => points.push((value, drawn)),
            }
        }
        Distribution { points, is_whole: true }
    }

    /// The function at about [`POINTS`] of its points, evenly by share of the draws.
    pub fn thinned(&self) -> Distribution {
        let total = self.total();
        let step = |drawn: u64| drawn * POINTS / total;
        let mut points: Vec<(i64, u64)> = Vec::new();
        let mut before = 0;
        for (i, (value, drawn)) in self.points.iter().copied().enumerate() {
            if i == 0 || step(drawn) > step(before) {
                points.push((value, drawn));
            }
            before = drawn;
        }
        Distribution { points, is_whole: false }
    }

    fn total(&self) -> u64 {
        self.points.last().map_or(0, |last| last.1)
    }

    /// Share of the draws up to `value`.
    fn share(&self, value: i64) -> f64 {
        let below = self.points.partition_point(|point| point.0 <= value);
        let drawn = below.checked_sub(1).map_or(0, |last| self.points[last].1);
        drawn as f64 / self.total() as f64
    }

    /// The largest distance to `ours`, which is whole, as a multiple of the distance that two
    /// samples of one distribution exceed once in 10 000 times (Kolmogorov and Smirnov; c(α) =
    /// √(−ln(α÷2)÷2)). Between the points of a thinned distribution nothing is compared, so that
    /// its distance is never larger than that of the whole one.
    pub fn distance(&self, ours: &Distribution) -> f64 {
        if self.points.is_empty() || ours.points.is_empty() {
            return if self.points.len() == ours.points.len() { 0.0 } else { f64::INFINITY };
        }
        let all = if self.is_whole { &ours.points[..] } else { &[] };
        let values = self.points.iter().chain(all).map(|point| point.0);
        let distance =
            values.map(|value| (self.share(value) - ours.share(value)).abs()).fold(0.0, f64::max);
        let (n, m) = (self.total() as f64, ours.total() as f64);
        distance / ((-(1e-4f64 / 2.0).ln() / 2.0).sqrt() * ((n + m) / (n * m)).sqrt())
    }
}

#[test]
fn samples_of_one_distribution_are_near_and_others_far() {
    let even: Vec<i64> = (0..1000).map(|i| i * 7919 % 1000).collect();
    let other = Distribution::of((0..1000).map(|i| i * 104_729 % 1000).collect());
    let skewed = Distribution::of(even.iter().map(|x| x * x / 1000).collect());
    let even = Distribution::of(even);
    for even in [even.thinned(), even] {
        assert!(even.distance(&other) < 1.0);
        assert!(even.distance(&skewed) > 2.0);
    }
}
