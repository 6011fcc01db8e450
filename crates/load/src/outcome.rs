//! What a run found: second by second while it lasts, and as a whole.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::device_bytes::DeviceBytes;
use crate::file_options::Fileio;
use crate::record::{Latency, Queries, Timed};
use crate::schedule::Schedule;
use crate::schema::Schema;
use crate::workload::Workload;

/// Whether a second counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SecondPhase {
    /// Before the measuring window.
    Warmup,
    /// Inside it.
    Measure,
}

/// One second of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// When it ended, in seconds of the run's clock; whole but for the last one of a run.
    pub end_s: f64,
    /// How long it was, in seconds: 1 but for the first and the last of a run.
    pub length_s: f64,
    /// Whether it counts.
    pub phase: SecondPhase,
    /// Connections.
    pub threads: u32,
    /// Events that ended in it.
    pub events: u64,
    /// Events per second.
    pub tps: f64,
    /// Statements per second.
    pub qps: f64,
    /// Statements that ended in it.
    pub queries: Queries,
    /// Response times of the events that ended in it.
    pub latency: Latency,
    /// Errors ignored in it.
    pub errors: u64,
    /// Connections made anew in it.
    pub reconnects: u64,
    /// At its end, events that were due and not begun. Zero in closed loop.
    pub queue_length: u64,
    /// At its end, events in flight. Zero in closed loop, where it is the number of threads.
    pub concurrency: u32,
}

/// Takes every second as it ends.
pub trait Observer: Sync {
    /// Called once, when it is known that the measuring window lies there, in seconds of the run's clock; one that ends with the
    /// last event has no end yet.
    fn window(&self, _from_s: f64, _to_s: f64) {}

    /// Called once a second, at `origin + n` seconds, from a thread of the load: be brief.
    fn second(&self, second: &Second);

    /// Whether every statement is wanted with its time, which takes 16 bytes of memory each.
    fn wants_each(&self) -> bool {
        false
    }

    /// Called once before the run ends, with every statement of the window in order of time, if they are wanted.
    fn each(&self, _all: Vec<Timed>) {}

    /// Called once if an error ends the run, with what was measured until then.
    fn broken_off(&self, _outcome: &Outcome) {}
}

/// An observer that looks away.
impl Observer for () {
    fn second(&self, _: &Second) {}
}

/// Times of one kind of statement, or of whole events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KindLatency {
    /// `transaction` (a whole event), a kind of statement, or `failed` (statements answered with an error).
    pub kind: String,
    /// From sending to the end of the answer; of a transaction, of the attempt that succeeded.
    pub service: Latency,
    /// From the planned start; of a transaction, with all its attempts and waits between them.
    pub response: Latency,
}

/// What one thread did in the window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ThreadOutcome {
    /// Events that ended.
    pub events: u64,
    /// The sum of their response times, in seconds.
    pub busy_s: f64,
}

/// Events that were planned before the measuring window's end and had not ended by then. No percentile holds them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Unfinished {
    /// How many: those in hand and, in open loop, those that no thread had begun.
    pub events: u64,
    /// How long the oldest of them had waited since its planned start, in ms.
    pub wait_ms_max: f64,
}

/// What a run did, and on what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "there is one for each run")]
pub enum Work {
    /// Statements on tables of a server.
    Server {
        /// Which.
        workload: Workload,
        /// On which tables.
        schema: Schema,
    },
    /// Operations on files.
    Files {
        /// Which, on which files.
        fileio: Fileio,
    },
}

impl Work {
    /// The word for the smallest thing that is counted.
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

/// A wait below this, in ms, is not worth a word: what a busy machine takes to give a thread its CPU.
const TOLD_WAIT_MS_MIN: f64 = 100.0;

/// What a run found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Start of the measuring window, in seconds of the run's clock.
    pub measure_start_s: f64,
    /// Its end. In mode `compat` this is when the last event had ended, as in sysbench.
    pub measure_end_s: f64,
    /// End less start.
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
    /// Events that began in the window and ended after it.
    pub events_late: u64,
    /// Events in hand that were cut off because their time to end was over too.
    #[serde(default)]
    pub events_cut: u64,
    /// What was waiting when the window ended.
    #[serde(default)]
    pub unfinished: Unfinished,
    /// Ignored errors by number.
    pub errors: BTreeMap<u16, u64>,
    /// Connections made anew.
    pub reconnects: u64,
    /// Times by kind, `transaction` first.
    pub latency: Vec<KindLatency>,
    /// The sum of all response times of events, in ms, exact.
    pub latency_ms_sum: f64,
    /// What each thread did.
    pub threads: Vec<ThreadOutcome>,
    /// Events per second asked for; absent in closed loop.
    pub rate_target: Option<f64>,
    /// CPU time of the load's own threads over the window, in seconds; absent where the kernel does not tell.
    pub client_cpu_s: Option<f64>,
    /// Whether throughput held still before its cap; absent for a warm-up of fixed length.
    pub steady: Option<bool>,
    /// Bytes that the device moved, next to those of the load of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceBytes>,
    /// Whether `stop`, or an error, ended the run before its time.
    pub interrupted: bool,
    /// What was run, and on what.
    #[serde(flatten)]
    pub work: Work,
    /// How.
    pub schedule: Schedule,
}

impl Outcome {
    /// Times of one kind, if it occurred.
    #[must_use]
    pub fn latency_of(&self, kind: &str) -> Option<&KindLatency> {
        self.latency.iter().find(|latency| latency.kind == kind)
    }

    /// Whether events were cut off as `forced_shutdown` asks, which sysbench ends with exit code 2.
    #[must_use]
    pub fn is_forced(&self) -> bool {
        self.events_cut > 0 && !self.interrupted && self.schedule.forced_shutdown.is_some()
    }

    /// What was waiting at the window's end, if it had waited longer than any event that was measured (and 100 ms): a
    /// stall that the percentiles do not show, for events are timed when they end.
    #[must_use]
    pub fn hidden_wait(&self) -> Option<Unfinished> {
        let longest_ms =
            self.latency_of("transaction").map_or(0.0, |times| times.response.latency_ms_max);
        let waited_ms = self.unfinished.wait_ms_max;
        (waited_ms > longest_ms.max(TOLD_WAIT_MS_MIN)).then_some(self.unfinished)
    }

    /// The same on a clock that began so many seconds before.
    #[must_use]
    pub fn later(mut self, seconds: f64) -> Outcome {
        self.measure_start_s += seconds;
        self.measure_end_s += seconds;
        self
    }

    /// Events unfinished at the window's end, per cent of these and of those that ended in the window.
    #[must_use]
    pub fn unfinished_percent(&self) -> f64 {
        let unfinished = self.unfinished.events as f64;
        100.0 * unfinished / (unfinished + self.events as f64).max(1.0)
    }
}
