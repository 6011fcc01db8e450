//! The completion of a document: keys that stand for others are replaced by those.
//!
//! Seconds follow from phases, factors become configurations, a list of rates becomes workloads,
//! claims become the figures of a paper, and the noise floor becomes a configuration. What is sent
//! to another machine is complete.

mod aa_runs;
mod factors;
mod paper;
mod phases;
mod rates;

use anyhow::Result;

use super::check;
use super::document::Plan;

/// Completes a document.
///
/// # Errors
/// One line: a key that cannot be replaced, or that does not go together with others that can.
pub(super) fn complete(plan: &mut Plan) -> Result<()> {
    phases::complete(plan)?;
    check::phases::check(plan)?;
    check::objective::check(plan)?;
    factors::expand(plan)?;
    check::check_counts(plan)?;
    rates::expand(plan)?;
    paper::fill_in(plan)?;
    plan.complete_aa_runs()
}
