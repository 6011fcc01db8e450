//! Counters and histograms of a time span.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::{Counted, Event, Failure, LatencyStats, Sample, Time, latency};
use crate::oltp::StatementKind;

/// Statements by their effect, as sysbench counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queries {
    /// Statements that returned a result set.
    pub read: u64,
    /// Statements that changed rows.
    pub write: u64,
    /// Other statements: `BEGIN`, `COMMIT`, and changes that matched no row.
    pub other: u64,
}

impl Queries {
    /// All statements.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.read + self.write + self.other
    }

    /// The sum of several.
    pub(crate) fn sum(all: impl IntoIterator<Item = Queries>) -> Queries {
        all.into_iter().fold(Queries::default(), |sum, next| Queries {
            read: sum.read + next.read,
            write: sum.write + next.write,
            other: sum.other + next.other,
        })
    }

    fn count(&mut self, outcome: Counted) {
        match outcome {
            Counted::Read => self.read += 1,
            Counted::Write => self.write += 1,
            Counted::Other => self.other += 1,
            Counted::Together => {}
        }
    }
}

/// Service and response times of one kind; equal times are kept once.
#[derive(Debug)]
struct Times {
    both: Histogram<u64>,
    service: Option<Histogram<u64>>,
    response: Option<Histogram<u64>>,
}

impl Times {
    fn new() -> Times {
        Times { both: latency::empty(), service: None, response: None }
    }

    fn record(&mut self, time: Time, ns: u64) {
        let histogram = match time {
            Time::Both => &mut self.both,
            Time::Service => self.service.get_or_insert_with(latency::empty),
            Time::Response => self.response.get_or_insert_with(latency::empty),
        };
        histogram.saturating_record(ns.max(1));
    }

    fn latency(&self, extra: Option<&Histogram<u64>>) -> LatencyStats {
        match extra {
            None => LatencyStats::of(&self.both),
            Some(extra) => {
                let mut sum = self.both.clone();
                // All histograms here have the same bounds, so adding cannot fail.
                let _ = sum.add(extra);
                LatencyStats::of(&sum)
            }
        }
    }
}

/// Everything counted in a time span.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) events: u64,
    pub(crate) queries: Queries,
    pub(crate) failed: u64,
    pub(crate) ignored: BTreeMap<u16, u64>,
    pub(crate) reconnects: u64,
    /// The exact sum of all transactions' response times, in ns.
    pub(crate) response_ns_sum: u128,
    times: BTreeMap<u8, Times>,
}

/// The places of the two kinds of time without a statement kind.
const TRANSACTION: u8 = StatementKind::COUNT as u8;
const FAILED: u8 = TRANSACTION + 1;
/// The places after these: one for each failure of each kind.
const UNSUCCESSFUL: u8 = 64;

fn place_of_failure(kind: StatementKind, failure: Failure) -> u8 {
    UNSUCCESSFUL + kind as u8 * Failure::ALL.len() as u8 + failure as u8
}

fn name(place: u8) -> String {
    let kind = |number: u8| StatementKind::ALL[usize::from(number)].name();
    match (place, place.checked_sub(UNSUCCESSFUL)) {
        (TRANSACTION, _) => "transaction".into(),
        (FAILED, _) => "failed".into(),
        (_, Some(place)) => {
            let count = Failure::ALL.len() as u8;
            let failure = Failure::ALL[usize::from(place % count)];
            format!("{}_{}", kind(place / count), failure.name())
        }
        (number, None) => kind(number).into(),
    }
}

impl Totals {
    pub(crate) fn record(&mut self, sample: Sample) {
        self.count(sample);
        let place = match sample.event() {
            Event::Statement(kind, _) => kind as u8,
            Event::Unsuccessful(kind, failure) => place_of_failure(kind, failure),
            Event::Transaction => TRANSACTION,
            Event::Failed => FAILED,
            Event::Ignored | Event::Reconnect => return,
        };
        self.times.entry(place).or_insert_with(Times::new).record(sample.time(), sample.number());
    }

    /// Counts statements without timing them; transactions are timed.
    pub(crate) fn record_briefly(&mut self, sample: Sample) {
        if sample.event() == Event::Transaction {
            self.record(sample);
        } else {
            self.count(sample);
        }
    }

    fn count(&mut self, sample: Sample) {
        let is_response = sample.time() != Time::Service;
        match sample.event() {
            // An event is counted once: by its sample with the response time.
            Event::Transaction if is_response => {
                self.events += 1;
                self.response_ns_sum += u128::from(sample.number());
            }
            Event::Statement(_, outcome) if sample.time() != Time::Response => {
                self.queries.count(outcome);
            }
            Event::Unsuccessful(_, failure) if sample.time() != Time::Response => match failure {
                Failure::Error => self.failed += 1,
                Failure::NotFound => self.queries.count(Counted::Read),
                Failure::UnexpectedState => self.queries.count(Counted::Other),
            },
            Event::Failed => self.failed += 1,
            Event::Ignored => *self.ignored.entry(sample.number() as u16).or_default() += 1,
            Event::Reconnect => self.reconnects += 1,
            Event::Statement(..) | Event::Unsuccessful(..) | Event::Transaction => {}
        }
    }

    /// Clears all, keeping the memory.
    pub(crate) fn clear(&mut self) {
        let mut times = std::mem::take(&mut self.times);
        times.values_mut().for_each(|times| {
            times.both.reset();
            times.service.iter_mut().for_each(Histogram::reset);
            times.response.iter_mut().for_each(Histogram::reset);
        });
        *self = Totals { times, ..Totals::default() };
    }

    /// Response times of whole events.
    pub(crate) fn response(&self) -> LatencyStats {
        self.times
            .get(&TRANSACTION)
            .map_or_else(LatencyStats::default, |t| t.latency(t.response.as_ref()))
    }

    /// Name, service and response times of every kind that occurred: `transaction` first, then
    /// statements, then `failed` (statements answered with an error), then failures of YCSB's
    /// statements by kind, e.g. `read_not_found`.
    pub(crate) fn latencies(&self) -> Vec<(String, LatencyStats, LatencyStats)> {
        let named = |(place, times): (&u8, &Times)| {
            (
                name(*place),
                times.latency(times.service.as_ref()),
                times.latency(times.response.as_ref()),
            )
        };
        let mut all: Vec<_> = self.times.iter().map(named).collect();
        all.sort_by_key(|(name, ..)| *name != "transaction");
        all
    }
}
