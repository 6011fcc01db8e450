//! Checks of several servers at once: each has the run's own load, on a disk of its own or on an
//! image of its own in one pool; the last may be a noisy neighbour with another load.

use anyhow::{Context, Result, ensure};

use super::ensure_there;
use super::phases::refuse_files;
use super::rates::is_rate;
use crate::document::{ConfigSpec, NeighbourSpec, Plan, RigKind};

/// More servers share one machine to no purpose.
const SERVERS_MAX: u32 = 64;

/// Checks every configuration that has several servers, or a neighbour.
///
/// # Errors
/// One line: the configuration, the key, and what to do.
pub(super) fn check(plan: &Plan) -> Result<()> {
    for (name, config) in &plan.configs {
        check_config(plan, config).with_context(|| format!("configuration `{name}`"))?;
    }
    Ok(())
}

fn check_config(plan: &Plan, config: &ConfigSpec) -> Result<()> {
    let servers = config.servers.unwrap_or(1);
    ensure!(
        (1..=SERVERS_MAX).contains(&servers),
        "servers is {servers}; give from 1 to {SERVERS_MAX}"
    );
    if let Some(neighbour) = &config.neighbour {
        ensure!(
            servers > 1,
            "neighbour is the load of the last of several servers; give servers = 2 or more"
        );
        check_neighbour(plan, neighbour).context("neighbour")?;
    }
    if servers == 1 {
        return Ok(());
    }
    refuse_files(plan, "servers")?;
    let rig = plan.rig_of(config);
    ensure!(
        rig.kind != RigKind::Endpoint,
        "servers is {servers}, and its server is somebody else's; omit servers"
    );
    ensure!(
        rig.device.is_none(),
        "servers is {servers}, and the rig has one device; use images, or a pool, of which each \
        server has its own"
    );
    ensure!(
        plan.objective.is_none(),
        "servers = {servers} cannot be combined with objective, whose search drives one server; \
        omit one of them"
    );
    ensure!(
        !plan.warmup_until_steady && plan.events.is_none(),
        "servers is {servers}: all are measured in one window, which begins and ends by the \
        clock; give warmup_seconds and seconds alone"
    );
    Ok(())
}

fn check_neighbour(plan: &Plan, neighbour: &NeighbourSpec) -> Result<()> {
    ensure_there("workload", &neighbour.workload, plan.workloads.keys())?;
    ensure!(
        plan.workloads.keys().any(|name| !plan.is_mix(name)),
        "every workload is a neighbour's or a phase's, so none is run by itself; give the \
        neighbour a workload of its own"
    );
    ensure!(
        neighbour.threads.is_none_or(|threads| (1..=1000).contains(&threads)),
        "threads is {}; give from 1 to 1000",
        neighbour.threads.unwrap_or_default()
    );
    ensure!(
        neighbour.rate.is_none_or(is_rate),
        "rate is {}; give more than 0 events per second",
        neighbour.rate.unwrap_or_default()
    );
    Ok(())
}
