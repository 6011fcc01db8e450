//! The course of a load with phases: the pace and mix of each time span, and the planned starts
//! that follow.
//!
//! Planned starts are one stream over all phases: a Poisson process, or even arrivals, with a rate
//! that is linear in each phase. They are exact for any slope, as the expected number of starts
//! until an instant is inverted, not the rate stepped.

use std::sync::Arc;

use crate::phases::PhasePace;
use crate::random::Rng;
use crate::schedule::{Arrivals, Pace, SECOND_NS, Schedule};

/// Number of the mix of the load's own workload.
pub(crate) const MAIN_MIX: usize = 0;

/// A time span with one pace and mix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stretch {
    /// Start, in ns from the start of the load.
    from_ns: u64,
    to_ns: u64,
    pace: PhasePace,
    /// Number of the mix.
    pub(crate) mix: usize,
    /// Expected number of starts before it.
    before: f64,
}

impl Stretch {
    pub(crate) fn is_closed(&self) -> bool {
        self.pace == PhasePace::Closed
    }

    fn length_s(&self) -> f64 {
        (self.to_ns - self.from_ns) as f64 / SECOND_NS as f64
    }

    /// Expected number of starts until its end.
    fn after(&self) -> f64 {
        self.before + self.pace.mean_per_s().unwrap_or(0.0) * self.length_s()
    }

    /// The instant in this span until which `expected` starts are expected. With an initial rate a
    /// and a slope b, x starts are expected after s seconds, with x = a s + b s² ÷ 2.
    fn when(&self, expected: f64) -> u64 {
        let PhasePace::Rate { from_per_s, to_per_s } = self.pace else { return self.to_ns };
        let (x, b) = (expected - self.before, (to_per_s - from_per_s) / self.length_s());
        let root = (from_per_s * from_per_s + 2.0 * b * x).max(0.0).sqrt();
        // The quotient form is exact also for a b of zero or nearly zero.
        let seconds = 2.0 * x / (from_per_s + root);
        (self.from_ns + (seconds * SECOND_NS as f64) as u64).min(self.to_ns - 1)
    }
}

/// All spans of a load, without gaps.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Course {
    stretches: Vec<Stretch>,
}

impl Course {
    /// The course of a schedule with phases; `mix_of` holds the number of each phase's mix.
    pub(crate) fn of(schedule: &Schedule, mix_of: &[usize]) -> Option<Course> {
        let phases = schedule.phases.as_ref()?;
        let mut course = Course { stretches: Vec::with_capacity(phases.each.len() + 1) };
        let warmup = match schedule.pace {
            Pace::Rate { per_second, .. } => {
                PhasePace::Rate { from_per_s: per_second, to_per_s: per_second }
            }
            Pace::Closed | Pace::Throttled { .. } => PhasePace::Closed,
        };
        course.push(schedule.warmup_s()?, warmup, MAIN_MIX);
        for (place, phase) in phases.each.iter().enumerate() {
            let mix = mix_of.get(place).copied().unwrap_or(MAIN_MIX);
            course.push(u64::from(phase.seconds), phase.pace, mix);
        }
        Some(course)
    }

    fn push(&mut self, seconds: u64, pace: PhasePace, mix: usize) {
        let (from_ns, before) = self.stretches.last().map_or((0, 0.0), |l| (l.to_ns, l.after()));
        let to_ns = from_ns + seconds * SECOND_NS;
        if to_ns > from_ns {
            self.stretches.push(Stretch { from_ns, to_ns, pace, mix, before });
        }
    }

    /// The span at an instant, in ns from the start of the load; the last one after the end.
    #[inline]
    pub(crate) fn at(&self, ns: u64) -> Option<&Stretch> {
        let found = self.stretches.iter().find(|stretch| ns < stretch.to_ns);
        found.or(self.stretches.last())
    }

    /// The end of the spans without a closed loop, from `ns` on.
    pub(crate) fn open_until(&self, ns: u64) -> u64 {
        let closed =
            self.stretches.iter().find(|stretch| stretch.to_ns > ns && stretch.is_closed());
        closed.map_or(u64::MAX, |closed| closed.from_ns)
    }
}

/// Planned starts along a course, in ns from the start of the load, ascending.
#[derive(Debug, Clone)]
pub(crate) struct Along {
    course: Arc<Course>,
    arrivals: Arrivals,
    rng: Rng,
    /// The span of the next start.
    place: usize,
    /// Expected number of starts until the next one.
    expected: f64,
    next_ns: u64,
}

impl Along {
    pub(crate) fn new(course: Arc<Course>, arrivals: Arrivals, rng: Rng) -> Along {
        let (place, expected, next_ns) = (0, 0.0, 0);
        let mut along = Along { course, arrivals, rng, place, expected, next_ns };
        if arrivals == Arrivals::Poisson {
            along.expected = along.gap();
        }
        along.find();
        along
    }

    /// The gap to the next start, in expected starts.
    fn gap(&mut self) -> f64 {
        match self.arrivals {
            Arrivals::Poisson => -(1.0 - self.rng.unit()).ln(),
            Arrivals::Even => 1.0,
        }
    }

    fn find(&mut self) {
        while let Some(stretch) = self.course.stretches.get(self.place) {
            if self.expected < stretch.after() {
                self.next_ns = stretch.when(self.expected);
                return;
            }
            self.place += 1;
        }
        self.next_ns = u64::MAX;
    }

    /// The next planned start; `u64::MAX` after the last.
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Takes the next planned start.
    pub(crate) fn take(&mut self) -> u64 {
        let start = self.next_ns;
        if start < u64::MAX {
            self.expected += self.gap();
            self.find();
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::{LoadPhase, LoadPhases};
    use crate::schedule::Warmup;

    fn rate(from_per_s: f64, to_per_s: f64) -> PhasePace {
        PhasePace::Rate { from_per_s, to_per_s }
    }

    fn course(warmup: f64, each: &[(u32, PhasePace)]) -> Arc<Course> {
        let each = each.iter().map(|&(seconds, pace)| LoadPhase { seconds, pace, workload: None });
        let phases = LoadPhases { arrivals: Arrivals::Even, each: each.collect() };
        let schedule = Schedule {
            warmup: Warmup::Seconds(warmup),
            seconds: phases.seconds() as f64,
            phases: Some(phases),
            ..Schedule::default()
        };
        Arc::new(Course::of(&schedule, &[]).unwrap())
    }

    fn starts(course: &Arc<Course>, arrivals: Arrivals, seed: u64) -> Vec<f64> {
        let mut along = Along::new(Arc::clone(course), arrivals, Rng::new(seed, 1));
        std::iter::from_fn(|| Some(along.take()).filter(|start| *start < u64::MAX))
            .map(|start| start as f64 / 1e9)
            .collect()
    }

    fn count(starts: &[f64], from_s: f64, to_s: f64) -> f64 {
        starts.iter().filter(|start| (from_s..to_s).contains(*start)).count() as f64
    }

    /// Expected number of starts between `a` and `b` of a span with a linear rate.
    fn area(from_per_s: f64, to_per_s: f64, length_s: f64, a: f64, b: f64) -> f64 {
        let at = |s: f64| from_per_s + (to_per_s - from_per_s) * s / length_s;
        (at(a) + at(b)) / 2.0 * (b - a)
    }

    #[test]
    fn even_arrivals_are_as_many_as_the_rate_says_to_one_in_every_second_of_any_course() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed, 9);
            let mut draw = |most: u64| 1 + rng.below(most);
            let phases: Vec<(u32, PhasePace)> = (0..5)
                .map(|_| {
                    let length = draw(9) as u32;
                    let pace = match draw(6) {
                        1 => PhasePace::Closed,
                        2 => PhasePace::Paused,
                        _ => rate(draw(900) as f64, draw(900) as f64),
                    };
                    (length, pace)
                })
                .collect();
            let starts = starts(&course(2.0, &phases), Arrivals::Even, seed);
            assert!(starts.windows(2).all(|pair| pair[0] <= pair[1]), "{phases:?}");
            let mut from_s = 2.0;
            for (length, pace) in phases {
                for second in 0..length {
                    let (a, b) = (f64::from(second), f64::from(second) + 1.0);
                    let expected = match pace {
                        PhasePace::Rate { from_per_s, to_per_s } => {
                            area(from_per_s, to_per_s, f64::from(length), a, b)
                        }
                        _ => 0.0,
                    };
                    let found = count(&starts, from_s + a, from_s + b);
                    let most = if expected > 0.0 { 1.0 + 1e-6 } else { 0.0 };
                    assert!((found - expected).abs() <= most, "{pace:?}: {found}, {expected}");
                }
                from_s += f64::from(length);
            }
        }
    }

    #[test]
    fn poisson_arrivals_have_the_counts_and_spread_of_their_rate_along_a_ramp() {
        let course =
            course(0.0, &[(4, rate(100.0, 500.0)), (2, PhasePace::Paused), (4, rate(50.0, 50.0))]);
        let runs: Vec<Vec<f64>> =
            (0..400).map(|seed| starts(&course, Arrivals::Poisson, seed)).collect();
        let parts = [
            (0.0, 1.0, 150.0),
            (1.0, 2.0, 250.0),
            (2.0, 3.0, 350.0),
            (3.0, 4.0, 450.0),
            (4.0, 6.0, 0.0),
            (6.0, 10.0, 200.0),
        ];
        for (from_s, to_s, expected) in parts {
            let counts: Vec<f64> = runs.iter().map(|run| count(run, from_s, to_s)).collect();
            let mean = counts.iter().sum::<f64>() / counts.len() as f64;
            let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>()
                / counts.len() as f64;
            // Four standard errors of a Poisson mean; the variance is the mean, known to about 7 %
            // of it.
            assert!((mean - expected).abs() <= 4.0 * (expected / 400.0).sqrt(), "{from_s}: {mean}");
            assert!((variance - expected).abs() <= 0.3 * expected, "{from_s}: {variance}");
        }
    }

    /// Negative control: a rate stepped by the second would be noticed.
    #[test]
    fn a_ramp_is_no_stair() {
        let course = course(0.0, &[(10, rate(1.0, 1000.0))]);
        let starts = starts(&course, Arrivals::Even, 1);
        let first_half = count(&starts, 9.0, 9.5);
        let expected = area(1.0, 1000.0, 10.0, 9.0, 9.5);
        let stair = area(1.0, 1000.0, 10.0, 9.0, 10.0) / 2.0;
        assert!((first_half - expected).abs() <= 1.0, "{first_half}, {expected}");
        assert!((first_half - stair).abs() > 10.0, "{first_half}, {stair}");
    }

    #[test]
    fn what_holds_when_is_found_and_open_stretches_end_where_a_closed_one_begins() {
        let course =
            course(1.5, &[(3, rate(10.0, 20.0)), (1, PhasePace::Paused), (2, PhasePace::Closed)]);
        let s = |seconds: u64| seconds * SECOND_NS;
        // The warm-up takes two whole seconds.
        assert!(course.at(0).unwrap().is_closed() && course.at(s(2) - 1).unwrap().is_closed());
        assert_eq!(course.at(s(2)).unwrap().pace, rate(10.0, 20.0));
        assert_eq!(course.at(s(5)).unwrap().pace, PhasePace::Paused);
        assert!(course.at(s(6)).unwrap().is_closed() && course.at(s(99)).unwrap().is_closed());
        assert_eq!((course.open_until(s(2)), course.open_until(s(5))), (s(6), s(6)));
        assert_eq!(course.open_until(s(8)), u64::MAX);
    }
}
