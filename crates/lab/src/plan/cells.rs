//! From a plan to its cells, in the order in which they are run.
//!
//! Each repeat is a block that holds every cell once, shuffled by the plan's seed: what drifts over an hour (heat,
//! neighbours, the disk's own state) then meets all arms alike instead of the last one.

use assay_load::random::Rng;
use serde_json::json;

use super::Plan;
use crate::store::{CellKey, fingerprint};

/// A cell and what it will be run with.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCell {
    /// Its coordinates.
    pub key: CellKey,
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
    let numbered = (1..).zip(cells);
    numbered
        .map(|(position, key)| PlannedCell { fingerprint: conditions(plan, &key), key, position })
        .collect()
}

fn block(plan: &Plan, repeat: u32) -> Vec<CellKey> {
    let mut block = Vec::new();
    for arm in plan.arms.keys() {
        for workload in plan.workloads.keys() {
            block.extend(plan.threads.iter().map(|&threads| CellKey {
                arm: arm.clone(),
                workload: workload.clone(),
                threads,
                repeat,
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
fn conditions(plan: &Plan, key: &CellKey) -> String {
    let arm = plan.arms.get(&key.arm);
    let mut conditions = json!({
        "seed": plan.seed,
        "seconds": plan.seconds,
        "warmup": [json!(plan.warmup_seconds), json!(plan.warmup_until_steady)],
        "pace": plan.pace(),
        "location": plan.location,
        "server": arm.and_then(|arm| arm.server.as_ref()).or(plan.server.as_ref()),
        "placement": plan.placement,
        "schema": arm.map(|arm| plan.schema_of(arm)),
        "settings": arm.map(|arm| plan.settings_of(arm)),
        "rig": arm.map(|arm| plan.rig_of(arm)),
        "workload": plan.workloads.get(&key.workload),
    });
    // Left out where there is none, so that studies older than the key can go on.
    if let Some(requests) = plan.requests {
        conditions["requests"] = json!(requests);
    }
    fingerprint(&conditions.to_string())
}
