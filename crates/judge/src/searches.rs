//! The interval of a capacity over several searches.

use crate::statistics::{mean, paired};

/// The share of cases in which the interval is to have the truth: that of a single search.
pub const SEARCH_LEVEL: f64 = 0.9;

/// A rate that a search found, with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoundRate {
    /// Events per second, above 0.
    pub rate: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The geometric mean of the searches, with the wider of two intervals: the mean of their own, and
/// Student's over their log rates. Student's shows what searches differ by, but not what they have
/// in common (a search leans to lower rates, so that its rate is met); their own intervals do not
/// show differences from search to search. `None` without a search.
#[must_use]
pub fn over_searches(found: &[FoundRate]) -> Option<FoundRate> {
    let logs =
        |of: fn(&FoundRate) -> f64| -> Vec<f64> { found.iter().map(|one| of(one).ln()).collect() };
    if found.is_empty() {
        return None;
    }
    let rates = logs(|one| one.rate);
    let (mut low, mut high) = (mean(&logs(|one| one.low)), mean(&logs(|one| one.high)));
    if let Some(spread) = paired(&rates) {
        let (below, above) = spread.interval(SEARCH_LEVEL);
        (low, high) = (low.min(below), high.max(above));
    }
    Some(FoundRate { rate: mean(&rates).exp(), low: low.exp(), high: high.exp() })
}
