//! How a run of a plan is loaded, and on which CPUs.

use std::collections::BTreeMap;

use assay_load::Schedule;
use assay_plan::{CpuList, Experiment, Placement, PlannedTrial};

/// How long transactions in hand may take to end when the window has, while things happen, in
/// seconds.
const GRACE_S: f64 = 60.0;

/// Length, pace and seed of the load of a run.
pub(super) fn schedule(experiment: &Experiment, trial: &PlannedTrial) -> Schedule {
    let workload = &experiment.workloads[&trial.workload];
    Schedule {
        threads: trial.key.threads,
        warmup: experiment.warmup,
        seconds: experiment.seconds,
        events: experiment.events.unwrap_or(0),
        pace: workload.pace,
        // The same draws in every configuration; other ones in every repeat.
        seed: experiment.seed.wrapping_add(u64::from(trial.key.repeat)),
        cpus: experiment.placement.load_cpus.0.clone(),
        phases: workload.phases.clone(),
        rides_out: experiment.tolerates,
        // A statement that waits for transactions, which wait for it, would let no run end.
        forced_shutdown: experiment.has_happenings().then_some(GRACE_S),
        ..Schedule::default()
    }
}

/// The CPUs that server, load and drive may use, in words.
pub(super) fn placement(experiment: &Experiment, has_drive: bool) -> BTreeMap<String, String> {
    let Placement { server_cpus, load_cpus, drive_cpus } = &experiment.placement;
    let text = |cpus: &CpuList| if cpus.is_empty() { "all".into() } else { cpus.to_string() };
    let both = [("server_cpus", server_cpus), ("load_cpus", load_cpus)];
    let drive = has_drive.then_some(("drive_cpus", drive_cpus));
    both.into_iter().chain(drive).map(|(name, cpus)| (name.into(), text(cpus))).collect()
}
