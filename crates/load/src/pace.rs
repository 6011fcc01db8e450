//! When events start in open loop: planned instants, the same for every thread count.
//!
//! One stream of planned starts is shared by all threads: whoever is free takes the next one and, if it lies ahead,
//! waits for it. A backlog is therefore the difference between what is due and what was taken; it has no limit, and
//! latency counted from the planned start holds all the waiting ("coordinated omission" cannot hide it).

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
    next_ns: f64,
    taken: u64,
}

impl Planned {
    pub(crate) fn new(per_second: f64, arrivals: Arrivals, seed: u64) -> Planned {
        let mut planned = Planned {
            rng: Rng::new(seed, STREAM),
            gap_ns: 1e9 / per_second,
            arrivals,
            next_ns: 0.0,
            taken: 0,
        };
        if arrivals == Arrivals::Poisson {
            planned.next_ns = planned.gap();
        }
        planned
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
            Arrivals::Even => self.taken as f64 * self.gap_ns,
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

/// Hands planned starts to threads and knows how many are overdue.
#[derive(Debug)]
pub(crate) struct Pacer {
    stream: Mutex<Planned>,
    due: Mutex<Planned>,
}

impl Pacer {
    /// A pacer for an open loop; nothing for a closed one.
    pub(crate) fn new(pace: Pace, seed: u64) -> Option<Pacer> {
        let Pace::Rate { per_second, arrivals } = pace else { return None };
        let planned = Planned::new(per_second, arrivals, seed);
        Some(Pacer { stream: Mutex::new(planned.clone()), due: Mutex::new(planned) })
    }

    /// The next planned start, in ns from the start of the load.
    pub(crate) fn take(&self) -> u64 {
        self.stream.lock().take()
    }

    /// Planned starts up to `ns` that no thread has taken yet.
    pub(crate) fn queue_length(&self, ns: u64) -> u64 {
        let due = self.due.lock().advance(ns);
        due.saturating_sub(self.stream.lock().taken)
    }

    /// Planned starts before `ns` that no thread has taken, and the first of them, in ns from the start of the load.
    pub(crate) fn left_before(&self, ns: u64) -> Option<(u64, u64)> {
        let mut left = self.stream.lock().clone();
        let (first, taken) = (left.next_ns as u64, left.taken);
        let count = left.advance(ns.checked_sub(1)?) - taken;
        (count > 0).then_some((count, first))
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
        let pacer = Pacer::new(pace, 1).unwrap();
        assert_eq!(pacer.queue_length(9_999_999), 10);
        (0..7).for_each(|_| assert!(pacer.take() < 100_000_000));
        assert_eq!(pacer.queue_length(9_999_999), 3);
        (0..7).for_each(|_| assert!(pacer.take() < 100_000_000));
        assert_eq!(pacer.queue_length(9_999_999), 0, "threads ahead of time make no queue");
        assert!(Pacer::new(Pace::Closed, 1).is_none());
    }

    #[test]
    fn what_is_left_before_an_instant_begins_with_the_first_not_taken() {
        let pace = Pace::Rate { per_second: 1000.0, arrivals: Arrivals::Even };
        let pacer = Pacer::new(pace, 1).unwrap();
        assert_eq!(
            pacer.left_before(10_000_000),
            Some((10, 0)),
            "the start at 10 ms is not before it"
        );
        (0..7).for_each(|_| assert!(pacer.take() < 7_000_000));
        assert_eq!(pacer.left_before(10_000_000), Some((3, 7_000_000)));
        assert_eq!(pacer.queue_length(10_000_000), 4, "which is due then");
        assert_eq!((pacer.left_before(7_000_000), pacer.left_before(0)), (None, None));
    }
}
