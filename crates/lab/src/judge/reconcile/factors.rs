//! What differs between two arms at once: with more than one factor, a difference cannot be laid at the door of one.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::store::{Arm, Study};

/// Layers of a rig that say again what others or the settings have said: no factors of their own.
const CONSEQUENCES: [&str; 4] = ["page writes", "scale", "numbers", "fault"];

/// Two arms and what is not the same in them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Pair {
    /// The arm that stands first in the plan.
    pub(crate) one: String,
    /// The other.
    pub(crate) other: String,
    /// Layers of the rig and server settings that differ, by name. A layer is one factor, however much of it differs.
    pub(crate) factors: Vec<String>,
}

/// Every pair of a study's arms.
pub(crate) fn of_pairs(study: &Study) -> Vec<Pair> {
    let arms = study.arms.iter().enumerate();
    let pairs = arms
        .flat_map(|(place, one)| study.arms.iter().skip(place + 1).map(move |other| (one, other)));
    pairs
        .map(|(one, other)| Pair {
            one: one.name.clone(),
            other: other.name.clone(),
            factors: factors(one, other),
        })
        .collect()
}

/// Names of layers and settings that are not the same in both.
pub(crate) fn factors(one: &Arm, other: &Arm) -> Vec<String> {
    let layers: BTreeSet<&String> =
        [one, other].iter().flat_map(|arm| arm.rig.iter().map(|(layer, _)| layer)).collect();
    let of_layer = |arm: &Arm, layer: &str| -> Vec<String> {
        let its = arm.rig.iter().filter(|(name, _)| name == layer);
        its.map(|(_, what)| what.clone()).collect()
    };
    let settings: BTreeSet<&String> = one.settings.keys().chain(other.settings.keys()).collect();
    let differing_layers = layers.into_iter().filter(|layer| {
        !CONSEQUENCES.contains(&layer.as_str()) && of_layer(one, layer) != of_layer(other, layer)
    });
    let differing_settings =
        settings.into_iter().filter(|name| one.settings.get(*name) != other.settings.get(*name));
    differing_layers.chain(differing_settings).cloned().collect()
}
