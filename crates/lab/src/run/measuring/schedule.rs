//! How a run of a plan is loaded, and on which CPUs.

use std::collections::BTreeMap;

use assay_load::{Schedule, Warmup};
use assay_plan::{CpuList, Placement, Plan, PlannedTrial};

/// How long transactions in hand may take to end when the window has, while things happen, in seconds.
const GRACE_S: f64 = 60.0;

/// How long, how fast and with what draws a run is loaded.
pub(super) fn schedule(plan: &Plan, trial: &PlannedTrial) -> Schedule {
    let warmup = match plan.warmup_until_steady {
        true => Warmup::Steady { cap_seconds: plan.warmup_seconds },
        false => Warmup::Seconds(plan.warmup_seconds),
    };
    Schedule {
        threads: trial.key.threads,
        warmup,
        seconds: plan.seconds,
        events: plan.events.unwrap_or(0),
        pace: plan.pace_of(&trial.workload),
        // The same draws in every configuration; other ones in every repeat.
        seed: plan.seed.wrapping_add(u64::from(trial.key.repeat)),
        cpus: plan.placement.load_cpus.0.clone(),
        phases: plan.phases_of(&trial.workload),
        rides_out: plan.rides_out(),
        // A statement that waits for transactions, which wait for it, would let no run end.
        forced_shutdown: plan.has_happenings().then_some(GRACE_S),
        ..Schedule::default()
    }
}

/// Which CPUs server, load and drive may use, in words.
pub(super) fn placement(plan: &Plan, has_drive: bool) -> BTreeMap<String, String> {
    let Placement { server_cpus, load_cpus, drive_cpus } = &plan.placement;
    let text = |cpus: &CpuList| if cpus.is_empty() { "all".into() } else { cpus.to_string() };
    let both = [("server_cpus", server_cpus), ("load_cpus", load_cpus)];
    let drive = has_drive.then_some(("drive_cpus", drive_cpus));
    both.into_iter().chain(drive).map(|(name, cpus)| (name.into(), text(cpus))).collect()
}
