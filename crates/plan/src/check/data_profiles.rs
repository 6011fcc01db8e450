//! Checks of data profiles and of the configurations that they name.

use anyhow::{Context, Result, ensure};

use crate::document::{DataProfile, Plan, RigKind};

/// Checks data profiles and configurations against each other.
///
/// # Errors
/// One line naming the data profile or the configuration, and what to change.
pub(super) fn check(plan: &Plan) -> Result<()> {
    for (name, set) in &plan.data_profiles {
        check_one(plan, set).with_context(|| format!("data profile `{name}`"))?;
    }
    for (name, config) in &plan.configs {
        check_threads(plan, &config.threads).with_context(|| format!("configuration `{name}`"))?;
        let sets: Vec<Option<&DataProfile>> = match plan.data_profiles.is_empty() {
            true => vec![None],
            false => {
                plan.data_profiles.values().filter(|set| set.has_config(name)).map(Some).collect()
            }
        };
        ensure!(
            !sets.is_empty(),
            "configuration `{name}` is in no data profile; add it to one, or remove it"
        );
        ensure!(
            sets.iter().any(|set| !plan.threads_of(config, *set).is_empty()),
            "configuration `{name}` and its data profiles have no thread count in common; change \
            threads of one of them"
        );
    }
    Ok(())
}

fn check_one(plan: &Plan, set: &DataProfile) -> Result<()> {
    for config in &set.configs {
        ensure!(
            plan.configs.contains_key(config),
            "configs names `{config}`, which the plan does not have; there are {}",
            plan.configs.keys().cloned().collect::<Vec<_>>().join(", ")
        );
    }
    check_threads(plan, &set.threads)?;
    let mut its = plan.configs.iter().filter(|(name, _)| set.has_config(name));
    let has_model = its.any(|(_, config)| plan.rig_of(config).kind == RigKind::Model);
    ensure!(
        has_model || !set.says_of_models(),
        "fill, logical, ratio and capacity_scale apply to models, and none of its configurations \
        uses one; remove them"
    );
    Ok(())
}

fn check_threads(plan: &Plan, threads: &[u32]) -> Result<()> {
    for count in threads {
        ensure!(
            plan.threads.contains(count),
            "threads has {count}, which is not among the plan's threads; list a subset of them"
        );
    }
    Ok(())
}
