//! Checks that what a plan says of a paper is about configurations, data profiles and workloads
//! that it has.

use anyhow::{Context, Result, ensure};
use assay_study::{Comparison, Printed};

use super::ensure_there;
use crate::document::Plan;

/// Checks the plan's `[paper]`, if it has one.
///
/// # Errors
/// One line naming what is not there, with the nearest that is.
pub(super) fn check(plan: &Plan) -> Result<()> {
    let Some(paper) = &plan.paper else { return Ok(()) };
    for comparison in &paper.comparisons {
        let what = || format!("paper, {}", comparison.table);
        check_comparison(plan, comparison).with_context(what)?;
        for printed in &comparison.printed {
            check_printed(plan, printed).with_context(what)?;
        }
    }
    Ok(())
}

fn check_comparison(plan: &Plan, comparison: &Comparison) -> Result<()> {
    for config in [&comparison.config, &comparison.against] {
        ensure_there("configuration", config, plan.configs.keys())?;
    }
    ensure!(
        comparison.config != comparison.against,
        "a configuration is compared with itself; name two"
    );
    Ok(())
}

fn check_printed(plan: &Plan, printed: &Printed) -> Result<()> {
    ensure_there("workload", &printed.workload, plan.workloads.keys())?;
    match &printed.data_profile {
        Some(name) => ensure_there("data profile", name, plan.data_profiles.keys())?,
        None => ensure!(
            plan.data_profiles.is_empty(),
            "a figure for `{}` names no data profile; add data_profile",
            printed.workload
        ),
    }
    let says_something = printed.says.is_some() || printed.percent.is_some_and(f64::is_finite);
    ensure!(
        says_something,
        "nothing is printed for `{}`; give percent or says, or remove it",
        printed.workload
    );
    Ok(())
}
