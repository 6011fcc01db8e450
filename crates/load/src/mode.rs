//! The choice between a benchmark program's quirks and their repair.

use serde::{Deserialize, Serialize};

/// The treatment of the benchmark program's quirks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The behaviour of the recipe's own program: its retries, its clock that runs until the last
    /// event ends, its arithmetic of keys.
    Compat,
    /// Rolls back before a retry, an exact measuring window, the hot window as wide as asked.
    #[default]
    Strict,
}
