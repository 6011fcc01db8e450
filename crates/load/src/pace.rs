//! When events start in open loop: planned instants, the same for every thread count.
//!
//! One stream of planned starts is shared by all threads: whoever is free takes the next one and, if it lies ahead,
//! waits for it. A backlog is therefore the difference between what is due and what was taken; it has no limit, and
//! latency counted from the planned start holds all the waiting ("coordinated omission" cannot hide it).
//!
//! Throttled as YCSB does it, each thread has a stream of its own, and what one is late with no other takes.

use parking_lot::Mutex;

use crate::random::Rng;
use crate::schedule::{Arrivals, Pace};

/// The stream of randomness the planned starts are drawn from; workers have the numbers of their threads.
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

    /// The starts of one of so many threads, as YCSB has them: gaps of whole nanoseconds, the first start at random within
    /// the first gap unless that is below a millisecond.
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
            // Multiplied rather than added up, so that a million gaps carry no rounding.
            Arrivals::Even => self.first_ns + self.taken as f64 * self.gap_ns,
            Arrivals::Poisson => start + self.gap(),
        };
        start as u64
    }

    /// Takes all starts up to `ns`; says how many were taken so far.
    fn advance(&mut self, ns: u64) -> u64 {
        while (self.next_ns as u64) <= ns {
            self.take();
        }
        self.taken
    }
}

/// One stream of planned starts: the next to be taken, and the first that is not due.
#[derive(Debug)]
struct Stream {
    next: Mutex<Planned>,
    due: Mutex<Planned>,
}

impl Stream {
    fn new(planned: Planned) -> Stream {
        Stream { next: Mutex::new(planned.clone()), due: Mutex::new(planned) }
    }

    fn queue_length(&self, ns: u64) -> u64 {
        let due = self.due.lock().advance(ns);
        due.saturating_sub(self.next.lock().taken)
    }

    fn left_before(&self, ns: u64) -> Option<(u64, u64)> {
        let mut left = self.next.lock().clone();
        let (first, taken) = (left.next_ns as u64, left.taken);
        let count = left.advance(ns.checked_sub(1)?) - taken;
        (count > 0).then_some((count, first))
    }
}

/// Hands planned starts to threads and knows how many are overdue.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// One for all threads, or one for each.
    streams: Vec<Stream>,
}

impl Pacer {
    /// A pacer for planned starts; nothing for a closed loop without.
    pub(crate) fn new(pace: Pace, threads: u32, seed: u64) -> Option<Pacer> {
        let streams = match pace {
            Pace::Closed => return None,
            Pace::Rate { per_second, arrivals } => {
                vec![Stream::new(Planned::new(per_second, arrivals, seed))]
            }
            Pace::Throttled { per_second } => (0..threads)
                .map(|thread| Stream::new(Planned::of_thread(per_second, threads, thread, seed)))
                .collect(),
        };
        Some(Pacer { streams })
    }

    /// The next planned start of a thread, in ns from the start of the load.
    pub(crate) fn take(&self, thread: u32) -> u64 {
        self.streams[thread as usize % self.streams.len()].next.lock().take()
    }

    /// Planned starts up to `ns` that no thread has taken yet.
    pub(crate) fn queue_length(&self, ns: u64) -> u64 {
        self.streams.iter().map(|stream| stream.queue_length(ns)).sum()
    }

    /// Planned starts before `ns` that no thread has taken, and the first of them, in ns from the start of the load.
    pub(crate) fn left_before(&self, ns: u64) -> Option<(u64, u64)> {
        let left = self.streams.iter().filter_map(|stream| stream.left_before(ns));
        left.reduce(|(count, first), (more, other)| (count + more, first.min(other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let pacer = Pacer::new(pace, 2, 1).unwrap();
        assert_eq!(pacer.queue_length(9_999_999), 10);
        (0..7).for_each(|_| assert!(pacer.take(0) < 100_000_000));
        assert_eq!(pacer.queue_length(9_999_999), 3);
        (0..7).for_each(|_| assert!(pacer.take(0) < 100_000_000));
        assert_eq!(pacer.queue_length(9_999_999), 0, "threads ahead of time make no queue");
        assert!(Pacer::new(Pace::Closed, 2, 1).is_none());
    }

    #[test]
    fn what_is_left_before_an_instant_begins_with_the_first_not_taken() {
        let pace = Pace::Rate { per_second: 1000.0, arrivals: Arrivals::Even };
        let pacer = Pacer::new(pace, 2, 1).unwrap();
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
    fn throttled_threads_have_their_own_starts_which_add_up_to_the_rate() {
        let pacer = Pacer::new(Pace::Throttled { per_second: 100.0 }, 4, 7).unwrap();
        let firsts = [0, 1, 2, 3].map(|thread| pacer.take(thread));
        assert!(firsts.iter().all(|first| *first < 40_000_000), "{firsts:?}");
        assert!(firsts[0] != firsts[1], "they do not start together");
        assert_eq!(pacer.take(2), firsts[2] + 40_000_000);
        // One second of 100, of which five are taken. No other thread takes what thread 0 is late with.
        assert!((94..=96).contains(&pacer.queue_length(1_000_000_000)));
        let (left, first) = pacer.left_before(1_000_000_000).unwrap();
        assert!((94..=96).contains(&left) && first >= 40_000_000, "{left} {first}");
        let fast = Pacer::new(Pace::Throttled { per_second: 8000.0 }, 4, 7).unwrap();
        assert_eq!([fast.take(3), fast.take(3)], [0, 500_000], "no delay below a millisecond");
    }
}
