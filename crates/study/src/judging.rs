//! The plan's rules for judging, stored in the study's head: baseline, asked pairs, factors,
//! margin, and configurations that are run twice under two names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Rules for judging a study.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Judging {
    /// The configuration that others are compared with; default: the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Differences up to this many percent do not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_percent: Option<f64>,
    /// A/A runs: a configuration and the one that it repeats; their difference is noise.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub aa_runs: BTreeMap<String, String>,
    /// The pairs that the plan asks about, in its order; if empty, every configuration against the
    /// baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compare: Vec<AskedPair>,
    /// Factors, the full cross of whose levels the plan runs; empty without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<PlannedFactor>,
    /// Repeats after which the study is judged and may end; if empty, when all have run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<u32>,
    /// How the runs of a repeat lie in time.
    #[serde(default, skip_serializing_if = "Design::is_default")]
    pub design: Design,
    /// Kinds of statement whose percentiles are judged too, by the load's names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles_by_statement: Vec<String>,
}

/// How the runs that are compared lie in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Design {
    /// One after the other.
    #[default]
    Adjacent,
    /// At once: the servers of all configurations are up, and loads of a few seconds alternate.
    Switchback,
}

impl Design {
    /// Returns true for the design of plans that name none.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Design::default()
    }
}

/// A look at the results that somebody was told.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LookMade {
    /// Repeats that had run.
    pub repeats: u32,
    /// The chance of a false direction that it spent.
    pub alpha: f64,
    /// Whether the plan named it.
    pub is_planned: bool,
}

/// Two configurations that a plan asks about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedPair {
    pub config: String,
    /// The configuration compared with.
    pub against: String,
    /// Name of the workload; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Name of the data profile; default: all that both configurations have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_profile: Option<String>,
    /// Data profile of `against`, if different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_data_profile: Option<String>,
}

/// A factor of a plan, and the configurations of the full cross.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedFactor {
    pub name: String,
    /// Levels in the plan's order; the first is the baseline's.
    pub levels: Vec<String>,
    /// The level of each configuration of the cross, by its name.
    pub configs: BTreeMap<String, String>,
}

impl Judging {
    /// The margin as a share.
    #[must_use]
    pub fn margin(&self) -> f64 {
        self.margin_percent.unwrap_or(MARGIN_PERCENT) / 100.0
    }
}

/// Default of `margin_percent`.
pub const MARGIN_PERCENT: f64 = 3.0;
