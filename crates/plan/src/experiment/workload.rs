//! Workloads with the pace of their events, and the names under which they are run.

use assay_load::{LoadPhases, Pace};
use indexmap::IndexMap;

use crate::document::{LoadName, Plan, WorkloadSpec};

/// A workload with the pace of its events.
#[derive(Debug, Clone)]
pub struct PlannedWorkload {
    pub spec: WorkloadSpec,
    pub pace: Pace,
    /// The phases of its runs; `None` where the plan has none.
    pub phases: Option<LoadPhases>,
}

/// A workload on a data profile, as it is run.
#[derive(Debug, Clone)]
pub struct PlannedLoad {
    /// Its name in the study.
    pub name: String,
    /// `None` where the plan has no data profiles.
    pub data_profile: Option<String>,
    /// The workload's name in the plan.
    pub workload: String,
}

/// All workloads of a plan.
pub(super) fn all(plan: &Plan) -> IndexMap<String, PlannedWorkload> {
    let planned = |(name, spec): (&String, &WorkloadSpec)| {
        let (pace, phases) = (plan.pace_of(name), plan.phases_of(name));
        (name.clone(), PlannedWorkload { spec: spec.clone(), pace, phases })
    };
    plan.workloads.iter().map(planned).collect()
}

/// Every workload on every data profile, but for those that only phases and neighbours use.
pub(super) fn loads(plan: &Plan) -> Vec<PlannedLoad> {
    let planned = |load: LoadName<'_>| PlannedLoad {
        name: load.name(),
        data_profile: load.data_profile.map(str::to_owned),
        workload: load.workload.to_owned(),
    };
    plan.loads().into_iter().map(planned).collect()
}
