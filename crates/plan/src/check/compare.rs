//! Checks what a plan asks about: pairs of configurations, workloads and data profiles that it has,
//! both sides of which share a run to compare; and kinds of statement that the load knows.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};

use super::ensure_there;
use crate::document::{LoadName, Plan};
use assay_load::oltp::StatementKind;
use assay_study::AskedPair;

/// More repeats of one run than this nobody waits for.
const REPEATS_MOST: u32 = 1000;

/// Checks every pair.
///
/// # Errors
/// One line: the pair, what is wrong with it, and the nearest name that would be right.
pub(super) fn check(plan: &Plan) -> Result<()> {
    check_statements(&plan.percentiles_by_statement)?;
    if let Some(repeats) = plan.compare_repeats {
        ensure!(
            !plan.compare.is_empty(),
            "compare_repeats needs pairs to repeat; name them in [[compare]]"
        );
        ensure!(
            (plan.repeats.at_most..=REPEATS_MOST).contains(&repeats),
            "compare_repeats is {repeats}; give {} (repeats) to {REPEATS_MOST}",
            plan.repeats.at_most
        );
    }
    for (place, pair) in plan.compare.iter().enumerate() {
        check_pair(plan, pair)
            .and_then(|()| {
                let is_new = !plan.compare[..place].contains(pair);
                ensure!(is_new, "it is there twice; remove one");
                Ok(())
            })
            .with_context(|| format!("[[compare]], {} against {}", pair.config, pair.against))?;
    }
    Ok(())
}

fn check_statements(asked: &[String]) -> Result<()> {
    let kinds: BTreeSet<String> =
        StatementKind::ALL.iter().map(|kind| kind.name().to_owned()).collect();
    for (place, name) in asked.iter().enumerate() {
        ensure_there("kind of statement", name, kinds.iter())
            .context("percentiles_by_statement")?;
        let is_new = !asked[..place].contains(name);
        ensure!(is_new, "percentiles_by_statement names {name} twice; remove one");
    }
    Ok(())
}

fn check_pair(plan: &Plan, pair: &AskedPair) -> Result<()> {
    let configs = plan.configs.iter().filter(|(_, config)| config.aa_of.is_none());
    for config in [&pair.config, &pair.against] {
        ensure_there("configuration", config, configs.clone().map(|(name, _)| name))?;
    }
    if let Some(workload) = &pair.workload {
        let run = plan.workloads.keys().filter(|name| !plan.is_mix(name));
        ensure_there("workload", workload, run)?;
    }
    for profile in pair.data_profile.iter().chain(&pair.against_data_profile) {
        ensure_there("data profile", profile, plan.data_profiles.keys())?;
    }
    ensure!(
        pair.data_profile.is_some() || pair.against_data_profile.is_none(),
        "against_data_profile needs data_profile, that of config"
    );
    let profiles = [&pair.data_profile, &pair.against_data_profile];
    ensure!(
        pair.config != pair.against || (profiles[1].is_some() && profiles[0] != profiles[1]),
        "a configuration is compared with itself; name two, or two data profiles"
    );
    ensure!(
        plan.loads().iter().any(|load| is_run_by_both(plan, pair, load)),
        "they share no workload and thread count, so there would be nothing to compare"
    );
    Ok(())
}

/// Whether the pair is about this load of its `config`, and both sides are run at one thread count.
fn is_run_by_both(plan: &Plan, pair: &AskedPair, load: &LoadName<'_>) -> bool {
    let is_asked = pair.workload.as_deref().is_none_or(|name| name == load.workload)
        && (pair.data_profile.is_none() || pair.data_profile.as_deref() == load.data_profile);
    let other = pair.against_data_profile.as_deref().or(load.data_profile);
    let threads = |config: &str, profile: Option<&str>| -> BTreeSet<u32> {
        let profile = profile.and_then(|name| plan.data_profiles.get(name));
        let its = plan.configs.get(config);
        let its = its.filter(|_| profile.is_none_or(|profile| profile.has_config(config)));
        its.map_or_else(BTreeSet::new, |its| plan.threads_of(its, profile).into_iter().collect())
    };
    is_asked
        && !threads(&pair.config, load.data_profile).is_disjoint(&threads(&pair.against, other))
}
