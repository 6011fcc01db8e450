//! The schedule of several loads as that of a single one.

use crate::phases::{LoadPhase, LoadPhases, PhasePace};
use crate::schedule::{Pace, Schedule};

/// The schedule of one load with all threads, rates and events; `None` without a load.
pub(super) fn together<'a>(all: impl Iterator<Item = &'a Schedule> + Clone) -> Option<Schedule> {
    let first = all.clone().next()?;
    let is_common = all.clone().all(|schedule| schedule.cpus == first.cpus);
    let ends_by_events = all.clone().all(|schedule| schedule.events > 0);
    Some(Schedule {
        threads: all.clone().map(|schedule| schedule.threads).sum(),
        events: if ends_by_events { all.clone().map(|schedule| schedule.events).sum() } else { 0 },
        pace: sum(all.clone().map(|schedule| schedule.pace), add_paces).unwrap_or(first.pace),
        cpus: if is_common { first.cpus.clone() } else { Vec::new() },
        phases: match all
            .map(|schedule| schedule.phases.clone())
            .collect::<Option<Vec<LoadPhases>>>()
        {
            Some(phases) => sum(phases.into_iter(), add_phases).or(first.phases.clone()),
            None => first.phases.clone(),
        },
        ..first.clone()
    })
}

/// The sum of all, if each can be added to those before it.
fn sum<T>(mut all: impl Iterator<Item = T>, add: fn(T, T) -> Option<T>) -> Option<T> {
    let first = all.next()?;
    all.try_fold(first, add)
}

fn add_paces(a: Pace, b: Pace) -> Option<Pace> {
    match (a, b) {
        (Pace::Closed, Pace::Closed) => Some(Pace::Closed),
        (
            Pace::Rate { per_second: a, arrivals },
            Pace::Rate { per_second: b, arrivals: of_other },
        ) if arrivals == of_other => Some(Pace::Rate { per_second: a + b, arrivals }),
        (Pace::Throttled { per_second: a }, Pace::Throttled { per_second: b }) => {
            Some(Pace::Throttled { per_second: a + b })
        }
        _ => None,
    }
}

fn add_phases(a: LoadPhases, b: LoadPhases) -> Option<LoadPhases> {
    if a.arrivals != b.arrivals || a.each.len() != b.each.len() {
        return None;
    }
    let each = a.each.into_iter().zip(b.each).map(|(a, b)| add_phase(a, b));
    Some(LoadPhases { arrivals: a.arrivals, each: each.collect::<Option<_>>()? })
}

fn add_phase(a: LoadPhase, b: LoadPhase) -> Option<LoadPhase> {
    let pace = match (a.pace, b.pace) {
        (
            PhasePace::Rate { from_per_s: from_a, to_per_s: to_a },
            PhasePace::Rate { from_per_s: from_b, to_per_s: to_b },
        ) => PhasePace::Rate { from_per_s: from_a + from_b, to_per_s: to_a + to_b },
        (a, b) if a == b => a,
        _ => return None,
    };
    (a.seconds == b.seconds && a.workload == b.workload).then_some(LoadPhase { pace, ..a })
}
