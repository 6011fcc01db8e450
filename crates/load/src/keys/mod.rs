//! The distributions of keys.
//!
//! Sources: sysbench 1.0.20's uniform, gaussian, special and pareto as its users know them, with
//! quirks in `compat` mode; the first three of sysbench 0.4 and 0.5 too, with their overflows; in
//! addition exact zipf and a two-level hotspot. Each is *clustered* (popular keys are neighbours
//! and share pages) or *scattered* by a seeded bijection of the key range (they are anywhere, with
//! the same counts).
//!
//! Guarantees: a draw lies within the given ends; it allocates nothing; equal seeds give equal
//! draws.

mod scatter;
mod unique;
mod words;
mod zipf;

pub use scatter::Scatter;
pub(crate) use unique::{Unique, Walk};
pub use words::Distortion;

use serde::{Deserialize, Serialize};

use crate::random::Rng;
use words::Words;
use zipf::Zipf;

/// The name of a distribution of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RandType {
    /// Equal probabilities.
    Uniform,
    /// A bell around the middle: the mean of `rand_spec_iter` uniform numbers.
    Gaussian,
    /// sysbench 1.0's default: a hot window in the middle over a bell.
    Special,
    /// Bounded Pareto: `rand_pareto_h` of the keys get the other share of the draws.
    Pareto,
    /// Rank r with probability in proportion to r^-θ, exact for any range.
    Zipf,
    /// `rand_hot_share` of the draws fall evenly on the first `rand_hot_fraction` of the keys.
    Hotspot,
}

/// A distribution with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distribution {
    pub rand_type: RandType,
    /// Uniform numbers averaged by the bells.
    pub spec_iter: u32,
    /// Width of special's hot window, in per cent of the range.
    pub spec_pct: f64,
    /// Share of special's draws meant for the hot window, in per cent.
    pub spec_res: f64,
    /// Pareto's h, above 0 and below 1.
    pub pareto_h: f64,
    /// Zipf's θ, above 0.
    pub zipfian_exp: f64,
    /// Hotspot's fraction of hot keys, 0 to 1.
    pub hot_fraction: f64,
    /// Hotspot's share of draws that go to hot keys, 0 to 1.
    pub hot_share: f64,
    /// The arithmetic, with its quirks.
    pub arithmetic: KeyArithmetic,
}

/// The program whose arithmetic draws keys, quirks included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyArithmetic {
    /// Exact, for any number of rows.
    #[default]
    Exact,
    /// That of sysbench 1.0: `special` uses the number that chose the branch again, so its window
    /// is only (`spec_res` ÷ 100) of the requested width.
    Narrow,
    /// The 32-bit words of sysbench 0.4, which overflow on large tables.
    Words04,
    /// The 32-bit words of sysbench 0.5.
    Words05,
}

impl Default for Distribution {
    /// Uniform, with sysbench's parameters for the others.
    fn default() -> Distribution {
        Distribution {
            rand_type: RandType::Uniform,
            spec_iter: 12,
            spec_pct: 1.0,
            spec_res: 75.0,
            pareto_h: 0.2,
            zipfian_exp: 0.8,
            hot_fraction: 0.2,
            hot_share: 0.8,
            arithmetic: KeyArithmetic::Exact,
        }
    }
}

/// Draws keys from `first..=last`.
#[derive(Debug, Clone)]
pub struct KeyChooser {
    first: u64,
    count: u64,
    shape: Shape,
    scatter: Option<Scatter>,
}

#[derive(Debug, Clone)]
enum Shape {
    Uniform,
    Bell { iterations: u32 },
    Special { iterations: u32, pct: f64, res: f64, narrow: bool },
    Pareto { power: f64 },
    Zipf(Zipf),
    Hotspot { hot: u64, share: f64 },
    Words(Words),
}

impl Shape {
    fn new(d: &Distribution, count: u64) -> Shape {
        match d.rand_type {
            RandType::Uniform => Shape::Uniform,
            RandType::Gaussian => Shape::Bell { iterations: d.spec_iter.max(1) },
            RandType::Special => Shape::Special {
                iterations: d.spec_iter.max(1),
                pct: d.spec_pct,
                res: d.spec_res,
                narrow: d.arithmetic == KeyArithmetic::Narrow,
            },
            RandType::Pareto => Shape::Pareto { power: d.pareto_h.ln() / (1.0 - d.pareto_h).ln() },
            RandType::Zipf => Shape::Zipf(Zipf::new(count, d.zipfian_exp)),
            RandType::Hotspot => {
                let hot = ((count as f64 * d.hot_fraction).round() as u64).clamp(1, count);
                Shape::Hotspot { hot, share: d.hot_share }
            }
        }
    }
}

impl KeyChooser {
    /// A chooser for `first..=last` (at least one key); scattered if there is a seed for that.
    #[must_use]
    pub fn new(
        distribution: &Distribution,
        first: u64,
        last: u64,
        scatter_seed: Option<u64>,
    ) -> KeyChooser {
        let count = last.saturating_sub(first).saturating_add(1);
        let words = Words::new(distribution, count).map(Shape::Words);
        let shape = words.unwrap_or_else(|| Shape::new(distribution, count));
        KeyChooser {
            first,
            count,
            shape,
            scatter: scatter_seed.map(|seed| Scatter::new(count, seed)),
        }
    }

    /// The next key.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let rank = match &self.shape {
            Shape::Uniform => rng.below(self.count),
            Shape::Bell { iterations } => bell(rng, *iterations, self.count),
            Shape::Special { iterations, pct, res, narrow } => {
                let u = rng.unit();
                self.special(rng, u, *iterations, *pct, *res, *narrow)
            }
            Shape::Pareto { power } => (self.count as f64 * rng.unit().powf(*power)) as u64,
            Shape::Zipf(zipf) => zipf.draw(rng),
            Shape::Hotspot { hot, share } => self.hotspot(rng, *hot, *share),
            Shape::Words(words) => words.draw(rng),
        };
        let rank = rank.min(self.count - 1);
        self.first + self.scatter.as_ref().map_or(rank, |scatter| scatter.place(rank))
    }

    fn special(
        &self,
        rng: &mut Rng,
        u: f64,
        iterations: u32,
        pct: f64,
        res: f64,
        narrow: bool,
    ) -> u64 {
        let span = (self.count - 1) as f64;
        if u * 100.0 / (100.0 - res) < 1.0 {
            return bell(rng, iterations, self.count - 1);
        }
        let u = if narrow { u } else { rng.unit() };
        let window = span * pct / 100.0;
        (u * (window + 1.0) + span / 2.0 - span * pct / 200.0) as u64
    }

    fn hotspot(&self, rng: &mut Rng, hot: u64, share: f64) -> u64 {
        if hot == self.count || rng.unit() < share {
            rng.below(hot)
        } else {
            hot + rng.below(self.count - hot)
        }
    }
}

fn bell(rng: &mut Rng, iterations: u32, count: u64) -> u64 {
    let sum: f64 = (0..iterations).map(|_| rng.unit()).sum();
    (sum / f64::from(iterations) * count as f64) as u64
}

#[cfg(test)]
mod tests;
