//! Seconds of a load, as series.

use std::sync::OnceLock;

use assay_load::{LoadObserver, Second, SecondPhase, Turns};
use parking_lot::Mutex;

use super::own_time::OwnTime;
use super::phase_events::EventClock;
use crate::monitor::ProcessSnapshot;
use crate::run::progress::Progress;
use crate::run::results::LoadSeconds;
use crate::run::results::file_figures::FILE_SERIES;
use assay_study::metrics::{MetricEntry, Window, metric};
use assay_study::{SecondLatencies, SecondLatency, Series, TrialKey};

/// Records and shows every second of a load.
pub(super) struct Seconds<'a> {
    /// Receives every second, if it is shown.
    shown: Option<(&'a TrialKey, &'a dyn Progress)>,
    /// Bytes of an operation of a load on files.
    file_request_bytes: Option<f64>,
    /// Its turns and the seconds of its warm-up, if it takes turns with others.
    turns: Option<(Turns, f64)>,
    /// The time of those turns, once the window is known.
    own_time: OnceLock<OwnTime>,
    seen: Mutex<Seen>,
    began: Mutex<ProcessSnapshot>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Without the buckets of their latencies, which are coded below to save memory in a long run.
    seconds: Vec<Second>,
    latencies: SecondLatencies,
}

impl<'a> Seconds<'a> {
    /// Shows the seconds of a run that is about to be loaded.
    #[must_use]
    pub(super) fn new(key: &'a TrialKey, progress: &'a dyn Progress) -> Seconds<'a> {
        Seconds { shown: Some((key, progress)), ..Seconds::unseen() }
    }

    /// Records the seconds of one of several servers, without showing them.
    #[must_use]
    pub(super) fn unseen() -> Seconds<'a> {
        Seconds {
            shown: None,
            file_request_bytes: None,
            turns: None,
            own_time: OnceLock::new(),
            seen: Mutex::default(),
            began: Mutex::new(ProcessSnapshot::take()),
        }
    }

    /// Records a load on files, whose operations have `request_bytes`.
    #[must_use]
    pub(super) fn of_files(self, request_bytes: f64) -> Seconds<'a> {
        Seconds { file_request_bytes: Some(request_bytes), ..self }
    }

    /// Records the seconds of a load's own turns alone, numbered without pauses, behind a warm-up
    /// of so many of them.
    #[must_use]
    pub(super) fn in_turns(self, turns: Turns, warmup_s: f64) -> Seconds<'a> {
        Seconds { turns: Some((turns, warmup_s)), ..self }
    }

    /// The time of the load's turns, once its window is known.
    #[must_use]
    pub(super) fn own_time(&self) -> Option<&OwnTime> {
        self.own_time.get()
    }

    /// The second as it is recorded; `None` in a turn of others.
    fn own_second(&self, second: &Second) -> Option<Second> {
        let end_s = match self.own_time.get() {
            Some(time) => f64::from(time.number(second.end_s.round() as u32)?),
            None => second.end_s,
        };
        Some(Second { end_s, ..second.clone() })
    }

    /// CPU time of all processes at the start of the window, to the second.
    #[must_use]
    pub(super) fn began(&self) -> ProcessSnapshot {
        self.began.lock().clone()
    }

    #[must_use]
    pub(super) fn series(&self) -> Vec<Series> {
        let seen = self.seen.lock();
        let whole = seen.seconds.iter().filter(|second| is_whole(second));
        let of = |metric: &'static MetricEntry, value: &dyn Fn(&Second) -> f64| Series {
            points: whole
                .clone()
                .map(|second| (second.end_s.round() as u32, value(second)))
                .collect(),
            ..Series::of(metric)
        };
        let of_load = LOAD_SERIES.iter().map(|(metric, value)| of(metric, value));
        match self.file_request_bytes {
            None => of_load.chain(QUERY_SERIES.iter().map(|(m, value)| of(m, value))).collect(),
            Some(bytes) => {
                let of_files = FILE_SERIES.iter();
                let of_files = of_files.map(|(m, value)| of(m, &|second| value(second, bytes)));
                of_load.chain(of_files).collect()
            }
        }
    }

    pub(super) fn recorded(&self) -> LoadSeconds {
        LoadSeconds { series: self.series(), latencies: self.seen.lock().latencies.clone() }
    }
}

impl LoadObserver for Seconds<'_> {
    fn window(&self, from_s: f64, to_s: f64) {
        if let Some((turns, warmup_s)) = self.turns {
            self.own_time.get_or_init(|| OwnTime::new(turns, [from_s, to_s], warmup_s));
        }
    }

    fn second(&self, second: &Second) {
        let Some(mut second) = self.own_second(second) else { return };
        if let Some((key, progress)) = self.shown {
            progress.second(key, &second);
        }
        let buckets = std::mem::take(&mut second.latency.buckets_ns);
        let latency = SecondLatency::of(second.end_s.round() as u32, &buckets);
        let mut seen = self.seen.lock();
        // The partial last second has no number of its own.
        if is_whole(&second) {
            seen.latencies.push(&latency);
        }
        let before = seen.seconds.last().map(|second| second.phase);
        let has_begun = (before, second.phase) == (Some(SecondPhase::Warmup), SecondPhase::Measure);
        seen.seconds.push(second);
        drop(seen);
        if has_begun {
            *self.began.lock() = ProcessSnapshot::take();
        }
    }
}

/// Returns false for the partial last second of a run, whose rates mean little.
pub(super) fn is_whole(second: &Second) -> bool {
    second.length_s > 0.5
}

/// Passes the window on to the clock of phase events, and everything to an observer.
pub(super) struct Clocked<'a> {
    pub(super) clock: &'a EventClock,
    pub(super) observer: &'a dyn LoadObserver,
}

impl LoadObserver for Clocked<'_> {
    fn window(&self, from_s: f64, to_s: f64) {
        self.clock.set_window(Window { from_s, to_s });
        self.observer.window(from_s, to_s);
    }

    fn second(&self, second: &Second) {
        self.observer.second(second);
    }
}

/// A series and its value in a second.
type LoadSeries = (&'static MetricEntry, fn(&Second) -> f64);

/// Series of every load.
pub(crate) const LOAD_SERIES: [LoadSeries; 7] = [
    (metric!("tps"), |second| second.tps),
    (metric!("latency_ms_mean"), |second| second.latency.latency_ms_mean),
    (metric!("latency_ms_p50"), |second| second.latency.latency_ms_p50),
    (metric!("latency_ms_p95"), |second| second.latency.latency_ms_p95),
    (metric!("latency_ms_p99"), |second| second.latency.latency_ms_p99),
    (metric!("latency_ms_max"), |second| second.latency.latency_ms_max),
    (metric!("queue_length"), |second| second.queue_length as f64),
];

/// Additional series of a load on a server.
pub(crate) const QUERY_SERIES: [LoadSeries; 2] = [
    (metric!("qps"), |second| second.qps),
    (metric!("errors_ignored_per_s"), |second| second.errors as f64 / second.length_s),
];
