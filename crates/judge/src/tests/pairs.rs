//! Which pairs are judged, in which order, and that two data profiles are compared where a plan
//! asks.

use super::trials;
use crate::difference::noise::AaRuns;
use crate::difference::pairs::{Pair, all, of_interest};
use crate::difference::verdict::Conclusion;
use crate::judgement::comparisons;
use crate::simulated::{Truth, key, study};
use crate::statistics::simulated::Noise;
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;
use assay_study::{AskedPair, Study, TrialKey, WorkloadRecord};

fn workload(profile: &str, workload: &str) -> WorkloadRecord {
    WorkloadRecord {
        name: format!("{profile}: {workload}"),
        workload: workload.into(),
        data_profile: Some(profile.into()),
        recipe: String::new(),
        options: [].into(),
    }
}

fn pair(config: &str, against: &str) -> AskedPair {
    AskedPair { config: config.into(), against: against.into(), ..AskedPair::default() }
}

/// Three configurations on two data profiles under two workloads; `plain` has no `large`.
fn asking(pairs: &[AskedPair]) -> (Study, Vec<TrialKey>) {
    let mut study = study(&["plain", "csd", "zlib"], &[]);
    study.workloads = ["small", "large"]
        .iter()
        .flat_map(|profile| ["read", "write"].map(|name| workload(profile, name)))
        .collect();
    study.judging.compare = pairs.to_vec();
    let mut keys = Vec::new();
    for config in ["plain", "csd", "zlib"] {
        for one in &study.workloads {
            if config != "plain" || one.data_profile.as_deref() == Some("small") {
                keys.push(TrialKey { workload: one.name.clone(), ..key(config, 8, 1) });
            }
        }
    }
    (study, keys)
}

fn told(pairs: &[Pair]) -> Vec<String> {
    let side = |one: &crate::Side| format!("{} {}", one.config, one.workload);
    pairs
        .iter()
        .map(|one| format!("{} | {} | {:?}", side(&one.judged), side(&one.against), one.question))
        .collect()
}

#[test]
fn pairs_that_a_plan_names_come_first_and_each_pair_once() {
    let across = AskedPair {
        workload: Some("write".into()),
        data_profile: Some("large".into()),
        against_data_profile: Some("small".into()),
        ..pair("csd", "plain")
    };
    let (study, keys) = asking(&[pair("zlib", "csd"), across, pair("zlib", "plain")]);
    let keys: Vec<&TrialKey> = keys.iter().collect();
    assert_eq!(
        told(&all(&study, &keys)),
        [
            "zlib small: read | csd small: read | Some(0)",
            "zlib small: write | csd small: write | Some(0)",
            "zlib large: read | csd large: read | Some(0)",
            "zlib large: write | csd large: write | Some(0)",
            "csd large: write | plain small: write | Some(1)",
            "zlib small: read | plain small: read | Some(2)",
            "zlib small: write | plain small: write | Some(2)",
            "csd small: read | plain small: read | None",
            "csd small: write | plain small: write | None",
        ],
        "where the baseline is not run, the pair of the first that is was asked already"
    );
    assert_eq!(of_interest(&study), [], "nothing is planned yet");
}

#[test]
fn of_a_plan_that_names_no_pair_every_configuration_is_of_interest() {
    let (mut study, keys) = asking(&[]);
    study.trials = keys
        .into_iter()
        .map(|key| assay_study::Trial { key, ..crate::simulated::trial("a", &[]) })
        .collect();
    let found = told(&of_interest(&study));
    assert_eq!(found.len(), 6, "{found:?}");
    assert_eq!(found[0], "csd small: read | plain small: read | None");
    assert_eq!(found[4], "zlib large: read | csd large: read | None");
    study.judging.compare = vec![pair("csd", "zlib")];
    assert_eq!(of_interest(&study).len(), 4);
    assert!(of_interest(&study).iter().all(|one| one.question == Some(0)));
}

#[test]
fn two_data_profiles_are_compared_within_repeats() {
    let asked = AskedPair {
        data_profile: Some("large".into()),
        against_data_profile: Some("small".into()),
        ..pair("other", "base")
    };
    let mut study = study(&["base", "other"], &[]);
    study.workloads = vec![workload("small", "write"), workload("large", "write")];
    study.judging.compare = vec![asked];
    let quiet = Truth { second: 0.02, ..Truth::minute(0.002) };
    let mut runs = trials(&mut Noise::new(5), &quiet, 8, 3, 0.8);
    for run in &mut runs {
        let profile = if run.key.config == "base" { "small" } else { "large" };
        run.key.workload = format!("{profile}: write");
    }
    let found = |runs: &[Measured]| {
        comparisons(&study, runs, &AaRuns::of(runs, &study.judging.aa_runs), 0.03)
    };
    let one = found(&runs).into_iter().find(|one| one.metric == Metric::Throughput).unwrap();
    assert_eq!(
        (one.workload.as_str(), one.verdict.conclusion),
        ("large: write", Conclusion::Worse)
    );
    assert_eq!(one.against_workload.as_deref(), Some("small: write"));
    let ratio = one.difference.unwrap().ratio;
    assert!((ratio - 0.8).abs() < 0.03, "{ratio}");
}
