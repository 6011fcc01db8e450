//! The outcome of a run: second by second, and as a whole.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::device_bytes::DeviceBytes;
use crate::file_options::Fileio;
use crate::record::{LatencyStats, Queries, TimedEvent};
use crate::schedule::Schedule;
use crate::schema::Schema;
use crate::workload::Workload;

/// The part of the run that a second belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SecondPhase {
    /// Before the measuring window.
    Warmup,
    /// Inside the measuring window.
    Measure,
}

/// One second of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Its end, in seconds of the run's clock; an integer except for the last second of a run.
    pub end_s: f64,
    /// Its length, in seconds: 1 except for the first and the last second of a run.
    pub length_s: f64,
    pub phase: SecondPhase,
    pub threads: u32,
    /// Events that ended in the second.
    pub events: u64,
    pub tps: f64,
    pub qps: f64,
    /// Statements that ended in the second.
    pub queries: Queries,
    /// Response times of these events.
    pub latency: LatencyStats,
    /// Ignored errors.
    pub errors: u64,
    /// Reconnections.
    pub reconnects: u64,
    /// Events due and not started at its end; zero in a closed loop.
    pub queue_length: u64,
    /// Events in flight at its end; zero in a closed loop, where all threads have one.
    pub concurrency: u32,
}

/// Receives every second as it ends.
pub trait LoadObserver: Sync {
    /// Called once when the measuring window is known, in seconds of the run's clock; `to_s` is
    /// infinite if the last event ends it.
    fn window(&self, _from_s: f64, _to_s: f64) {}

    /// Called once a second, at `origin + n` seconds, from a thread of the load: must be brief.
    fn second(&self, second: &Second);

    /// Returns true to record every statement with its time, which takes 16 bytes of memory each.
    fn wants_each(&self) -> bool {
        false
    }

    /// Called once before the run ends, with every statement of the window in order of time, if
    /// they are recorded.
    fn each(&self, _all: Vec<TimedEvent>) {}

    /// Called once if an error ends the run, with what was measured until then.
    fn broken_off(&self, _outcome: &LoadOutcome) {}
}

/// An observer that ignores everything.
impl LoadObserver for () {
    fn second(&self, _: &Second) {}
}

/// Times of one kind of statement, or of whole events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KindLatency {
    /// `transaction` (a whole event), a kind of statement, or `failed` (statements answered with an
    /// error).
    pub kind: String,
    /// From sending to the end of the answer; for a transaction, that of the successful attempt.
    pub service: LatencyStats,
    /// From the planned start; for a transaction, with all its attempts and the waits between them.
    pub response: LatencyStats,
}

/// The events of one thread in the window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ThreadOutcome {
    /// Events that ended.
    pub events: u64,
    /// The sum of their response times, in seconds.
    pub busy_s: f64,
}

/// Events planned before the end of the measuring window and unfinished at it. No percentile
/// includes them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Unfinished {
    /// Their number: those in flight and, in open loop, those that no thread had started.
    pub events: u64,
    /// The longest wait since a planned start, in ms.
    pub wait_ms_max: f64,
}

/// The work of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "there is one for each run")]
pub enum Work {
    /// Statements on tables of a server.
    Server { workload: Workload, schema: Schema },
    /// Operations on files.
    Files { fileio: Fileio },
}

impl Work {
    /// The word for the smallest thing counted.
    pub(crate) fn word_of_one(&self) -> &'static str {
        match self {
            Work::Server { .. } => "query",
            Work::Files { .. } => "operation",
        }
    }
}

impl Default for Work {
    fn default() -> Work {
        Work::Server { workload: Workload::default(), schema: Schema::default() }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Shortest wait worth reporting, in ms: a busy machine may take that long to schedule a thread.
const TOLD_WAIT_MS_MIN: f64 = 100.0;

/// The outcome of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadOutcome {
    /// Start of the measuring window, in seconds of the run's clock.
    pub measure_start_s: f64,
    /// Its end. In mode `compat`, the end of the last event, as in sysbench.
    pub measure_end_s: f64,
    /// End minus start; of a load with turns, the part of its own turns that counts.
    pub elapsed_s: f64,
    /// Events that ended in the window.
    pub events: u64,
    /// Events per second.
    pub tps: f64,
    /// Statements that ended in the window.
    pub queries: Queries,
    /// Statements per second.
    pub qps: f64,
    /// Events that ended before the window.
    pub events_warmup: u64,
    /// Events that started in the window and ended after it.
    pub events_late: u64,
    /// Events that ended in the window outside the time that counts, if the load has turns.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub events_between: u64,
    /// Events in flight that were cut off at the end of their grace period.
    #[serde(default)]
    pub events_cut: u64,
    /// Events waiting at the end of the window; of a load with turns also those that took longer
    /// than the guard and did not end in the time that counts.
    #[serde(default)]
    pub unfinished: Unfinished,
    /// Ignored errors by number.
    pub errors: BTreeMap<u16, u64>,
    /// Reconnections.
    pub reconnects: u64,
    /// Times by kind, `transaction` first.
    pub latency: Vec<KindLatency>,
    /// The exact sum of all events' response times, in ms.
    pub latency_ms_sum: f64,
    /// The events of each thread.
    pub threads: Vec<ThreadOutcome>,
    /// Planned events per second; absent in a closed loop.
    pub rate_target: Option<f64>,
    /// CPU time of the load's own threads over the window, in seconds; absent if the kernel does
    /// not report it.
    pub client_cpu_s: Option<f64>,
    /// True if throughput became steady before the cap; absent for a warm-up of fixed length.
    pub steady: Option<bool>,
    /// Bytes moved by the device and by the load of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceBytes>,
    /// True if `stop` or an error ended the run early.
    pub interrupted: bool,
    /// The workload, and its tables or files.
    #[serde(flatten)]
    pub work: Work,
    pub schedule: Schedule,
}

impl LoadOutcome {
    /// Times of one kind, if it occurred.
    #[must_use]
    pub fn latency_of(&self, kind: &str) -> Option<&KindLatency> {
        self.latency.iter().find(|latency| latency.kind == kind)
    }

    /// Returns true if events were cut off because of `forced_shutdown`, for which sysbench exits
    /// with 2.
    #[must_use]
    pub fn is_forced(&self) -> bool {
        self.events_cut > 0 && !self.interrupted && self.schedule.forced_shutdown.is_some()
    }

    /// The events waiting at the end of the window, if one had waited longer than any measured
    /// event (and 100 ms): a stall that the percentiles do not show, since events are timed when
    /// they end.
    #[must_use]
    pub fn hidden_wait(&self) -> Option<Unfinished> {
        let longest_ms =
            self.latency_of("transaction").map_or(0.0, |times| times.response.latency_ms_max);
        let waited_ms = self.unfinished.wait_ms_max;
        (waited_ms > longest_ms.max(TOLD_WAIT_MS_MIN)).then_some(self.unfinished)
    }

    /// Converts to a clock that started `seconds` earlier.
    #[must_use]
    pub fn later(mut self, seconds: f64) -> LoadOutcome {
        self.measure_start_s += seconds;
        self.measure_end_s += seconds;
        self
    }

    /// Events unfinished at the end of the window, as a percentage of these and of those that ended
    /// in it.
    #[must_use]
    pub fn unfinished_percent(&self) -> f64 {
        let unfinished = self.unfinished.events as f64;
        100.0 * unfinished / (unfinished + self.events as f64).max(1.0)
    }
}
