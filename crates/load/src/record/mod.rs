//! Recording events, from the threads to the histograms.
//!
//! A thread records each statement as one 64-bit *sample* in a ledger of its own. Once a second the
//! collector takes all ledgers, replaces each by an empty one, and sorts the samples into HDR
//! histograms (1 ns to 1 h, three digits). Memory grows with the rate of statements and not with
//! the number of threads times the size of a histogram, and the hot path is an uncontended lock and
//! a store.

mod collect;
mod each;
mod latency;
mod totals;

pub(crate) use collect::{Between, Collector};
pub use each::TimedEvent;
pub use latency::LatencyStats;
#[cfg(test)]
pub(crate) use latency::latency_of;
pub use totals::Queries;
pub(crate) use totals::Totals;

use parking_lot::Mutex;

use crate::oltp::StatementKind;
use assay_mysql::Reply;
use each::Trace;

/// The event of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A successful statement.
    Statement(StatementKind, Counted),
    /// A failed statement of YCSB.
    Unsuccessful(StatementKind, Failure),
    /// A statement refused by the server.
    Failed,
    /// A successful event.
    Transaction,
    /// An ignored error; the sample's number is the error's.
    Ignored,
    /// A reconnection.
    Reconnect,
}

/// Failures of YCSB's statements, with the names of its statuses (`site.ycsb.Status`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Failure {
    /// The server answers with an error.
    Error,
    /// A read finds no record.
    NotFound,
    /// A write does not write one record.
    UnexpectedState,
}

impl Failure {
    const ALL: [Failure; 3] = [Failure::Error, Failure::NotFound, Failure::UnexpectedState];

    /// The name in stores, after the kind's.
    fn name(self) -> &'static str {
        match self {
            Failure::Error => "error",
            Failure::NotFound => "not_found",
            Failure::UnexpectedState => "unexpected_state",
        }
    }
}

/// The class in which sysbench counts a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    Read,
    Write,
    Other,
    /// The time of several statements together; not counted.
    Together,
}

impl From<Reply> for Counted {
    fn from(reply: Reply) -> Counted {
        match reply {
            Reply::Rows { .. } => Counted::Read,
            Reply::Done { affected: 0 } => Counted::Other,
            Reply::Done { .. } => Counted::Write,
        }
    }
}

/// The part of the run in which a sample ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Warmup,
    Measure,
    Late,
    /// In the window, outside the time of the load's own turns that counts.
    Between,
}

/// The kind of a sample's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Time {
    /// Service and response time, which are equal.
    Both,
    /// Time since sending; for a transaction, that of the successful attempt.
    Service,
    /// Time since the planned start; for a transaction, with all attempts.
    Response,
}

/// One event in 64 bits: number 46, odd second 1, time 2, phase 2, outcome 2, event 8, spare 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample(u64);

const NUMBER_BITS: u32 = 46;
const NUMBER_MAX: u64 = (1 << NUMBER_BITS) - 1;
const FAILED: u64 = StatementKind::COUNT as u64;
const TRANSACTION: u64 = FAILED + 1;
const IGNORED: u64 = FAILED + 2;
const RECONNECT: u64 = FAILED + 3;
/// The first of the numbers for kinds of failed statements.
const UNSUCCESSFUL: u64 = 64;

impl Sample {
    /// A sample of `event` that ended in the second numbered `second` of the clock; `number` is ns,
    /// or an error code.
    #[inline]
    pub(crate) fn new(event: Event, time: Time, phase: Phase, second: u64, number: u64) -> Sample {
        let (event, outcome) = match event {
            Event::Statement(kind, outcome) => (kind as u64, outcome as u64),
            Event::Unsuccessful(kind, failure) => (UNSUCCESSFUL + kind as u64, failure as u64),
            Event::Failed => (FAILED, 0),
            Event::Transaction => (TRANSACTION, 0),
            Event::Ignored => (IGNORED, 0),
            Event::Reconnect => (RECONNECT, 0),
        };
        let high =
            event << 7 | outcome << 5 | (phase as u64) << 3 | (time as u64) << 1 | second & 1;
        Sample(high << NUMBER_BITS | number.min(NUMBER_MAX))
    }

    fn number(self) -> u64 {
        self.0 & NUMBER_MAX
    }

    fn odd_second(self) -> bool {
        self.0 >> NUMBER_BITS & 1 == 1
    }

    fn time(self) -> Time {
        match self.0 >> (NUMBER_BITS + 1) & 3 {
            0 => Time::Both,
            1 => Time::Service,
            _ => Time::Response,
        }
    }

    fn phase(self) -> Phase {
        match self.0 >> (NUMBER_BITS + 3) & 3 {
            0 => Phase::Warmup,
            1 => Phase::Measure,
            2 => Phase::Late,
            _ => Phase::Between,
        }
    }

    fn event(self) -> Event {
        let outcome = self.0 >> (NUMBER_BITS + 5) & 3;
        let kind_of = |number: u64| StatementKind::ALL.get(number as usize).copied();
        if let Some(kind) =
            (self.0 >> (NUMBER_BITS + 7)).checked_sub(UNSUCCESSFUL).and_then(kind_of)
        {
            let failure = Failure::ALL.get(outcome as usize).copied();
            return Event::Unsuccessful(kind, failure.unwrap_or(Failure::Error));
        }
        let outcome = match outcome {
            0 => Counted::Read,
            1 => Counted::Write,
            2 => Counted::Other,
            _ => Counted::Together,
        };
        match self.0 >> (NUMBER_BITS + 7) {
            TRANSACTION => Event::Transaction,
            IGNORED => Event::Ignored,
            RECONNECT => Event::Reconnect,
            kind => kind_of(kind).map_or(Event::Failed, |kind| Event::Statement(kind, outcome)),
        }
    }
}

/// The samples of one thread since the collector last took them.
#[derive(Debug)]
pub(crate) struct Ledger {
    samples: Mutex<Vec<Sample>>,
    /// All samples, if an observer wants them.
    trace: Option<Trace>,
}

impl Ledger {
    pub(crate) fn new(is_traced: bool) -> Ledger {
        let trace = is_traced.then(Trace::default);
        Ledger { samples: Mutex::new(Vec::with_capacity(1024)), trace }
    }

    /// Records a sample that ended at `now`, in ns of the run's clock.
    #[inline]
    pub(crate) fn note_at(&self, sample: Sample, now: u64) {
        self.note(sample);
        if let Some(trace) = &self.trace {
            trace.note(sample, now);
        }
    }

    #[inline]
    pub(crate) fn note(&self, sample: Sample) {
        self.samples.lock().push(sample);
    }

    /// Takes the samples and leaves `empty` in their place.
    fn exchange(&self, empty: &mut Vec<Sample>) {
        std::mem::swap(&mut *self.samples.lock(), empty);
    }
}

#[cfg(test)]
mod tests;
