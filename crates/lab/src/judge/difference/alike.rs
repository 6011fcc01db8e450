//! What two sides must share to be compared, beside how safe they are: their workloads and their scale.

use std::collections::{BTreeMap, BTreeSet};

use crate::store::{Arm, Cell, Study, Tables, Workload};
use crate::words;

use crate::judge::difference::studies::shared_workloads;

/// Says how events of a rate are spaced; nothing without a rate, which differs then itself.
const ARRIVALS: &str = "arrivals";

/// In what two arms differ that makes their figures no answer to one question; empty if in nothing.
pub(crate) fn scale_differences(a: (&Study, &Arm), b: (&Study, &Arm)) -> Vec<String> {
    let mut found = Vec::new();
    for ours in shared_workloads(a.0, b.0) {
        let Some(theirs) = b.0.workloads.iter().find(|one| one.name == ours.name) else { continue };
        let name = &ours.name;
        let is_kept_by_both = |option: &str| {
            option != ARRIVALS
                || [&ours, &theirs].iter().all(|one| one.options.contains_key(option))
        };
        let options = differing(&ours.options, &theirs.options).into_iter();
        for (option, value, other) in options.filter(|one| is_kept_by_both(&one.0)) {
            found.push(format!("workload `{name}` has {option} {value} and {other}"));
        }
    }
    for workload in shared_workloads(a.0, b.0).filter(|one| is_run(a, one) && is_run(b, one)) {
        let of_set = |arm: &'_ Arm| arm.rig.tables(workload.data_set.as_deref()).cloned();
        let (ours, theirs) = (of_set(a.1), of_set(b.1));
        let is_alike = match (&ours, &theirs) {
            (Some(ours), Some(theirs)) => ours.are_as_many(theirs),
            (None, None) => true,
            _ => false,
        };
        let text = |tables: Option<Tables>| tables.as_ref().map_or("none".into(), words::rig::rows);
        let told = format!("tables: {} and {}", text(ours), text(theirs));
        if !is_alike && !found.contains(&told) {
            found.push(told);
        }
    }
    let scale = |arm: &'_ Arm| arm.rig.model().map(|one| (one.capacity_scale, one.parallel_scale));
    if scale(a.1) != scale(b.1) {
        let text = |arm: &Arm| arm.rig.model().map_or("none".into(), words::rig::scale);
        found.push(format!("scale: {} and {}", text(a.1), text(b.1)));
    }
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
pub(super) fn differing(
    a: &BTreeMap<String, String>,
    b: &BTreeMap<String, String>,
) -> Vec<(String, String, String)> {
    let value = |side: &BTreeMap<String, String>, name: &String| {
        side.get(name).cloned().unwrap_or_else(|| "none".into())
    };
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let all = names.into_iter().map(|name| (name.clone(), value(a, name), value(b, name)));
    all.filter(|(_, a, b)| a != b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::simulated::study;
    use crate::store::{Data, Disk, Media, Model, Rig};

    fn tables(rows: u64, create_options: &str) -> Tables {
        Tables { count: 2, rows, create_options: create_options.into(), ..Tables::default() }
    }

    fn arm_with(media: Media, data: &[(Option<&str>, Tables)]) -> Arm {
        let data = data.iter().map(|(set, tables)| Data {
            data_set: set.map(str::to_owned),
            tables: tables.clone(),
            fill: None,
        });
        let disk = Some(Disk { media, ..Disk::default() });
        let rig = Rig { disk, data: data.collect(), ..Rig::default() };
        Arm { name: "a".into(), rig, settings: [].into() }
    }

    fn arm(device: &str, tables: Tables) -> Arm {
        arm_with(Media::Device { path: device.into() }, &[(None, tables)])
    }

    #[test]
    fn what_is_not_alike_is_named() {
        let whole = study(&["a"], &[]);
        let plain = arm("/dev/sda", tables(1000, ""));
        let differs = |other: &Arm| scale_differences((&whole, &plain), (&whole, other));
        assert!(differs(&arm("/dev/sdb", tables(1000, "COMPRESSION='zlib'"))).is_empty());
        assert_eq!(
            differs(&arm("/dev/sda", tables(9000, ""))),
            ["tables: 2 × 1000 rows and 2 × 9000 rows"]
        );
        let model =
            Media::Model(Model { capacity_scale: 40.0, parallel_scale: 4.0, ..Model::default() });
        let model = arm_with(model, &[(None, tables(1000, ""))]);
        assert_eq!(differs(&model), ["scale: none and capacity ÷ 40, parallelism ÷ 4"]);
        let mut other = study(&["a"], &[]);
        other.workloads[0].options.insert("rand_type".into(), "zipf".into());
        let found = scale_differences((&other, &plain), (&whole, &plain));
        assert_eq!(found, ["workload `w` has rand_type zipf and none"]);
        let found = scale_differences((&whole, &plain), (&other, &plain));
        assert_eq!(found, ["workload `w` has rand_type none and zipf"], "that b alone has");
    }

    #[test]
    fn tables_are_those_of_the_data_sets_that_both_are_run_on() {
        let mut both = study(&["a"], &[]);
        both.workloads[0].data_set = Some("full".into());
        let device = Media::Device { path: "/dev/sda".into() };
        let sets = [(Some("empty"), tables(100, "X")), (Some("full"), tables(9000, "X"))];
        let many = arm_with(device, &sets);
        let one = arm("/dev/sda", tables(9000, ""));
        let other = arm("/dev/sda", tables(100, ""));
        let found = |a: &Arm, b: &Arm| scale_differences((&both, a), (&both, b));
        assert_eq!(found(&many, &one), Vec::<String>::new());
        assert_eq!(found(&one, &many), Vec::<String>::new());
        assert_eq!(found(&many, &other), ["tables: 2 × 9000 rows and 2 × 100 rows"]);
    }

    #[test]
    fn studies_of_different_rates_are_not_alike() {
        let plain = arm("/dev/sda", tables(1000, ""));
        let paced = |rate: &str, arrivals: &str| {
            let mut study = study(&["a"], &[]);
            let options = [("rate", rate), ("arrivals", arrivals)];
            study.workloads[0].options = options.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
            study
        };
        let found = |a: &Study, b: &Study| scale_differences((a, &plain), (b, &plain));
        let open = study(&["a"], &[]);
        let (slow, fast) = (paced("100", "poisson"), paced("250", "poisson"));
        assert_eq!(found(&slow, &slow), Vec::<String>::new());
        assert_eq!(found(&slow, &fast), ["workload `w` has rate 100 and 250"]);
        assert_eq!(found(&open, &fast), ["workload `w` has rate none and 250"]);
        let even = paced("100", "even");
        assert_eq!(found(&slow, &even), ["workload `w` has arrivals poisson and even"]);
    }
}
