//! Whether the figures of a run agree with each other: arithmetic on plain numbers. What others
//! have printed is known by its digits alone and so checked by intervals, in `claims`.
//!
//! Each check keeps both sides of its arithmetic, so that a reader can repeat it. A figure that is
//! not known, or is no number, checks nothing.

mod factors;
#[cfg(test)]
mod tests;
mod trial;

pub use factors::{FactorPair, factors, of_pairs};
pub use trial::{file_bytes, of_results};

pub use assay_study::{ExplainedWrites, Sides};

/// A check of figures against each other.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossCheck {
    /// The two sides of the check.
    pub sides: Sides,
    /// Whether they agree within the tolerance.
    pub holds: bool,
}

/// A check, where every figure in it is a number.
fn check(sides: Sides, figures: &[f64], holds: bool) -> Option<CrossCheck> {
    let are_known = figures.iter().all(|figure| figure.is_finite());
    are_known.then_some(CrossCheck { sides, holds })
}

/// Whether `one` lies within this share of `other`.
pub fn is_near(one: f64, other: f64, tolerance: f64) -> bool {
    (one / other - 1.0).abs() <= tolerance
}

/// Threads = TPS × mean latency, in closed loop (Little, "A Proof for the Queuing Formula L = λW",
/// 1961).
pub fn little(threads: f64, tps: f64, latency_ms_mean: f64, tolerance: f64) -> Option<CrossCheck> {
    let busy = tps * latency_ms_mean / 1000.0;
    check(Sides::Little { busy, threads }, &[threads, busy], is_near(busy, threads, tolerance))
}

/// Queries ÷ transactions is the recipe's.
pub fn recipe(queries_per_transaction: f64, expected: f64, tolerance: f64) -> Option<CrossCheck> {
    let holds = is_near(queries_per_transaction, expected, tolerance);
    let figures = [queries_per_transaction, expected];
    check(Sides::Recipe { queries_per_transaction, expected }, &figures, holds)
}

/// No more than 1 − p of all can be mean ÷ (1 − p) or more: Markov's inequality, for figures that
/// are never below zero.
pub fn markov(share: f64, percentile_ms: f64, mean_ms: f64, tolerance: f64) -> Option<CrossCheck> {
    let most_ms = mean_ms / (1.0 - share);
    let holds = percentile_ms <= most_ms * (1.0 + tolerance);
    let sides = Sides::Markov { share, percentile_ms, mean_ms, most_ms };
    check(sides, &[percentile_ms, most_ms], holds)
}

/// Percentiles ascend, and none is above the longest. Names and milliseconds, in the order in which
/// they must be.
pub fn ascending(percentiles: &[(&'static str, f64)], tolerance: f64) -> Option<CrossCheck> {
    let figures: Vec<f64> = percentiles.iter().map(|(_, value)| *value).collect();
    let holds = figures.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + tolerance));
    let named = percentiles.iter().map(|(name, value)| ((*name).to_owned(), *value));
    check(Sides::Ascending(named.collect()), &figures, holds)
}

/// A rate that was asked for was reached. `events` of a Poisson process have a relative spread of
/// 1/√n; three of those are allowed beside the tolerance.
pub fn rate(achieved: f64, target: f64, events: f64, tolerance: f64) -> Option<CrossCheck> {
    let least = target * (1.0 - tolerance - 3.0 / events.sqrt());
    check(Sides::Rate { achieved, target }, &[achieved, least], achieved >= least)
}

/// Two counts of the same bytes agree.
fn same(sides: Sides, (one, other): (f64, f64), tolerance: f64) -> Option<CrossCheck> {
    check(sides, &[one / other], is_near(one, other, tolerance))
}
