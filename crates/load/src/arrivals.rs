//! How events of an open loop arrive.

use serde::{Deserialize, Serialize};

/// How planned starts are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At random, as independent users arrive: gaps are exponential.
    #[default]
    Poisson,
    /// All gaps alike.
    Even,
}

/// Whether so many events per second can be asked for.
pub(crate) fn is_rate(per_second: f64) -> bool {
    per_second > 0.0 && per_second <= 1e8
}
