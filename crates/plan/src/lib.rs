//! The plan: what will be run, read from TOML, complete and checked before anything is touched.
//!
//! Only this stage and the checks of a run may say "you cannot"; what comes after may fail but not
//! refuse. Every default is a field's default here, so a plan written out again shows them all.

mod changes;
mod check;
mod compare;
mod cpu_list;
mod data_profile;
mod endpoint;
mod existing_server;
mod hosts;
mod least;
mod media;
mod model;
mod noise;
mod objective;
mod overlay;
mod paper;
mod phases;
mod pool;
mod power_cut;
mod quick;
mod rates;
mod rig;
mod runs;
mod servers;
pub mod settings;
mod shipped;
mod stores;
mod thread_list;
mod trials;
mod workload_spec;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use assay_load::{Arrivals, Pace, Schema};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use assay_base::{HostSpec, Value, one_line, text_file};
use assay_study::prices::Prices;
use assay_study::{AskedPair, MARGIN_PERCENT, Overlay, Paper};
pub use changes::{Change, changes};
pub use cpu_list::CpuList;
pub use data_profile::{DataProfile, Load, Variant, VariantKey};
pub use endpoint::{EndpointSpec, Restore};
pub use least::LeastMachine;
pub use media::{MediaSpec, Tears};
pub use model::ModelSpec;
pub use noise::NoiseFloor;
pub use objective::ObjectiveSpec;
pub use overlay::{OVERLAYS, overlay_name, shipped_overlays};
pub use phases::PhaseSpec;
pub use pool::{PoolPlace, PoolSpec, PrivateCluster};
pub use power_cut::PowerCutSpec;
pub use quick::Form;
pub use rig::{FileSystem, RigKind, RigSpec};
pub use runs::Runs;
pub use servers::NeighbourSpec;
pub use shipped::shipped;
pub use trials::{PlannedTrial, trials};
pub use workload_spec::WorkloadSpec;

/// A whole plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What the report is called.
    pub title: String,
    /// The question that the run is to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Seed of the runs' order and of everything that the load draws.
    #[serde(default = "one")]
    pub seed: u64,
    /// How often each run is repeated.
    #[serde(default = "one_repeat")]
    pub repeats: u32,
    /// How many runs more may be made in place of runs that the machine spoilt. Default: a quarter of all runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_runs: Option<u32>,
    /// The configuration that others are measured by. Default: the one that the first comparison of `paper` measures
    /// by, else the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Differences of so many percent or less do not matter.
    #[serde(default = "margin_percent", skip_serializing_if = "is_default_margin")]
    pub margin_percent: f64,
    /// Which configuration is run twice, under two names, to see what nothing but chance makes of it: the baseline
    /// (`true`), none (`false`), or the one named.
    #[serde(default, skip_serializing_if = "is_default_floor")]
    pub noise_floor: NoiseFloor,
    /// The thread counts that it is run twice with; empty: the lowest and the highest.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "thread_list::deserialize"
    )]
    pub noise_floor_threads: Vec<u32>,
    /// Connections to sweep over; of fileio, threads.
    #[serde(deserialize_with = "thread_list::deserialize")]
    pub threads: Vec<u32>,
    /// Length of the measuring window, at most if `events` is given too; may be left out where phases say it.
    #[serde(default = "absent", deserialize_with = "phases::given")]
    pub seconds: f64,
    /// What the measuring window is made of, in order, where that is more than one thing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseSpec>,
    /// Events after which a run ends before its time, counted from the start of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
    /// Load before the measuring window; the cap of it with `warmup_until_steady`.
    #[serde(default)]
    pub warmup_seconds: f64,
    /// End the warm-up as soon as throughput has settled.
    #[serde(default)]
    pub warmup_until_steady: bool,
    /// Events per second over all threads, whether or not the server keeps up; absent: as fast as it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Rates that each workload is run at, in the place of one `rate`; gone when workloads for each were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<f64>,
    /// Events per second of single workloads, by name, in the place of `rate`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workload_rates: BTreeMap<String, f64>,
    /// The latency to keep: each run is then a search for the highest rate that keeps it, whose runs take `seconds` each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<ObjectiveSpec>,
    /// How events of a fixed rate are spaced.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// The directory on the disk to be measured: rigs and data live in it. Not used by configurations on a device, but for
    /// the data that is copied onto them. Default: `work` in the study's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<PathBuf>,
    /// The server program, or a directory that holds one. Default: the one found, else the one downloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<PathBuf>,
    /// Other machines that have a part in the study, by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub hosts: IndexMap<String, HostSpec>,
    /// The host that has rigs, server and monitor. Default: this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_host: Option<String>,
    /// The hosts that the load comes from, all at once. Default: this machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_hosts: Vec<String>,
    /// Which CPUs the server and the load may use, equal for all configurations.
    #[serde(default)]
    pub placement: Placement,
    /// The tables.
    #[serde(default)]
    pub data: Schema,
    /// What the workloads are run over, by name, where that is more than one thing.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub data_profiles: IndexMap<String, DataProfile>,
    /// Server variables for all configurations.
    #[serde(default)]
    pub settings: BTreeMap<String, Value>,
    /// The rig of configurations that name none.
    #[serde(default)]
    pub rig: RigSpec,
    /// What is run, by name.
    pub workloads: IndexMap<String, WorkloadSpec>,
    /// What is compared, by name.
    pub configs: IndexMap<String, Config>,
    /// The pairs of configurations that the plan asks about, which lead the report. Default: every configuration
    /// against the baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compare: Vec<AskedPair>,
    /// How often the runs of those pairs are repeated, if more often than others: they are what the plan asks about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare_repeats: Option<u32>,
    /// Kinds of statement, such as `index_update`, whose percentiles are judged beside those of transactions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles_by_statement: Vec<String>,
    /// What a paper printed, to stand beside what is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<Paper>,
    /// What servers, drives and power cost, for the report; they change no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// The least machine that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_machine: Option<LeastMachine>,
    /// How `assay powercut` goes about it; runs take no notice of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_cut: Option<PowerCutSpec>,
    /// What `--overlay` merged into its text; runs take no notice of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlays: Vec<Overlay>,
    /// What is merged into it for its quick profile; gone when a form has been read.
    #[serde(default, skip_serializing)]
    quick: Option<toml::Table>,
}

/// Which CPUs may be used; empty means all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// CPUs of the server, e.g. `"0-3"`.
    #[serde(default)]
    pub server_cpus: CpuList,
    /// CPUs of the load generator and the monitor.
    #[serde(default)]
    pub load_cpus: CpuList,
    /// CPUs of the process that serves a drive.
    #[serde(default, skip_serializing_if = "CpuList::is_empty")]
    pub drive_cpus: CpuList,
}

/// One configuration: a rig and the server's settings on it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The rig, if not the plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rig: Option<RigSpec>,
    /// The server, if not the plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<PathBuf>,
    /// Server variables of this configuration, over those of the plan.
    #[serde(default)]
    pub settings: BTreeMap<String, Value>,
    /// Servers that are loaded at once, each on a disk of its own, or on an image of its own in one pool. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<u32>,
    /// What the last of several servers is loaded with in place of the run's workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<NeighbourSpec>,
    /// InnoDB page compression of the tables: `zlib` or `lz4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<PageCompression>,
    /// InnoDB compressed row format with this key block size in KiB (1, 2, 4, 8 or 16).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_block_size: Option<u32>,
    /// Of the plan's thread counts those that it is run with; empty: all.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "thread_list::deserialize"
    )]
    pub threads: Vec<u32>,
    /// The configuration that this one is once more, under another name; of its own keys it has `threads` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aa_of: Option<String>,
}

impl Config {
    /// Tables with the configuration's compression.
    #[must_use]
    pub fn compressed(&self, mut schema: Schema) -> Schema {
        let mut options = vec![schema.create_table_options.clone()];
        options.extend(self.compression.map(|codec| codec.table_option().to_owned()));
        options.extend(
            self.key_block_size.map(|kib| format!("ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE={kib}")),
        );
        options.retain(|option| !option.is_empty());
        schema.create_table_options = options.join(" ");
        schema
    }
}

/// Codec of InnoDB's page compression (MySQL 9 manual, "InnoDB Page Compression").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PageCompression {
    /// `COMPRESSION='zlib'`.
    Zlib,
    /// `COMPRESSION='lz4'`.
    Lz4,
}

impl PageCompression {
    /// The codec's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PageCompression::Zlib => "zlib",
            PageCompression::Lz4 => "lz4",
        }
    }

    /// What `CREATE TABLE` says for it, in MySQL's words.
    #[must_use]
    pub fn table_option(self) -> &'static str {
        match self {
            PageCompression::Zlib => "COMPRESSION='zlib'",
            PageCompression::Lz4 => "COMPRESSION='lz4'",
        }
    }
}

/// A plan that was read, and what is kept of it for those who read its results.
#[derive(Debug)]
pub struct ReadPlan {
    /// The form that was asked for.
    pub plan: Plan,
    /// The text of all forms.
    pub text: String,
    /// What the quick profile does in place of the full one, if it is that.
    pub form: Option<String>,
}

/// Both forms of a plan's text.
struct Forms {
    full: Plan,
    quick: Option<Plan>,
}

impl Forms {
    fn parse(text: &str) -> Result<Forms> {
        let mut full: Plan =
            toml::from_str(text).map_err(|error| anyhow::Error::msg(one_line(&error, text)))?;
        let quick = full.quick.take();
        full.fill_in_and_check()?;
        let quick = quick.map(|quick| quick::merged(text, quick)).transpose()?;
        Ok(Forms { full, quick })
    }

    fn choose(self, form: Form, text: String) -> Result<ReadPlan> {
        match (form, self.quick) {
            (Form::Full, _) => Ok(ReadPlan { plan: self.full, text, form: None }),
            (Form::Quick, Some(quick)) => {
                let form = Some(quick::told(&self.full, &quick));
                Ok(ReadPlan { plan: quick, text, form })
            }
            (Form::Quick, None) => {
                bail!("the plan has no quick profile; run it without --quick, or add [quick] to it")
            }
        }
    }
}

impl Plan {
    /// The full form of a text, with the other checked.
    ///
    /// # Errors
    /// One line: what no plan may say, and where.
    pub fn parse(text: &str) -> Result<Plan> {
        Ok(Forms::parse(text)?.full)
    }

    /// Reads and checks all forms of a plan, of the file `path`, or of one that comes with Assay and has that name;
    /// gives the one that is asked for.
    ///
    /// # Errors
    /// One line: the file, the line in it, what is wrong and the nearest thing that would be right.
    pub fn read(path: &Path, form: Form) -> Result<ReadPlan> {
        Plan::read_with(path, form, &[])
    }

    /// As [`Plan::read`], with overlays merged over all forms: files, or those that come with Assay, by their names.
    ///
    /// # Errors
    /// As [`Plan::read`]; or one line about an overlay.
    pub fn read_with(path: &Path, form: Form, overlays: &[PathBuf]) -> Result<ReadPlan> {
        let text = overlay::merged(text_of(path)?, overlays)?;
        let read = Forms::parse(&text).and_then(|forms| forms.choose(form, text));
        read.with_context(|| path.display().to_string())
    }

    /// The plan of `assay demo`, the quick profile of the one of that name whatever lies around here.
    ///
    /// # Errors
    /// None; it comes with Assay.
    pub fn demo() -> Result<ReadPlan> {
        let text = shipped::text("demo").context("no plan is called `demo`")?;
        Forms::parse(text)?.choose(Form::Quick, text.to_owned())
    }

    /// The quick profile of the plan that `assay demo` runs where no drive can be attached.
    ///
    /// # Errors
    /// None; it comes with Assay.
    pub fn demo_in_a_directory() -> Result<ReadPlan> {
        let text = shipped::text("doublewrite").context("no plan is called `doublewrite`")?;
        Forms::parse(text)?.choose(Form::Quick, text.to_owned())
    }

    /// Puts in what the plan names, and checks it.
    fn fill_in_and_check(&mut self) -> Result<()> {
        phases::complete(self)?;
        phases::check(self)?;
        objective::check(self)?;
        check::check_counts(self)?;
        rates::expand(self)?;
        paper::fill_in(self)?;
        self.complete_aa_runs()?;
        check::check(self)?;
        existing_server::check(self)?;
        stores::check(self)?;
        servers::check(self)?;
        power_cut::check(self)?;
        self.least_machine.as_ref().map_or(Ok(()), LeastMachine::check)?;
        hosts::check(self)
    }

    /// The plan as another machine gets it, on which nothing is read or put in again.
    ///
    /// # Errors
    /// It cannot be written as TOML.
    pub fn to_be_sent(&self) -> Result<String> {
        toml::to_string(self).context("cannot write the plan as TOML")
    }

    /// A plan that was sent.
    ///
    /// # Errors
    /// It is none.
    pub fn received(text: &str) -> Result<Plan> {
        toml::from_str(text).map_err(|error| anyhow::Error::msg(one_line(&error, text)))
    }

    /// Events per second that `workload` is run with; nothing in closed loop.
    #[must_use]
    pub fn rate_of(&self, workload: &str) -> Option<f64> {
        self.workload_rates.get(workload).copied().or(self.rate)
    }

    /// How events of `workload` are started.
    #[must_use]
    pub fn pace_of(&self, workload: &str) -> Pace {
        match self.rate_of(workload) {
            Some(per_second) => Pace::Rate { per_second, arrivals: self.arrivals },
            None => Pace::Closed,
        }
    }

    /// How many servers of a configuration are loaded at once.
    #[must_use]
    pub fn servers_of(&self, config: &str) -> u32 {
        self.configs.get(config).and_then(|config| config.servers).unwrap_or(1)
    }

    /// The configuration's rig, its own or the plan's.
    #[must_use]
    pub fn rig_of<'a>(&'a self, config: &'a Config) -> &'a RigSpec {
        config.rig.as_ref().unwrap_or(&self.rig)
    }

    /// Whether any workload runs on a server.
    #[must_use]
    pub fn needs_server(&self) -> bool {
        self.workloads.values().any(|workload| workload.server().is_some())
    }

    /// Whether a server of our own is needed: a workload runs on one, and a configuration is none that somebody else runs.
    #[must_use]
    pub fn needs_own_server(&self) -> bool {
        self.needs_server()
            && self.configs.values().any(|config| self.rig_of(config).kind != RigKind::Endpoint)
    }

    /// Every server variable of a configuration, the plan's under its own.
    #[must_use]
    pub fn settings_of(&self, config: &Config) -> BTreeMap<String, String> {
        let both = self.settings.iter().chain(&config.settings);
        both.map(|(name, value)| (name.replace('-', "_"), value.0.clone())).collect()
    }
}

fn text_of(path: &Path) -> Result<String> {
    let what = || format!("cannot read the plan {}", path.display());
    // A study is called after its plan unless somebody says otherwise: its directory hides no plan.
    let metadata = path.metadata();
    if !metadata.as_ref().is_ok_and(std::fs::Metadata::is_file)
        && let Some(text) = path.to_str().and_then(shipped::text)
    {
        return Ok(text.to_owned());
    }
    if let (Err(error), Some(named)) = (metadata, path.to_str()) {
        if let Some(line) = shipped::no_such_plan(named) {
            bail!(line);
        }
        return Err(error).with_context(what);
    }
    text_file::read(path, "plan")
}

impl Plan {
    /// Whether a workload is the mix of phases, or the load of a neighbour: it does not run by itself.
    #[must_use]
    pub fn is_mix(&self, workload: &str) -> bool {
        let in_phases = self.phases.iter().filter_map(|phase| phase.workload.as_ref());
        let of_neighbours =
            self.configs.values().filter_map(|config| Some(&config.neighbour.as_ref()?.workload));
        in_phases.chain(of_neighbours).any(|name| name == workload)
    }

    /// How many of so many runs may be repeated because the machine spoilt them.
    #[must_use]
    pub fn extra_runs(&self, trials: usize) -> usize {
        self.extra_runs.map_or(trials.div_ceil(4), |runs| runs as usize)
    }
}

fn margin_percent() -> f64 {
    MARGIN_PERCENT
}

#[allow(clippy::float_cmp, reason = "the default is what it is")]
fn is_default_margin(margin: &f64) -> bool {
    *margin == MARGIN_PERCENT
}

fn is_default_floor(floor: &NoiseFloor) -> bool {
    *floor == NoiseFloor::default()
}

/// In the place of `seconds` that the plan does not give.
fn absent() -> f64 {
    f64::NAN
}

/// What a plan is told that has neither seconds nor phases.
const MISSING_SECONDS: &str = "the key seconds is missing; add it";

fn one() -> u64 {
    1
}

fn one_repeat() -> u32 {
    1
}

#[cfg(test)]
impl Plan {
    /// The quick profile of a text.
    fn parse_quick(text: &str) -> Result<Plan> {
        Ok(Forms::parse(text)?.choose(Form::Quick, String::new())?.plan)
    }
}

#[cfg(test)]
mod tests;
