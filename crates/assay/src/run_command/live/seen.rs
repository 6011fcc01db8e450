//! State of the live view: plain values, from which alone it is drawn.

use std::collections::VecDeque;

use assay_load::{Second, SecondPhase};

use super::phases::PhaseNames;
use crate::run_command::count::Count;
use assay_lab::monitor::Glimpse;
use assay_study::TrialKey;
use assay_study::metrics::metric;

/// Seconds of load that are kept: more than the columns of any usual terminal.
const SECONDS_KEPT: usize = 240;

/// Series of the device: bytes (not for flushes), number and latency of each operation.
pub(crate) const DISK_SERIES: [&str; 8] = [
    metric!("disk_read_bytes_per_s").name,
    metric!("disk_reads_per_s").name,
    metric!("disk_read_latency_ms").name,
    metric!("disk_write_bytes_per_s").name,
    metric!("disk_writes_per_s").name,
    metric!("disk_write_latency_ms").name,
    metric!("disk_flushes_per_s").name,
    metric!("disk_flush_latency_ms").name,
];

/// A second of all of [`DISK_SERIES`].
pub(crate) type DiskSecond = [Option<f64>; DISK_SERIES.len()];

/// Whether the study goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Ending {
    #[default]
    None,
    /// It ends after the current run.
    AfterTrial,
    /// It is ending now.
    Now,
}

/// A second of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LoadSecond {
    pub tps: f64,
    /// 99th percentile of response times.
    pub latency_ms_p99: f64,
}

/// The state that is drawn.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Title of the plan.
    pub title: String,
    /// Phases of each run.
    pub phases: PhaseNames,
    pub count: Count,
    /// Place and name of the current run.
    pub trial: Option<String>,
    /// Current step.
    pub step: String,
    /// Seconds of warm-up and measurement of the current run.
    pub trial_s: f64,
    /// Seconds of load, oldest first.
    pub load: VecDeque<LoadSecond>,
    /// Seconds of the device, oldest first.
    pub disk: Vec<DiskSecond>,
    /// Whether the machine has counters for the device; `None` while nothing is monitored.
    pub is_disk_counted: Option<bool>,
    pub ending: Ending,
    /// Source of the device's figures, while a run is measured.
    pub monitor: Option<Glimpse<{ DISK_SERIES.len() }>>,
    /// Beginning of the current run's measuring window, on the run's clock.
    pub window_s: Option<f64>,
}

impl Seen {
    pub fn new(title: &str, phases: PhaseNames, count: Count) -> Seen {
        Seen {
            title: title.into(),
            phases,
            count,
            trial: None,
            step: "beginning".into(),
            trial_s: 0.0,
            load: VecDeque::with_capacity(SECONDS_KEPT),
            disk: Vec::new(),
            is_disk_counted: None,
            ending: Ending::None,
            monitor: None,
            window_s: None,
        }
    }

    /// Begins another run.
    pub fn begin_trial(&mut self, trial: &TrialKey) {
        let Count { done, trials, .. } = self.count;
        self.trial = Some(format!("run {} of {trials}: {trial}", done + 1));
        self.step = "beginning".into();
        self.trial_s = 0.0;
        self.load.clear();
        self.disk.clear();
        self.is_disk_counted = None;
        self.window_s = None;
        self.monitor = None;
    }

    /// Ends the current run; its figures stay until another begins.
    pub fn end_trial(&mut self, count: Count) {
        self.count = count;
        self.trial_s = 0.0;
        self.monitor = None;
    }

    /// Adds a second of load.
    pub fn second(&mut self, second: &Second) {
        // The rest of a second at a run's end has rates that are based on almost nothing.
        if second.length_s > 0.5 {
            if self.load.len() == SECONDS_KEPT {
                self.load.pop_front();
            }
            let latency_ms_p99 = second.latency.latency_ms_p99;
            self.load.push_back(LoadSecond { tps: second.tps, latency_ms_p99 });
        }
        self.trial_s = second.end_s;
        if second.phase == SecondPhase::Measure && self.window_s.is_none() {
            self.window_s = Some(second.end_s - second.length_s);
        }
        let phase = self.window_s.map(|window_s| self.phases.at(second.end_s - window_s));
        let step = self.count.phase(second.end_s, self.window_s);
        self.step = step + &phase.unwrap_or_default();
    }

    /// Takes the monitor's figures of the last seconds.
    pub fn look(&mut self, seconds: usize) {
        if let Some(monitor) = &self.monitor {
            self.is_disk_counted = Some(monitor.is_counted());
            let disk = monitor.last(seconds);
            // A monitor that has ended has no figures left; the last ones stay on the screen.
            if !disk.is_empty() {
                self.disk = disk;
            }
        }
    }
}
