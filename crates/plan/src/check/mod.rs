//! Checks of a plan document, beyond its form.

mod compare;
mod data_profiles;
mod design;
mod existing_server;
mod hosts;
mod noise;
pub(crate) mod objective;
mod paper;
pub(crate) mod phases;
mod power_cut;
pub(crate) mod rates;
mod repeats;
mod servers;
mod stores;

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use assay_base::suggest::nearest;
use assay_load::Schema;
use assay_study::{LISTED_MAX, RUNS_MAX};

use super::document::{LeastMachine, LoadName, NAME_CHARS_MOST, Plan};
use super::settings;

/// Checks every key but those of rigs.
///
/// # Errors
/// One line naming the key and what it should be.
pub(super) fn check(plan: &Plan) -> Result<()> {
    check_sweep(plan)?;
    check_names(plan)?;
    check_times(plan)?;
    check_workloads(plan)?;
    for (name, config) in &plan.configs {
        settings::checked(&plan.settings_of(config))
            .with_context(|| format!("configuration `{name}`"))?;
        if config.compression.is_some() && config.key_block_size.is_some() {
            bail!(
                "configuration `{name}` has both compression and key_block_size; InnoDB supports \
                only one of them at a time"
            );
        }
        if let Some(kib) = config.key_block_size {
            ensure!(
                [1, 2, 4, 8, 16].contains(&kib),
                "configuration `{name}`: key_block_size is {kib}; InnoDB knows 1, 2, 4, 8 and 16 \
                (KiB)"
            );
        }
    }
    noise::check(plan)?;
    data_profiles::check(plan)?;
    compare::check(plan)?;
    paper::check(plan)?;
    if let Some(prices) = &plan.prices {
        prices.check().context("prices")?;
        prices.check_configs(plan.configs.keys().map(String::as_str))?;
    }
    Ok(())
}

/// Checks that the plan goes together with its rigs, each of which is right by itself.
///
/// # Errors
/// One line naming the key and what it should be.
pub(super) fn check_with_rigs(plan: &Plan) -> Result<()> {
    existing_server::check(plan)?;
    stores::check(plan)?;
    servers::check(plan)?;
    design::check(plan)?;
    power_cut::check(plan)?;
    plan.least_machine.as_ref().map_or(Ok(()), LeastMachine::check)?;
    hosts::check(plan)
}

/// Refuses keys of servers where no workload needs one; a command may name a server all the same.
///
/// # Errors
/// One line: the key, and what to do.
pub(super) fn check_use_of_server(plan: &Plan) -> Result<()> {
    let of_servers = [
        (
            "settings",
            plan.settings.is_empty() && plan.configs.values().all(|one| one.settings.is_empty()),
        ),
        ("server", plan.server.is_none() && plan.configs.values().all(|one| one.server.is_none())),
        ("data", plan.data == Schema::default()),
        ("compression", plan.configs.values().all(|one| one.compression.is_none())),
        ("key_block_size", plan.configs.values().all(|one| one.key_block_size.is_none())),
    ];
    for (key, _) in of_servers.into_iter().filter(|(_, is_left_out)| !is_left_out) {
        ensure!(
            plan.needs_server(),
            "no workload needs a server, but {key} is given; remove it, or add a workload of a \
             server"
        );
    }
    Ok(())
}

/// Refuses numbers of runs that nobody would wait for, before anything is made of them.
///
/// # Errors
/// One line: what there is too much of.
pub(super) fn check_counts(plan: &Plan) -> Result<()> {
    for (what, count) in [
        ("configurations", plan.configs.len()),
        ("workloads", plan.workloads.len()),
        ("data profiles", plan.data_profiles.len()),
        ("rates", plan.rates.len()),
        ("pairs in [[compare]]", plan.compare.len()),
        ("phases", plan.phases.len()),
    ] {
        ensure!(count <= LISTED_MAX, "the plan has {count} {what}; give at most {LISTED_MAX}");
    }
    let multiplied = |factors: &[usize]| factors.iter().fold(1, |a: usize, b| a.saturating_mul(*b));
    let loads = multiplied(&[
        plan.workloads.len(),
        plan.data_profiles.len().max(1),
        plan.rates.len().max(1),
    ]);
    ensure!(
        loads <= LISTED_MAX,
        "the plan multiplies to {loads} workloads over data profiles and rates; give at most \
        {LISTED_MAX}"
    );
    let repeats = plan.repeats.at_most.max(plan.compare_repeats.unwrap_or(0)) as usize;
    let runs = multiplied(&[plan.configs.len(), loads, plan.threads.len(), repeats]);
    ensure!(
        runs <= RUNS_MAX,
        "the plan multiplies to {runs} runs; give at most {RUNS_MAX}, with fewer configurations, \
        workloads, threads or repeats"
    );
    Ok(())
}

fn check_sweep(plan: &Plan) -> Result<()> {
    ensure!(
        !plan.configs.is_empty(),
        "the plan has no configs; add at least [configs.NAME], or [factors]"
    );
    ensure!(!plan.workloads.is_empty(), "the plan has no workloads; add at least [workloads.NAME]");
    ensure!(
        !plan.threads.is_empty(),
        "threads is empty; give at least one count, e.g. threads = [1, 8]"
    );
    repeats::check(plan)?;
    let distinct: BTreeSet<u32> = plan.threads.iter().copied().collect();
    ensure!(
        distinct.len() == plan.threads.len(),
        "threads contains a count twice; for repeats use repeats"
    );
    for &threads in &plan.threads {
        ensure!((1..=1000).contains(&threads), "threads has {threads}; a count is from 1 to 1000");
    }
    Ok(())
}

/// Checks workloads of files; those of servers are checked with their tables.
fn check_workloads(plan: &Plan) -> Result<()> {
    for (name, workload) in plan.workloads.iter().filter(|(_, one)| one.files().is_some()) {
        workload.check().with_context(|| format!("workload `{name}`"))?;
    }
    Ok(())
}

/// Names become directories and table columns.
fn check_names(plan: &Plan) -> Result<()> {
    for name in plan.configs.keys().chain(plan.workloads.keys()).chain(plan.data_profiles.keys()) {
        ensure!(
            is_plain_name(name),
            "`{name}` is not a valid name; use up to 64 characters, no slash, no control \
            characters, no blanks at the ends"
        );
    }
    let loads: BTreeSet<String> = plan.loads().iter().map(LoadName::name).collect();
    ensure!(
        loads.len() == plan.loads().len(),
        "two workloads on two data profiles would have the same name; call one of them something \
        else"
    );
    Ok(())
}

/// Whether it can stand in tables and paths.
fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_CHARS_MOST
        && name.trim() == name
        && !name.contains(|one: char| one == '/' || one.is_control())
}

fn check_times(plan: &Plan) -> Result<()> {
    let seconds = plan.seconds.unwrap_or_default();
    ensure!(
        (1.0..=86_400.0 * 7.0).contains(&seconds),
        "seconds is {seconds}; give from 1 to 604800 (a week)"
    );
    ensure!(
        plan.events != Some(0),
        "events is 0; give the number of events after which a run ends, or omit it"
    );
    ensure!(
        plan.warmup_seconds.is_finite() && (0.0..=86_400.0 * 7.0).contains(&plan.warmup_seconds),
        "warmup_seconds is {}; give from 0 to 604800 (a week)",
        plan.warmup_seconds
    );
    ensure!(
        !plan.warmup_until_steady || plan.warmup_seconds > 0.0,
        "warmup_until_steady needs a limit; give it as warmup_seconds"
    );
    Ok(())
}

/// That there is such a name, else the nearest that there is.
fn ensure_there<'a>(
    kind: &str,
    name: &str,
    mut known: impl Iterator<Item = &'a String> + Clone,
) -> Result<()> {
    let hint = nearest(name, known.clone().map(String::as_str))
        .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    ensure!(known.any(|one| one == name), "there is no {kind} `{name}`{hint}");
    Ok(())
}
