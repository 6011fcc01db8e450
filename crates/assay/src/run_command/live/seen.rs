//! What the live view knows of a run: plain values, from which alone it is drawn.

use std::collections::VecDeque;

use assay_load::{Second, SecondPhase};

use super::phases::PhaseNames;
use crate::run_command::count::Count;
use assay_lab::monitor::Glimpse;
use assay_study::TrialKey;
use assay_study::metrics::metric;

/// Seconds of load that are kept to be drawn; no terminal that people use is wider.
const SECONDS_KEPT: usize = 240;

/// Series of the device: of each operation its bytes (but for flushes), how many and how long.
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

/// Whether the run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Ending {
    /// It does.
    #[default]
    None,
    /// It ends with the run in hand.
    AfterTrial,
    /// It is ending.
    Now,
}

/// A second of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LoadSecond {
    /// Transactions per second.
    pub tps: f64,
    /// 99th percentile of their response times.
    pub latency_ms_p99: f64,
}

/// Everything that is drawn.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Of the plan.
    pub title: String,
    /// Of each of its runs.
    pub phases: PhaseNames,
    /// Runs and time.
    pub count: Count,
    /// The run in hand, its place and its name.
    pub trial: Option<String>,
    /// What is being done.
    pub step: String,
    /// Seconds that the run in hand has been measured and warmed up for.
    pub trial_s: f64,
    /// Of the load, oldest first.
    pub load: VecDeque<LoadSecond>,
    /// Of the device, oldest first.
    pub disk: Vec<DiskSecond>,
    /// Whether the machine counts what the device does; nothing while nothing is monitored.
    pub is_disk_counted: Option<bool>,
    /// Whether the run goes on.
    pub ending: Ending,
    /// Where the device is looked at, while a run is measured.
    pub monitor: Option<Glimpse<{ DISK_SERIES.len() }>>,
    /// When the measuring window of the run in hand began, on its clock.
    pub window_s: Option<f64>,
}

impl Seen {
    /// Of a run that begins.
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

    /// Another run is in hand.
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

    /// The run in hand has ended; what it showed stays until another begins.
    pub fn end_trial(&mut self, count: Count) {
        self.count = count;
        self.trial_s = 0.0;
        self.monitor = None;
    }

    /// A second of load has passed.
    pub fn second(&mut self, second: &Second) {
        // What is left of a second at the end of a run has rates that rest on next to nothing.
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

    /// Takes what the monitor has seen in the last seconds.
    pub fn look(&mut self, seconds: usize) {
        if let Some(monitor) = &self.monitor {
            self.is_disk_counted = Some(monitor.is_counted());
            let disk = monitor.last(seconds);
            // A monitor that has ended has handed everything over; its last seconds stay to be
            // seen.
            if !disk.is_empty() {
                self.disk = disk;
            }
        }
    }
}
