//! Checks of `design = "switchback"`: the servers of all configurations are up at once, and loads
//! of a few seconds take turns.
//!
//! Such turns compare fairly only if a side leaves nothing to the turn of another. So each needs
//! memory and a disk of its own, and statements that only read: pages that a side has changed are
//! flushed while the others have their turns, at no cost to itself.

use anyhow::{Context, Result, ensure};
use assay_load::{SIDES_MAX, SLICE_S, SLICES_BALANCED, writes};

use super::phases::refuse_files;
use crate::document::{ConfigSpec, Plan, RigKind};
use assay_study::Design;

/// Checks that the plan can be run in turns.
///
/// # Errors
/// One line: the key that keeps it from that, why, and what to do.
pub(super) fn check(plan: &Plan) -> Result<()> {
    if plan.design != Design::Switchback {
        return Ok(());
    }
    check_all(plan).context("design = \"switchback\"")
}

fn check_all(plan: &Plan) -> Result<()> {
    check_sides(plan)?;
    check_workloads(plan)?;
    check_schedule(plan)?;
    ensure!(
        !plan.is_load_apart(),
        "turns are taken by one clock, that of this machine; omit server_host and load_hosts"
    );
    for (name, config) in &plan.configs {
        check_config(plan, config).with_context(|| format!("configuration `{name}`"))?;
    }
    for pair in &plan.compare {
        ensure!(
            pair.against_data_profile.is_none(),
            "[[compare]], {} against {}: only runs on one data profile take turns; omit \
            against_data_profile",
            pair.config,
            pair.against
        );
    }
    Ok(())
}

fn check_sides(plan: &Plan) -> Result<()> {
    let sides = plan.configs.len();
    ensure!(
        (2..=SIDES_MAX as usize).contains(&sides),
        "{sides} configurations would take turns; give from 2 to {SIDES_MAX}"
    );
    Ok(())
}

fn check_workloads(plan: &Plan) -> Result<()> {
    refuse_files(plan, "design = \"switchback\"")?;
    for (name, workload) in &plan.workloads {
        let Some(workload) = workload.server() else { continue };
        let may_write = plan.variants().iter().any(|variant| writes(workload, &variant.schema));
        ensure!(
            !may_write,
            "workload `{name}` writes, and the pages that it changes would be flushed in the turn \
            of another; use a workload that reads, or omit design"
        );
    }
    Ok(())
}

/// Refuses what turns cannot be cut of, or not into equal parts.
fn check_schedule(plan: &Plan) -> Result<()> {
    for (key, is_given) in [
        ("objective", plan.objective.is_some()),
        ("phases", !plan.phases.is_empty()),
        ("events", plan.events.is_some()),
        ("rate", plan.rate.is_some() || !plan.workload_rates.is_empty()),
        ("warmup_until_steady", plan.warmup_until_steady),
    ] {
        ensure!(
            !is_given,
            "{key} does not go together with turns of {SLICE_S} s; omit one of them"
        );
    }
    let (slice, block) = (f64::from(SLICE_S), f64::from(SLICE_S * SLICES_BALANCED));
    let seconds = plan.seconds.unwrap_or_default();
    ensure!(
        seconds % block == 0.0,
        "seconds is {seconds}, those of each side, whose turns are balanced over {block} s; give \
        a multiple of {block}"
    );
    ensure!(
        plan.warmup_seconds % slice == 0.0,
        "warmup_seconds is {}, and a turn lasts {SLICE_S} s; give a multiple of {SLICE_S}",
        plan.warmup_seconds
    );
    Ok(())
}

fn check_config(plan: &Plan, config: &ConfigSpec) -> Result<()> {
    let rig = plan.rig_of(config);
    ensure!(
        config.servers.unwrap_or(1) == 1,
        "it has several servers, and a side has one; omit servers, or design"
    );
    ensure!(
        rig.kind != RigKind::Endpoint,
        "its server is somebody else's, which a run has to itself; omit design"
    );
    ensure!(
        rig.device.is_none(),
        "its rig is a device, which one side would have to itself; use an image or a directory, \
        or omit design"
    );
    ensure!(
        !rig.model.as_ref().is_some_and(|model| model.trace),
        "a trace would hold the pauses between its turns; omit trace, or design"
    );
    Ok(())
}
