//! Full crosses of factors: every combination of their levels is a configuration.
//!
//! A plan's factors make one. In a study without any, configurations are a cross by what differs in
//! them: layers of rigs and settings that always change together are one factor.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::difference::comparison::baseline_of;
use crate::difference::pairs::{Pair, all};
use crate::reconcile::factors;
use assay_study::{Config, Study, TrialKey};

/// A factor of a full cross.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CrossedFactor {
    /// As the plan names it, else the layers and settings that differ.
    pub name: String,
    /// Levels; the first is the baseline's. Of a layer of the rig a level is named after the first
    /// configuration that has it.
    pub levels: Vec<String>,
}

/// A configuration of a full cross.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CrossCell {
    pub config: String,
    /// The place of its level of each factor.
    pub levels: Vec<usize>,
}

/// A full cross under one workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cross {
    pub workload: String,
    /// Thread counts that all configurations were planned for.
    pub threads: BTreeSet<u32>,
    /// Whether the plan names the factors; else they are found in the configurations.
    pub is_planned: bool,
    pub factors: Vec<CrossedFactor>,
    pub cells: Vec<CrossCell>,
}

/// More configurations than this are not searched for a cross: as many as a plan's factors may
/// make.
const CELLS_MOST: usize = 64;

/// The crosses of a study, workload by workload: the plan's; else all configurations, or, if these
/// are none, the configurations between the sides of each pair.
pub(crate) fn crosses(study: &Study, keys: &[&TrialKey]) -> Vec<Cross> {
    let pairs = all(study, keys);
    let mut found: Vec<Cross> = Vec::new();
    for workload in &study.workloads {
        let under = Under { study, keys, workload: &workload.name };
        if let Some(cross) = under.planned().or_else(|| under.whole()) {
            found.push(cross);
            continue;
        }
        for cross in pairs.iter().filter_map(|pair| under.between(pair)) {
            let cells = |one: &Cross| -> BTreeSet<String> {
                one.cells.iter().map(|cell| cell.config.clone()).collect()
            };
            let is_same =
                |one: &Cross| one.workload == cross.workload && cells(one) == cells(&cross);
            if !found.iter().any(is_same) {
                found.push(cross);
            }
        }
    }
    found
}

/// The configurations that are run under a workload.
struct Under<'a> {
    study: &'a Study,
    keys: &'a [&'a TrialKey],
    workload: &'a str,
}

impl<'a> Under<'a> {
    /// In the plan's order, without A/A runs.
    fn configs(&self) -> Vec<&'a Config> {
        let is_run = |name: &str| {
            self.keys.iter().any(|key| key.config == name && key.workload == self.workload)
                && !self.study.judging.aa_runs.contains_key(name)
        };
        self.study.configs.iter().filter(|one| is_run(&one.name)).collect()
    }

    fn planned(&self) -> Option<Cross> {
        let planned = &self.study.judging.factors;
        let factors = planned
            .iter()
            .map(|one| CrossedFactor { name: one.name.clone(), levels: one.levels.clone() });
        let cell = |config: &&Config| {
            let place = |one: &assay_study::PlannedFactor| {
                let level = one.configs.get(&config.name)?;
                one.levels.iter().position(|name| name == level)
            };
            let levels: Vec<usize> = planned.iter().map(place).collect::<Option<_>>()?;
            Some(CrossCell { config: config.name.clone(), levels })
        };
        let cells = self.configs().iter().filter_map(cell).collect();
        self.cross(factors.collect(), cells, true)
    }

    fn whole(&self) -> Option<Cross> {
        self.found(&self.configs())
    }

    /// The configurations that are in each factor like one of both sides.
    fn between(&self, pair: &Pair) -> Option<Cross> {
        if pair.judged.workload != self.workload || pair.against.workload != self.workload {
            return None;
        }
        let configs = self.configs();
        let side = |name: &str| configs.iter().find(|one| one.name == name).copied();
        let (judged, against) = (side(&pair.judged.config)?, side(&pair.against.config)?);
        let set = |a: &Config, b: &Config| factors(a, b).into_iter().collect::<BTreeSet<_>>();
        let is_between = |one: &&Config| set(one, judged).is_disjoint(&set(one, against));
        self.found(&configs.iter().copied().filter(is_between).collect::<Vec<_>>())
    }

    /// These configurations, if they are a full cross by what differs in them.
    fn found(&self, configs: &[&Config]) -> Option<Cross> {
        if !(4..=CELLS_MOST).contains(&configs.len()) {
            return None;
        }
        let mut factors: Vec<(Vec<String>, Vec<usize>)> = Vec::new();
        for (name, levels) in by_level(configs) {
            match factors.iter_mut().find(|(_, known)| *known == levels) {
                Some((names, _)) => names.push(name),
                None => factors.push((vec![name], levels)),
            }
        }
        let baseline = baseline_of(self.study);
        let base = configs.iter().position(|one| Some(&one.name) == baseline.as_ref()).unwrap_or(0);
        let mut crossed = Vec::new();
        let mut cells: Vec<CrossCell> = configs
            .iter()
            .map(|one| CrossCell { config: one.name.clone(), levels: Vec::new() })
            .collect();
        for (names, levels) in &factors {
            // The level of a configuration is the first configuration that has it.
            let firsts: BTreeSet<usize> = levels.iter().copied().collect();
            let first = levels[base];
            let ordered: Vec<usize> = std::iter::once(first)
                .chain(firsts.into_iter().filter(|one| *one != first))
                .collect();
            for (cell, level) in cells.iter_mut().zip(levels) {
                cell.levels.extend(ordered.iter().position(|one| one == level));
            }
            let label = |level: &usize| label(configs[*level], names);
            crossed.push(CrossedFactor {
                name: names.join(" and "),
                levels: ordered.iter().map(label).collect(),
            });
        }
        self.cross(crossed, cells, false)
    }

    /// The cross, if it has several factors and every combination once.
    fn cross(
        &self,
        factors: Vec<CrossedFactor>,
        cells: Vec<CrossCell>,
        is_planned: bool,
    ) -> Option<Cross> {
        let distinct: BTreeSet<&Vec<usize>> = cells.iter().map(|cell| &cell.levels).collect();
        let combinations =
            factors.iter().map(|one| one.levels.len()).fold(1, usize::saturating_mul);
        // A single factor is a comparison of configurations and no cross.
        let is_full =
            factors.len() > 1 && distinct.len() == cells.len() && combinations == cells.len();
        let threads = |cell: &CrossCell| -> BTreeSet<u32> {
            let is_its =
                |key: &&&TrialKey| key.config == cell.config && key.workload == self.workload;
            self.keys.iter().filter(is_its).map(|key| key.threads).collect()
        };
        let shared =
            cells.iter().map(threads).reduce(|a, b| a.intersection(&b).copied().collect())?;
        (is_full && !shared.is_empty()).then(|| Cross {
            workload: self.workload.to_owned(),
            threads: shared,
            is_planned,
            factors,
            cells,
        })
    }
}

/// Each layer and setting that is not the same in all, with the level of each configuration: the
/// place of the first that is like it.
fn by_level(configs: &[&Config]) -> BTreeMap<String, Vec<usize>> {
    let differing: Vec<Vec<BTreeSet<String>>> = configs
        .iter()
        .enumerate()
        .map(|(place, one)| {
            let to = |other: &&Config| factors(other, one).into_iter().collect();
            configs[..place].iter().map(to).collect()
        })
        .collect();
    let names: BTreeSet<&String> = differing.iter().flatten().flatten().collect();
    let levels = |name: &String| -> Vec<usize> {
        let of = |(place, sets): (usize, &Vec<BTreeSet<String>>)| {
            sets.iter().position(|set| !set.contains(name)).unwrap_or(place)
        };
        differing.iter().enumerate().map(of).collect()
    };
    names.into_iter().map(|name| (name.clone(), levels(name))).collect()
}

/// A level: the values of its settings, or the configuration that it is seen in.
fn label(config: &Config, names: &[String]) -> String {
    let values: Option<Vec<&str>> =
        names.iter().map(|name| config.settings.get(name).map(String::as_str)).collect();
    values.map_or_else(|| format!("as in {}", config.name), |values| values.join(" and "))
}

impl Cross {
    /// The configuration with these levels.
    pub(crate) fn config(&self, levels: &[usize]) -> Option<&str> {
        let cell = self.cells.iter().find(|cell| cell.levels == levels);
        cell.map(|cell| cell.config.as_str())
    }

    /// The pairs of configurations that differ in this factor alone, from its first level to
    /// `level`, among those where the other factors have the levels that `at` wants.
    pub(crate) fn pairs(
        &self,
        factor: usize,
        level: usize,
        at: impl Fn(&[usize]) -> bool,
    ) -> Vec<[&str; 2]> {
        let pair = |cell: &CrossCell| -> Option<[&str; 2]> {
            let is_first = cell.levels.get(factor) == Some(&0) && at(&cell.levels);
            let mut other = cell.levels.clone();
            *other.get_mut(factor)? = level;
            Some([self.config(&cell.levels)?, self.config(&other)?]).filter(|_| is_first)
        };
        self.cells.iter().filter_map(pair).collect()
    }
}
