//! What the judge makes of the study: durability of its configurations, write paths of its runs, life and cost of its drives.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use crate::words;
use assay_judge::Judgement;
use assay_judge::durability::{self, Durability};
use assay_judge::power_cuts::PowerCuts;
use assay_judge::reconcile::{self, Pair};
use assay_judge::worth::cost::{self, Cost, Measured};
use assay_judge::worth::endurance::{self, Rated};
use assay_judge::worth::interval::Interval;
use assay_judge::write_path::{self, WritePath};
use assay_study::metrics::{Metric as Entry, metric};
use assay_study::prices::Prices;
use assay_study::{Config, Disk, Study, Trial};

use super::costed::{self, Uncosted};
use super::lives::{self, Lives};
use super::load::{Load, server_scale};
use super::servers::{self, Servers};
use super::stored;
use assay_judge::summary::Group;

/// All of it.
#[derive(Debug)]
pub(super) struct Judged {
    /// Of each configuration of the study, in their order.
    pub(super) durability: Vec<Durability>,
    /// What stands beside figures of each configuration.
    labels: Vec<String>,
    /// What differs between each two configurations.
    pub(super) factors: Vec<Pair>,
    /// Of each run that has one.
    pub(super) write_paths: Vec<WritePath>,
    /// Of each run whose writes were counted.
    pub(super) lives: Vec<Lives>,
    /// What each configuration's device is rated for, where that is known.
    pub(super) rated: BTreeMap<String, Rated>,
    /// Of each configuration on a model at a scale: what its capacity and its parallelism are divided by.
    pub(super) scales: BTreeMap<String, (f64, f64)>,
    /// Of each group whose throughput makes costs.
    pub(super) servers: Vec<Servers>,
    /// The same; nothing where nobody gave prices.
    pub(super) costs: Option<Vec<OfGroup>>,
    /// Groups whose throughput makes none.
    pub(super) uncosted: Vec<Uncosted>,
}

/// What one configuration costs under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct OfGroup {
    /// Name of the configuration.
    pub(super) config: String,
    /// Name of the workload.
    pub(super) workload: String,
    /// Connections.
    pub(super) threads: u32,
    /// What it costs, if everything is known that it takes.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) cost: Option<Cost>,
    /// Servers of the baseline that one of this replaces under the same load, by the judged ratio of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replaces: Option<Interval>,
    /// The configuration whose servers those are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replaced: Option<String>,
    /// What is taken for granted in it that nobody measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) assumed: Vec<String>,
    /// Keys that are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) missing: Vec<String>,
}

impl Judged {
    /// Of a study and what was judged of it, with prices that go before those of its plan. `variables` holds, for each
    /// configuration, the distinct sets of its servers' variables.
    ///
    /// # Errors
    /// Prices of a configuration that is none.
    pub(super) fn of(
        (study, groups, judgement): (&Study, &[Group<'_>], &Judgement),
        variables: &[Vec<BTreeMap<String, String>>],
        (prices, writes_per_day): (Option<&Prices>, Option<f64>),
    ) -> Result<Judged> {
        let prices = prices.or(study.prices.as_ref());
        if let Some(prices) = prices {
            prices.check_configs(study.configs.iter().map(|config| config.name.as_str()))?;
        }
        let prices = prices.map(|prices| prices.with_aa_runs(&study.judging.aa_runs));
        let prices = prices.as_ref();
        let configs = study.configs.iter().zip(variables);
        let durability: Vec<Durability> = configs
            .map(|(config, sets)| {
                let disk = config.rig.disk.as_ref();
                match study.is_of_files() {
                    true => durability::of_files(disk),
                    false => durability::of_config(&config.settings, sets.first(), disk),
                }
            })
            .collect();
        let own = |config: &str| {
            prices.cloned().unwrap_or_default().of_config(config, study.disk(config))
        };
        let rated = study.configs.iter().filter_map(|config| {
            Some((
                config.name.clone(),
                endurance::rated(config.rig.disk.as_ref(), &own(&config.name))?,
            ))
        });
        let lives = lives::of_runs(study, own, writes_per_day);
        let (costed, uncosted) = costed::split(study, groups);
        Ok(Judged {
            labels: labels(study, &durability),
            durability,
            factors: reconcile::of_pairs(study),
            write_paths: study.trials.iter().filter_map(write_path::of_trial).collect(),
            lives,
            rated: rated.collect(),
            scales: scales(study),
            servers: servers::of_groups(study, &costed, judgement),
            costs: prices.map(|prices| costs((study, &costed), judgement, prices)),
            uncosted,
        })
    }

    /// The label beside figures of the configuration at this place.
    pub(super) fn label(&self, config: usize) -> &str {
        self.labels.get(config).map_or("", String::as_str)
    }
}

/// What each configuration keeps by its settings and its disk; and what power cuts have shown of it, where some were made.
fn labels(study: &Study, durability: &[Durability]) -> Vec<String> {
    let all = PowerCuts::of_all(&study.power_cuts);
    let of_config = |(config, durability): (&Config, &Durability)| {
        let label = words::durability::label(durability);
        match all.iter().find(|one| one.config == config.name) {
            None => label,
            // A replica's cuts say nothing of the server by itself, which is what throughput is of.
            Some(one) if one.with_loss > 0 && one.replica.is_none() => {
                words::power_cuts::short(one)
            }
            Some(one) => format!("{label}; {}", words::power_cuts::short(one)),
        }
    };
    study.configs.iter().zip(durability).map(of_config).collect()
}

fn costs(
    (study, groups): (&Study, &[&Group<'_>]),
    judgement: &Judgement,
    prices: &Prices,
) -> Vec<OfGroup> {
    let of_group = |group: &&Group<'_>| {
        let load = Load::of(study, group)?;
        let disk = study.disk(load.config);
        let own = prices.of_config(load.config, disk);
        let drives = own.drives.unwrap_or(1.0);
        let as_run = disk.map_or(1.0, Disk::devices);
        // What several drives hold together hangs on how they are put together.
        let sold = disk.and_then(|disk| disk.user_bytes).filter(|_| drives == as_run);
        let measured = Measured {
            tps: load.tps(judgement)?,
            space_ratio: Interval::of_repeats(
                &group.done().filter_map(space_ratio).collect::<Vec<_>>(),
            )
            .filter(Interval::is_sound),
            scale: server_scale(study, load.config)?,
            capacity_bytes: own.capacity_bytes.or(sold),
        };
        let (cost, missing) = match cost::of(&measured, prices, &own) {
            Ok(cost) => (Some(cost), Vec::new()),
            Err(missing) => (None, missing),
        };
        let (replaced, replaces) = replaces(&load, judgement, study).unzip();
        Some(OfGroup {
            config: load.config.to_owned(),
            workload: load.workload.to_owned(),
            threads: load.threads,
            assumed: cost
                .iter()
                .filter(|_| drives != as_run)
                .filter_map(|_| of_several(drives))
                .collect(),
            cost,
            replaces,
            replaced,
            missing,
        })
    };
    groups.iter().filter_map(of_group).collect()
}

/// The configuration that it is judged against, and how many of that one's servers one of its own replaces.
fn replaces(load: &Load<'_>, judgement: &Judgement, study: &Study) -> Option<(String, Interval)> {
    let one = load.against(judgement, study)?;
    let replaces = cost::consolidation(one.ratio, one.scales);
    replaces.is_sound().then_some((one.baseline, replaces))
}

fn scales(study: &Study) -> BTreeMap<String, (f64, f64)> {
    let of = |config: &Config| {
        let model = config.rig.model()?;
        let scales = (model.capacity_scale, model.parallel_scale);
        (scales != (1.0, 1.0)).then(|| (config.name.clone(), scales))
    };
    study.configs.iter().filter_map(of).collect()
}

/// What is taken for granted where servers have several drives.
fn of_several(drives: f64) -> Option<String> {
    (drives > 1.0).then(|| {
        format!(
            "The cost includes {drives} drives per server, but the throughput is that of the one disk in the study (for a scaled model: the full device). That fits a mirror, or a disk that consists of all of them; if they share the load, a transaction costs less. Their total capacity is capacity_bytes, and unknown without it."
        )
    })
}

/// Bytes of data for each byte that they take. Of modelled flash, which holds what wore it in too, by what the database
/// wrote while it was measured; of other drives by their own ratio; files that are compressed by punching holes, by
/// what is allocated to them.
fn space_ratio(trial: &Trial) -> Option<f64> {
    let figure = |one: &Entry| trial.results.get(one.name).copied().filter(|value| *value > 0.0);
    let of_files = figure(metric!("space_file_bytes"))? / figure(metric!("space_allocated_bytes"))?;
    let of_drive = match stored::is_preconditioned(trial) {
        true => stored::stored_ratio(trial)?,
        false => figure(metric!("drive_compression_ratio")).unwrap_or(1.0),
    };
    Some(of_files * of_drive)
}

impl Judged {
    /// What prices were given too few of: a line for all configurations that lack the same keys.
    pub(super) fn lacking(&self) -> Vec<String> {
        let keys = |one: &OfGroup| (!one.missing.is_empty()).then(|| one.missing.join(", "));
        let lines = self.by_configs(keys).into_iter().map(|(keys, configs)| {
            format!("No costs of {}: give {keys}; see docs/cost.md.", configs.join("; "))
        });
        lines.collect()
    }

    /// What is taken for granted in costs: a line for all configurations of which the same is.
    pub(super) fn assumed(&self) -> Vec<String> {
        let assumed = |one: &OfGroup| (!one.assumed.is_empty()).then(|| one.assumed.join(" "));
        let lines = self.by_configs(assumed).into_iter();
        lines.map(|(assumed, configs)| format!("{}: {assumed}", configs.join("; "))).collect()
    }

    /// Configurations of which the same is told, each once.
    fn by_configs(&self, told: impl Fn(&OfGroup) -> Option<String>) -> BTreeMap<String, Vec<&str>> {
        let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for one in self.costs.iter().flatten() {
            let Some(told) = told(one) else { continue };
            let configs = found.entry(told).or_default();
            if !configs.contains(&one.config.as_str()) {
                configs.push(&one.config);
            }
        }
        found
    }
}
