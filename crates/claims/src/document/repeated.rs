//! What a file of claims may say under `[repeated]`: the plan that repeats the paper, and what of it stands beside
//! which figure.

use serde::{Deserialize, Serialize};

use super::Source;

/// Which plan repeats the paper, and what of it stands beside which figure.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeated {
    /// The plan's name.
    pub plan: String,
    /// Why the plan's figures are not the paper's, beyond what a study tells of itself.
    pub differs: Vec<String>,
    /// One configuration against another, in percent.
    #[serde(default)]
    pub comparisons: Vec<Gain>,
    /// Single configurations.
    #[serde(default)]
    pub levels: Vec<Level>,
    /// From how many threads on one configuration is above another.
    #[serde(default)]
    pub crossovers: Vec<Crossover>,
}

/// One configuration against another; as a plan's `[[paper.comparisons]]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gain {
    /// Where it is printed, and what it is called there.
    pub table: String,
    /// The result that is compared, or a percentile of a kind of statement from when it was sent: `latency_ms_p99{read}`.
    pub metric: String,
    /// The configuration whose gain it is.
    pub config: String,
    /// The configuration that it is measured by.
    pub against: String,
    /// What is printed.
    #[serde(default)]
    pub printed: Vec<GainPrinted>,
}

/// One gain.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GainPrinted {
    /// The plan's data profile, where it has any.
    pub data_profile: Option<String>,
    /// The plan's workload.
    pub workload: String,
    /// By how much the configuration is above the other, as an expression in percent.
    pub percent: Option<Source>,
    /// The name of a figure that is words.
    pub figure: Option<Source>,
    /// Whether those words call the configuration better (`true`) or worse (`false`) than the other.
    pub is_better: Option<bool>,
}

/// One figure of one configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// The printed figure.
    pub figure: Source,
    /// The result of a study that it is.
    pub metric: Option<String>,
    /// The printed mean of the same samples, if the figure is a standard deviation: both are shown as shares of their means.
    pub mean: Option<Source>,
    /// In place of one: an expression over results of a run and figures of the paper.
    pub measured: Option<Source>,
    /// The plan's configuration.
    pub config: String,
    /// The plan's workload.
    pub workload: String,
    /// The plan's data profile, where it has any.
    pub data_profile: Option<String>,
    /// Which of the study's thread counts stands for the paper's.
    #[serde(default)]
    pub threads: Which,
}

/// From how many threads on one configuration is above another.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crossover {
    /// The printed number of threads.
    pub figure: Source,
    /// The result that is compared.
    pub metric: String,
    /// The configuration that is above.
    pub config: String,
    /// The configuration that it is measured by.
    pub against: String,
    /// The plan's workload.
    pub workload: String,
    /// The plan's data profile, where it has any.
    pub data_profile: Option<String>,
    /// That of the other configuration, where it is another.
    pub against_data_profile: Option<String>,
}

/// Which thread count of a study.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// The only one, or the mean of all.
    #[default]
    All,
    /// The lowest.
    Lowest,
    /// The highest.
    Highest,
}
