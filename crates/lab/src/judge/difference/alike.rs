//! What two sides must share to be compared, beside how safe they are: their workloads and their scale.

use crate::store::{Arm, Study};

use crate::judge::difference::studies::shared_workloads;

/// In what two arms differ that makes their figures no answer to one question; empty if in nothing.
pub(crate) fn scale_differences(a: (&Study, &Arm), b: (&Study, &Arm)) -> Vec<String> {
    let mut found = Vec::new();
    for workload in shared_workloads(a.0, b.0) {
        let other = b.0.workloads.iter().find(|one| one.name == workload.name);
        for (option, value) in &workload.options {
            let theirs = other.and_then(|one| one.options.get(option));
            if theirs != Some(value) {
                found.push(format!(
                    "workload `{}` has {option} {value} and {}",
                    workload.name,
                    theirs.map_or("none", String::as_str)
                ));
            }
        }
    }
    let scale = |arm: &Arm| [("tables", tables(arm)), ("scale", model_scale(arm))];
    for ((what, ours), (_, theirs)) in scale(a.1).into_iter().zip(scale(b.1)) {
        if ours != theirs {
            let text = |one: Option<String>| one.unwrap_or_else(|| "none".into());
            found.push(format!("{what}: {} and {}", text(ours), text(theirs)));
        }
    }
    found
}

fn layer<'a>(arm: &'a Arm, label: &str) -> Option<&'a str> {
    arm.rig.iter().find(|(one, _)| one == label).map(|(_, text)| text.as_str())
}

/// How many rows of what, without the options that compress them, which are what an arm is about.
fn tables(arm: &Arm) -> Option<String> {
    let of_set = |text: &str| text.split(", ").next().unwrap_or_default().to_owned();
    layer(arm, "tables").map(|text| text.split("; ").map(of_set).collect::<Vec<_>>().join("; "))
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
            ["tables: 2 × 1000 rows and 2 × 9000 rows"]
        );
        let model =
            arm("model of x, capacity ÷ 40, parallelism ÷ 4", "2 × 1000 rows", "safe: by y");
        assert_eq!(differs(&model), ["scale: none and capacity ÷ 40, parallelism ÷ 4"]);
        let mut other = study(&["a"], &[]);
        other.workloads[0].options.insert("rand_type".into(), "zipf".into());
        let found = scale_differences((&other, &plain), (&whole, &plain));
        assert_eq!(found, ["workload `w` has rand_type zipf and none"]);
    }
}
