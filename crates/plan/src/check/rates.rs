//! Checks of rates.

use anyhow::{Result, ensure};

use crate::document::Plan;

/// The most events per second that a plan may ask for.
const RATE_MAX: f64 = 1e8;

/// Returns true for a rate that can be asked for.
pub(super) fn is_rate(rate: f64) -> bool {
    rate.is_finite() && rate > 0.0 && rate <= RATE_MAX
}

/// Checks every rate of a plan whose list of rates is not yet expanded.
///
/// # Errors
/// One line for a rate that cannot be, or for one rate and a list of them.
pub(crate) fn check(plan: &Plan) -> Result<()> {
    ensure!(
        plan.rate.is_none_or(is_rate),
        "rate is {}; give more than 0 events per second, or omit it for a closed loop",
        plan.rate.unwrap_or_default()
    );
    ensure!(
        plan.rates.is_empty() || (plan.rate.is_none() && plan.workload_rates.is_empty()),
        "rates cannot be combined with rate or workload_rates; keep one of them"
    );
    ensure!(
        plan.rates.is_empty() || plan.leaves_rates_a_say(),
        "rates is given, but every phase has a rate of its own or a pause; omit rates, or leave \
        a phase without rate"
    );
    for (name, rate) in &plan.workload_rates {
        ensure!(
            plan.workloads.contains_key(name),
            "workload_rates names `{name}`, which is no workload of the plan"
        );
        ensure!(
            is_rate(*rate),
            "the rate of workload `{name}` is {rate}; give more than 0 events per second"
        );
    }
    for (place, rate) in plan.rates.iter().enumerate() {
        ensure!(is_rate(*rate), "rates has {rate}; give more than 0 events per second");
        ensure!(!plan.rates[..place].contains(rate), "rates has {rate} twice");
    }
    Ok(())
}
