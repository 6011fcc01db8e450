//! Whether quirks of the benchmark program are kept.

use serde::{Deserialize, Serialize};

/// As the benchmark program does it, or repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The behaviour of the recipe's own program: its retries, its clock that runs until the last event ends, its
    /// arithmetic of keys.
    Compat,
    /// Rolls back before a retry, an exact measuring window, the hot window as wide as asked.
    #[default]
    Strict,
}
