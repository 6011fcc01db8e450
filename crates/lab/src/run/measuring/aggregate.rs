//! Seconds of concurrent loads, taken together once every load has reported them.

use std::collections::BTreeMap;

use assay_load::{LoadObserver, Second, seconds_together};
use parking_lot::Mutex;

use super::seconds::{Seconds, is_whole};

/// Concurrent loads.
pub(super) struct Aggregate<'a> {
    total: Seconds<'a>,
    loads: usize,
    /// Seconds that some loads have yet to report, by their end.
    waiting: Mutex<BTreeMap<u32, Vec<Second>>>,
}

impl<'a> Aggregate<'a> {
    /// `total` receives the seconds of `loads` loads taken together.
    pub(super) fn new(total: Seconds<'a>, loads: usize) -> Aggregate<'a> {
        Aggregate { total, loads, waiting: Mutex::default() }
    }

    pub(super) fn total(&self) -> &Seconds<'a> {
        &self.total
    }

    /// Leaves out the last, partial second of a load: the loads' ends differ.
    fn second(&self, second: &Second) {
        if !is_whole(second) {
            return;
        }
        let ended = second.end_s.round() as u32;
        let mut waiting = self.waiting.lock();
        let reported = waiting.entry(ended).or_default();
        reported.push(second.clone());
        if reported.len() < self.loads {
            return;
        }
        let all = waiting.remove(&ended).unwrap_or_default();
        // A load that skipped a second never reports it.
        waiting.retain(|other, _| *other > ended);
        if let Some(second) = seconds_together(&all) {
            self.total.second(&second);
        }
    }
}

/// The observer of one load.
pub(super) struct Participant<'a> {
    pub(super) own: &'a Seconds<'a>,
    /// `None` for a neighbour.
    pub(super) aggregate: Option<&'a Aggregate<'a>>,
}

impl LoadObserver for Participant<'_> {
    fn window(&self, from_s: f64, to_s: f64) {
        self.own.window(from_s, to_s);
    }

    fn second(&self, second: &Second) {
        self.own.second(second);
        if let Some(aggregate) = self.aggregate {
            aggregate.second(second);
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_load::{LatencyStats, Queries, SecondPhase};

    use super::*;

    fn second(end_s: f64, length_s: f64, events: u64) -> Second {
        Second {
            end_s,
            length_s,
            phase: SecondPhase::Measure,
            threads: 1,
            events,
            tps: events as f64 / length_s,
            qps: 0.0,
            queries: Queries::default(),
            latency: LatencyStats::default(),
            errors: 0,
            reconnects: 0,
            queue_length: 0,
            concurrency: 1,
        }
    }

    #[test]
    fn a_second_is_told_once_all_have_told_it_and_one_that_a_load_skipped_never() {
        let (a, b) = (Seconds::unseen(), Seconds::unseen());
        let aggregate = Aggregate::new(Seconds::unseen(), 2);
        let participant = |own| Participant { own, aggregate: Some(&aggregate) };
        let (first, other) = (participant(&a), participant(&b));
        let tps = || {
            let series = aggregate.total().series();
            series
                .into_iter()
                .find(|series| series.name == "tps")
                .map(|series| series.points)
                .unwrap()
        };
        first.second(&second(1.0, 1.0, 10));
        assert!(tps().is_empty());
        first.second(&second(2.0, 1.0, 20));
        other.second(&second(2.0, 1.0, 2));
        assert_eq!(tps(), [(2, 22.0)]);
        other.second(&second(3.0, 1.0, 3));
        first.second(&second(3.0, 1.0, 30));
        first.second(&second(3.1, 0.1, 9));
        assert_eq!(tps(), [(2, 22.0), (3, 33.0)]);
        assert!(aggregate.waiting.lock().is_empty());
    }

    #[test]
    fn a_neighbour_counts_for_itself_alone() {
        let own = Seconds::unseen();
        Participant { own: &own, aggregate: None }.second(&second(1.0, 1.0, 5));
        assert_eq!(own.series()[0].points, [(1, 5.0)]);
    }
}
