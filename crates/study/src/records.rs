//! What a study holds, as plain records: the words of the design, ready for the report and for `results.json`.
//!
//! Names of results and series carry their unit last (`latency_ms_p99`, `disk_write_bytes_per_s`) and are the same
//! word in the plan, the store, the report and the tables.

use assay_load::fileio::FILEIO;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use assay_load::capacity::Capacity;
use serde::{Deserialize, Serialize};

use super::calibration::Calibration;
use super::judging::Judging;
use super::paper::Paper;
use super::phases::Phase;
use super::power_cut::PowerCut;
use super::prices::Prices;
use super::rig::{Disk, Rig};
use super::servers::OfServer;
use super::warning::Warning;
use crate::metrics::{Layer, Unit, Window};

/// One configuration as it was run: a named rig with its server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The configuration's name in the plan.
    pub name: String,
    /// What the rig is made of, from media to server.
    pub rig: Rig,
    /// Server settings of this configuration that the plan sets, the plan-wide ones included.
    pub settings: BTreeMap<String, String>,
}

/// One workload of the plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Workload {
    /// Its name: the workload's in the plan, after the data profile's where the plan has any (`text 2.5T: read write`).
    pub name: String,
    /// The data profile that it is run on, if the plan has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_profile: Option<String>,
    /// Its name in the plan.
    #[serde(skip)]
    pub workload: String,
    /// The sysbench recipe it runs, e.g. `oltp_read_write`.
    pub recipe: String,
    /// Every option of the workload, defaults included.
    pub options: BTreeMap<String, String>,
}

/// Which run: the coordinates in the plan's matrix.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TrialKey {
    /// Name of the configuration.
    pub config: String,
    /// Name of the workload.
    pub workload: String,
    /// Connections; of fileio, threads.
    pub threads: u32,
    /// Repeat, from 1.
    pub repeat: u32,
}

impl fmt::Display for TrialKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TrialKey { config, workload, threads, repeat } = self;
        let noun = if *threads == 1 { "thread" } else { "threads" };
        write!(f, "{config} / {workload} / {threads} {noun} / repeat {repeat}")
    }
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Planned, not begun.
    Pending,
    /// Begun; found in this state later, it was interrupted and is run again.
    Running,
    /// Ended with results.
    Done,
    /// Ended with a reason in place of results.
    Failed,
}

impl State {
    /// The word stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Running => "running",
            State::Done => "done",
            State::Failed => "failed",
        }
    }
}

impl FromStr for State {
    type Err = String;

    fn from_str(word: &str) -> Result<State, String> {
        [State::Pending, State::Running, State::Done, State::Failed]
            .into_iter()
            .find(|state| state.word() == word)
            .ok_or_else(|| format!("`{word}` is not the state of a run"))
    }
}

/// One run with everything about it but its series, which are read when needed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trial {
    /// Row number in the store; series and histograms are asked for by it.
    #[serde(skip)]
    pub id: i64,
    /// The run's coordinates.
    #[serde(flatten)]
    pub key: TrialKey,
    /// Place in the run's random order, from 1.
    pub position: u32,
    /// How far it has come.
    pub state: State,
    /// Why it failed.
    pub reason: Option<String>,
    /// Start of bringing the rig up, RFC 3339 in UTC.
    pub started_at: Option<String>,
    /// End of tearing it down, RFC 3339 in UTC.
    pub ended_at: Option<String>,
    /// The measuring window on the run's clock, which series use too.
    #[serde(rename = "window_s")]
    pub window: Option<Window>,
    /// What was found wrong or worth knowing.
    pub warnings: Vec<Warning>,
    /// Circumstances: placement, server version, seeds, limits.
    pub facts: BTreeMap<String, String>,
    /// Figures over the measuring window, by name with the unit last.
    pub results: BTreeMap<String, f64>,
    /// Errors by server code.
    pub errors: BTreeMap<u16, u64>,
    /// What its window was made of, where that was more than one thing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// Each of its servers, where it had several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<OfServer>,
    /// The search for the highest rate that keeps the plan's objective. The window is then that of the run that stands for
    /// what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
}

impl Trial {
    /// A run that is done, with these figures and nothing else known of it: for what is computed from figures alone.
    pub fn done(key: TrialKey, results: &[(&str, f64)]) -> Trial {
        Trial {
            id: 1,
            key,
            position: 1,
            state: State::Done,
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

/// An attempt at a run that was thrown away for what the machine did meanwhile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Discarded {
    /// The run's coordinates.
    #[serde(flatten)]
    pub key: TrialKey,
    /// When it ended, RFC 3339 in UTC.
    pub ended_at: String,
    /// What was found of it.
    pub warnings: Vec<Warning>,
}

/// One counter over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name with the unit last, e.g. `disk_write_bytes_per_s`.
    pub name: String,
    /// What its values are in.
    pub unit: Unit,
    /// What a person reads, e.g. "disk writes".
    pub label: String,
    /// The layer it was read at.
    pub layer: Layer,
    /// Second of the run's clock and value. Seconds without a value are absent, not zero.
    pub points: Vec<(u32, f64)>,
}

impl Series {
    /// Of a metric, without seconds.
    pub fn of(metric: &crate::metrics::Metric) -> Series {
        let (name, label) = (metric.name.into(), metric.label.into());
        Series { name, unit: metric.unit, label, layer: metric.layer, points: Vec::new() }
    }
}

/// A latency distribution over the measuring window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Of what.
    pub kind: Timed,
    /// By which clock.
    pub clock: Clock,
    /// Latency in nanoseconds (upper end of the bucket) and count; empty buckets are left out, ascending.
    pub buckets: Vec<(u64, u64)>,
}

impl Histogram {
    /// Whether it is of the times that users wait for.
    #[must_use]
    pub fn is_of_responses(&self) -> bool {
        self.kind == Timed::Transaction && self.clock == Clock::Response
    }
}

/// What a latency distribution is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timed {
    /// Whole events.
    Transaction,
    /// A kind of statement by the load's word for it, e.g. `point_select`.
    Statement(String),
}

impl Timed {
    /// The load's word for whole events.
    pub const TRANSACTION: &str = "transaction";

    /// By the load's word.
    #[must_use]
    pub fn named(word: &str) -> Timed {
        match word {
            Timed::TRANSACTION => Timed::Transaction,
            kind => Timed::Statement(kind.to_owned()),
        }
    }

    /// The word stored and shown.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Timed::Transaction => Timed::TRANSACTION,
            Timed::Statement(kind) => kind,
        }
    }
}

/// From when on a latency is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// From the actual start.
    Service,
    /// From the planned start.
    Response,
}

impl Clock {
    /// The word stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Clock::Service => "service",
            Clock::Response => "response",
        }
    }
}

impl FromStr for Clock {
    type Err = String;

    fn from_str(word: &str) -> Result<Clock, String> {
        [Clock::Service, Clock::Response]
            .into_iter()
            .find(|clock| clock.word() == word)
            .ok_or_else(|| format!("`{word}` is not a known latency clock"))
    }
}

impl Study {
    /// The disk under a configuration's server, if the study says.
    #[must_use]
    pub fn disk(&self, config: &str) -> Option<&Disk> {
        self.configs.iter().find(|one| one.name == config)?.rig.disk.as_ref()
    }

    /// What the rates of a configuration are divided by, of those that it stands for: the one value that costs, lives and
    /// figures beside a paper's are made with. Nothing where the study does not keep it.
    #[must_use]
    pub fn parallel_scale(&self, config: &str) -> Option<f64> {
        self.disk(config).map_or(Some(1.0), Disk::parallel_scale)
    }

    /// How many servers of a configuration are under a run's own load at once, whose throughput is that of all of them.
    #[must_use]
    pub fn servers(&self, config: &str) -> f64 {
        let config = self.configs.iter().find(|one| one.name == config);
        let servers = config.and_then(|config| config.rig.servers.as_ref());
        servers.map_or(1.0, |servers| f64::from(servers.own()))
    }

    /// Whether files were loaded in place of servers, under every workload.
    #[must_use]
    pub fn is_of_files(&self) -> bool {
        !self.workloads.is_empty() && self.workloads.iter().all(Workload::is_of_files)
    }
}

impl Workload {
    /// Returns true if files are loaded in place of a server.
    #[must_use]
    pub fn is_of_files(&self) -> bool {
        self.recipe == FILEIO
    }
}

/// Something that should be known of a whole study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// The study lies on the disk that is measured.
    OnMeasuredDisk,
}

impl Note {
    /// The word stored.
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

/// A whole study, read from the store.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Study {
    /// Title of the plan.
    pub title: String,
    /// The question that the plan asks, if it says so.
    pub question: Option<String>,
    /// What was run of the plan in place of the whole, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    /// What a paper printed, if the plan repeats one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<Paper>,
    /// What is needed to judge it beside its figures.
    pub judging: Judging,
    /// What servers, drives and power cost, if the plan says so.
    #[serde(skip)]
    pub prices: Option<Prices>,
    /// The plan as it was given.
    pub plan_toml: String,
    /// The machine and the programs: kernel, CPUs, memory, disk, versions.
    pub facts: BTreeMap<String, String>,
    /// What the machine could show when the study began, if it was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// What should be known of the whole study.
    pub notes: Vec<Note>,
    /// Configurations in the plan's order; colours follow this order.
    pub configs: Vec<Config>,
    /// Workloads in the plan's order.
    pub workloads: Vec<Workload>,
    /// Runs in the order of the plan's matrix: workload, threads, configuration, repeat.
    #[serde(rename = "runs")]
    pub trials: Vec<Trial>,
    /// Attempts at runs that the machine spoilt and that were repeated, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub discarded: Vec<Discarded>,
    /// Power cuts, by configuration and number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub power_cuts: Vec<PowerCut>,
}
