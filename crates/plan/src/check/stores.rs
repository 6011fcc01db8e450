//! Checks of events that kill and return stores of a private cluster: data survive, and writing
//! continues.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};

use crate::document::{ConfigSpec, Plan};
use crate::rig::{PlannedPool, PrivatePool};
use assay_study::Happening;

/// Checks every store that phases kill or return, for every configuration.
///
/// # Errors
/// One line: the phase, and what to do.
pub(super) fn check(plan: &Plan) -> Result<()> {
    let touches =
        |one: &Happening| matches!(one, Happening::KillStore(_) | Happening::ReturnStore(_));
    if !plan.phases.iter().filter_map(|phase| phase.happening.as_ref()).any(touches) {
        return Ok(());
    }
    for (name, config) in &plan.configs {
        check_config(plan, config).with_context(|| format!("configuration `{name}`"))?;
    }
    Ok(())
}

fn check_config(plan: &Plan, config: &ConfigSpec) -> Result<()> {
    let pool = plan.rig_of(config).pool.as_ref().map(PlannedPool::of).transpose()?;
    let pool = pool.as_ref().and_then(PlannedPool::private).context(
        "a phase kills or returns a store, and there is no private pool below this one; put it \
        into a plan of its own",
    )?;
    let mut down = BTreeSet::new();
    for phase in &plan.phases {
        let Some(happening) = &phase.happening else { continue };
        follow(pool, happening, &mut down).with_context(|| format!("phase `{}`", phase.name))?;
    }
    Ok(())
}

/// Applies an event to the stores that are `down`.
fn follow(pool: &PrivatePool, happening: &Happening, down: &mut BTreeSet<u16>) -> Result<()> {
    match *happening {
        Happening::KillStore(store) => {
            ensure!(
                store < pool.cluster.stores,
                "there is no store {store}; they are numbered from 0 to {}",
                pool.cluster.stores - 1
            );
            ensure!(down.insert(store), "store {store} is down already; kill another");
            let most = pool.protection.stores_down_most();
            ensure!(
                down.len() <= usize::from(most),
                "{} stores would be down, but with {} writes continue with at most {most} down; \
                return one first",
                down.len(),
                pool.protection
            );
        }
        Happening::ReturnStore(store) => {
            ensure!(
                down.remove(&store),
                "store {store} is not down by then; kill it in a phase before"
            );
        }
        _ => {}
    }
    Ok(())
}
