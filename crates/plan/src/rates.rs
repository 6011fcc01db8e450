//! A list of rates: every workload is run at every rate, under the name of both.
//!
//! `read write` at 2000 and 4000 becomes `read write at 2000 per second` and `read write at 4000 per second`; a pair that asks about `read write`
//! asks about both.

use anyhow::{Result, ensure};
use indexmap::IndexMap;

use super::{AskedPair, Plan};

/// The most events per second that a plan may ask for.
const RATE_MAX: f64 = 1e8;

/// Puts a workload for each rate in the place of each workload, in plans that list rates.
///
/// # Errors
/// One line for a rate that cannot be, or for one rate and a list of them.
pub(super) fn expand(plan: &mut Plan) -> Result<()> {
    check(plan)?;
    let rates = std::mem::take(&mut plan.rates);
    if rates.is_empty() {
        return Ok(());
    }
    let workloads = std::mem::take(&mut plan.workloads);
    let mut paced = IndexMap::new();
    for (workload, options) in &workloads {
        if plan.is_mix(workload) {
            paced.insert(workload.clone(), options.clone());
            continue;
        }
        for rate in &rates {
            let name = name(workload, *rate);
            plan.workload_rates.insert(name.clone(), *rate);
            paced.insert(name, options.clone());
        }
    }
    plan.workloads = paced;
    let asked = std::mem::take(&mut plan.compare);
    let each = |pair: AskedPair| -> Vec<AskedPair> {
        match pair.workload.clone() {
            Some(workload) if workloads.contains_key(&workload) => rates
                .iter()
                .map(|rate| AskedPair { workload: Some(name(&workload, *rate)), ..pair.clone() })
                .collect(),
            _ => vec![pair],
        }
    };
    plan.compare = asked.into_iter().flat_map(each).collect();
    Ok(())
}

fn name(workload: &str, rate: f64) -> String {
    format!("{workload} at {rate} per second")
}

/// Whether so many events per second can be asked for.
pub(super) fn is_rate(rate: f64) -> bool {
    rate.is_finite() && rate > 0.0 && rate <= RATE_MAX
}

fn check(plan: &Plan) -> Result<()> {
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
        "rates is given, but every phase has a rate of its own or a pause; omit rates, or leave a phase without rate"
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
