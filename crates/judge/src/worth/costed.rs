//! Under which loads a configuration's throughput makes a cost, and why not under the others.
//!
//! A cost is made of what a server could do at most, for what stands at one scale: a rate that was
//! asked for says nothing of either side's most, and a whole device is no peer of a model whose
//! rates are multiplied.

use serde::Serialize;

use crate::baseline_of;
use crate::summary::RepeatGroup;
use assay_study::{Study, Trial};

/// Throughput of a configuration under a load that makes no cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Uncosted {
    /// Name of the configuration.
    pub config: String,
    /// Name of the workload.
    pub workload: String,
    /// Connections.
    pub threads: u32,
    /// Why.
    #[serde(flatten)]
    pub why: Why,
}

/// Why throughput makes no cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Why {
    /// The load came at a rate that was asked for.
    RateAsked,
    /// Its rates are divided otherwise than those of what costs are measured by.
    OtherScale {
        /// Divisor of its own rates.
        own: f64,
        /// The configuration that costs are measured by under this load.
        measure: String,
        /// Divisor of the baseline's rates.
        of_measure: f64,
    },
    /// The study does not keep what its rates are divided by.
    UnknownScale,
}

/// Groups whose throughput makes costs, and the others.
pub(crate) fn split<'a, 'b>(
    study: &Study,
    groups: &'b [RepeatGroup<'a>],
) -> (Vec<&'b RepeatGroup<'a>>, Vec<Uncosted>) {
    let mut costed = Vec::new();
    let mut uncosted = Vec::new();
    for group in groups {
        let config = study.configs.get(group.config).map(|one| one.name.clone());
        let workload = study.workloads.get(group.workload).map(|one| one.name.clone());
        let Some((config, workload)) = config.zip(workload) else { continue };
        match why(study, groups, group, &config) {
            None => costed.push(group),
            Some(why) => {
                uncosted.push(Uncosted { config, workload, threads: group.threads, why });
            }
        }
    }
    (costed, uncosted)
}

fn why(
    study: &Study,
    groups: &[RepeatGroup<'_>],
    group: &RepeatGroup<'_>,
    config: &str,
) -> Option<Why> {
    let is_at_a_rate = study.rate(&study.workloads.get(group.workload)?.name).is_some();
    if is_at_a_rate && !group.done().any(is_a_search) {
        return Some(Why::RateAsked);
    }
    let Some(own) = study.parallel_scale(config) else { return Some(Why::UnknownScale) };
    let measure = measure(study, groups, group)?;
    let of_measure = study.parallel_scale(&measure)?;
    (own != of_measure).then_some(Why::OtherScale { own, measure, of_measure })
}

/// A search for the highest rate asks for rates too, and finds what can be done.
fn is_a_search(trial: &Trial) -> bool {
    trial.capacity.is_some()
}

/// The baseline, if it ran under the same load, else the first configuration that did.
fn measure(study: &Study, groups: &[RepeatGroup<'_>], group: &RepeatGroup<'_>) -> Option<String> {
    let same_load =
        groups.iter().filter(|one| (one.workload, one.threads) == (group.workload, group.threads));
    let names: Vec<&String> =
        same_load.filter_map(|one| Some(&study.configs.get(one.config)?.name)).collect();
    let baseline = baseline_of(study).filter(|baseline| names.contains(&baseline));
    baseline.or_else(|| names.first().map(|name| (*name).clone()))
}
