//! Checks of the objective, and that it goes together with the rest of the plan.

use anyhow::{Result, bail};

use super::phases::refuse_files;
use crate::document::Plan;
use crate::search::PlannedSearch;

/// Checks the objective, and that it goes together with the rest of the plan.
///
/// # Errors
/// One line: the key, and what to do.
pub(crate) fn check(plan: &Plan) -> Result<()> {
    let Some(objective) = &plan.objective else { return Ok(()) };
    PlannedSearch::of(objective)?;
    refuse_files(plan, "objective")?;
    let beside = [
        ("rate", plan.rate.is_some()),
        ("rates", !plan.rates.is_empty()),
        ("workload_rates", !plan.workload_rates.is_empty()),
        ("phases", !plan.phases.is_empty()),
        ("events", plan.events.is_some()),
        ("warmup_until_steady", plan.warmup_until_steady),
    ];
    if let Some((key, _)) = beside.iter().find(|(_, is_given)| *is_given) {
        bail!(
            "{key} cannot be combined with objective, whose search chooses the rate of each run \
            and measures it for `seconds`; omit one of them"
        );
    }
    Ok(())
}
