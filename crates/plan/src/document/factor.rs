//! Factors of a plan: each has levels, and the full cross of the levels makes the plan's
//! configurations.

use std::collections::BTreeMap;

use assay_base::SettingValue;
use assay_study::PlannedFactor;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::Plan;

/// Longest name of a configuration: names become directories and table columns.
pub(crate) const NAME_CHARS_MOST: usize = 64;

/// Keys of a configuration that a list of values may name; other names are server variables.
const KEYS_OF_CONFIGS: [&str; 3] = ["compression", "key_block_size", "servers"];

/// Value in a list that leaves such a key out.
const LEFT_OUT: &str = "none";

/// Levels of a factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a list of values, such as [\"ON\", \"OFF\"], or levels by name, such as \
                 { plain = {}, zlib = { compression = \"zlib\" } }"
)]
pub enum FactorSpec {
    /// Values of the server variable, or of the configuration's key, that the factor is named
    /// after.
    Values(Vec<SettingValue>),
    /// Keys of a configuration by the level's name.
    Levels(IndexMap<String, Table>),
}

impl FactorSpec {
    /// Names of the levels, and the keys of a configuration that each sets.
    pub(crate) fn levels(&self, factor: &str) -> Vec<(String, Table)> {
        match self {
            FactorSpec::Values(values) => {
                values.iter().map(|one| (one.0.clone(), of_value(factor, &one.0))).collect()
            }
            FactorSpec::Levels(levels) => levels
                .iter()
                .map(|(name, keys)| (name.clone(), with_setting_names(keys.clone())))
                .collect(),
        }
    }
}

fn of_value(factor: &str, value: &str) -> Table {
    let one = |name: String, value: Value| -> Table { [(name, value)].into_iter().collect() };
    if KEYS_OF_CONFIGS.contains(&factor) {
        let number = value.parse().map(Value::Integer);
        return match value {
            LEFT_OUT => Table::new(),
            value => one(factor.into(), number.unwrap_or_else(|_| value.into())),
        };
    }
    one("settings".into(), Value::Table(one(factor.replace('-', "_"), value.into())))
}

/// Server variables with underscores, as the rest of a plan has them.
fn with_setting_names(mut keys: Table) -> Table {
    if let Some(settings) = keys.get_mut("settings").and_then(Value::as_table_mut) {
        let named = std::mem::take(settings).into_iter();
        *settings = named.map(|(name, value)| (name.replace('-', "_"), value)).collect();
    }
    keys
}

/// A configuration of the full cross.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FactorCell {
    pub(crate) config: String,
    /// The level of each factor, as its place.
    pub(crate) levels: Vec<usize>,
}

impl Plan {
    /// Number of configurations in the full cross.
    pub(crate) fn cell_count(&self) -> usize {
        let counts = self.factors.iter().map(|(name, one)| one.levels(name).len());
        counts.fold(1, usize::saturating_mul)
    }

    /// The full cross, the levels of the last factor changing first. Names have the factors
    /// (`doublewrite=ON, compression=zlib`) if all fit, else the levels alone.
    pub(crate) fn cells(&self) -> Vec<FactorCell> {
        let mut all = vec![Vec::new()];
        for (name, factor) in &self.factors {
            let places = 0..factor.levels(name).len();
            let with = |cell: &Vec<usize>, place: usize| [cell.as_slice(), &[place]].concat();
            all = all
                .iter()
                .flat_map(|cell| places.clone().map(|place| with(cell, place)).collect::<Vec<_>>())
                .collect();
        }
        let named = |with_factors: bool| -> Vec<FactorCell> {
            let cell = |levels: &Vec<usize>| FactorCell {
                config: self.cell_name(levels, with_factors),
                levels: levels.clone(),
            };
            all.iter().map(cell).collect()
        };
        let is_short = |cell: &FactorCell| cell.config.len() <= NAME_CHARS_MOST;
        let whole = named(true);
        if whole.iter().all(is_short) { whole } else { named(false) }
    }

    fn cell_name(&self, places: &[usize], with_factors: bool) -> String {
        let part = |((factor, spec), place): ((&String, &FactorSpec), &usize)| {
            let level = spec.levels(factor).get(*place).map(|(name, _)| name.clone());
            let level = level.unwrap_or_default();
            let factor = factor.strip_prefix("innodb_").unwrap_or(factor);
            if with_factors { format!("{factor}={level}") } else { level }
        };
        self.factors.iter().zip(places).map(part).collect::<Vec<_>>().join(", ")
    }

    /// The factors as a study stores them.
    pub(crate) fn planned_factors(&self) -> Vec<PlannedFactor> {
        if self.factors.is_empty() {
            return Vec::new();
        }
        let cells = self.cells();
        let planned = |(place, (name, spec)): (usize, (&String, &FactorSpec))| {
            let levels: Vec<String> = spec.levels(name).into_iter().map(|(name, _)| name).collect();
            let of_cell = |cell: &FactorCell| {
                Some((cell.config.clone(), levels.get(*cell.levels.get(place)?)?.clone()))
            };
            let configs: BTreeMap<String, String> = cells.iter().filter_map(of_cell).collect();
            PlannedFactor { name: name.clone(), configs, levels }
        };
        self.factors.iter().enumerate().map(planned).collect()
    }
}
