//! What a paper printed, to stand beside what was measured: the plan's `[paper]`, kept in the study as it is.

use serde::{Deserialize, Serialize};

/// A paper whose figures a study stands beside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// The claims that have the rest, by name: then a plan says no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<String>,
    /// Who, what, when.
    #[serde(default)]
    pub title: String,
    /// What it compares, each a table of the report.
    #[serde(default)]
    pub comparisons: Vec<Comparison>,
}

/// One configuration against another, over data profiles and workloads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Where the paper prints it, e.g. `"Table 1"`, and what it calls it.
    pub table: String,
    /// The result that is compared, e.g. `qps`, or a percentile of a kind of statement from when it was sent, e.g.
    /// `latency_ms_p99{read}`.
    #[serde(default = "qps")]
    pub metric: String,
    /// The configuration whose gain it is.
    pub config: String,
    /// The configuration that it is measured by.
    pub against: String,
    /// What is printed. What is not is compared all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<Printed>,
}

/// A printed figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// The plan's data profile, where it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_profile: Option<String>,
    /// The plan's workload.
    pub workload: String,
    /// By how much the configuration is above the other, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// What is printed in place of a figure, or how the figure follows from what is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// Whether words in place of a figure call the configuration better than the other, or worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_better: Option<bool>,
}

fn qps() -> String {
    "qps".into()
}
