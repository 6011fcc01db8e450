//! The share of one part of a load.

use crate::part::LoadPart;
use crate::phases::{LoadPhase, LoadPhases, PhasePace};
use crate::schedule::{Pace, Schedule};

/// The schedule of a part: its threads, and its share of events and rates. The shares of all parts
/// add up to the schedule.
pub(crate) fn share(schedule: &Schedule) -> Schedule {
    if schedule.part.is_whole() {
        return schedule.clone();
    }
    let deal = schedule.deal();
    let share = f64::from(deal.own()) / f64::from(schedule.threads);
    Schedule {
        threads: deal.own(),
        events: deal.below(schedule.events),
        pace: match schedule.pace {
            Pace::Closed => Pace::Closed,
            Pace::Rate { per_second, arrivals } => {
                Pace::Rate { per_second: per_second * share, arrivals }
            }
            Pace::Throttled { per_second } => Pace::Throttled { per_second: per_second * share },
        },
        phases: schedule.phases.as_ref().map(|phases| of_phases(phases, share)),
        part: LoadPart::WHOLE,
        ..schedule.clone()
    }
}

fn of_phases(phases: &LoadPhases, share: f64) -> LoadPhases {
    let pace = |pace| match pace {
        PhasePace::Rate { from_per_s, to_per_s } => {
            PhasePace::Rate { from_per_s: from_per_s * share, to_per_s: to_per_s * share }
        }
        PhasePace::Closed | PhasePace::Paused => pace,
    };
    let each =
        phases.each.iter().map(|phase| LoadPhase { pace: pace(phase.pace), ..phase.clone() });
    LoadPhases { arrivals: phases.arrivals, each: each.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Arrivals;

    #[test]
    fn shares_add_up_and_follow_the_threads() {
        let schedule = Schedule {
            threads: 5,
            events: 13,
            pace: Pace::Rate { per_second: 500.0, arrivals: Arrivals::Poisson },
            phases: Some(LoadPhases {
                arrivals: Arrivals::Even,
                each: vec![LoadPhase {
                    seconds: 4,
                    pace: PhasePace::Rate { from_per_s: 100.0, to_per_s: 10.0 },
                    workload: None,
                }],
            }),
            ..Schedule::default()
        };
        let of = |number| share(&Schedule { part: LoadPart { number, of: 2 }, ..schedule.clone() });
        let (a, b) = (of(0), of(1));
        assert_eq!((a.threads, b.threads, a.events, b.events), (3, 2, 8, 5));
        assert_eq!((a.pace.per_second(), b.pace.per_second()), (Some(300.0), Some(200.0)));
        let of_phase = |schedule: Schedule| schedule.phases.unwrap().each[0].pace.highest_per_s();
        assert_eq!((of_phase(a), of_phase(b)), (Some(60.0), Some(40.0)));
        assert_eq!(share(&schedule), schedule);
    }
}
