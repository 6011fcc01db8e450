//! The time of a side that takes turns with others: its own seconds, numbered without pauses.
//!
//! In it a run in turns is like any other run of as many seconds: whatever reads series, windows or
//! percentiles need not know of turns.

use std::collections::BTreeMap;

use assay_load::Turns;

use crate::monitor::{Gap, Sample};
use crate::run::results::Observation;

/// Seconds of the shared clock that are a side's own, by their ends.
#[derive(Debug, Clone)]
pub(super) struct OwnTime {
    /// The side's number of each of its seconds.
    numbers: BTreeMap<u32, u32>,
    /// Its warm-up, and the start of its window.
    warmup_s: u32,
}

impl OwnTime {
    /// The time of a side whose window lies so on the clock, in seconds, behind a warm-up of so
    /// many seconds of its own.
    pub(super) fn new(turns: Turns, [from_s, to_s]: [f64; 2], warmup_s: f64) -> OwnTime {
        let [from, to] = [from_s, to_s].map(|second| second.round() as i64);
        let warmup = turns.on_clock(warmup_s).round() as i64;
        let own = (from - warmup + 1..=to).filter(|ended| turns.has_second(ended - from));
        let on_clock = own.filter_map(|ended| u32::try_from(ended).ok());
        OwnTime { numbers: on_clock.zip(1..).collect(), warmup_s: warmup_s.round() as u32 }
    }

    /// The number of the second that ends at `second` of the clock; `None` in a turn of others.
    pub(super) fn number(&self, second: u32) -> Option<u32> {
        self.numbers.get(&second).copied()
    }

    /// The own seconds that have ended at this instant of the clock.
    fn elapsed_s(&self, at_s: f64) -> f64 {
        let until = at_s.max(0.0) as u32;
        self.numbers.range(..=until).next_back().map_or(0.0, |(_, number)| f64::from(*number))
    }

    /// The observation in this time. The load's seconds already are.
    pub(super) fn carry_over(&self, observation: Observation) -> Observation {
        let mut observation = observation;
        let monitored = &mut observation.monitored;
        let samples = std::mem::take(&mut monitored.samples).into_iter();
        let own = samples
            .filter_map(|sample| Some(Sample { second: self.number(sample.second)?, ..sample }));
        monitored.samples = own.collect();
        for Gap { from_s, to_s, .. } in &mut monitored.gaps {
            [*from_s, *to_s] = [*from_s, *to_s].map(|at_s| self.elapsed_s(at_s));
        }
        if let Some(load) = &mut observation.load {
            let outcome = &mut load.outcome;
            let end_s = self.elapsed_s(outcome.measure_end_s);
            (outcome.measure_start_s, outcome.measure_end_s) = (f64::from(self.warmup_s), end_s);
        }
        observation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::Monitored;
    use crate::run::loads::LoadResult;
    use assay_load::LoadOutcome;

    /// A window of 8 s on the clock behind a warm-up of 4, of two sides.
    fn time(side: u32) -> OwnTime {
        OwnTime::new(Turns { side, of: 2 }, [20.0, 28.0], 2.0)
    }

    #[test]
    fn own_seconds_follow_each_other_and_those_of_others_have_no_number() {
        let of = |side: u32| {
            let time = time(side);
            (1..=30).filter_map(|at| Some((at, time.number(at)?))).collect::<Vec<_>>()
        };
        // The turns are BA ABBA.
        assert_eq!(of(0), [(19, 1), (20, 2), (21, 3), (22, 4), (27, 5), (28, 6)]);
        assert_eq!(of(1), [(17, 1), (18, 2), (23, 3), (24, 4), (25, 5), (26, 6)]);
    }

    #[test]
    fn an_observation_becomes_one_of_as_many_seconds_without_pauses() {
        let sample = |second: u32| Sample { second, values: vec![(0, f64::from(second))] };
        let gap = Gap { from_s: 22.5, to_s: 27.5, length_s: 4.0 };
        let outcome =
            LoadOutcome { measure_start_s: 20.0, measure_end_s: 28.0, ..LoadOutcome::default() };
        let observation = Observation {
            monitored: Monitored {
                samples: (1..=30).map(sample).collect(),
                gaps: vec![gap],
                ..Monitored::default()
            },
            load: Some(LoadResult { outcome, ..LoadResult::default() }),
            ..Observation::default()
        };
        let own = time(0).carry_over(observation);
        let seconds: Vec<u32> = own.monitored.samples.iter().map(|one| one.second).collect();
        assert_eq!(seconds, [1, 2, 3, 4, 5, 6]);
        assert_eq!(own.monitored.samples[4].values, [(0, 27.0)]);
        assert_eq!((own.monitored.gaps[0].from_s, own.monitored.gaps[0].to_s), (4.0, 5.0));
        let outcome = own.load.unwrap().outcome;
        assert_eq!((outcome.measure_start_s, outcome.measure_end_s), (2.0, 6.0));
    }
}
