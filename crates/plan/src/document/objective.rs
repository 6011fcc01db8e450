//! The objective of a plan: a latency to keep. Each run is then a search for the rate at which
//! 95 % of windows keep it.

use assay_study::Happening;
use serde::{Deserialize, Serialize};

/// A latency to keep, and the effort of the search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectiveSpec {
    /// The median of the response times is to be at most this, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<f64>,
    /// The 90th percentile, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ms: Option<f64>,
    /// The 95th percentile, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<f64>,
    /// The 99th percentile, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// The 99.9th percentile, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_ms: Option<f64>,
    /// Half the width that the interval is to have, per cent of the rate; twice the standard
    /// deviation between windows suffices. Default: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_percent: Option<f64>,
    /// The most runs of a search, those that let the server rest not counted. Default: 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_max: Option<u32>,
    /// Event that happens during the whole search, over and over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub during: Option<Happening>,
}
