//! What the plan says of judging, kept in the study's head: which configuration is the baseline, what difference does
//! not matter, and which configurations are the same under two names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What is needed to judge a study beside its figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Judging {
    /// The configuration that the others are measured by; the first where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Differences of so many percent or less do not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_percent: Option<f64>,
    /// Configurations that are another one run again, and which: their differences are noise.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub aa_runs: BTreeMap<String, String>,
}

impl Judging {
    /// The share that does not matter.
    #[must_use]
    pub fn margin(&self) -> f64 {
        self.margin_percent.unwrap_or(MARGIN_PERCENT) / 100.0
    }
}

/// Differences that do not matter, in percent, unless the plan says otherwise.
pub const MARGIN_PERCENT: f64 = 3.0;
