//! Data profiles: the same workloads over other tables, on devices that are filled otherwise.
//!
//! A data profile multiplies the workloads: what is run is each workload on each data profile,
//! under the name of both. A plan without data profiles is one over its own tables.

use assay_load::{Generator, Schema, SchemaKind};
use serde::{Deserialize, Serialize};

use super::{ConfigSpec, Plan, RigSpec};
use assay_base::Size;

/// Differences from the plan's tables and from the configurations' models.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataProfile {
    /// Configurations that it is run on; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configs: Vec<String>,
    /// Subset of the plan's thread counts; empty: all.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::thread_list::deserialize"
    )]
    pub threads: Vec<u32>,
    /// `generator` of its tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<Generator>,
    /// `schema` of its tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<SchemaKind>,
    /// Number of tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables: Option<u32>,
    /// Rows in each table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table_size: Option<u64>,
    /// Options of `CREATE TABLE`, in place of the plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_table_options: Option<String>,
    /// Share of a model's sold capacity that holds data when a run begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<f64>,
    /// Bytes that the host sees of a model that compresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical: Option<Size>,
    /// Compression ratio of the data that wear a model in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Divisor of a model's capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_scale: Option<f64>,
}

/// The name of a load: a workload, on a data profile if the plan has any.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadName<'a> {
    /// The data profile's name.
    pub data_profile: Option<&'a str>,
    /// The workload's name in the plan.
    pub workload: &'a str,
}

impl LoadName<'_> {
    /// Its name in the study.
    #[must_use]
    pub fn name(&self) -> String {
        match self.data_profile {
            Some(data_profile) => format!("{data_profile}: {}", self.workload),
            None => self.workload.to_owned(),
        }
    }
}

/// A configuration on a data profile, with the keys of the plan, the profile and the configuration
/// merged.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantSpec {
    /// Which configuration on which data profile.
    pub key: VariantKey,
    /// The tables, with the configuration's compression.
    pub schema: Schema,
    pub rig: RigSpec,
}

/// Names of a configuration and of the data profile it is run on, if the plan has any.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariantKey {
    /// The configuration.
    pub config: String,
    /// The data profile.
    pub data_profile: Option<String>,
}

impl std::fmt::Display for VariantKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.data_profile {
            Some(data_profile) => {
                write!(f, "configuration `{}` on data profile `{data_profile}`", self.config)
            }
            None => write!(f, "configuration `{}`", self.config),
        }
    }
}

impl DataProfile {
    /// Returns true if the profile is run on this configuration.
    #[must_use]
    pub fn has_config(&self, config: &str) -> bool {
        self.configs.is_empty() || self.configs.iter().any(|one| one == config)
    }

    /// Its tables, over those of the plan.
    #[must_use]
    pub fn schema(&self, plan: &Schema) -> Schema {
        Schema {
            generator: self.generator.unwrap_or(plan.generator),
            kind: self.schema.unwrap_or(plan.kind),
            tables: self.tables.unwrap_or(plan.tables),
            table_size: self.table_size.unwrap_or(plan.table_size),
            create_table_options: self
                .create_table_options
                .clone()
                .unwrap_or_else(|| plan.create_table_options.clone()),
            ..plan.clone()
        }
    }

    /// The rig under this data profile, which changes models only.
    fn rig(&self, rig: &RigSpec) -> RigSpec {
        let mut rig = rig.clone();
        if let Some(model) = &mut rig.model {
            model.fill = self.fill.unwrap_or(model.fill);
            model.logical = self.logical.or(model.logical);
            model.ratio = self.ratio.unwrap_or(model.ratio);
            model.capacity_scale = self.capacity_scale.unwrap_or(model.capacity_scale);
        }
        rig
    }

    pub(crate) fn says_of_models(&self) -> bool {
        self.fill.is_some()
            || self.ratio.is_some()
            || self.logical.is_some()
            || self.capacity_scale.is_some()
    }
}

impl Plan {
    /// All loads, data profile by data profile, without workloads that only phases and neighbours
    /// use.
    #[must_use]
    pub fn loads(&self) -> Vec<LoadName<'_>> {
        let names = || self.workloads.keys().map(String::as_str);
        let workloads = || names().filter(|name| !self.is_mix(name));
        if self.data_profiles.is_empty() {
            return workloads().map(|workload| LoadName { data_profile: None, workload }).collect();
        }
        let on =
            |data_profile| workloads().map(move |workload| LoadName { data_profile, workload });
        self.data_profiles.keys().flat_map(|name| on(Some(name.as_str()))).collect()
    }

    /// The tables of each data profile, by its name; the plan's own where it has no data profiles.
    pub(crate) fn tables(&self) -> Vec<(Option<String>, Schema)> {
        if self.data_profiles.is_empty() {
            return vec![(None, self.data.clone())];
        }
        let of_profile = |(name, profile): (&String, &DataProfile)| {
            (Some(name.clone()), profile.schema(&self.data))
        };
        self.data_profiles.iter().map(of_profile).collect()
    }

    /// Every configuration on every data profile that it is run on, configuration by configuration.
    #[must_use]
    pub fn variants(&self) -> Vec<VariantSpec> {
        let of_config = |(name, config): (&String, &ConfigSpec)| -> Vec<VariantSpec> {
            if self.data_profiles.is_empty() {
                return vec![self.variant(name, config, None)];
            }
            let its = self.data_profiles.iter().filter(|(_, set)| set.has_config(name));
            its.map(|set| self.variant(name, config, Some(set))).collect()
        };
        self.configs.iter().flat_map(of_config).collect()
    }

    fn variant(
        &self,
        name: &str,
        config: &ConfigSpec,
        data_profile: Option<(&String, &DataProfile)>,
    ) -> VariantSpec {
        let set = data_profile.map(|(_, set)| set);
        let schema = set.map_or_else(|| self.data.clone(), |set| set.schema(&self.data));
        let rig = self.rig_of(config);
        VariantSpec {
            key: VariantKey {
                config: name.to_owned(),
                data_profile: data_profile.map(|(name, _)| name.clone()),
            },
            schema: config.compressed(schema),
            rig: set.map_or_else(|| rig.clone(), |set| set.rig(rig)),
        }
    }

    /// Thread counts that a load is run with on a configuration, in the plan's order.
    #[must_use]
    pub fn threads_of(&self, config: &ConfigSpec, data_profile: Option<&DataProfile>) -> Vec<u32> {
        let narrowed = |to: &[u32], one: &u32| to.is_empty() || to.contains(one);
        let is_its = |one: &u32| {
            narrowed(&config.threads, one)
                && data_profile.is_none_or(|set| narrowed(&set.threads, one))
        };
        self.threads.iter().copied().filter(is_its).collect()
    }
}
