//! What two sides must share to be compared, beside how safe they are: their workloads and their scale.

use std::collections::{BTreeMap, BTreeSet};

use crate::store::{Arm, Cell, Study, Workload};

use crate::judge::difference::studies::shared_workloads;

/// Says how events of a rate are spaced; nothing without a rate, which differs then itself.
const ARRIVALS: &str = "arrivals";

/// Something that both sides should share and do not, as it is on each; nothing where a side has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unlike {
    /// An option of a workload.
    Option {
        /// The workload.
        workload: String,
        /// The option.
        option: String,
        /// Its values.
        values: [Option<String>; 2],
    },
    /// How many rows of what the tables hold.
    Tables([Option<String>; 2]),
    /// What models are divided by.
    Scale([Option<String>; 2]),
}

/// In what two arms differ that makes their figures no answer to one question, each thing once; empty if in nothing.
pub(crate) fn scale_differences(a: (&Study, &Arm), b: (&Study, &Arm)) -> Vec<Unlike> {
    let mut found = Vec::new();
    for ours in shared_workloads(a.0, b.0) {
        let Some(theirs) = b.0.workloads.iter().find(|one| one.name == ours.name) else { continue };
        let (ours, theirs) = (load(a, ours), load(b, theirs));
        let is_kept_by_both = |option: &str| {
            option != ARRIVALS
                || [&ours, &theirs].iter().all(|one| one.options.contains_key(option))
        };
        let options = differing(&ours.options, &theirs.options).into_iter();
        let options = options.filter(|(option, _)| is_kept_by_both(option));
        found.extend(options.map(|(option, values)| Unlike::Option {
            workload: ours.name.clone(),
            option,
            values: values.map(|value| value.cloned()),
        }));
    }
    for workload in shared_workloads(a.0, b.0).filter(|one| is_run(a, one) && is_run(b, one)) {
        let both = [a.1, b.1].map(|arm| tables(arm, workload.data_set.as_deref()));
        let unlike = Unlike::Tables(both.clone());
        if both[0] != both[1] && !found.contains(&unlike) {
            found.push(unlike);
        }
    }
    let scales = [a.1, b.1].map(model_scale);
    found.extend((scales[0] != scales[1]).then_some(Unlike::Scale(scales)));
    found
}

/// Whether the arm has cells of the workload; of a study without cells all have all.
fn is_run(side: (&Study, &Arm), workload: &Workload) -> bool {
    side.0.cells.is_empty() || cells(side, workload).next().is_some()
}

fn cells<'a>(
    (study, arm): (&'a Study, &'a Arm),
    workload: &'a Workload,
) -> impl Iterator<Item = &'a Cell> {
    let is_its = |cell: &&Cell| cell.key.arm == arm.name && cell.key.workload == workload.name;
    study.cells.iter().filter(is_its)
}

/// Names whose values differ, those that one side alone has included, with both values.
pub(super) fn differing<'a, V: PartialEq>(
    a: &'a BTreeMap<String, V>,
    b: &'a BTreeMap<String, V>,
) -> Vec<(String, [Option<&'a V>; 2])> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let all = names.into_iter().map(|name| (name.clone(), [a.get(name), b.get(name)]));
    all.filter(|(_, [a, b])| a != b).collect()
}

/// A workload as it was run on an arm. Studies in whose options the rate is not yet kept have it with their results, and how it was
/// spaced in neither: then it differs from nothing.
fn load((study, arm): (&Study, &Arm), workload: &Workload) -> Workload {
    let mut load = workload.clone();
    let mut its = cells((study, arm), workload);
    if let Some(rate) = its.find_map(|cell| cell.results.get("target_rate")) {
        load.options.entry("rate".into()).or_insert_with(|| rate.to_string());
    }
    load
}

fn layer<'a>(arm: &'a Arm, label: &str) -> Option<&'a str> {
    arm.rig.iter().find(|(one, _)| one == label).map(|(_, text)| text.as_str())
}

/// How many rows of what the data set has, without the options that compress them, which are what an arm is about. An arm whose data
/// sets are all alike names none.
fn tables(arm: &Arm, data_set: Option<&str>) -> Option<String> {
    let all = layer(arm, "tables")?;
    let head = data_set.map(|name| format!("{name}: ")).unwrap_or_default();
    let its = all.split("; ").find_map(|text| text.strip_prefix(head.as_str()));
    its.unwrap_or(all).split(", ").next().map(str::to_owned)
}

/// What a model's capacity and parallelism are divided by; a device of its own is whole.
fn model_scale(arm: &Arm) -> Option<String> {
    let disk = layer(arm, "disk")?;
    let scale = disk.starts_with("model of ").then(|| disk.split_once(", capacity ÷ "))??;
    Some(format!("capacity ÷ {}", scale.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::simulated::study;

    fn arm(disk: &str, tables: &str, pages: &str) -> Arm {
        let rig = [("disk", disk), ("tables", tables), ("page writes", pages)];
        Arm {
            name: "a".into(),
            rig: rig.map(|(label, text)| (label.to_owned(), text.to_owned())).into(),
            settings: [].into(),
        }
    }

    fn values(a: &str, b: &str) -> [Option<String>; 2] {
        [a, b].map(|one| Some(one.to_owned()))
    }

    fn option(option: &str, values: [Option<String>; 2]) -> Unlike {
        Unlike::Option { workload: "w".into(), option: option.into(), values }
    }

    #[test]
    fn what_is_not_alike_is_named() {
        let whole = study(&["a"], &[]);
        let plain = arm("/dev/sda", "2 × 1000 rows", "safe: written twice");
        let differs = |other: &Arm| scale_differences((&whole, &plain), (&whole, other));
        assert!(
            differs(&arm("/dev/sdb", "2 × 1000 rows, COMPRESSION='zlib'", "safe: the drive"))
                .is_empty()
        );
        assert_eq!(
            differs(&arm("/dev/sda", "2 × 9000 rows", "safe: written twice")),
            [Unlike::Tables(values("2 × 1000 rows", "2 × 9000 rows"))]
        );
        let model =
            arm("model of x, capacity ÷ 40, parallelism ÷ 4", "2 × 1000 rows", "safe: by y");
        let scale = [None, Some("capacity ÷ 40, parallelism ÷ 4".to_owned())];
        assert_eq!(differs(&model), [Unlike::Scale(scale)]);
        let mut other = study(&["a"], &[]);
        other.workloads[0].options.insert("rand_type".into(), "zipf".into());
        let found = scale_differences((&other, &plain), (&whole, &plain));
        assert_eq!(found, [option("rand_type", [Some("zipf".into()), None])]);
        let found = scale_differences((&whole, &plain), (&other, &plain));
        let of_b = option("rand_type", [None, Some("zipf".into())]);
        assert_eq!(found, [of_b], "that b alone has");
    }

    #[test]
    fn tables_are_those_of_the_data_sets_that_both_are_run_on() {
        let mut both = study(&["a"], &[]);
        both.workloads[0].data_set = Some("full".into());
        let many = arm("/dev/sda", "empty: 2 × 100 rows, X; full: 2 × 9000 rows, X", "safe");
        let one = arm("/dev/sda", "2 × 9000 rows", "safe");
        let other = arm("/dev/sda", "2 × 100 rows", "safe");
        let found = |a: &Arm, b: &Arm| scale_differences((&both, a), (&both, b));
        assert_eq!(found(&many, &one), Vec::new());
        assert_eq!(found(&one, &many), Vec::new());
        let rows = Unlike::Tables(values("2 × 9000 rows", "2 × 100 rows"));
        assert_eq!(found(&many, &other), [rows]);
    }

    #[test]
    fn studies_of_different_rates_are_not_alike_also_where_only_results_tell_the_rate() {
        let plain = arm("/dev/sda", "2 × 1000 rows", "safe: written twice");
        let paced = |rate: &str, arrivals: &str| {
            let mut study = study(&["a"], &[]);
            let options = [("rate", rate), ("arrivals", arrivals)];
            study.workloads[0].options = options.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
            study
        };
        let found = |a: &Study, b: &Study| scale_differences((a, &plain), (b, &plain));
        let open = study(&["a"], &[]);
        let (slow, fast) = (paced("100", "poisson"), paced("250", "poisson"));
        let rates = option("rate", values("100", "250"));
        assert_eq!(found(&slow, &slow), Vec::new());
        assert_eq!(found(&slow, &fast), std::slice::from_ref(&rates));
        assert_eq!(found(&open, &fast), [option("rate", [None, Some("250".into())])]);
        let even = paced("100", "even");
        assert_eq!(found(&slow, &even), [option("arrivals", values("poisson", "even"))]);
        let mut older = study(&["a"], &[]);
        older.cells = vec![crate::judge::simulated::cell("a", &[("target_rate", 100.0)])];
        assert_eq!(found(&older, &slow), Vec::new());
        assert_eq!(found(&older, &fast), [rates]);
    }
}
