//! Takes the ledgers, and sorts their samples by second and by phase.

use std::sync::Arc;

use super::{Event, Ledger, Phase, Sample, Time, TimedEvent, Totals};
use crate::turns::GUARD_NS;

/// The events of one thread in the measuring window.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ThreadTotals {
    pub(crate) events: u64,
    pub(crate) busy_ns: u64,
}

/// Events that ended in the window outside the time of own turns that counts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Between {
    pub(crate) events: u64,
    /// Those that took longer than the guard: nothing stands for them in the counted time.
    pub(crate) longer: u64,
    /// Longest response time, in ns.
    pub(crate) longest_ns: u64,
}

impl Between {
    fn note(&mut self, ns: u64) {
        self.events += 1;
        self.longer += u64::from(ns > GUARD_NS);
        self.longest_ns = self.longest_ns.max(ns);
    }
}

/// The sum of all ledgers.
#[derive(Debug)]
pub(crate) struct Collector {
    ledgers: Vec<Arc<Ledger>>,
    spare: Vec<Sample>,
    /// The second being closed and the one after it, by odd and even numbers.
    seconds: [Totals; 2],
    pub(crate) measured: Totals,
    pub(crate) warmup_events: u64,
    pub(crate) late_events: u64,
    pub(crate) between: Between,
    pub(crate) threads: Vec<ThreadTotals>,
}

impl Collector {
    /// A collector whose ledgers keep every sample if `is_traced`.
    pub(crate) fn new(threads: usize, is_traced: bool) -> Collector {
        Collector {
            ledgers: (0..threads).map(|_| Arc::new(Ledger::new(is_traced))).collect(),
            spare: Vec::with_capacity(1024),
            seconds: [Totals::default(), Totals::default()],
            measured: Totals::default(),
            warmup_events: 0,
            late_events: 0,
            between: Between::default(),
            threads: vec![ThreadTotals::default(); threads],
        }
    }

    pub(crate) fn ledger(&self, thread: usize) -> Arc<Ledger> {
        Arc::clone(&self.ledgers[thread])
    }

    /// Takes everything recorded so far.
    pub(crate) fn collect(&mut self) {
        let mut samples = std::mem::take(&mut self.spare);
        for thread in 0..self.ledgers.len() {
            self.ledgers[thread].exchange(&mut samples);
            for sample in samples.drain(..) {
                self.sort(thread, sample);
            }
        }
        self.spare = samples;
    }

    /// Takes the statements of all threads in order of time; the clock's zero is at `epoch_ns` of
    /// the Unix epoch.
    pub(crate) fn take_each(&self, epoch_ns: u64) -> Vec<TimedEvent> {
        let traces = self.ledgers.iter().filter_map(|ledger| ledger.trace.as_ref());
        let mut all: Vec<TimedEvent> = traces.flat_map(|trace| trace.take(epoch_ns)).collect();
        all.sort_by_key(|timed| timed.end_ns);
        all
    }

    fn sort(&mut self, thread: usize, sample: Sample) {
        self.seconds[usize::from(sample.odd_second())].record_briefly(sample);
        let ends_event = sample.event() == Event::Transaction && sample.time() != Time::Service;
        match sample.phase() {
            Phase::Warmup => self.warmup_events += u64::from(ends_event),
            Phase::Late => self.late_events += u64::from(ends_event),
            Phase::Between if ends_event => self.between.note(sample.number()),
            Phase::Between => {}
            Phase::Measure => {
                self.measured.record(sample);
                if ends_event {
                    let totals = &mut self.threads[thread];
                    totals.events += 1;
                    totals.busy_ns += sample.number();
                }
            }
        }
    }

    /// The totals of the second numbered `second` of the clock.
    pub(crate) fn second(&mut self, second: u64) -> &mut Totals {
        &mut self.seconds[(second & 1) as usize]
    }
}
