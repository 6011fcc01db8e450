//! Whether the figures of a cell agree with each other: arithmetic on plain numbers. What others have printed is known by its
//! digits alone and so checked by intervals, in `claims`.
//!
//! Each check says what it computed, so that a reader can repeat it. A figure that is not known, or is no number, checks nothing.

mod cell;
mod factors;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub(crate) use cell::of_results;
pub(crate) use factors::{Pair, of_pairs};

/// What was found when figures were held against each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Check {
    /// The rule, in a few words.
    pub(crate) name: &'static str,
    /// Whether they agree within the tolerance.
    pub(crate) holds: bool,
    /// What was computed from what.
    pub(crate) arithmetic: String,
}

/// A check, where every figure in it is a number.
fn check(name: &'static str, figures: &[f64], holds: bool, arithmetic: String) -> Option<Check> {
    let are_known = figures.iter().all(|figure| figure.is_finite());
    are_known.then_some(Check { name, holds, arithmetic })
}

/// Whether `one` lies within this share of `other`.
pub(crate) fn is_near(one: f64, other: f64, tolerance: f64) -> bool {
    (one / other - 1.0).abs() <= tolerance
}

/// Threads = TPS × mean latency, in closed loop (Little, "A Proof for the Queuing Formula L = λW", 1961).
pub(crate) fn little(
    threads: f64,
    tps: f64,
    latency_ms_mean: f64,
    tolerance: f64,
) -> Option<Check> {
    let busy = tps * latency_ms_mean / 1000.0;
    check(
        "threads = TPS × mean latency",
        &[threads, busy],
        is_near(busy, threads, tolerance),
        format!("TPS × mean latency is {busy:.2}, there were {threads:.0} threads"),
    )
}

/// Queries ÷ transactions is the recipe's.
pub(crate) fn recipe(queries_per_transaction: f64, expected: f64, tolerance: f64) -> Option<Check> {
    check(
        "queries ÷ transactions = the recipe's",
        &[queries_per_transaction, expected],
        is_near(queries_per_transaction, expected, tolerance),
        format!("{queries_per_transaction:.2} queries a transaction, the recipe has {expected:.0}"),
    )
}

/// No more than 1 − p of all can be mean ÷ (1 − p) or more: Markov's inequality, for figures that are never below zero.
pub(crate) fn markov(
    share: f64,
    percentile_ms: f64,
    mean_ms: f64,
    tolerance: f64,
) -> Option<Check> {
    let most = mean_ms / (1.0 - share);
    let percent = share * 100.0;
    check(
        "percentile p ≤ mean ÷ (1 − p)",
        &[percentile_ms, most],
        percentile_ms <= most * (1.0 + tolerance),
        format!(
            "p{percent} is {percentile_ms:.4} ms; with a mean of {mean_ms:.4} ms it is at most {most:.4} ms"
        ),
    )
}

/// Percentiles ascend, and none is above the longest. Names and milliseconds, in the order in which they must be.
pub(crate) fn ascending(percentiles: &[(&str, f64)], tolerance: f64) -> Option<Check> {
    let figures: Vec<f64> = percentiles.iter().map(|(_, value)| *value).collect();
    let told: Vec<String> =
        percentiles.iter().map(|(name, value)| format!("{name} {value:.4} ms")).collect();
    check(
        "percentiles ascend to the longest",
        &figures,
        figures.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + tolerance)),
        told.join(" ≤ "),
    )
}

/// A rate that was asked for was reached. `events` of a Poisson process have a relative spread of 1/√n; three of those are
/// allowed beside the tolerance.
pub(crate) fn rate(achieved: f64, target: f64, events: f64, tolerance: f64) -> Option<Check> {
    let least = target * (1.0 - tolerance - 3.0 / events.sqrt());
    let holds = achieved >= least;
    let end = if holds { "" } else { ": overloaded" };
    let arithmetic = format!("{achieved:.1} of {target:.1} transactions/s asked for{end}");
    check("the target rate was reached", &[achieved, least], holds, arithmetic)
}

/// Two counts of the same thing agree, in the unit given.
pub(crate) fn same(
    name: &'static str,
    (one_name, one): (&str, f64),
    (other_name, other): (&str, f64),
    tolerance: f64,
) -> Option<Check> {
    check(
        name,
        &[one / other],
        is_near(one, other, tolerance),
        format!("{one_name} {:.1} MB/s, {other_name} {:.1} MB/s", one / 1e6, other / 1e6),
    )
}
