//! Experiments for tests, from as much of a plan as a test is about.

use assay_plan::{Experiment, Plan, PlannedRig};

/// An experiment with one workload and one configuration, `a`; `more` adds keys, tables last.
pub(crate) fn experiment(more: &str) -> Experiment {
    let plan = format!(
        "title = \"t\"\nthreads = [1]\nseconds = 1\nnoise_floor = false\n{more}\n[workloads.w]\n\
         recipe = \"oltp_read_write\"\n[configs.a]\n"
    );
    Experiment::of(Plan::parse(&plan).unwrap()).unwrap()
}

/// The rig with these keys.
pub(crate) fn planned_rig(keys: &str) -> PlannedRig {
    experiment(&format!("[rig]\n{keys}")).variants.remove(0).rig
}
