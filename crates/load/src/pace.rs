//! The starts of events in open loop: planned instants, the same for every thread count.
//!
//! All threads share one stream of planned starts: a free thread takes the next one and waits for
//! it if it lies ahead. A backlog is therefore the difference between the starts due and the starts
//! taken; it has no limit, and the latency counted from the planned start includes all the waiting
//! ("coordinated omission" cannot hide it).
//!
//! With phases the stream follows their [`Course`]. A free thread in a closed loop first takes the
//! overdue starts of earlier phases, so a backlog carries over.
//!
//! Throttled as in YCSB, each thread has a stream of its own, and no other thread takes its late
//! starts.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::course::{Along, Course, MAIN_MIX};
use crate::part::Deal;
use crate::random::Rng;
use crate::schedule::{Arrivals, Pace, Schedule};

/// The random stream of the planned starts; workers use the numbers of their threads.
const STREAM: u64 = u64::MAX;

/// Planned starts, in ns from the start of the load, ascending.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    rng: Rng,
    gap_ns: f64,
    arrivals: Arrivals,
    /// The first start, of even arrivals.
    first_ns: f64,
    next_ns: f64,
    taken: u64,
}

impl Planned {
    pub(crate) fn new(per_second: f64, arrivals: Arrivals, seed: u64) -> Planned {
        let mut planned = Planned {
            rng: Rng::new(seed, STREAM),
            gap_ns: 1e9 / per_second,
            arrivals,
            first_ns: 0.0,
            next_ns: 0.0,
            taken: 0,
        };
        if arrivals == Arrivals::Poisson {
            planned.next_ns = planned.gap();
        }
        planned
    }

    /// The starts of one of `threads` threads, as in YCSB: gaps of whole nanoseconds, the first
    /// start at random within the first gap unless that is below a millisecond.
    fn of_thread(per_second: f64, threads: u32, thread: u32, seed: u64) -> Planned {
        let gap_ns = (1e9 * f64::from(threads) / per_second).floor();
        let mut rng = Rng::new(seed, STREAM - 1 - u64::from(thread));
        let first_ns = if gap_ns >= 1e6 { (rng.unit() * gap_ns).floor() } else { 0.0 };
        let arrivals = Arrivals::Even;
        Planned { rng, gap_ns, arrivals, first_ns, next_ns: first_ns, taken: 0 }
    }

    fn gap(&mut self) -> f64 {
        match self.arrivals {
            Arrivals::Poisson => -self.gap_ns * (1.0 - self.rng.unit()).ln(),
            Arrivals::Even => self.gap_ns,
        }
    }

    /// The next planned start.
    pub(crate) fn take(&mut self) -> u64 {
        let start = self.next_ns;
        self.taken += 1;
        self.next_ns = match self.arrivals {
            // Multiplied rather than added up, so that rounding does not accumulate.
            Arrivals::Even => self.first_ns + self.taken as f64 * self.gap_ns,
            Arrivals::Poisson => start + self.gap(),
        };
        start as u64
    }
}

/// Planned starts at one rate, or along a course.
#[derive(Debug, Clone)]
enum Starts {
    AtRate(Planned),
    Along(Along),
}

impl Starts {
    fn next_ns(&self) -> u64 {
        match self {
            Starts::AtRate(planned) => planned.next_ns as u64,
            Starts::Along(along) => along.next_ns(),
        }
    }

    fn take(&mut self) -> u64 {
        match self {
            Starts::AtRate(planned) => planned.take(),
            Starts::Along(along) => along.take(),
        }
    }
}

/// The planned starts that are dealt to one part of the load.
#[derive(Debug, Clone)]
struct Dealt {
    starts: Starts,
    deal: Deal,
    /// Number of the next start in the whole load.
    number: u64,
    /// Number of its own starts taken.
    taken: u64,
}

impl Dealt {
    fn new(starts: Starts, deal: Deal) -> Dealt {
        let mut dealt = Dealt { starts, deal, number: 0, taken: 0 };
        dealt.leave_to_others();
        dealt
    }

    fn next_ns(&self) -> u64 {
        self.starts.next_ns()
    }

    fn take(&mut self) -> u64 {
        let start = self.starts.take();
        // The end of the stream is no taken start.
        if start < u64::MAX {
            self.taken += 1;
            self.number += 1;
            self.leave_to_others();
        }
        start
    }

    fn leave_to_others(&mut self) {
        while !self.deal.has(self.number) && self.starts.next_ns() < u64::MAX {
            self.starts.take();
            self.number += 1;
        }
    }

    /// Takes all starts up to `ns`. Returns the number taken so far.
    fn advance(&mut self, ns: u64) -> u64 {
        while self.next_ns() <= ns {
            self.take();
        }
        self.taken
    }
}

/// One stream of planned starts: the next to take, and the first that is not due.
#[derive(Debug)]
struct Stream {
    next: Mutex<Dealt>,
    due: Mutex<Dealt>,
}

impl Stream {
    fn new(starts: Dealt) -> Stream {
        Stream { next: Mutex::new(starts.clone()), due: Mutex::new(starts) }
    }

    /// The next planned start, if it lies before `ns`.
    fn take_before(&self, ns: u64) -> Option<u64> {
        let mut next = self.next.lock();
        (next.next_ns() < ns).then(|| next.take())
    }

    fn queue_length(&self, ns: u64) -> u64 {
        let due = self.due.lock().advance(ns);
        due.saturating_sub(self.next.lock().taken)
    }

    fn left_before(&self, ns: u64) -> Option<(u64, u64)> {
        let mut left = self.next.lock().clone();
        let (first, taken) = (left.next_ns(), left.taken);
        let count = left.advance(ns.checked_sub(1)?) - taken;
        (count > 0).then_some((count, first))
    }
}

/// The next action of a free thread; instants are in ns from the start of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Starts an event of this mix at once.
    Event {
        /// Number of the mix.
        mix: usize,
    },
    /// Starts an event of this mix at its planned time, which may be past.
    Planned {
        at_ns: u64,
        /// Number of the mix.
        mix: usize,
    },
    /// Waits until then, and asks again.
    Wait { until_ns: u64 },
}

/// Hands planned starts to threads, and counts the overdue ones.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// One stream for all threads, or one for each.
    streams: Vec<Stream>,
    course: Option<Arc<Course>>,
    deal: Deal,
}

impl Pacer {
    /// The pacer of a schedule whose phases have these mixes; `None` for a closed loop without
    /// planned starts.
    pub(crate) fn of(schedule: &Schedule, mix_of: &[usize]) -> Option<Pacer> {
        let Schedule { pace, seed, .. } = *schedule;
        let deal = schedule.deal();
        let phases = schedule.phases.as_ref().zip(Course::of(schedule, mix_of));
        let Some((phases, course)) = phases else { return Pacer::new(pace, deal, seed) };
        let course = Arc::new(course);
        let along = Along::new(Arc::clone(&course), phases.arrivals, Rng::new(seed, STREAM));
        let stream = Stream::new(Dealt::new(Starts::Along(along), deal));
        Some(Pacer { streams: vec![stream], course: Some(course), deal })
    }

    /// The pacer of planned starts; `None` for a closed loop without them.
    fn new(pace: Pace, deal: Deal, seed: u64) -> Option<Pacer> {
        let stream = |planned, deal| Stream::new(Dealt::new(Starts::AtRate(planned), deal));
        let threads = deal.threads();
        let streams = match pace {
            Pace::Closed => return None,
            Pace::Rate { per_second, arrivals } => {
                vec![stream(Planned::new(per_second, arrivals, seed), deal)]
            }
            Pace::Throttled { per_second } => (0..deal.own())
                .map(|place| Planned::of_thread(per_second, threads, deal.thread(place), seed))
                .map(|planned| stream(planned, Deal::to(1)))
                .collect(),
        };
        Some(Pacer { streams, course: None, deal })
    }

    /// The next action of a thread that is free at `ns`.
    #[inline]
    pub(crate) fn next(&self, thread: u32, ns: u64) -> Next {
        let Some(course) = &self.course else {
            return Next::Planned { at_ns: self.take(thread), mix: MAIN_MIX };
        };
        let now = course.at(ns);
        let is_closed = now.is_none_or(|now| now.is_closed());
        let limit_ns = if is_closed { ns + 1 } else { course.open_until(ns) };
        // A course has one stream.
        let taken = self.streams.first().and_then(|stream| stream.take_before(limit_ns));
        match taken {
            Some(at_ns) => {
                Next::Planned { at_ns, mix: course.at(at_ns).map_or(MAIN_MIX, |at| at.mix) }
            }
            None if is_closed => Next::Event { mix: now.map_or(MAIN_MIX, |now| now.mix) },
            None => Next::Wait { until_ns: limit_ns },
        }
    }

    /// The next planned start of a thread, in ns from the start of the load.
    fn take(&self, thread: u32) -> u64 {
        let place = self.deal.place_of(thread) as usize;
        self.streams[place % self.streams.len()].next.lock().take()
    }

    /// Number of planned starts up to `ns` that no thread has taken yet.
    pub(crate) fn queue_length(&self, ns: u64) -> u64 {
        self.streams.iter().map(|stream| stream.queue_length(ns)).sum()
    }

    /// Number of planned starts before `ns` that no thread has taken, and the first of them, in ns
    /// from the start of the load.
    pub(crate) fn left_before(&self, ns: u64) -> Option<(u64, u64)> {
        let left = self.streams.iter().filter_map(|stream| stream.left_before(ns));
        left.reduce(|(count, first), (more, other)| (count + more, first.min(other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::LoadPart;
    use crate::phases::{LoadPhase, LoadPhases, PhasePace};
    use crate::schedule::SECOND_NS;

    fn starts(arrivals: Arrivals, count: usize) -> Vec<u64> {
        let mut planned = Planned::new(1000.0, arrivals, 3);
        (0..count).map(|_| planned.take()).collect()
    }

    #[test]
    fn even_arrivals_are_evenly_spaced() {
        let starts = starts(Arrivals::Even, 1_000_001);
        assert_eq!(starts[0], 0);
        assert_eq!(starts[1_000_000], 1_000_000_000_000);
        assert!(starts.windows(2).all(|pair| (999_999..=1_000_001).contains(&(pair[1] - pair[0]))));
    }

    #[test]
    fn poisson_arrivals_have_exponential_gaps() {
        let starts = starts(Arrivals::Poisson, 200_000);
        let gaps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "mean {mean}");
        assert!(
            (variance.sqrt() / mean - 1.0).abs() < 0.02,
            "an exponential's deviation is its mean"
        );
        let long = gaps.iter().filter(|gap| **gap > 3e6).count() as f64 / gaps.len() as f64;
        assert!((long - (-3.0f64).exp()).abs() < 0.003, "tail {long}");
    }

    #[test]
    fn what_is_due_and_not_taken_is_the_queue() {
        let pace = Pace::Rate { per_second: 1000.0, arrivals: Arrivals::Even };
        let pacer = Pacer::new(pace, Deal::to(2), 1).unwrap();
        assert_eq!(pacer.queue_length(9_999_999), 10);
        (0..7).for_each(|_| assert!(pacer.take(0) < 100_000_000));
        assert_eq!(pacer.queue_length(9_999_999), 3);
        (0..7).for_each(|_| assert!(pacer.take(0) < 100_000_000));
        assert_eq!(pacer.queue_length(9_999_999), 0, "threads ahead of time make no queue");
        assert!(Pacer::new(Pace::Closed, Deal::to(2), 1).is_none());
    }

    #[test]
    fn what_is_left_before_an_instant_begins_with_the_first_not_taken() {
        let pace = Pace::Rate { per_second: 1000.0, arrivals: Arrivals::Even };
        let pacer = Pacer::new(pace, Deal::to(2), 1).unwrap();
        assert_eq!(
            pacer.left_before(10_000_000),
            Some((10, 0)),
            "the start at 10 ms is not before it"
        );
        (0..7).for_each(|_| assert!(pacer.take(0) < 7_000_000));
        assert_eq!(pacer.left_before(10_000_000), Some((3, 7_000_000)));
        assert_eq!(pacer.queue_length(10_000_000), 4, "which is due then");
        assert_eq!((pacer.left_before(7_000_000), pacer.left_before(0)), (None, None));
    }

    #[test]
    fn a_backlog_carries_over_into_a_pause_and_a_closed_loop_and_keeps_its_mix() {
        let phase = |seconds, pace| LoadPhase { seconds, pace, workload: None };
        let burst = PhasePace::Rate { from_per_s: 10.0, to_per_s: 10.0 };
        let each = vec![
            phase(1, PhasePace::Closed),
            phase(1, burst),
            phase(1, PhasePace::Paused),
            phase(1, PhasePace::Closed),
        ];
        let phases = Some(LoadPhases { arrivals: Arrivals::Even, each });
        let schedule = Schedule { seconds: 4.0, phases, ..Schedule::default() };
        let pacer = Pacer::of(&schedule, &[0, 1, 2, 3]).unwrap();
        let s = SECOND_NS;
        assert_eq!(pacer.next(0, 0), Next::Event { mix: 0 }, "a closed loop waits for nothing");
        assert_eq!(pacer.next(0, s), Next::Planned { at_ns: s, mix: 1 });
        for place in 1..4 {
            let at_ns = s + place * s / 10;
            assert_eq!(pacer.next(0, s), Next::Planned { at_ns, mix: 1 });
        }
        assert_eq!((pacer.queue_length(2 * s - 1), pacer.queue_length(3 * s)), (6, 6));
        for _ in 0..4 {
            let Next::Planned { at_ns, mix } = pacer.next(1, 2 * s + 5) else { panic!("due") };
            assert!(
                at_ns < 2 * s && mix == 1,
                "what was due is done in the pause, as it was meant"
            );
        }
        // Ten per second: the last two are due at 1.8 and 1.9 s.
        let last = [0, 1].map(|_| pacer.next(0, 3 * s + 7));
        assert_eq!(last[1], Next::Planned { at_ns: s + 9 * s / 10, mix: 1 });
        assert_eq!(pacer.next(0, 3 * s + 7), Next::Event { mix: 3 });
        assert_eq!(pacer.next(0, 2 * s + 5), Next::Wait { until_ns: 3 * s });
        assert_eq!(pacer.left_before(4 * s), None);
    }

    #[test]
    fn throttled_threads_have_their_own_starts_which_add_up_to_the_rate() {
        let pacer = Pacer::new(Pace::Throttled { per_second: 100.0 }, Deal::to(4), 7).unwrap();
        let firsts = [0, 1, 2, 3].map(|thread| pacer.take(thread));
        assert!(firsts.iter().all(|first| *first < 40_000_000), "{firsts:?}");
        assert!(firsts[0] != firsts[1], "they do not start together");
        assert_eq!(pacer.take(2), firsts[2] + 40_000_000);
        // One second of 100 starts, of which five are taken. No other thread takes the late starts
        // of thread 0.
        assert!((94..=96).contains(&pacer.queue_length(1_000_000_000)));
        let (left, first) = pacer.left_before(1_000_000_000).unwrap();
        assert!((94..=96).contains(&left) && first >= 40_000_000, "{left} {first}");
        let fast = Pacer::new(Pace::Throttled { per_second: 8000.0 }, Deal::to(4), 7).unwrap();
        assert_eq!([fast.take(3), fast.take(3)], [0, 500_000], "no delay below a millisecond");
    }

    #[test]
    fn parts_have_together_the_starts_of_the_whole() {
        let burst = PhasePace::Rate { from_per_s: 200.0, to_per_s: 400.0 };
        let phases = LoadPhases {
            arrivals: Arrivals::Poisson,
            each: vec![LoadPhase { seconds: 1, pace: burst, workload: None }],
        };
        let rate = Pace::Rate { per_second: 300.0, arrivals: Arrivals::Poisson };
        let throttled = Pace::Throttled { per_second: 300.0 };
        for (pace, phases) in [(rate, None), (throttled, None), (Pace::Closed, Some(phases))] {
            let starts = |of: u32| -> Vec<u64> {
                let schedule = |number| Schedule {
                    threads: 5,
                    seconds: 1.0,
                    pace,
                    phases: phases.clone(),
                    part: LoadPart { number, of },
                    ..Schedule::default()
                };
                let mut all = Vec::new();
                for schedule in (0..of).map(schedule) {
                    let pacer = Pacer::of(&schedule, &[0]).unwrap();
                    for stream in &pacer.streams {
                        all.extend(std::iter::from_fn(|| stream.take_before(SECOND_NS)));
                    }
                    assert_eq!(pacer.left_before(SECOND_NS), None);
                }
                all.sort_unstable();
                all
            };
            assert!(starts(1).len() > 200, "{pace:?}");
            assert_eq!(starts(1), starts(2), "{pace:?}");
            assert_eq!(starts(1), starts(3), "{pace:?}");
        }
    }
}
