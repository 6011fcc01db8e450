//! How the power is cut: how often, and under what load.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use assay_study::power_cut::Replication;
use assay_study::switches::{NO_BINARY_LOG, is_off};
use serde::{Deserialize, Serialize};

use super::{Plan, RigKind, settings};

/// How `assay powercut` goes about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PowerCutSpec {
    /// Power cuts for each configuration.
    pub cuts: u32,
    /// Connections whose every transaction is checked afterwards.
    pub writers: u32,
    /// Rows that they change, all together.
    pub rows: u32,
    /// What is run beside them; of its tables indexes, counts and pages are checked. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Connections of that workload.
    pub workload_threads: u32,
    /// The longest time under load before a cut, in milliseconds.
    pub load_ms: u64,
    /// Configurations whose server has a replica that takes over after a cut, and how that follows.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub replicas: BTreeMap<String, Replication>,
    /// How long what a primary sends is on its way to its replica, in milliseconds; what is on its way when the power goes is lost.
    /// Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_delay_ms: Option<u64>,
}

/// One way between two zones of a cloud's region takes some such time.
const REPLICA_DELAY_MS: u64 = 1;

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
    /// What of it concerns this configuration.
    #[must_use]
    pub fn of_config(&self, name: &str) -> PowerCutSpec {
        let mut own = self.clone();
        own.replicas.retain(|config, _| config == name);
        if own.replicas.is_empty() {
            own.replica_delay_ms = None;
        }
        own
    }

    /// How long what a primary sends is on its way to its replica.
    #[must_use]
    pub fn replica_delay(&self) -> Duration {
        Duration::from_millis(self.replica_delay_ms.unwrap_or(REPLICA_DELAY_MS))
    }

    /// Checks what it says alone.
    fn check(&self) -> Result<()> {
        for (key, value, least, most) in [
            ("cuts", u64::from(self.cuts), 1, 1_000_000),
            ("writers", self.writers.into(), 1, 256),
            ("rows", self.rows.into(), u64::from(self.writers) * 16, 100_000_000),
            ("workload_threads", self.workload_threads.into(), 1, 1000),
            ("load_ms", self.load_ms, 10, 3_600_000),
            ("replica_delay_ms", self.replica_delay_ms.unwrap_or(REPLICA_DELAY_MS), 0, 10_000),
        ] {
            ensure!(
                (least..=most).contains(&value),
                "{key} is {value}; give from {least} to {most}"
            );
        }
        Ok(())
    }
}

/// Checks what the plan says of power cuts.
///
/// # Errors
/// One line naming the key and what it should be.
pub(super) fn check(plan: &Plan) -> Result<()> {
    let Some(spec) = &plan.power_cut else { return Ok(()) };
    spec.check().context("power_cut")?;
    for name in spec.replicas.keys() {
        check_replica(plan, name).with_context(|| format!("power_cut: replicas: `{name}`"))?;
    }
    if let Some(name) = &spec.workload {
        let workload = plan.workloads.get(name).with_context(|| {
            format!("power_cut: no workload is called `{name}`; name one of [workloads]")
        })?;
        ensure!(
            workload.server().is_some(),
            "power_cut: the workload `{name}` needs no server; name one that does"
        );
    }
    Ok(())
}

fn check_replica(plan: &Plan, name: &str) -> Result<()> {
    let config = plan.configs.get(name);
    let config = config.with_context(|| {
        format!("there is no such configuration; the plan has {}", plan.config_names())
    })?;
    let settings = settings::checked(&plan.settings_of(config))?;
    let is_set = |name: &&&str| settings.get(**name).is_some_and(|value| !is_off(value));
    let without = NO_BINARY_LOG.iter().find(is_set);
    ensure!(
        without.is_none(),
        "a replica reads the binary log; set {} = false and log_bin = \"binlog\"",
        without.unwrap_or(&"skip_log_bin")
    );
    Ok(())
}

impl Plan {
    /// The configurations that the power is cut of: those that are none other run again.
    pub fn power_cut_configs(&self) -> impl Iterator<Item = &String> {
        let own = self.configs.iter().filter(|(_, config)| config.aa_of.is_none());
        own.map(|(name, _)| name)
    }

    /// Checks that the power can be cut of every configuration of these.
    ///
    /// # Errors
    /// One line: the configuration, and what to do.
    pub fn check_power_cuts(&self, names: &[String]) -> Result<()> {
        for name in names {
            let config = self.configs.get(name).with_context(|| {
                format!("no configuration is called `{name}`; the plan has {}", self.config_names())
            })?;
            let rig = self.rig_of(config);
            let is_file = match rig.kind {
                RigKind::Image => true,
                RigKind::Drive => rig.capacity.is_some(),
                _ => false,
            };
            ensure!(
                is_file,
                "configuration `{name}`: power cuts need a rig of kind \"image\", or \"drive\" with capacity; add such a configuration, or leave this one out with --config"
            );
            ensure!(
                config.servers.unwrap_or(1) == 1,
                "configuration `{name}` has several servers; power cuts need a single one"
            );
        }
        Ok(())
    }

    fn config_names(&self) -> String {
        let names: Vec<_> = self.power_cut_configs().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    }
}
