//! The figures of a paper, where the plan names claims that print them.

use anyhow::{Context, Result, ensure};
use assay_study::{Paper, Printed};

use crate::document::Plan;

/// Replaces the name of claims by their figures.
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

/// Removes figures of workloads and data profiles that another form of the plan has: a quick
/// profile has other rates, an overlay may exclude data profiles. If nothing would be left, a name
/// is wrong, and the check reports it.
fn keep_own(paper: &mut Paper, is_own: impl Fn(&Printed) -> bool) {
    for comparison in &mut paper.comparisons {
        if comparison.printed.iter().any(&is_own) {
            comparison.printed.retain(&is_own);
        }
    }
}
