//! Records of a study, for reports and `results.json`.
//!
//! Names of results and series end with their unit (`latency_ms_p99`, `disk_write_bytes_per_s`) and
//! are the same in plans, stores, reports and tables.

use assay_load::fileio::FILEIO;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use assay_load::capacity::Capacity;
use serde::{Deserialize, Serialize};

use super::calibration::Calibration;
use super::events::Events;
use super::judging::{Judging, LookMade};
use super::paper::Paper;
use super::phases::Phase;
use super::power_cut::PowerCut;
use super::prices::Prices;
use super::rig::{DiskRecord, RigRecord};
use super::servers::OfServer;
use super::sessions::Sessions;
use super::warning::Warning;
use crate::metrics::{Layer, Unit, Window};

/// A configuration as it was run: a named rig with its server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Name in the plan.
    pub name: String,
    pub rig: RigRecord,
    /// Server settings that the plan sets, plan-wide ones included.
    pub settings: BTreeMap<String, String>,
}

/// A workload of the plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkloadRecord {
    /// Name in the plan, after the data profile's if there is one (`text 2.5T: read write`).
    pub name: String,
    /// Data profile, if the plan has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_profile: Option<String>,
    /// Name in the plan.
    #[serde(skip)]
    pub workload: String,
    /// Recipe of sysbench, e.g. `oltp_read_write`.
    pub recipe: String,
    /// All options, defaults included.
    pub options: BTreeMap<String, String>,
}

/// The coordinates of a run in the plan's matrix.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TrialKey {
    pub config: String,
    pub workload: String,
    /// Number of connections; threads for fileio.
    pub threads: u32,
    /// Number of the repeat, from 1.
    pub repeat: u32,
}

impl fmt::Display for TrialKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TrialKey { config, workload, threads, repeat } = self;
        let noun = if *threads == 1 { "thread" } else { "threads" };
        write!(f, "{config} / {workload} / {threads} {noun} / repeat {repeat}")
    }
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Planned.
    Pending,
    /// Started. A run found in this state later was interrupted and is repeated.
    Running,
    Done,
    /// Ended with a reason instead of results.
    Failed,
}

impl RunState {
    /// Name in stores and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RunState::Pending => "pending",
            RunState::Running => "running",
            RunState::Done => "done",
            RunState::Failed => "failed",
        }
    }
}

impl FromStr for RunState {
    type Err = String;

    fn from_str(word: &str) -> Result<RunState, String> {
        [RunState::Pending, RunState::Running, RunState::Done, RunState::Failed]
            .into_iter()
            .find(|state| state.word() == word)
            .ok_or_else(|| format!("`{word}` is not the state of a run"))
    }
}

/// A run without its series, which are read when needed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trial {
    /// Row in the store, for reading series and histograms.
    #[serde(skip)]
    pub id: i64,
    #[serde(flatten)]
    pub key: TrialKey,
    /// Position in the random order of runs, from 1.
    pub position: u32,
    pub state: RunState,
    /// Reason of a failure.
    pub reason: Option<String>,
    /// Start of building the rig, RFC 3339 in UTC.
    pub started_at: Option<String>,
    /// End of tearing the rig down, RFC 3339 in UTC.
    pub ended_at: Option<String>,
    /// Measuring window on the run's clock, which series use too.
    #[serde(rename = "window_s")]
    pub window: Option<Window>,
    pub warnings: Vec<Warning>,
    /// Circumstances: placement, server version, seeds, limits.
    pub facts: BTreeMap<String, String>,
    /// Figures over the measuring window by name.
    pub results: BTreeMap<String, f64>,
    /// Number of errors by the server's error code.
    pub errors: BTreeMap<u16, u64>,
    /// Phases of the window, if it has more than one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// The servers of a run on several servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<OfServer>,
    /// Search for the highest rate within the plan's objective. The window then belongs to the run
    /// that stands for the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
}

impl Trial {
    /// A finished run with these figures only, for computations on figures.
    pub fn done(key: TrialKey, results: &[(&str, f64)]) -> Trial {
        Trial {
            id: 1,
            key,
            position: 1,
            state: RunState::Done,
            reason: None,
            started_at: None,
            ended_at: None,
            window: None,
            warnings: Vec::new(),
            facts: BTreeMap::new(),
            results: results.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            errors: BTreeMap::new(),
            phases: Vec::new(),
            servers: Vec::new(),
            capacity: None,
        }
    }
}

/// A discarded attempt at a run: the machine disturbed it, or a run that it is compared with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Discarded {
    #[serde(flatten)]
    pub key: TrialKey,
    /// End, RFC 3339 in UTC.
    pub ended_at: String,
    pub warnings: Vec<Warning>,
    /// The disturbed run that this one is compared with; `None` if it was disturbed itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because_of: Option<TrialKey>,
    /// Figures over the measuring window by name; empty in studies that did not keep them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub results: BTreeMap<String, f64>,
}

/// The stored form of an attempt. Studies that kept its warnings alone have a plain list of them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum StoredAttempt {
    Whole {
        warnings: Vec<Warning>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because_of: Option<TrialKey>,
        results: BTreeMap<String, f64>,
    },
    Warnings(Vec<Warning>),
}

impl Discarded {
    pub(crate) fn of(key: TrialKey, ended_at: String, stored: StoredAttempt) -> Discarded {
        let (warnings, because_of, results) = match stored {
            StoredAttempt::Whole { warnings, because_of, results } => {
                (warnings, because_of, results)
            }
            StoredAttempt::Warnings(warnings) => (warnings, None, BTreeMap::new()),
        };
        Discarded { key, ended_at, warnings, because_of, results }
    }
}

/// A counter over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name with the unit last, e.g. `disk_write_bytes_per_s`.
    pub name: String,
    pub unit: Unit,
    /// Label in reports, e.g. "disk writes".
    pub label: String,
    /// Layer of the measurement.
    pub layer: Layer,
    /// Seconds of the run's clock with their values. Seconds without a value are absent, not zero.
    pub points: Vec<(u32, f64)>,
}

impl Series {
    /// The empty series of a metric.
    pub fn of(metric: &crate::metrics::MetricEntry) -> Series {
        let (name, label) = (metric.name.into(), metric.stored_label().into());
        Series { name, unit: metric.unit, label, layer: metric.layer, points: Vec::new() }
    }
}

/// A latency distribution over the measuring window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    pub kind: Timed,
    pub clock: LatencyClock,
    /// Upper end of a bucket in ns, and its count; ascending, without empty buckets.
    pub buckets: Vec<(u64, u64)>,
}

impl Histogram {
    /// Returns true for response times of transactions, the times that users wait.
    #[must_use]
    pub fn is_of_responses(&self) -> bool {
        self.kind == Timed::Transaction && self.clock == LatencyClock::Response
    }
}

/// The event that a latency distribution describes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timed {
    /// Transactions.
    Transaction,
    /// A kind of statement by the load's name, e.g. `point_select`.
    Statement(String),
}

impl Timed {
    /// The load's name for transactions.
    pub const TRANSACTION: &str = "transaction";

    /// Parses the load's name.
    #[must_use]
    pub fn named(word: &str) -> Timed {
        match word {
            Timed::TRANSACTION => Timed::Transaction,
            kind => Timed::Statement(kind.to_owned()),
        }
    }

    /// Name in stores and reports.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Timed::Transaction => Timed::TRANSACTION,
            Timed::Statement(kind) => kind,
        }
    }
}

/// Start of a latency measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LatencyClock {
    /// The actual start.
    Service,
    /// The planned start.
    Response,
}

impl LatencyClock {
    /// Name in stores and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            LatencyClock::Service => "service",
            LatencyClock::Response => "response",
        }
    }
}

impl FromStr for LatencyClock {
    type Err = String;

    fn from_str(word: &str) -> Result<LatencyClock, String> {
        [LatencyClock::Service, LatencyClock::Response]
            .into_iter()
            .find(|clock| clock.word() == word)
            .ok_or_else(|| format!("`{word}` is not a known latency clock"))
    }
}

impl Study {
    /// The disk under a configuration's server, if recorded.
    #[must_use]
    pub fn disk(&self, config: &str) -> Option<&DiskRecord> {
        self.configs.iter().find(|known| known.name == config)?.rig.disk.as_ref()
    }

    /// Divisor of a configuration's rates relative to the device that it stands for, used by costs,
    /// endurance and comparisons with papers. `None` if the study does not record it.
    #[must_use]
    pub fn parallel_scale(&self, config: &str) -> Option<f64> {
        self.disk(config).map_or(Some(1.0), DiskRecord::parallel_scale)
    }

    /// Number of servers under a run's own load, whose throughput is summed.
    #[must_use]
    pub fn servers(&self, config: &str) -> f64 {
        let config = self.configs.iter().find(|known| known.name == config);
        let servers = config.and_then(|config| config.rig.servers.as_ref());
        servers.map_or(1.0, |servers| f64::from(servers.own()))
    }

    /// The rate of a workload's transactions per second as the plan writes it; `None` for a closed
    /// loop.
    #[must_use]
    pub fn rate(&self, workload: &str) -> Option<&str> {
        let workload = self.workloads.iter().find(|one| one.name == workload)?;
        workload.options.get("rate").map(String::as_str)
    }

    /// The events that the study's loads count.
    #[must_use]
    pub fn events(&self) -> Events {
        if self.is_of_files() { Events::Operations } else { Events::Transactions }
    }

    /// Returns true if every workload loads files instead of a server.
    #[must_use]
    pub fn is_of_files(&self) -> bool {
        !self.workloads.is_empty() && self.workloads.iter().all(WorkloadRecord::is_of_files)
    }
}

impl WorkloadRecord {
    /// Returns true if files are loaded instead of a server.
    #[must_use]
    pub fn is_of_files(&self) -> bool {
        self.recipe == FILEIO
    }
}

/// A remark on a whole study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// The study is stored on the measured disk.
    OnMeasuredDisk,
}

impl Note {
    /// Name in stores.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Note::OnMeasuredDisk => "on_measured_disk",
        }
    }
}

impl FromStr for Note {
    type Err = String;

    fn from_str(word: &str) -> Result<Note, String> {
        let known = [Note::OnMeasuredDisk].into_iter().find(|note| note.word() == word);
        known.ok_or_else(|| format!("`{word}` is not a note on a study"))
    }
}

/// A study, read from its store.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Study {
    pub title: String,
    /// Question of the plan, if it states one.
    pub question: Option<String>,
    /// Description of the plan's form, if not the full one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    /// The repeated paper, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<Paper>,
    pub judging: Judging,
    #[serde(skip)]
    pub prices: Option<Prices>,
    /// Text of the plan.
    pub plan_toml: String,
    /// Machine and programs: kernel, CPUs, memory, disk, versions.
    pub facts: BTreeMap<String, String>,
    /// Calibration of the machine, measured before the first run; `None` if it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    pub notes: Vec<Note>,
    /// Looks at the results that somebody was told, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<LookMade>,
    #[serde(skip_serializing_if = "Sessions::is_default")]
    pub sessions: Sessions,
    /// Configurations in the plan's order, which determines their colours.
    pub configs: Vec<Config>,
    /// Workloads in the plan's order.
    pub workloads: Vec<WorkloadRecord>,
    /// Runs in the order of the plan's matrix: workload, threads, configuration, repeat.
    #[serde(rename = "runs")]
    pub trials: Vec<Trial>,
    /// Discarded attempts at runs, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub discarded: Vec<Discarded>,
    /// Power cuts, by configuration and number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub power_cuts: Vec<PowerCut>,
}
