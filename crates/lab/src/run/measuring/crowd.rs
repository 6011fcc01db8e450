//! The seconds of loads that run at once, as those of one: a second is told when all have told it.

use std::collections::BTreeMap;

use assay_load::{Observer, Second, seconds_together};
use parking_lot::Mutex;

use super::seconds::{Seconds, is_whole};

/// Loads of one time.
pub(super) struct Crowd<'a> {
    total: Seconds<'a>,
    loads: usize,
    /// Seconds that not all have told yet, by when they ended.
    waiting: Mutex<BTreeMap<u32, Vec<Second>>>,
}

impl<'a> Crowd<'a> {
    /// So many, whose seconds together go to `total`.
    pub(super) fn new(total: Seconds<'a>, loads: usize) -> Crowd<'a> {
        Crowd { total, loads, waiting: Mutex::default() }
    }

    /// What all did together.
    pub(super) fn total(&self) -> &Seconds<'a> {
        &self.total
    }

    /// Seconds are whole but for the last of a run, which ends with each load and is told by none.
    fn second(&self, second: &Second) {
        if !is_whole(second) {
            return;
        }
        let ended = second.end_s.round() as u32;
        let mut waiting = self.waiting.lock();
        let told = waiting.entry(ended).or_default();
        told.push(second.clone());
        if told.len() < self.loads {
            return;
        }
        let all = waiting.remove(&ended).unwrap_or_default();
        // One that skipped a second tells it never.
        waiting.retain(|other, _| *other > ended);
        if let Some(second) = seconds_together(&all) {
            self.total.second(&second);
        }
    }
}

/// One of them.
pub(super) struct Member<'a> {
    /// Its own seconds.
    pub(super) own: &'a Seconds<'a>,
    /// Those of all, if it is one of those that count.
    pub(super) crowd: Option<&'a Crowd<'a>>,
}

impl Observer for Member<'_> {
    fn second(&self, second: &Second) {
        self.own.second(second);
        if let Some(crowd) = self.crowd {
            crowd.second(second);
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_load::{Latency, Queries, SecondPhase};

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
            latency: Latency::default(),
            errors: 0,
            reconnects: 0,
            queue_length: 0,
            concurrency: 1,
        }
    }

    #[test]
    fn a_second_is_told_once_all_have_told_it_and_one_that_a_load_skipped_never() {
        let (a, b) = (Seconds::unseen(), Seconds::unseen());
        let crowd = Crowd::new(Seconds::unseen(), 2);
        let member = |own| Member { own, crowd: Some(&crowd) };
        let (first, other) = (member(&a), member(&b));
        let tps = || {
            let series = crowd.total().series();
            series.into_iter().find(|one| one.name == "tps").map(|one| one.points).unwrap()
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
        assert!(crowd.waiting.lock().is_empty());
    }

    #[test]
    fn a_neighbour_counts_for_itself_alone() {
        let own = Seconds::unseen();
        Member { own: &own, crowd: None }.second(&second(1.0, 1.0, 5));
        assert_eq!(own.series()[0].points, [(1, 5.0)]);
    }
}
