//! A configuration on a data profile: the keys of the plan, the profile and the configuration, put
//! together.

use std::path::PathBuf;

use anyhow::{Context, Result};
use assay_load::{Pace, Schema};
use serde_json::json;

use crate::document::{ConfigSpec, NeighbourSpec, PageCompression, Plan, VariantKey, VariantSpec};
use crate::rig::PlannedRig;
use crate::settings::Settings;

/// A configuration on a data profile.
#[derive(Debug, Clone)]
pub struct Variant {
    pub key: VariantKey,
    /// The tables, with the configuration's compression.
    pub schema: Schema,
    pub rig: PlannedRig,
    /// The rig as the document has it: what fingerprints are made of, and what equal rigs have in
    /// common.
    pub rig_document: serde_json::Value,
    /// The server program; `None`: the one found, else the one downloaded.
    pub server: Option<PathBuf>,
    pub settings: Settings,
    /// Servers that are loaded at once, each on a rig of its own.
    pub servers: u32,
    /// The load of the last of several servers, where it is another one.
    pub neighbour: Option<Neighbour>,
    pub compression: Option<PageCompression>,
    /// The most threads of its runs.
    pub threads_most: u32,
}

/// The load of a noisy neighbour.
#[derive(Debug, Clone)]
pub struct Neighbour {
    /// The workload's name in the plan.
    pub workload: String,
    /// Connections; `None`: as many as the run has.
    pub threads: Option<u32>,
    pub pace: Pace,
}

impl Variant {
    fn of(plan: &Plan, config: &ConfigSpec, spec: VariantSpec) -> Result<Variant> {
        let rig = PlannedRig::of(&spec.rig).with_context(|| spec.key.to_string())?;
        let profile = spec.key.data_profile.as_ref().and_then(|name| plan.data_profiles.get(name));
        Ok(Variant {
            rig,
            rig_document: json!(spec.rig),
            server: config.server.as_ref().or(plan.server.as_ref()).cloned(),
            settings: plan.settings_of(config),
            servers: config.servers.unwrap_or(1),
            neighbour: config.neighbour.as_ref().map(|neighbour| Neighbour::of(plan, neighbour)),
            compression: config.compression,
            threads_most: plan.threads_of(config, profile).into_iter().max().unwrap_or(1),
            key: spec.key,
            schema: spec.schema,
        })
    }
}

impl Neighbour {
    fn of(plan: &Plan, spec: &NeighbourSpec) -> Neighbour {
        let arrivals = plan.arrivals;
        Neighbour {
            workload: spec.workload.clone(),
            threads: spec.threads,
            pace: spec.rate.map_or(Pace::Closed, |per_second| Pace::Rate { per_second, arrivals }),
        }
    }
}

/// Every configuration on every data profile that it is run on, configuration by configuration.
///
/// # Errors
/// One line: a rig that cannot be.
pub(super) fn all(plan: &Plan) -> Result<Vec<Variant>> {
    let specs = plan.variants().into_iter();
    let with_config = specs.filter_map(|spec| Some((plan.configs.get(&spec.key.config)?, spec)));
    with_config.map(|(config, spec)| Variant::of(plan, config, spec)).collect()
}
