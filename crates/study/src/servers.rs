//! What each of several servers of one run did, beside what all did together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One of the servers of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfServer {
    /// Its number, from 1.
    pub server: u32,
    /// The workload that it was loaded with, where that is not the run's: a noisy neighbour. The run's own figures are without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<String>,
    /// Its figures over the measuring window, by name with the unit last.
    pub results: BTreeMap<String, f64>,
}

/// How evenly servers share what they have together, from 1 ÷ their number (one has all) to 1 (all have the same): the square of the sum over
/// their number times the sum of the squares (Jain, Chiu and Hawe, "A Quantitative Measure of Fairness", DEC-TR-301, 1984).
/// Nothing of nothing.
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
        // The paper's own example: k of n users share equally, the index is k ÷ n.
        near(&[5.0, 5.0, 0.0, 0.0], 0.5);
        near(&[1.0, 2.0, 3.0], 36.0 / 42.0);
        near(&[4.0], 1.0);
        assert_eq!(fairness(&[]), None);
        assert_eq!(fairness(&[0.0, 0.0]), None);
    }
}
