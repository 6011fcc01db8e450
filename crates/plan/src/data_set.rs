//! Data sets: the same workloads over other tables, on devices that are filled otherwise.
//!
//! A data set multiplies the workloads: what is run is each workload on each data set, under the name of both. A plan without
//! data sets is one over its own tables.

use anyhow::{Context, Result, ensure};
use assay_load::{Generator, Schema, SchemaKind};
use serde::{Deserialize, Serialize};

use super::{Arm, Plan, RigKind, RigSpec};
use assay_base::Size;

/// What differs from the plan's tables and the arms' models.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSet {
    /// Arms that it is run on; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<String>,
    /// Of the plan's thread counts those that it is run with; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
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
    /// Share of what a model sells that holds data when a cell begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<f64>,
    /// Bytes that the host sees of a model that compresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical: Option<Size>,
    /// What the data that wear a model in compress to, as a ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// What a model's capacity is divided by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_scale: Option<f64>,
}

/// One name under which cells are run: a workload, on a data set if the plan has any.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load<'a> {
    /// The data set's name.
    pub data_set: Option<&'a str>,
    /// The workload's name in the plan.
    pub workload: &'a str,
}

impl Load<'_> {
    /// Its name in the study.
    #[must_use]
    pub fn name(&self) -> String {
        match self.data_set {
            Some(data_set) => format!("{data_set}: {}", self.workload),
            None => self.workload.to_owned(),
        }
    }
}

/// An arm on a data set: what the plan, the data set and the arm say, put together.
#[derive(Debug, Clone, PartialEq)]
pub struct Footing {
    /// Which arm on which data set.
    pub key: FootingKey,
    /// The tables, with the arm's compression.
    pub schema: Schema,
    /// What they lie on.
    pub rig: RigSpec,
}

/// Names of an arm and of the data set it is run on, if the plan has any.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FootingKey {
    /// The arm.
    pub arm: String,
    /// The data set.
    pub data_set: Option<String>,
}

impl std::fmt::Display for FootingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.data_set {
            Some(data_set) => write!(f, "arm `{}` on data set `{data_set}`", self.arm),
            None => write!(f, "arm `{}`", self.arm),
        }
    }
}

impl DataSet {
    /// Whether it is run on the arm of this name.
    #[must_use]
    pub fn has_arm(&self, arm: &str) -> bool {
        self.arms.is_empty() || self.arms.iter().any(|one| one == arm)
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

    /// The rig as it is under this data set; one that is no model stays as it is.
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

    fn says_of_models(&self) -> bool {
        self.fill.is_some()
            || self.ratio.is_some()
            || self.logical.is_some()
            || self.capacity_scale.is_some()
    }
}

impl Plan {
    /// What is run, data set by data set.
    #[must_use]
    pub fn loads(&self) -> Vec<Load<'_>> {
        let workloads = || self.workloads.keys().map(String::as_str);
        if self.data_sets.is_empty() {
            return workloads().map(|workload| Load { data_set: None, workload }).collect();
        }
        let on = |data_set| workloads().map(move |workload| Load { data_set, workload });
        self.data_sets.keys().flat_map(|name| on(Some(name.as_str()))).collect()
    }

    /// Every arm on every data set that it is run on, arm by arm.
    #[must_use]
    pub fn footings(&self) -> Vec<Footing> {
        let of_arm = |(name, arm): (&String, &Arm)| -> Vec<Footing> {
            if self.data_sets.is_empty() {
                return vec![self.footing(name, arm, None)];
            }
            let its = self.data_sets.iter().filter(|(_, set)| set.has_arm(name));
            its.map(|set| self.footing(name, arm, Some(set))).collect()
        };
        self.arms.iter().flat_map(of_arm).collect()
    }

    fn footing(&self, name: &str, arm: &Arm, data_set: Option<(&String, &DataSet)>) -> Footing {
        let set = data_set.map(|(_, set)| set);
        let schema = set.map_or_else(|| self.data.clone(), |set| set.schema(&self.data));
        let rig = self.rig_of(arm);
        Footing {
            key: FootingKey {
                arm: name.to_owned(),
                data_set: data_set.map(|(name, _)| name.clone()),
            },
            schema: arm.compressed(schema),
            rig: set.map_or_else(|| rig.clone(), |set| set.rig(rig)),
        }
    }

    /// Thread counts that a load is run with on an arm, in the plan's order.
    #[must_use]
    pub fn threads_of(&self, arm: &Arm, data_set: Option<&DataSet>) -> Vec<u32> {
        let narrowed = |to: &[u32], one: &u32| to.is_empty() || to.contains(one);
        let is_its = |one: &u32| {
            narrowed(&arm.threads, one) && data_set.is_none_or(|set| narrowed(&set.threads, one))
        };
        self.threads.iter().copied().filter(is_its).collect()
    }
}

/// Checks what data sets and arms say of one another.
///
/// # Errors
/// One line naming the data set or the arm, and what to change.
pub(super) fn check(plan: &Plan) -> Result<()> {
    for (name, set) in &plan.data_sets {
        check_one(plan, set).with_context(|| format!("data set `{name}`"))?;
    }
    for (name, arm) in &plan.arms {
        check_threads(plan, &arm.threads).with_context(|| format!("arm `{name}`"))?;
        let sets: Vec<Option<&DataSet>> = match plan.data_sets.is_empty() {
            true => vec![None],
            false => plan.data_sets.values().filter(|set| set.has_arm(name)).map(Some).collect(),
        };
        ensure!(!sets.is_empty(), "arm `{name}` is of no data set; name it in one, or drop it");
        ensure!(
            sets.iter().any(|set| !plan.threads_of(arm, *set).is_empty()),
            "arm `{name}` and its data sets have no thread count in common; change threads of one of them"
        );
    }
    Ok(())
}

fn check_one(plan: &Plan, set: &DataSet) -> Result<()> {
    for arm in &set.arms {
        ensure!(
            plan.arms.contains_key(arm),
            "arms names `{arm}`, which the plan does not have; there are {}",
            plan.arms.keys().cloned().collect::<Vec<_>>().join(", ")
        );
    }
    check_threads(plan, &set.threads)?;
    let mut its = plan.arms.iter().filter(|(name, _)| set.has_arm(name));
    let has_model = its.any(|(_, arm)| plan.rig_of(arm).kind == RigKind::Model);
    ensure!(
        has_model || !set.says_of_models(),
        "fill, logical, ratio and capacity_scale are of models, and none of its arms is one; drop them"
    );
    Ok(())
}

fn check_threads(plan: &Plan, threads: &[u32]) -> Result<()> {
    for count in threads {
        ensure!(
            plan.threads.contains(count),
            "threads has {count}, which the plan's threads have not; it can only leave some out"
        );
    }
    Ok(())
}
