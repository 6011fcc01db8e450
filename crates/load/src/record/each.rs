//! Every statement of a run with its time, for observers that want them.

use parking_lot::Mutex;

use super::{Event, Phase, Sample, Time};

/// A statement, or several timed together, with their times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedEvent {
    /// End, in ns of the Unix epoch.
    pub end_ns: u64,
    /// The name of its kind, as in [`crate::KindLatency::kind`] without a failure.
    pub kind: &'static str,
    /// The failure: the end of the name of a kind such as `insert_error`.
    pub failure: Option<&'static str>,
    /// Time since sending, in ns; `None` for a record of the response time alone.
    pub service_ns: Option<u64>,
    /// Time since the planned start, in ns; `None` for a record of the service time alone.
    pub response_ns: Option<u64>,
}

/// Samples of one thread with their ends, in ns of the run's clock; 16 bytes each.
#[derive(Debug, Default)]
pub(super) struct Trace(Mutex<Vec<(u64, Sample)>>);

impl Trace {
    pub(super) fn note(&self, sample: Sample, now: u64) {
        self.0.lock().push((now, sample));
    }

    /// Takes the statements of the measuring window; the clock's zero is at `epoch_ns` of the Unix
    /// epoch.
    pub(super) fn take(&self, epoch_ns: u64) -> impl Iterator<Item = TimedEvent> {
        let samples = std::mem::take(&mut *self.0.lock());
        samples.into_iter().filter_map(move |(now, sample)| timed(epoch_ns + now, sample))
    }
}

fn timed(end_ns: u64, sample: Sample) -> Option<TimedEvent> {
    let (kind, failure) = match sample.event() {
        Event::Statement(kind, _) => (kind, None),
        Event::Unsuccessful(kind, failure) => (kind, Some(failure.name())),
        _ => return None,
    };
    let of = |other: Time| (sample.time() != other).then(|| sample.number());
    (sample.phase() == Phase::Measure).then(|| TimedEvent {
        end_ns,
        kind: kind.name(),
        failure,
        service_ns: of(Time::Response),
        response_ns: of(Time::Service),
    })
}
