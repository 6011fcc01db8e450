//! The base snapshots that a plan's runs start from.
//!
//! Configurations with the same layout share one. Those with several are compared across two loads
//! of the tables, which may differ in how pages lie by chance; so the noise floor has to know how
//! two loads of the same differ, and the A/A run then has one of its own.

use std::collections::{BTreeMap, BTreeSet};

use assay_load::Schema;
use assay_plan::{Experiment, Variant, VariantKey};
use serde_json::json;

use crate::rig::snapshot::shaping_settings;

/// Returns true if the configuration is an A/A run that has a base snapshot of its own.
pub(crate) fn is_loaded_anew(experiment: &Experiment, key: &VariantKey) -> bool {
    let is_aa_run = |key: &VariantKey| experiment.judging.aa_runs.contains_key(&key.config);
    let others = own(experiment)
        .filter(|one| one.key.data_profile == key.data_profile && !is_aa_run(&one.key));
    is_aa_run(key) && others.map(layout).collect::<BTreeSet<_>>().len() > 1
}

/// The tables of every base snapshot.
pub(crate) fn all(experiment: &Experiment) -> Vec<&Schema> {
    let mut found: BTreeMap<(String, Option<&str>), &Schema> = BTreeMap::new();
    for variant in own(experiment) {
        let only_of =
            is_loaded_anew(experiment, &variant.key).then_some(variant.key.config.as_str());
        found.insert((layout(variant), only_of), &variant.schema);
    }
    found.into_values().collect()
}

/// Variants whose servers are ours.
fn own(experiment: &Experiment) -> impl Iterator<Item = &Variant> {
    experiment.variants.iter().filter(|variant| variant.rig.endpoint().is_none())
}

/// Equal for variants that start from the same files.
fn layout(variant: &Variant) -> String {
    let server = variant.server.as_deref().map(std::path::Path::to_string_lossy);
    json!([server, variant.schema, shaping_settings(&variant.settings)]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_plan::Plan;

    const PLAN: &str = r#"
title = "t"
threads = [1]
seconds = 1
[workloads.w]
recipe = "oltp_read_only"
[configs.plain]
[configs.other]
"#;

    fn made(more: &str) -> (Vec<bool>, usize) {
        let experiment = Experiment::of(Plan::parse(&format!("{PLAN}{more}")).unwrap()).unwrap();
        let anew =
            experiment.variants.iter().map(|one| is_loaded_anew(&experiment, &one.key)).collect();
        (anew, all(&experiment).len())
    }

    #[test]
    fn an_aa_run_is_loaded_anew_where_the_sides_of_a_comparison_are() {
        assert_eq!(made("settings = { innodb_doublewrite = \"OFF\" }"), (vec![false; 3], 1));
        assert_eq!(made("compression = \"zlib\""), (vec![false, true, false], 3));
        let larger = "settings = { innodb_redo_log_capacity = \"1G\" }";
        assert_eq!(made(larger), (vec![false, true, false], 3), "plain, its A/A run, other");
    }
}
