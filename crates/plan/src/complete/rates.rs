//! A list of rates: every workload is run at every rate, under the name of both.
//!
//! `read write` at 2000 and 4000 becomes `read write at 2000 per second` and `read write at 4000
//! per second`; a pair that asks about `read write` asks about both.

use anyhow::Result;
use assay_study::AskedPair;
use indexmap::IndexMap;

use crate::check::rates::check;
use crate::document::Plan;

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
