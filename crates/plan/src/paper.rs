//! Checks that what a plan says of a paper is about configurations, data profiles and workloads that it has.

use anyhow::{Context, Result, ensure};
use assay_base::suggest::nearest;

use super::Plan;
use assay_study::{Comparison, Paper, Printed};

/// Puts what claims print in the place of their name.
///
/// # Errors
/// One line: no such claims, or a plan that says itself what they say.
pub(super) fn fill_in(plan: &mut Plan) -> Result<()> {
    let Some(paper) = &mut plan.paper else { return Ok(()) };
    let Some(named) = &paper.claims else {
        ensure!(!paper.title.is_empty(), "paper: the key `title` is missing; add it, or claims");
        return Ok(());
    };
    let mut filled = assay_claims::beside(named).context("paper")?;
    let (workloads, profiles) = (&plan.workloads, &plan.data_profiles);
    keep_own(&mut filled, |printed| {
        let profile = printed.data_profile.as_ref();
        workloads.contains_key(&printed.workload)
            && profile.is_none_or(|name| profiles.contains_key(name))
    });
    let says_nothing = paper.title.is_empty() && paper.comparisons.is_empty();
    ensure!(
        says_nothing || *paper == filled,
        "paper: title and comparisons are in the claims `{named}`; remove them here"
    );
    *paper = filled;
    Ok(())
}

/// Leaves out what is printed for workloads and data profiles of another form of the plan: a quick profile has other rates, an overlay may
/// exclude data profiles. Where nothing would be left, a name is wrong, and the check says which.
fn keep_own(paper: &mut Paper, is_own: impl Fn(&Printed) -> bool) {
    for comparison in &mut paper.comparisons {
        if comparison.printed.iter().any(&is_own) {
            comparison.printed.retain(&is_own);
        }
    }
}

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

/// That there is such a name, else the nearest that there is.
pub(super) fn ensure_there<'a>(
    kind: &str,
    name: &str,
    mut known: impl Iterator<Item = &'a String> + Clone,
) -> Result<()> {
    let hint = nearest(name, known.clone().map(String::as_str))
        .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    ensure!(known.any(|one| one == name), "there is no {kind} `{name}`{hint}");
    Ok(())
}
