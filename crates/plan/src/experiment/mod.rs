//! The experiment: what will be done, checked and resolved, without a question left.
//!
//! Guarantees: an experiment exists only of a document that passed every check that the document
//! alone allows, and nothing changes the document afterwards.

mod partners;
mod trials;
mod variant;
mod workload;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use assay_base::{HostSpec, one_line};
use assay_load::{RidesOut, Schema, Warmup};
use assay_study::prices::Prices;
use assay_study::{Judging, Paper, Sessions};
use indexmap::IndexMap;

use super::check;
use super::document::{PhaseSpec, Placement, Plan, PowerCutSpec};
use super::search::PlannedSearch;
pub use partners::Partners;
pub use trials::PlannedTrial;
pub(crate) use trials::trials;
pub use variant::{Neighbour, Variant};
pub use workload::{PlannedLoad, PlannedWorkload};

/// A plan that was checked and resolved.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// The document, complete, from which another machine makes the same experiment.
    document: Plan,
    /// Title of the report.
    pub title: String,
    pub question: Option<String>,
    /// Seed of the runs' order and of everything that the load draws.
    pub seed: u64,
    /// Repeats of the runs that are repeated most.
    pub repeats_most: u32,
    /// Length of the measuring window; the longest with `events`.
    pub seconds: f64,
    /// Events after which a run ends before its time.
    pub events: Option<u64>,
    pub warmup: Warmup,
    /// The parts of the measuring window, in order; empty where it has none.
    pub phases: Vec<PhaseSpec>,
    /// The search that each run is; `None` where it is a single measurement.
    pub search: Option<PlannedSearch>,
    /// Events that the load tolerates, because the plan asks for them.
    pub tolerates: RidesOut,
    /// The directory on the disk to be measured; `None`: `work` in the study's directory.
    pub location: Option<PathBuf>,
    /// The server program of configurations that name none.
    pub server: Option<PathBuf>,
    /// The host that has rigs, server and monitor; `None`: this machine.
    pub server_host: Option<HostSpec>,
    /// The hosts that the load comes from, all at once; empty: this machine.
    pub load_hosts: Vec<HostSpec>,
    pub placement: Placement,
    /// Workloads by name, those included that only phases and neighbours use.
    pub workloads: IndexMap<String, PlannedWorkload>,
    /// The tables of each data profile, by its name; those of the plan where it has no data
    /// profiles.
    pub tables: Vec<(Option<String>, Schema)>,
    /// Workloads on data profiles, as they are run.
    pub loads: Vec<PlannedLoad>,
    /// Every configuration on every data profile that it is run on, configuration by configuration.
    pub variants: Vec<Variant>,
    /// The way in which results are judged.
    pub judging: Judging,
    /// Figures of a paper, to be compared with those measured.
    pub paper: Option<Paper>,
    pub prices: Option<Prices>,
    /// The way in which `assay powercut` cuts.
    pub power_cut: PowerCutSpec,
}

impl Experiment {
    /// Checks a complete document and resolves it.
    ///
    /// # Errors
    /// One line naming the key and what it should be.
    pub fn of(document: Plan) -> Result<Experiment> {
        check::check(&document)?;
        let variants = variant::all(&document)?;
        check::check_with_rigs(&document)?;
        let plan = document.clone();
        let warmup = match plan.warmup_until_steady {
            true => Warmup::Steady { cap_seconds: plan.warmup_seconds },
            false => Warmup::Seconds(plan.warmup_seconds),
        };
        Ok(Experiment {
            repeats_most: plan.compare_repeats.unwrap_or(plan.repeats.at_most),
            seconds: plan.seconds.unwrap_or_default(),
            warmup,
            search: plan.objective.as_ref().map(PlannedSearch::of).transpose()?,
            tolerates: plan.rides_out(),
            server_host: plan.server_host().cloned(),
            load_hosts: plan.load_hosts().into_iter().cloned().collect(),
            workloads: workload::all(&plan),
            tables: plan.tables(),
            loads: workload::loads(&plan),
            variants,
            judging: judging(&plan),
            document,
            title: plan.title,
            question: plan.question,
            seed: plan.seed,
            events: plan.events,
            phases: plan.phases,
            location: plan.location,
            server: plan.server,
            placement: plan.placement,
            paper: plan.paper,
            prices: plan.prices,
            power_cut: plan.power_cut.unwrap_or_default(),
        })
    }

    /// The document as another machine gets it, on which nothing is read or completed again.
    ///
    /// # Errors
    /// It cannot be written as TOML.
    pub fn to_be_sent(&self) -> Result<String> {
        toml::to_string(&self.document).context("cannot write the plan as TOML")
    }

    /// Makes the experiment of a document that was sent.
    ///
    /// # Errors
    /// The text is no such document.
    pub fn received(text: &str) -> Result<Experiment> {
        let document =
            toml::from_str(text).map_err(|error| anyhow::Error::msg(one_line(&error, text)))?;
        Experiment::of(document)
    }

    /// The runs that each of these is compared with.
    #[must_use]
    pub fn partners<'a>(&self, trials: &'a [PlannedTrial]) -> Partners<'a> {
        Partners::of(&self.document, trials)
    }

    /// Sessions of the study that is made.
    #[must_use]
    pub fn sessions(&self) -> &Sessions {
        &self.document.sessions
    }

    /// The most runs that may be repeated because the machine disturbed them.
    #[must_use]
    pub fn extra_runs(&self) -> usize {
        let of_all = || self.trials().len().div_ceil(4);
        self.document.extra_runs.map_or_else(of_all, |runs| runs as usize)
    }

    /// Length of the warm-up in seconds, at most.
    #[must_use]
    pub fn warmup_seconds(&self) -> f64 {
        match self.warmup {
            Warmup::Seconds(seconds) | Warmup::Steady { cap_seconds: seconds } => seconds,
        }
    }

    /// Whether anything happens to the server while it is loaded.
    #[must_use]
    pub fn has_happenings(&self) -> bool {
        self.document.has_happenings()
    }

    /// Whether any workload runs on a server.
    #[must_use]
    pub fn needs_server(&self) -> bool {
        self.document.needs_server()
    }

    /// Names of the configurations, in the plan's order.
    pub fn config_names(&self) -> impl Iterator<Item = &String> {
        self.document.configs.keys()
    }

    /// The configurations that the power is cut of: those that are no A/A runs.
    pub fn power_cut_configs(&self) -> impl Iterator<Item = &String> {
        self.document.power_cut_configs()
    }

    /// The first variant of a configuration.
    #[must_use]
    pub fn variant_of(&self, config: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.key.config == config)
    }

    /// Checks that the power can be cut of each of these configurations.
    ///
    /// # Errors
    /// One line: the configuration, and what to do.
    pub fn check_power_cuts(&self, names: &[String]) -> Result<()> {
        for name in names {
            let variant = self.variant_of(name).with_context(|| {
                let all = self.document.listed_configs();
                format!("no configuration is called `{name}`; the plan has {all}")
            })?;
            ensure!(
                variant.rig.disk().is_some_and(|disk| disk.powered().is_some()),
                "configuration `{name}`: power cuts need a rig of kind \"image\", or \"drive\" \
                with capacity; add such a configuration, or leave this one out with --config"
            );
            ensure!(
                variant.servers == 1,
                "configuration `{name}` has several servers; power cuts need a single one"
            );
        }
        Ok(())
    }
}

fn judging(plan: &Plan) -> Judging {
    let aa_runs: BTreeMap<String, String> = plan
        .configs
        .iter()
        .filter_map(|(name, config)| Some((name.clone(), config.aa_of.clone()?)))
        .collect();
    Judging {
        baseline: plan.baseline().map(str::to_owned),
        margin_percent: Some(plan.margin_percent),
        aa_runs,
        compare: plan.compare.clone(),
        looks: plan.repeats.looks.clone(),
        design: plan.design,
        factors: plan.planned_factors(),
        percentiles_by_statement: plan.percentiles_by_statement.clone(),
    }
}
