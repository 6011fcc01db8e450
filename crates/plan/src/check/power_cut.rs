//! Checks of the keys for power cuts.

use anyhow::{Context, Result, ensure};
use assay_study::switches::{NO_BINARY_LOG, is_off};

use crate::document::{Plan, PowerCutSpec, REPLICA_DELAY_MS};
use crate::settings;

/// Checks the keys for power cuts.
///
/// # Errors
/// One line naming the key and what it should be.
pub(super) fn check(plan: &Plan) -> Result<()> {
    let Some(spec) = &plan.power_cut else { return Ok(()) };
    check_spec(spec).context("power_cut")?;
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
        format!("there is no such configuration; the plan has {}", plan.listed_configs())
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

fn check_spec(spec: &PowerCutSpec) -> Result<()> {
    for (key, value, least, most) in [
        ("cuts", u64::from(spec.cuts), 1, 1_000_000),
        ("writers", spec.writers.into(), 1, 256),
        ("rows", spec.rows.into(), u64::from(spec.writers) * 16, 100_000_000),
        ("workload_threads", spec.workload_threads.into(), 1, 1000),
        ("load_ms", spec.load_ms, 10, 3_600_000),
        ("replica_delay_ms", spec.replica_delay_ms.unwrap_or(REPLICA_DELAY_MS), 0, 10_000),
    ] {
        ensure!((least..=most).contains(&value), "{key} is {value}; give from {least} to {most}");
    }
    Ok(())
}
