//! Results of each server of a run on several servers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A server of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfServer {
    /// Number, from 1.
    pub server: u32,
    /// Workload of a noisy neighbour, which the run's own figures leave out; `None` for the run's
    /// workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<String>,
    /// Figures over the measuring window by name.
    pub results: BTreeMap<String, f64>,
}

/// Jain's index of fairness: the square of the sum over the number times the sum of squares, from 1
/// ÷ number (one server has all) to 1 (all equal). `None` for an empty list. Source: Jain, Chiu and
/// Hawe, "A Quantitative Measure of Fairness", DEC-TR-301, 1984.
#[must_use]
pub fn fairness(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_one_where_all_have_the_same_and_falls_to_one_by_their_number() {
        let near = |shares: &[f64], wanted: f64| {
            let found = fairness(shares).unwrap();
            assert!((found - wanted).abs() < 1e-12, "{shares:?}: {found}");
        };
        near(&[7.0, 7.0, 7.0], 1.0);
        near(&[9.0, 0.0, 0.0], 1.0 / 3.0);
        // Example of the paper: if k of n users share equally, the index is k ÷ n.
        near(&[5.0, 5.0, 0.0, 0.0], 0.5);
        near(&[1.0, 2.0, 3.0], 36.0 / 42.0);
        near(&[4.0], 1.0);
        assert_eq!(fairness(&[]), None);
        assert_eq!(fairness(&[0.0, 0.0]), None);
    }
}
