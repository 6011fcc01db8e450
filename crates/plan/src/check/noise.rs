//! Checks of the baseline, the margin and the noise floor.

use anyhow::{Result, bail, ensure};

use crate::document::Plan;

/// Checks the baseline and the margin.
///
/// # Errors
/// One line naming the key.
pub(super) fn check(plan: &Plan) -> Result<()> {
    if let Some(name) = &plan.baseline {
        ensure!(
            plan.configs.contains_key(name),
            "baseline names `{name}`, which is not a configuration; there are {}",
            plan.configs.keys().cloned().collect::<Vec<_>>().join(", ")
        );
    }
    let margin = plan.margin_percent;
    ensure!(
        margin.is_finite() && margin > 0.0 && margin < 100.0,
        "margin_percent is {margin}; give more than 0 and less than 100"
    );
    let unknown = plan.noise_floor_threads.iter().find(|one| !plan.threads.contains(one));
    if let Some(unknown) = unknown {
        bail!("noise_floor_threads has {unknown}, which is not among the plan's threads");
    }
    Ok(())
}
