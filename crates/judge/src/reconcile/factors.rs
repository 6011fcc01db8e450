//! Factors in which two configurations differ: with more than one, no difference can be attributed
//! to one of them.

use std::collections::BTreeSet;

use serde::Serialize;

use assay_study::{Config, RigLayer, Study};

/// Whether a layer of a rig says again what others have said: it is no factor of its own.
fn is_consequence(layer: &RigLayer) -> bool {
    matches!(layer, RigLayer::Scale(_) | RigLayer::Numbers { .. } | RigLayer::Fault(_))
}

/// Two configurations and what is not the same in them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactorPair {
    /// The configuration that stands first in the plan.
    pub one: String,
    /// The other.
    pub other: String,
    /// Layers of the rig and server settings that differ, by name. A layer is one factor, however
    /// much of it differs.
    pub factors: Vec<String>,
}

/// Every pair of a study's configurations.
pub fn of_pairs(study: &Study) -> Vec<FactorPair> {
    let configs = study.configs.iter().enumerate();
    let pairs = configs.flat_map(|(place, one)| {
        study.configs.iter().skip(place + 1).map(move |other| (one, other))
    });
    pairs
        .map(|(one, other)| FactorPair {
            one: one.name.clone(),
            other: other.name.clone(),
            factors: factors(one, other),
        })
        .collect()
}

/// Names of layers and settings that are not the same in both.
pub fn factors(one: &Config, other: &Config) -> Vec<String> {
    let [its, others] = [one, other].map(|config| config.rig.layers());
    let layers: BTreeSet<&str> = its
        .iter()
        .chain(&others)
        .filter(|layer| !is_consequence(layer))
        .map(RigLayer::name)
        .collect();
    let of = |all: &[RigLayer], name: &str| all.iter().find(|one| one.name() == name).cloned();
    let settings: BTreeSet<&String> = one.settings.keys().chain(other.settings.keys()).collect();
    let differing_layers = layers.into_iter().filter(|layer| of(&its, layer) != of(&others, layer));
    let differing_settings =
        settings.into_iter().filter(|name| one.settings.get(*name) != other.settings.get(*name));
    differing_layers.map(str::to_owned).chain(differing_settings.cloned()).collect()
}
