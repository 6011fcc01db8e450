//! From a plan to its cells, in the order in which they are run.
//!
//! Each repeat is a block that holds every cell once, shuffled by the plan's seed: what drifts over an hour (heat,
//! neighbours, the disk's own state) then meets all arms alike instead of the last one.

use std::collections::BTreeMap;

use assay_load::random::Rng;
use serde_json::json;

use super::{Footing, FootingKey, Plan};
use assay_study::{CellKey, fingerprint};

/// A cell and what it will be run with.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCell {
    /// Its coordinates.
    pub key: CellKey,
    /// The workload's name in the plan.
    pub workload: String,
    /// The arm and the data set that it is run on.
    pub footing: FootingKey,
    /// Place in the order, from 1.
    pub position: u32,
    /// Changes when anything changes that could change the cell's result.
    pub fingerprint: String,
}

/// Every cell of the plan in running order.
#[must_use]
pub fn cells(plan: &Plan) -> Vec<PlannedCell> {
    let mut cells = Vec::new();
    for repeat in 1..=plan.repeats {
        let mut block = block(plan, repeat);
        shuffle(&mut block, &mut Rng::new(plan.seed, u64::from(repeat)));
        cells.extend(block);
    }
    let mut footings: BTreeMap<FootingKey, Footing> = BTreeMap::new();
    footings.extend(plan.footings().into_iter().map(|footing| (footing.key.clone(), footing)));
    let numbered = (1..).zip(cells);
    numbered
        .map(|(position, cell)| {
            let Coordinates { key, footing, workload } = cell;
            let fingerprint = conditions(plan, footings.get(&footing), &workload);
            PlannedCell { key, workload, footing, position, fingerprint }
        })
        .collect()
}

/// A cell before it has its place.
struct Coordinates {
    key: CellKey,
    footing: FootingKey,
    workload: String,
}

fn block(plan: &Plan, repeat: u32) -> Vec<Coordinates> {
    let mut block = Vec::new();
    for (name, arm) in &plan.arms {
        for load in plan.loads() {
            let set = load.data_set.and_then(|set| plan.data_sets.get(set));
            if set.is_some_and(|set| !set.has_arm(name)) {
                continue;
            }
            let footing =
                FootingKey { arm: name.clone(), data_set: load.data_set.map(str::to_owned) };
            block.extend(plan.threads_of(arm, set).into_iter().map(|threads| Coordinates {
                key: CellKey { arm: name.clone(), workload: load.name(), threads, repeat },
                footing: footing.clone(),
                workload: load.workload.to_owned(),
            }));
        }
    }
    block
}

/// Fisher and Yates, as in Knuth, TAOCP vol. 2, 3.4.2, algorithm P.
fn shuffle<T>(items: &mut [T], rng: &mut Rng) {
    for last in (1..items.len()).rev() {
        let other = rng.below(last as u64 + 1) as usize;
        items.swap(last, other);
    }
}

/// Of the plan, all but what only names, orders or multiplies cells.
fn conditions(plan: &Plan, footing: Option<&Footing>, workload: &str) -> String {
    let arm = footing.and_then(|footing| plan.arms.get(&footing.key.arm));
    let mut conditions = json!({
        "seed": plan.seed,
        "seconds": plan.seconds,
        "warmup": [json!(plan.warmup_seconds), json!(plan.warmup_until_steady)],
        "pace": plan.pace(),
        "location": plan.location,
        "server": arm.and_then(|arm| arm.server.as_ref()).or(plan.server.as_ref()),
        "placement": plan.placement,
        "schema": footing.map(|footing| &footing.schema),
        "settings": arm.map(|arm| plan.settings_of(arm)),
        "rig": footing.map(|footing| &footing.rig),
        "workload": plan.workloads.get(workload),
    });
    // Left out where there is none, so that studies older than the key can go on.
    if let Some(requests) = plan.requests {
        conditions["requests"] = json!(requests);
    }
    fingerprint(&conditions.to_string())
}
