//! What happened, from the threads that saw it to the histograms.
//!
//! A thread notes each statement as one 64-bit *sample* in a ledger of its own; the collector takes all ledgers once
//! a second, gives each an emptied one back, and sorts the samples into HDR histograms (1 ns to 1 h, three digits).
//! Memory follows the rate of statements and not the number of threads times the size of a histogram, and the hot
//! path is an uncontended lock and a store.

mod collect;
mod each;
mod latency;
mod totals;

pub(crate) use collect::Collector;
pub use each::Timed;
pub use latency::Latency;
#[cfg(test)]
pub(crate) use latency::latency_of;
pub use totals::Queries;
pub(crate) use totals::Totals;

use parking_lot::Mutex;

use crate::oltp::Kind;
use assay_mysql::Reply;
use each::Trace;

/// What a sample is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A statement that was answered.
    Statement(Kind, Outcome),
    /// A statement of YCSB that did not do what was asked.
    Unsuccessful(Kind, Failure),
    /// A statement that the server refused.
    Failed,
    /// A whole event that succeeded.
    Transaction,
    /// An error that was ignored; the sample's number is the error's.
    Ignored,
    /// A connection made anew.
    Reconnect,
}

/// How a statement of YCSB fails, by the names of its statuses (`site.ycsb.Status`).
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

    /// The name that times are stored under, behind the kind's.
    fn name(self) -> &'static str {
        match self {
            Failure::Error => "error",
            Failure::NotFound => "not_found",
            Failure::UnexpectedState => "unexpected_state",
        }
    }
}

/// How sysbench counts a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Read,
    Write,
    Other,
    /// No statement of its own: the time of several together.
    Together,
}

impl From<Reply> for Outcome {
    fn from(reply: Reply) -> Outcome {
        match reply {
            Reply::Rows { .. } => Outcome::Read,
            Reply::Done { affected: 0 } => Outcome::Other,
            Reply::Done { .. } => Outcome::Write,
        }
    }
}

/// Where in the run a sample ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Warmup,
    Measure,
    Late,
}

/// Which of the two times a sample holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Time {
    /// Service and response time, which are equal.
    Both,
    /// From when it was sent; of a transaction, of the attempt that succeeded.
    Service,
    /// From when it was planned; of a transaction, with all attempts.
    Response,
}

/// One thing that happened, in 64 bits: number 46, odd second 1, time 2, phase 2, outcome 2, event 8, spare 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample(u64);

const NUMBER_BITS: u32 = 46;
const NUMBER_MAX: u64 = (1 << NUMBER_BITS) - 1;
const FAILED: u64 = Kind::COUNT as u64;
const TRANSACTION: u64 = FAILED + 1;
const IGNORED: u64 = FAILED + 2;
const RECONNECT: u64 = FAILED + 3;
/// From here on, kinds of statements that failed.
const UNSUCCESSFUL: u64 = 64;

impl Sample {
    /// A sample of `event` that ended in the second numbered `second` of the clock; `number` is ns, or an error code.
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
            _ => Phase::Late,
        }
    }

    fn event(self) -> Event {
        let outcome = self.0 >> (NUMBER_BITS + 5) & 3;
        let kind_of = |number: u64| Kind::ALL.get(number as usize).copied();
        if let Some(kind) =
            (self.0 >> (NUMBER_BITS + 7)).checked_sub(UNSUCCESSFUL).and_then(kind_of)
        {
            let failure = Failure::ALL.get(outcome as usize).copied();
            return Event::Unsuccessful(kind, failure.unwrap_or(Failure::Error));
        }
        let outcome = match outcome {
            0 => Outcome::Read,
            1 => Outcome::Write,
            2 => Outcome::Other,
            _ => Outcome::Together,
        };
        match self.0 >> (NUMBER_BITS + 7) {
            TRANSACTION => Event::Transaction,
            IGNORED => Event::Ignored,
            RECONNECT => Event::Reconnect,
            kind => kind_of(kind).map_or(Event::Failed, |kind| Event::Statement(kind, outcome)),
        }
    }
}

/// The samples of one thread since they were last taken.
#[derive(Debug)]
pub(crate) struct Ledger {
    samples: Mutex<Vec<Sample>>,
    /// All of them, where they are wanted.
    trace: Option<Trace>,
}

impl Ledger {
    pub(crate) fn new(is_traced: bool) -> Ledger {
        let trace = is_traced.then(Trace::default);
        Ledger { samples: Mutex::new(Vec::with_capacity(1024)), trace }
    }

    /// The same of a sample that ended at `now`, in ns of the run's clock.
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

    /// Takes what was noted and leaves `empty` in its place.
    fn exchange(&self, empty: &mut Vec<Sample>) {
        std::mem::swap(&mut *self.samples.lock(), empty);
    }
}

#[cfg(test)]
mod tests;
