//! The arrival of events in an open loop.

use serde::{Deserialize, Serialize};

/// The spacing of planned starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Random, as independent users arrive: gaps are exponential.
    #[default]
    Poisson,
    /// Equal gaps.
    Even,
}

/// Returns true for a valid rate.
pub(crate) fn is_rate(per_second: f64) -> bool {
    per_second > 0.0 && per_second <= 1e8
}
