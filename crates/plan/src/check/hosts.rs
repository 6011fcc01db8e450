//! A study across several machines: rigs, server and monitor on one, the load from others.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::ensure_there;
use super::phases::refuse_files;
use crate::document::{ConfigSpec, Plan, RigKind};

/// Checks the hosts, and that the plan can run across machines.
///
/// # Errors
/// One line: the host or the key, and what to do.
pub(super) fn check(plan: &Plan) -> Result<()> {
    for (name, host) in &plan.hosts {
        host.check().map_err(anyhow::Error::msg).with_context(|| format!("hosts.{name}"))?;
        ensure!(
            plan.used_hosts().any(|used| used == name),
            "hosts.{name} has no part in the study; name it in server_host or load_hosts, or \
            omit it"
        );
    }
    for (place, name) in plan.load_hosts.iter().enumerate() {
        ensure_there("host", name, plan.hosts.keys()).context("load_hosts")?;
        ensure!(
            !plan.load_hosts[..place].contains(name),
            "load_hosts names `{name}` twice; a host has one part of the load"
        );
    }
    if let Some(name) = &plan.server_host {
        ensure_there("host", name, plan.hosts.keys()).context("server_host")?;
        ensure!(
            !plan.load_hosts.contains(name),
            "`{name}` is server_host and one of load_hosts; omit it from one of them"
        );
        check_server_host(plan)?;
    }
    if plan.is_load_apart() { check_apart(plan) } else { Ok(()) }
}

fn check_server_host(plan: &Plan) -> Result<()> {
    for (name, config) in &plan.configs {
        let rig = plan.rig_of(config);
        ensure!(
            rig.kind != RigKind::Endpoint,
            "configuration `{name}` has a server that somebody else runs, which needs no \
            server_host; omit server_host"
        );
        ensure!(
            !rig.model.as_ref().is_some_and(|model| model.trace),
            "configuration `{name}`: traces lie in the study's directory, which is not on \
            server_host; omit trace"
        );
    }
    Ok(())
}

/// Refuses keys that do not work across machines.
fn check_apart(plan: &Plan) -> Result<()> {
    if !plan.load_hosts.is_empty() {
        refuse_files(plan, "load_hosts")?;
        check_parts(plan)?;
    }
    let several = |(_, config): &(&String, &ConfigSpec)| config.servers.unwrap_or(1) > 1;
    if let Some((name, _)) = plan.configs.iter().find(several) {
        bail!(
            "configuration `{name}`: servers is more than 1, which is done with server and load \
            on one machine; exclude the configuration, or omit server_host and load_hosts"
        );
    }
    ensure!(
        plan.placement.load_cpus.is_empty(),
        "placement.load_cpus are CPUs of one machine, and the load runs on others; omit load_cpus"
    );
    let text = plan.data.text.as_deref().filter(|_| plan.server_host.is_some());
    ensure!(
        text.is_none_or(Path::is_absolute),
        "data.text is read on this machine and on server_host; give its full path, which is to \
        be the same on both"
    );
    Ok(())
}

/// Checks the needs of each host's part of the load.
fn check_parts(plan: &Plan) -> Result<()> {
    let hosts = plan.load_hosts.len() as u32;
    ensure!(
        hosts == 1 || !plan.warmup_until_steady,
        "warmup_until_steady cannot be combined with several load_hosts, which cannot agree on a \
        steady state; give only warmup_seconds"
    );
    if let Some(few) = plan.threads.iter().find(|threads| **threads < hosts) {
        bail!(
            "threads has {few}, and there are {hosts} load_hosts; give at least one thread for each"
        );
    }
    Ok(())
}
