//! Differences between the configurations, and what is equal: rigs, settings, circumstances and
//! server variables.
//!
//! A variable or a circumstance counts for a configuration only if all of the configuration's runs
//! agree on it, so process numbers, paths and identifiers that change with every start are no
//! differences between configurations.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::words;
use assay_study::switches::canonical;
use assay_study::{Config, Study, Warning, WorkloadRecord};

/// Prefix of a run's facts about its rig, which the rig's layers say in other words.
const OF_RIG: &str = "rig: ";

/// Layers of a rig that follow from which device is emulated.
const FOLLOWING: [&str; 2] = ["scale", "numbers"];

/// One thing, and what it is in each configuration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    /// Layer, setting or variable.
    pub(crate) name: String,
    /// Its value in each configuration of the study, in their order; nothing where a configuration
    /// has none.
    pub(crate) values: Vec<Option<String>>,
    /// Whether it follows from another row, and is told on demand.
    pub(crate) follows: bool,
}

impl Row {
    fn differs(&self) -> bool {
        self.values.windows(2).any(|pair| pair[0] != pair[1])
    }
}

/// Rows that differ, and rows that do not.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Compared {
    /// Not the same in all configurations.
    pub(crate) different: Vec<Row>,
    /// The same in all configurations.
    pub(crate) same: Vec<Row>,
}

type Names = BTreeMap<String, String>;

/// Rig, layer by layer, then settings, then circumstances of the runs.
pub(crate) fn of_configs(study: &Study) -> Compared {
    let rigs: Vec<_> = study.configs.iter().map(words::rig::layers).collect();
    let mut layers: Vec<&str> = Vec::new();
    for (layer, _) in rigs.iter().flatten() {
        if !layers.contains(layer) {
            layers.push(layer);
        }
    }
    let of_layer = |layer: &str| -> Vec<Option<String>> {
        let its = |rig: &Vec<(&str, String)>| {
            rig.iter().find(|(name, _)| *name == layer).map(|(_, what)| what.clone())
        };
        rigs.iter().map(its).collect()
    };
    let mut rows: Vec<Row> = layers
        .into_iter()
        .map(|layer| Row {
            name: layer.to_owned(),
            values: of_layer(layer),
            follows: FOLLOWING.contains(&layer),
        })
        .collect();
    let settings: Vec<Names> =
        study.configs.iter().map(|config| settings_as_run(study, config)).collect();
    rows.extend(rows_of(&settings));
    rows.extend(rows_of(&facts(study)));
    split(rows)
}

/// Its settings as they were asked for, each with the value that its server took in its place where
/// that is another.
fn settings_as_run(study: &Study, config: &Config) -> Names {
    let its = study.trials.iter().filter(|trial| trial.key.config == config.name);
    let differing = its.flat_map(|trial| &trial.warnings).filter_map(|one| match one {
        Warning::SettingDiffers { name, effective, .. } => Some((name.clone(), effective)),
        _ => None,
    });
    let differing: BTreeMap<String, &String> = differing.collect();
    let as_run = |(name, asked): (&String, &String)| {
        let value = match differing.get(&canonical(name)) {
            Some(effective) => format!("{asked} (in effect: {effective})"),
            None => asked.clone(),
        };
        (name.clone(), value)
    };
    config.settings.iter().map(as_run).collect()
}

/// Workloads whose options are told: each once, whatever data profiles it is run on, which change
/// none.
pub(crate) fn optioned(study: &Study) -> impl Iterator<Item = &WorkloadRecord> {
    let mut told = BTreeSet::new();
    study.workloads.iter().filter(move |one| told.insert(&one.workload))
}

/// Recipes and options, for each of those.
pub(crate) fn of_workloads(study: &Study) -> Compared {
    let recipes = optioned(study).map(|one| Some(one.recipe.clone())).collect();
    let options: Vec<Names> = optioned(study).map(|one| one.options.clone()).collect();
    let mut compared = split(rows_of(&options));
    compared.different.insert(0, Row { name: "recipe".into(), values: recipes, follows: false });
    compared
}

/// Server variables, of which `variables` holds every set seen in each configuration.
pub(crate) fn of_variables(variables: &[Vec<Names>]) -> Compared {
    let agreed: Vec<Names> = variables.iter().map(|sets| agreed(sets.iter())).collect();
    // A name that is unsteady in one configuration is unsteady: its steadiness in another is
    // chance.
    let steady = |name: &String| {
        variables.iter().zip(&agreed).all(|(sets, agreed)| {
            agreed.contains_key(name) || sets.iter().all(|set| !set.contains_key(name))
        })
    };
    split(rows_of(&agreed).into_iter().filter(|row| steady(&row.name)).collect())
}

fn facts(study: &Study) -> Vec<Names> {
    let of_config = |name: &str| {
        let trials = study.trials.iter().filter(|trial| trial.key.config == name);
        agreed(trials.map(|trial| &trial.facts).filter(|facts| !facts.is_empty()))
    };
    study.configs.iter().map(|config| of_config(&config.name)).collect()
}

/// Entries that all sets have with the same value.
fn agreed<'a>(mut sets: impl Iterator<Item = &'a Names>) -> Names {
    let mut common = sets.next().cloned().unwrap_or_default();
    for set in sets {
        common.retain(|name, value| set.get(name) == Some(value));
    }
    common
}

fn rows_of(sets: &[Names]) -> Vec<Row> {
    let names: BTreeSet<&String> = sets.iter().flat_map(BTreeMap::keys).collect();
    names.into_iter().map(|name| row(name, sets)).collect()
}

fn row(name: &str, sets: &[Names]) -> Row {
    let values = sets.iter().map(|set| set.get(name).cloned()).collect();
    Row { name: name.into(), values, follows: name.starts_with(OF_RIG) }
}

fn split(rows: Vec<Row>) -> Compared {
    let (different, same) = rows.into_iter().partition(Row::differs);
    Compared { different, same }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<const N: usize>(pairs: [(&str, &str); N]) -> Names {
        pairs.map(|(name, value)| (name.into(), value.into())).into()
    }

    #[test]
    fn only_what_is_steady_within_configs_and_differs_between_them_is_a_difference() {
        let set = |pid: &str, doublewrite: &str| {
            names([("pid_file", pid), ("innodb_doublewrite", doublewrite), ("port", "0")])
        };
        let compared = of_variables(&[vec![set("1", "ON"), set("2", "ON")], vec![set("3", "OFF")]]);
        let different: Vec<&str> = compared.different.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(different, ["innodb_doublewrite"]);
        assert_eq!(compared.same.len(), 1);
        assert_eq!(compared.different[0].values, [Some("ON".into()), Some("OFF".into())]);
    }

    #[test]
    fn a_setting_that_the_server_changed_stands_with_what_it_ran_with() {
        let config = |name: &str, instances: &str| Config {
            name: name.into(),
            rig: assay_study::RigRecord::default(),
            settings: names([("innodb-buffer-pool-instances", instances)]),
        };
        let mut study =
            Study { configs: vec![config("a", "1"), config("b", "4")], ..Study::default() };
        let key = assay_study::TrialKey {
            config: "b".into(),
            workload: "rw".into(),
            threads: 1,
            repeat: 1,
        };
        let mut trial = assay_study::Trial::done(key, &[]);
        trial.warnings.push(Warning::SettingDiffers {
            name: "innodb_buffer_pool_instances".into(),
            asked: "4".into(),
            effective: "1".into(),
        });
        study.trials.push(trial);
        let all = of_configs(&study).different;
        let row = all.iter().find(|row| row.name == "innodb-buffer-pool-instances").unwrap();
        assert_eq!(row.values, [Some("1".into()), Some("4 (in effect: 1)".into())]);
    }

    #[test]
    fn a_variable_that_one_server_lacks_is_a_difference() {
        let compared = of_variables(&[vec![names([("a", "1")])], vec![names([])]]);
        assert_eq!(compared.different[0].values, [Some("1".into()), None]);
    }
}
