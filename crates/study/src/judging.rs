//! What the plan says of judging, kept in the study's head: which configuration is the baseline, which pairs it asks
//! about, what difference does not matter, and which configurations are the same under two names.

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
    /// The pairs that the plan asks about, in its order. Where there are none it asks how every configuration compares
    /// with the baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compare: Vec<AskedPair>,
    /// Kinds of statement whose percentiles are judged too, by the load's words for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles_by_statement: Vec<String>,
}

/// Two configurations that a plan asks about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedPair {
    /// The configuration that is judged.
    pub config: String,
    /// The one that it is measured by.
    pub against: String,
    /// The workload, by its name in the plan; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The data profile; all that both are run on if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_profile: Option<String>,
    /// The data profile of `against`, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_data_profile: Option<String>,
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
