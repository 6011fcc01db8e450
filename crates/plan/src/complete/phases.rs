//! The length of the measuring window, where it follows from phases.

use anyhow::{Result, bail, ensure};

use crate::document::Plan;

/// Puts in the seconds that follow from phases, where the plan leaves them out.
///
/// # Errors
/// One line: neither is there, or both are and do not agree.
pub(super) fn complete(plan: &mut Plan) -> Result<()> {
    let together: f64 = plan.phases.iter().map(|phase| phase.seconds).sum();
    match (plan.phases.is_empty(), plan.seconds) {
        (true, None) => bail!("the key seconds is missing; add it"),
        (true, Some(_)) => {}
        (false, None) => plan.seconds = Some(together),
        (false, Some(seconds)) => check_length(plan, seconds, together)?,
    }
    Ok(())
}

fn check_length(plan: &Plan, seconds: f64, together: f64) -> Result<()> {
    if let Some(long) = plan.phases.iter().find(|phase| phase.seconds > seconds) {
        bail!(
            "phase `{}` takes {} s and the run only {seconds}; raise seconds to {together}, or \
            omit it: the window is as long as all phases",
            long.name,
            long.seconds
        );
    }
    ensure!(
        (together - seconds).abs() < 1e-9,
        "the phases take {together} s together, but seconds is {seconds}; omit it: the window is \
        as long as all phases"
    );
    Ok(())
}
