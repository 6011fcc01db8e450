//! The plan document: the content of the TOML, key by key.
//!
//! Overlays, quick profiles, rates, papers and command lines change the document; nothing behind
//! [`Experiment`](super::Experiment) reads it. Every default is a field's default here, so that a
//! document written out again shows them all.

mod cpu_list;
mod data_profile;
mod endpoint;
mod factor;
mod least;
mod media;
mod model;
mod neighbour;
mod noise;
mod objective;
mod phases;
mod pool;
mod power_cut;
mod repeats;
mod rig;
mod thread_list;
mod workload_spec;

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_base::{HostSpec, SettingValue};
use assay_load::{Arrivals, Pace, Schema};
use assay_study::prices::Prices;
use assay_study::{AskedPair, Design, MARGIN_PERCENT, Overlay, Paper, Sessions};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

pub use cpu_list::CpuList;
pub use data_profile::{DataProfile, LoadName, VariantKey, VariantSpec};
pub use endpoint::{EndpointSpec, Restore};
pub use factor::FactorSpec;
pub(crate) use factor::NAME_CHARS_MOST;
pub use least::LeastMachine;
pub use media::{MediaSpec, Tears};
pub use model::ModelSpec;
pub use neighbour::NeighbourSpec;
pub use noise::NoiseFloorSpec;
pub use objective::ObjectiveSpec;
pub use phases::PhaseSpec;
pub use pool::PoolSpec;
pub use power_cut::PowerCutSpec;
pub(crate) use power_cut::REPLICA_DELAY_MS;
pub use repeats::RepeatsSpec;
pub use rig::{FileSystemKind, RigKind, RigSpec};
pub use workload_spec::WorkloadSpec;

/// A plan document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Title of the report.
    pub title: String,
    /// The question that the run is to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Seed of the runs' order and of everything that the load draws.
    #[serde(default = "one")]
    pub seed: u64,
    /// How often each run is repeated, and after how many repeats the study may end.
    #[serde(default = "one_repeat")]
    pub repeats: RepeatsSpec,
    /// How the runs that are compared lie in time.
    #[serde(default, skip_serializing_if = "Design::is_default")]
    pub design: Design,
    /// Sessions of the study that is made, which a plan does not name.
    #[serde(default, skip_serializing_if = "Sessions::is_default")]
    pub sessions: Sessions,
    /// The most runs that replace those which the machine disturbed. Default: a quarter of all
    /// runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_runs: Option<u32>,
    /// The configuration that others are compared with. Default: the one that the first comparison
    /// of `paper` compares with, else the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Differences of at most this many percent do not matter.
    #[serde(default = "margin_percent", skip_serializing_if = "is_default_margin")]
    pub margin_percent: f64,
    /// The configuration that runs twice, under two names, to measure the noise: the baseline
    /// (`true`), none (`false`), or the one named.
    #[serde(default, skip_serializing_if = "is_default_floor")]
    pub noise_floor: NoiseFloorSpec,
    /// Thread counts of the second run; empty: the lowest and the highest.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "thread_list::deserialize"
    )]
    pub noise_floor_threads: Vec<u32>,
    /// Connections to sweep over; of fileio, threads.
    #[serde(deserialize_with = "thread_list::deserialize")]
    pub threads: Vec<u32>,
    /// Length of the measuring window, its maximum together with `events`; follows from phases if
    /// it is absent.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "phases::deserialize_seconds"
    )]
    pub seconds: Option<f64>,
    /// Parts of the measuring window, in order.
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
    /// Events per second over all threads, whether or not the server keeps up; absent: closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Rates that each workload is run at, in the place of `rate`; empty in a complete document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<f64>,
    /// Events per second of single workloads, by name, in the place of `rate`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workload_rates: BTreeMap<String, f64>,
    /// The latency to keep: each run is then a search for the rate at which 95 % of windows of
    /// `seconds` keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<ObjectiveSpec>,
    /// How events of a fixed rate are spaced.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// The directory on the disk to be measured, for rigs and data. Configurations on a device use
    /// it only for the data that is copied onto them. Default: `work` in the study's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<PathBuf>,
    /// The server program, or a directory that holds one. Default: the one found, else the one
    /// downloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<PathBuf>,
    /// Other machines that have a part in the study, by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub hosts: IndexMap<String, HostSpec>,
    /// The host that has rigs, server and monitor. Default: this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_host: Option<String>,
    /// Hosts that the load comes from, all at once; empty if it comes from this machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_hosts: Vec<String>,
    /// Which CPUs the server and the load may use, equal for all configurations.
    #[serde(default)]
    pub placement: Placement,
    /// The tables.
    #[serde(default)]
    pub data: Schema,
    /// Tables and fills that the workloads are run over, by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub data_profiles: IndexMap<String, DataProfile>,
    /// Server variables for all configurations.
    #[serde(default)]
    pub settings: BTreeMap<String, SettingValue>,
    /// The rig of configurations that name none.
    #[serde(default)]
    pub rig: RigSpec,
    /// Workloads by name.
    pub workloads: IndexMap<String, WorkloadSpec>,
    /// Factors by name, the full cross of which makes configurations; the first levels are the
    /// baseline's.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub factors: IndexMap<String, FactorSpec>,
    /// Configurations by name; in a complete document those of the factors, too.
    #[serde(default)]
    pub configs: IndexMap<String, ConfigSpec>,
    /// Pairs of configurations that the plan compares, which lead the report. Default: every
    /// configuration against the baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compare: Vec<AskedPair>,
    /// Repeats of the runs of those pairs, if more than of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare_repeats: Option<u32>,
    /// Kinds of statement, such as `index_update`, whose percentiles are judged in addition to
    /// those of transactions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles_by_statement: Vec<String>,
    /// Figures that a paper printed, to be compared with the measured ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<Paper>,
    /// Prices of servers, drives and power, for the report; they change no run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// The least machine that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_machine: Option<LeastMachine>,
    /// Keys of `assay powercut`; runs ignore them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_cut: Option<PowerCutSpec>,
    /// Overlays that `--overlay` merged into the text; runs ignore them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlays: Vec<Overlay>,
    /// Keys of the quick profile, merged over the others; `None` once a form has been read.
    #[serde(default, skip_serializing)]
    pub(crate) quick: Option<toml::Table>,
}

/// CPUs of each part of a run; an empty list means all.
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

/// A configuration: a rig and the server's settings on it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigSpec {
    /// Default: the plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rig: Option<RigSpec>,
    /// Default: the plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<PathBuf>,
    /// Server variables of this configuration, over those of the plan.
    #[serde(default)]
    pub settings: BTreeMap<String, SettingValue>,
    /// Servers that are loaded at once, each on a disk of its own, or on an image of its own in one
    /// pool. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<u32>,
    /// Load of the last of several servers, in place of the run's workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<NeighbourSpec>,
    /// InnoDB page compression of the tables: `zlib` or `lz4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<PageCompression>,
    /// InnoDB compressed row format with this key block size in KiB (1, 2, 4, 8 or 16).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_block_size: Option<u32>,
    /// Subset of the plan's thread counts; empty: all.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "thread_list::deserialize"
    )]
    pub threads: Vec<u32>,
    /// The configuration that this one repeats under another name; the only other key is then
    /// `threads`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aa_of: Option<String>,
}

impl ConfigSpec {
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
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PageCompression::Zlib => "zlib",
            PageCompression::Lz4 => "lz4",
        }
    }

    /// Option of `CREATE TABLE`, in MySQL's words.
    #[must_use]
    pub fn table_option(self) -> &'static str {
        match self {
            PageCompression::Zlib => "COMPRESSION='zlib'",
            PageCompression::Lz4 => "COMPRESSION='lz4'",
        }
    }
}

impl Plan {
    /// Events per second that `workload` is run with; nothing in closed loop.
    #[must_use]
    pub fn rate_of(&self, workload: &str) -> Option<f64> {
        self.workload_rates.get(workload).copied().or(self.rate)
    }

    /// Pace of the events of `workload`.
    #[must_use]
    pub fn pace_of(&self, workload: &str) -> Pace {
        match self.rate_of(workload) {
            Some(per_second) => Pace::Rate { per_second, arrivals: self.arrivals },
            None => Pace::Closed,
        }
    }

    /// Servers of a configuration that are loaded at once.
    #[must_use]
    pub fn servers_of(&self, config: &str) -> u32 {
        self.configs.get(config).and_then(|config| config.servers).unwrap_or(1)
    }

    /// The configuration's rig, its own or the plan's.
    #[must_use]
    pub fn rig_of<'a>(&'a self, config: &'a ConfigSpec) -> &'a RigSpec {
        config.rig.as_ref().unwrap_or(&self.rig)
    }

    /// Returns true if any workload runs on a server.
    #[must_use]
    pub fn needs_server(&self) -> bool {
        self.workloads.values().any(|workload| workload.server().is_some())
    }

    /// Returns true if a workload needs a server of our own: a configuration has no endpoint.
    #[must_use]
    pub fn needs_own_server(&self) -> bool {
        self.needs_server()
            && self.configs.values().any(|config| self.rig_of(config).kind != RigKind::Endpoint)
    }

    /// Server variables of a configuration, over those of the plan.
    #[must_use]
    pub fn settings_of(&self, config: &ConfigSpec) -> BTreeMap<String, String> {
        let both = self.settings.iter().chain(&config.settings);
        both.map(|(name, value)| (name.replace('-', "_"), value.0.clone())).collect()
    }

    /// The host that has rigs, server and monitor, where it is not this machine.
    #[must_use]
    pub fn server_host(&self) -> Option<&HostSpec> {
        self.hosts.get(self.server_host.as_ref()?)
    }

    /// Hosts that the load comes from, all at once; empty if it comes from this machine.
    #[must_use]
    pub fn load_hosts(&self) -> Vec<&HostSpec> {
        self.load_hosts.iter().filter_map(|name| self.hosts.get(name)).collect()
    }

    /// Returns true if server and load run on different machines.
    #[must_use]
    pub fn is_load_apart(&self) -> bool {
        self.server_host.is_some() || !self.load_hosts.is_empty()
    }

    /// Names of the hosts that have a part in the study.
    pub(crate) fn used_hosts(&self) -> impl Iterator<Item = &String> {
        self.server_host.iter().chain(&self.load_hosts)
    }
}

fn margin_percent() -> f64 {
    MARGIN_PERCENT
}

#[allow(clippy::float_cmp, reason = "the default is what it is")]
fn is_default_margin(margin: &f64) -> bool {
    *margin == MARGIN_PERCENT
}

fn is_default_floor(floor: &NoiseFloorSpec) -> bool {
    *floor == NoiseFloorSpec::default()
}

fn one() -> u64 {
    1
}

fn one_repeat() -> RepeatsSpec {
    RepeatsSpec::from(1)
}
