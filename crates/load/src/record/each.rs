//! Every statement of a run with its time, where an observer wants them.

use parking_lot::Mutex;

use super::{Event, Phase, Sample, Time};

/// A statement, or several that are timed together, with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timed {
    /// When it ended, in ns of the Unix epoch.
    pub end_ns: u64,
    /// The name of its kind, as in [`crate::KindLatency::kind`] without a failure.
    pub kind: &'static str,
    /// How it failed: the end of the name of a kind such as `insert_error`.
    pub failure: Option<&'static str>,
    /// From when it was sent, in ns; `None` where this is of the response time alone.
    pub service_ns: Option<u64>,
    /// From when it was planned, in ns; `None` where this is of the service time alone.
    pub response_ns: Option<u64>,
}

/// Samples of one thread with when each ended, in ns of the run's clock; 16 bytes each.
#[derive(Debug, Default)]
pub(super) struct Trace(Mutex<Vec<(u64, Sample)>>);

impl Trace {
    pub(super) fn note(&self, sample: Sample, now: u64) {
        self.0.lock().push((now, sample));
    }

    /// Takes the statements of the measuring window; the clock's zero is at `epoch_ns` of the Unix epoch.
    pub(super) fn take(&self, epoch_ns: u64) -> impl Iterator<Item = Timed> {
        let samples = std::mem::take(&mut *self.0.lock());
        samples.into_iter().filter_map(move |(now, sample)| timed(epoch_ns + now, sample))
    }
}

fn timed(end_ns: u64, sample: Sample) -> Option<Timed> {
    let (kind, failure) = match sample.event() {
        Event::Statement(kind, _) => (kind, None),
        Event::Unsuccessful(kind, failure) => (kind, Some(failure.name())),
        _ => return None,
    };
    let of = |other: Time| (sample.time() != other).then(|| sample.number());
    (sample.phase() == Phase::Measure).then(|| Timed {
        end_ns,
        kind: kind.name(),
        failure,
        service_ns: of(Time::Response),
        response_ns: of(Time::Service),
    })
}
