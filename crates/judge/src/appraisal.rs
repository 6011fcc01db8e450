//! The judge's findings in addition to verdicts: crash safety of configurations, write paths of
//! runs, endurance and cost of drives.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::Judgement;
use crate::durability::{self, Durability};
use crate::reconcile::{self, FactorPair};
use crate::summary::RepeatGroup;
use crate::worth::endurance::{self, Rated};
use crate::worth::{CostOfLoad, DriveLife, ServersForLoad, Uncosted};
use crate::worth::{costed, drive_life, load_cost, servers};
use crate::write_path::{self, WritePath};
use assay_study::prices::{Each, Prices};
use assay_study::{Config, Study};

/// Values that follow from a study and its verdicts.
#[derive(Debug)]
pub struct Appraisal {
    /// One for each configuration of the study, in the same order.
    pub durability: Vec<Durability>,
    /// The settings that each two configurations differ in.
    pub factors: Vec<FactorPair>,
    /// One for each run whose layers were counted.
    pub write_paths: Vec<WritePath>,
    /// One for each run whose writes were counted.
    pub endurance: Vec<DriveLife>,
    /// Ratings of devices by configuration, where known.
    pub rated: BTreeMap<String, Rated>,
    /// Divisors of capacity and parallelism for each configuration on a scaled model.
    pub scales: BTreeMap<String, (f64, f64)>,
    /// One for each group whose throughput can be priced.
    pub servers: Vec<ServersForLoad>,
    /// Costs of the same groups; `None` without prices.
    pub costs: Option<Vec<CostOfLoad>>,
    /// Groups whose throughput cannot be priced.
    pub uncosted: Vec<Uncosted>,
}

/// Facts from outside the study.
#[derive(Debug, Default, Clone, Copy)]
pub struct Supplied<'a> {
    /// Prices that replace those of the study's plan.
    pub prices: Option<&'a Prices>,
    /// Bytes that the baseline writes to its device in a day.
    pub writes_per_day: Option<f64>,
}

impl Appraisal {
    /// Appraises a judged study. `variables` holds, for each configuration, the distinct sets of
    /// its servers' variables.
    ///
    /// # Errors
    /// Fails if prices name an unknown configuration.
    pub fn of(
        (study, groups, judgement): (&Study, &[RepeatGroup<'_>], &Judgement),
        variables: &[Vec<BTreeMap<String, String>>],
        supplied: Supplied<'_>,
    ) -> Result<Appraisal> {
        let prices = prices(study, supplied.prices)?;
        let own = |config: &str| -> Each {
            prices.clone().unwrap_or_default().of_config(config, study.disk(config))
        };
        let (costed, uncosted) = costed::split(study, groups);
        Ok(Appraisal {
            durability: durability(study, variables),
            factors: reconcile::of_pairs(study),
            write_paths: study.trials.iter().filter_map(write_path::of_trial).collect(),
            endurance: drive_life::of_runs(study, own, supplied.writes_per_day),
            rated: rated(study, own),
            scales: scales(study),
            servers: servers::of_groups(study, &costed, judgement),
            costs: prices
                .as_ref()
                .map(|prices| load_cost::costs((study, &costed), judgement, prices)),
            uncosted,
        })
    }
}

fn prices(study: &Study, supplied: Option<&Prices>) -> Result<Option<Prices>> {
    let Some(prices) = supplied.or(study.prices.as_ref()) else { return Ok(None) };
    prices.check_configs(study.configs.iter().map(|config| config.name.as_str()))?;
    Ok(Some(prices.with_aa_runs(&study.judging.aa_runs)))
}

fn durability(study: &Study, variables: &[Vec<BTreeMap<String, String>>]) -> Vec<Durability> {
    let of_config = |(config, sets): (&Config, &Vec<BTreeMap<String, String>>)| {
        let disk = config.rig.disk.as_ref();
        match study.is_of_files() {
            true => durability::of_files(disk),
            false => durability::of_config(&config.settings, sets.first(), disk),
        }
    };
    study.configs.iter().zip(variables).map(of_config).collect()
}

fn rated(study: &Study, own: impl Fn(&str) -> Each) -> BTreeMap<String, Rated> {
    let of_config = |config: &Config| {
        let rated = endurance::rated(config.rig.disk.as_ref(), &own(&config.name))?;
        Some((config.name.clone(), rated))
    };
    study.configs.iter().filter_map(of_config).collect()
}

fn scales(study: &Study) -> BTreeMap<String, (f64, f64)> {
    let of_config = |config: &Config| {
        let model = config.rig.model()?;
        let scales = (model.capacity_scale, model.parallel_scale);
        (scales != (1.0, 1.0)).then(|| (config.name.clone(), scales))
    };
    study.configs.iter().filter_map(of_config).collect()
}
