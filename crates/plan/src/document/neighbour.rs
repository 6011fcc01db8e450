//! A noisy neighbour: the last of several servers, with a load of its own.

use serde::{Deserialize, Serialize};

/// Load of the last of several servers, while the others have the run's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeighbourSpec {
    pub workload: String,
    /// Its connections. Default: as many as the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Its events per second. Default: as fast as its server answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}
