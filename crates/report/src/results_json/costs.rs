//! Costs in `results.json`.

use serde::Serialize;

use crate::words::worth::assumption;
use assay_judge::interval::Interval;
use assay_judge::worth::CostOfLoad;
use assay_judge::worth::cost::Cost;
use assay_study::Events;

/// The cost of a configuration under a load.
#[derive(Debug, Serialize)]
pub(crate) struct CostView<'a> {
    config: &'a str,
    workload: &'a str,
    threads: u32,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    cost: Option<&'a Cost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaces: Option<Interval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    assumed: Vec<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    missing: &'a [String],
}

impl CostView<'_> {
    fn of(events: Events, cost: &CostOfLoad) -> CostView<'_> {
        CostView {
            config: &cost.config,
            workload: &cost.workload,
            threads: cost.threads,
            cost: cost.cost.as_ref(),
            replaces: cost.replaces,
            replaced: cost.replaced.as_deref(),
            assumed: cost.assumption.iter().map(|one| assumption(events, *one)).collect(),
            missing: &cost.missing,
        }
    }
}

/// Costs of a study whose load counts `events`.
pub(crate) fn view(events: Events, costs: &[CostOfLoad]) -> Vec<CostView<'_>> {
    costs.iter().map(|cost| CostView::of(events, cost)).collect()
}
