//! Printed figures to compare with measured ones: the plan's `[paper]`, stored as it is.

use serde::{Deserialize, Serialize};

/// A paper that a study repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Name of the claims that hold title and comparisons; a plan then states nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<String>,
    /// Authors, title and date.
    #[serde(default)]
    pub title: String,
    /// Comparisons, each of which becomes a table of the report.
    #[serde(default)]
    pub comparisons: Vec<Comparison>,
}

/// One configuration against another, for each data profile and workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Table or figure of the paper, e.g. `"Table 1"`.
    pub table: String,
    /// The compared result, e.g. `qps`, or a percentile of a kind of statement from its sending,
    /// e.g. `latency_ms_p99{read}`.
    #[serde(default = "qps")]
    pub metric: String,
    pub config: String,
    /// The configuration compared with.
    pub against: String,
    /// Printed gains. Gains that the paper does not print are reported too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<Printed>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// Data profile of the plan, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_profile: Option<String>,
    pub workload: String,
    /// Gain in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// Words printed instead of a figure, or the figure's derivation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// True if words instead of a figure call the configuration better, false if worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_better: Option<bool>,
}

fn qps() -> String {
    "qps".into()
}
