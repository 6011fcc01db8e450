//! The table `[repeated]` of a file of claims: the plan that repeats the paper, and which result
//! corresponds to which figure.

use serde::{Deserialize, Serialize};

use super::ExpressionText;

/// The plan that repeats the paper, and the figures that its results correspond to.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeated {
    pub plan: String,
    /// Reasons why the plan's figures differ from the paper's, in addition to those that a study
    /// states itself.
    pub differs: Vec<String>,
    /// Gains of one configuration over another, in percent.
    #[serde(default)]
    pub comparisons: Vec<Gain>,
    /// Figures of single configurations.
    #[serde(default)]
    pub levels: Vec<Level>,
    /// Thread counts from which one configuration is above another.
    #[serde(default)]
    pub crossovers: Vec<Crossover>,
}

/// A configuration against another, as in a plan's `[[paper.comparisons]]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gain {
    /// Table or figure of the paper, by its name there.
    pub table: String,
    /// The compared result, or a percentile of a kind of statement, measured from sending:
    /// `latency_ms_p99{read}`.
    pub metric: String,
    pub config: String,
    /// The configuration compared with.
    pub against: String,
    #[serde(default)]
    pub printed: Vec<GainPrinted>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GainPrinted {
    /// Data profile of the plan, if it has any.
    pub data_profile: Option<String>,
    pub workload: String,
    /// Gain in percent, as an expression.
    pub percent: Option<ExpressionText>,
    /// Name of a figure printed in words.
    pub figure: Option<ExpressionText>,
    /// True if those words call the configuration better, false if worse.
    pub is_better: Option<bool>,
}

/// A figure of one configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    pub figure: ExpressionText,
    /// Result of a study that the figure corresponds to.
    pub metric: Option<String>,
    /// Printed mean of the same samples, if the figure is a standard deviation: both are shown as
    /// shares of their means.
    pub mean: Option<ExpressionText>,
    /// Instead of `metric`: an expression over results of a run and figures of the paper.
    pub measured: Option<ExpressionText>,
    pub config: String,
    pub workload: String,
    /// Data profile of the plan, if it has any.
    pub data_profile: Option<String>,
    /// Thread count of the study that stands for the paper's.
    #[serde(default)]
    pub threads: Which,
}

/// The thread count from which one configuration is above another.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crossover {
    /// Printed number of threads.
    pub figure: ExpressionText,
    pub metric: String,
    pub config: String,
    /// The configuration compared with.
    pub against: String,
    pub workload: String,
    /// Data profile of the plan, if it has any.
    pub data_profile: Option<String>,
    /// Data profile of the other configuration, if different.
    pub against_data_profile: Option<String>,
}

/// A choice among a study's thread counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// The only one, or the mean of all.
    #[default]
    All,
    Lowest,
    Highest,
}
