//! Under what each of two studies was run, where that differs: it forbids no comparison, but whoever reads one must see it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::judge::difference::alike::differing;
use crate::metrics::Window;
use crate::store::{Arm, Cell, RigLayer, State, Study};
use crate::words;

/// Something that was not the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Circumstance {
    /// What: a setting, a layer of the rig, a fact of the machine, a length.
    pub(crate) what: String,
    /// How it was where is measured by.
    pub(crate) a: String,
    /// How it was where is judged.
    pub(crate) b: String,
}

/// Facts of the machine that say where a study lies and not what it was run on.
const FACTS_OF_PLACE: [&str; 1] = ["location"];

/// Whether others tell a layer of a rig already: a model's scale and where its numbers are from, by the disk; how many rows, by what
/// must be alike.
fn is_told(layer: &RigLayer) -> bool {
    matches!(layer, RigLayer::Scale(_) | RigLayer::Numbers { .. } | RigLayer::Tables(_))
}

/// Facts of cells that are chosen by the plan.
const PLACEMENT: [&str; 3] = ["server_cpus", "load_cpus", "drive_cpus"];

/// In what two arms of two studies were not run alike, by name.
pub(crate) fn circumstances(a: (&Study, &Arm), b: (&Study, &Arm)) -> Vec<Circumstance> {
    let all = differing(&of(a), &of(b)).into_iter();
    all.map(|(what, a, b)| Circumstance { what, a, b }).collect()
}

fn of((study, arm): (&Study, &Arm)) -> BTreeMap<String, String> {
    let cells: Vec<&Cell> = study
        .cells
        .iter()
        .filter(|cell| cell.key.arm == arm.name && cell.state == State::Done)
        .collect();
    let mut all: BTreeMap<String, String> = of_machine(study);
    let layers = arm.rig.layers();
    let layers = layers.iter().filter(|layer| !is_told(layer));
    all.extend(layers.map(|layer| (layer.name().to_owned(), words::rig::text(layer))));
    all.extend(arm.settings.clone());
    all.extend(of_cells(&cells));
    let form = if study.form.is_some() { "quick" } else { "full" };
    all.insert("form of the plan".into(), form.into());
    all
}

fn of_machine(study: &Study) -> BTreeMap<String, String> {
    let facts = study.facts.iter().filter(|(name, _)| !FACTS_OF_PLACE.contains(&name.as_str()));
    let told = |(name, value): (&String, &String)| match name.as_str() {
        "memory" => (name.clone(), gibibytes(value).unwrap_or_else(|| value.clone())),
        _ => (name.clone(), value.clone()),
    };
    facts.map(told).collect()
}

/// `16303412 kB` as `15.5 GiB`: one machine's kernel keeps some kilobytes more for itself from one start to the next.
fn gibibytes(kilobytes: &str) -> Option<String> {
    let number: f64 = kilobytes.strip_suffix("kB")?.trim().parse().ok()?;
    Some(format!("{:.1} GiB", number / f64::from(1 << 20)))
}

fn of_cells(cells: &[&Cell]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let dates = cells.iter().filter_map(|cell| cell.started_at.as_deref()?.get(..10));
    all.extend(range(dates.map(str::to_owned)).map(|text| ("date".to_owned(), text)));
    let repeats = cells.iter().map(|cell| cell.key.repeat).max();
    all.extend(repeats.map(|repeats| ("repeats".to_owned(), repeats.to_string())));
    let windows = || cells.iter().filter_map(|cell| cell.window);
    let lengths = [
        ("warmup_seconds", whole_seconds(windows().map(|window| window.from_s))),
        ("seconds", whole_seconds(windows().map(Window::length_s))),
    ];
    all.extend(lengths.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?))));
    for name in PLACEMENT {
        let its = cells.iter().filter_map(|cell| cell.facts.get(name).cloned());
        all.extend(range(its).map(|text| (name.to_owned(), text)));
    }
    all
}

/// `10`, or `9 to 12` where cells were not equally long.
fn whole_seconds(seconds: impl Iterator<Item = f64>) -> Option<String> {
    let all: Vec<f64> = seconds.map(f64::round).collect();
    let least = all.iter().copied().reduce(f64::min)?;
    let most = all.iter().copied().reduce(f64::max)?;
    Some(if least < most { format!("{least} to {most}") } else { least.to_string() })
}

/// The first and the last of these in their order, or the one there is.
fn range(all: impl Iterator<Item = String>) -> Option<String> {
    let mut all: Vec<String> = all.collect();
    all.sort();
    let (first, last) = (all.first()?, all.last()?);
    Some(if first == last { first.clone() } else { format!("{first} to {last}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::simulated::{cell, study};

    fn window(from_s: f64, to_s: f64) -> Window {
        Window { from_s, to_s }
    }

    fn side(facts: &[(&str, &str)], settings: &[(&str, &str)], window: Window) -> Study {
        let owned = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let mut study = study(&["a"], &[]);
        study.facts = owned(facts);
        study.arms[0].settings = owned(settings);
        study.arms[0].rig.server = "mysqld 9".into();
        study.cells = vec![Cell { window: Some(window), ..cell("a", &[]) }];
        study
    }

    #[test]
    fn what_two_studies_were_run_under_is_told_where_it_differs() {
        let facts = [("kernel", "6.1"), ("memory", "16303412 kB"), ("location", "/tmp/one")];
        let before = side(&facts, &[("innodb_buffer_pool_size", "32M")], window(2.0, 12.04));
        let told = |a: &Study, b: &Study| -> Vec<String> {
            let all = circumstances((a, &a.arms[0]), (b, &b.arms[0]));
            all.into_iter().map(|one| format!("{}: {} and {}", one.what, one.a, one.b)).collect()
        };
        assert_eq!(told(&before, &before), Vec::<String>::new());
        let facts = [("kernel", "6.1"), ("memory", "16303400 kB"), ("location", "/tmp/two")];
        let same = side(&facts, &[("innodb_buffer_pool_size", "32M")], window(2.0, 11.98));
        assert_eq!(told(&before, &same), Vec::<String>::new(), "the same machine, another folder");

        let facts = [("kernel", "6.2"), ("memory", "8151706 kB"), ("processors", "4")];
        let mut after = side(&facts, &[("sync_binlog", "0")], window(5.0, 65.0));
        after.form = Some("Quick form: …".into());
        after.arms[0].rig.server = "mysqld 8".into();
        after.cells[0].started_at = Some("2026-02-03T00:00:00Z".into());
        after.cells[0].key.repeat = 3;
        assert_eq!(
            told(&before, &after),
            [
                "date: 2026-01-02 and 2026-02-03",
                "form of the plan: full and quick",
                "innodb_buffer_pool_size: 32M and none",
                "kernel: 6.1 and 6.2",
                "memory: 15.5 GiB and 7.8 GiB",
                "processors: none and 4",
                "repeats: 1 and 3",
                "seconds: 10 and 60",
                "server: mysqld 9 and mysqld 8",
                "sync_binlog: none and 0",
                "warmup_seconds: 2 and 5",
            ]
        );
    }
}
