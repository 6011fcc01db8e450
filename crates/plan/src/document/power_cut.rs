//! Keys of power cuts: their number, and the load before each.

use std::collections::BTreeMap;
use std::time::Duration;

use assay_study::power_cut::Replication;
use serde::{Deserialize, Serialize};

use super::Plan;

/// Keys of `assay powercut`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PowerCutSpec {
    /// Power cuts for each configuration.
    pub cuts: u32,
    /// Connections whose every transaction is checked afterwards.
    pub writers: u32,
    /// Rows that they change, all together.
    pub rows: u32,
    /// Workload that runs next to the writers; indexes, counts and pages of its tables are checked.
    /// Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Connections of that workload.
    pub workload_threads: u32,
    /// The longest time under load before a cut, in milliseconds.
    pub load_ms: u64,
    /// Configurations whose server has a replica that takes over after a cut, and how that follows.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub replicas: BTreeMap<String, Replication>,
    /// Delay between a primary and its replica, in milliseconds; data on the way at a power cut is
    /// lost. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_delay_ms: Option<u64>,
}

/// Usual delay between two zones of a cloud's region.
pub(crate) const REPLICA_DELAY_MS: u64 = 1;

impl Default for PowerCutSpec {
    fn default() -> PowerCutSpec {
        PowerCutSpec {
            cuts: 100,
            writers: 8,
            rows: 40_000,
            workload: None,
            workload_threads: 4,
            load_ms: 1500,
            replicas: BTreeMap::new(),
            replica_delay_ms: None,
        }
    }
}

impl PowerCutSpec {
    /// The keys that concern this configuration.
    #[must_use]
    pub fn of_config(&self, name: &str) -> PowerCutSpec {
        let mut own = self.clone();
        own.replicas.retain(|config, _| config == name);
        if own.replicas.is_empty() {
            own.replica_delay_ms = None;
        }
        own
    }

    /// Delay between a primary and its replica.
    #[must_use]
    pub fn replica_delay(&self) -> Duration {
        Duration::from_millis(self.replica_delay_ms.unwrap_or(REPLICA_DELAY_MS))
    }
}

impl Plan {
    /// The configurations that the power is cut of: those that are no A/A runs.
    pub(crate) fn power_cut_configs(&self) -> impl Iterator<Item = &String> {
        let own = self.configs.iter().filter(|(_, config)| config.aa_of.is_none());
        own.map(|(name, _)| name)
    }

    /// The names of those configurations, for a message.
    pub(crate) fn listed_configs(&self) -> String {
        let names: Vec<_> = self.power_cut_configs().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    }
}
