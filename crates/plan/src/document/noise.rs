//! The baseline, and the configuration that runs twice.

use serde::{Deserialize, Serialize};

use super::Plan;

/// The configuration that runs twice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NoiseFloorSpec {
    /// The baseline, or none.
    Whether(bool),
    /// The configuration of this name.
    Config(String),
}

impl Default for NoiseFloorSpec {
    fn default() -> NoiseFloorSpec {
        NoiseFloorSpec::Whether(true)
    }
}

impl Plan {
    /// The configuration that others are compared with: `baseline`, else that of the first
    /// comparison of the paper, else that of the first pair, else the first.
    #[must_use]
    pub fn baseline(&self) -> Option<&str> {
        let named = self.baseline.as_deref();
        let of_paper = || self.paper.as_ref()?.comparisons.first().map(|one| one.against.as_str());
        let of_pair = || self.compare.first().map(|pair| pair.against.as_str());
        named
            .or_else(of_paper)
            .or_else(of_pair)
            .or_else(|| self.configs.keys().next().map(String::as_str))
    }
}
