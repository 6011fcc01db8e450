//! Under what each of two studies was run, where that differs: it forbids no comparison, but
//! whoever reads one must see it.

use std::collections::BTreeMap;

use crate::difference::alike::differing;
use assay_study::metrics::Window;
use assay_study::{Config, RigLayer, RunState, Study, Trial};

/// Something that was not the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Circumstance {
    /// A setting, a layer of the rig, a fact of the machine, or a duration.
    pub what: String,
    /// How it was where is measured by, if it was there at all.
    pub a: Option<Value>,
    /// How it was where is judged.
    pub b: Option<Value>,
}

/// How something was.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// As it was stored or set.
    Text(String),
    /// From the first in its order to the last, which may be one.
    Range {
        /// The first.
        first: String,
        /// The last.
        last: String,
    },
    /// Memory. One machine's kernel keeps some kilobytes more for itself from one start to the
    /// next, so finer units would differ.
    Memory {
        /// In tenths of a GiB.
        gib_tenths: u64,
    },
    /// How many repeats.
    Repeats(u32),
    /// Whole seconds of the shortest run and the longest.
    Lengths {
        /// Length of the shortest run.
        least_s: f64,
        /// Length of the longest run.
        most_s: f64,
    },
    /// Which form of a plan was run.
    Form(Form),
    /// A layer of the rig.
    Layer(RigLayer),
}

/// A form of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As it stands.
    Full,
    /// The form that `[quick]` makes of the plan.
    Quick,
}

/// Facts of the machine that say where a study lies and not what it was run on.
const FACTS_OF_PLACE: [&str; 1] = ["location"];

/// Whether others tell a layer of a rig already: a model's scale and where its numbers are from, by
/// the disk; how many rows, by what must be alike.
fn is_told(layer: &RigLayer) -> bool {
    matches!(layer, RigLayer::Scale(_) | RigLayer::Numbers { .. } | RigLayer::Tables(_))
}

/// Facts of runs that are chosen by the plan.
const PLACEMENT: [&str; 3] = ["server_cpus", "load_cpus", "drive_cpus"];

/// In what two configurations of two studies were not run alike, by name.
pub fn circumstances(a: (&Study, &Config), b: (&Study, &Config)) -> Vec<Circumstance> {
    let (a, b) = (of(a), of(b));
    let all = differing(&a, &b).into_iter();
    all.map(|(what, [a, b])| Circumstance { what, a: a.cloned(), b: b.cloned() }).collect()
}

fn of((study, config): (&Study, &Config)) -> BTreeMap<String, Value> {
    let trials: Vec<&Trial> = study
        .trials
        .iter()
        .filter(|trial| trial.key.config == config.name && trial.state == RunState::Done)
        .collect();
    let mut all: BTreeMap<String, Value> = of_machine(study);
    let layers = config.rig.layers().into_iter().filter(|layer| !is_told(layer));
    all.extend(layers.map(|layer| (layer.name().to_owned(), Value::Layer(layer))));
    let text = |(name, value): (&String, &String)| (name.clone(), Value::Text(value.clone()));
    all.extend(config.settings.iter().map(text));
    all.extend(of_trials(&trials));
    let form = if study.form.is_some() { Form::Quick } else { Form::Full };
    all.insert("form of the plan".into(), Value::Form(form));
    // What is set to none is as what is not there.
    all.retain(|_, value| *value != Value::Text("none".into()));
    all
}

fn of_machine(study: &Study) -> BTreeMap<String, Value> {
    let facts = study.facts.iter().filter(|(name, _)| !FACTS_OF_PLACE.contains(&name.as_str()));
    let told = |(name, value): (&String, &String)| {
        let memory = (name == "memory").then(|| memory(value)).flatten();
        (name.clone(), memory.unwrap_or_else(|| Value::Text(value.clone())))
    };
    facts.map(told).collect()
}

/// Parses `16303412 kB`, the kernel's form (`/proc/meminfo`).
fn memory(kilobytes: &str) -> Option<Value> {
    let kib: f64 = kilobytes.strip_suffix("kB")?.trim().parse().ok()?;
    let gib_tenths = (kib / f64::from(1 << 20) * 10.0).round_ties_even() as u64;
    Some(Value::Memory { gib_tenths })
}

fn of_trials(trials: &[&Trial]) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    let dates = trials.iter().filter_map(|trial| trial.started_at.as_deref()?.get(..10));
    all.extend(range(dates.map(str::to_owned)).map(|range| ("date".to_owned(), range)));
    let repeats = trials.iter().map(|trial| trial.key.repeat).max();
    all.extend(repeats.map(|repeats| ("repeats".to_owned(), Value::Repeats(repeats))));
    let windows = || trials.iter().filter_map(|trial| trial.window);
    let lengths = [
        ("warmup_seconds", lengths(windows().map(|window| window.from_s))),
        ("seconds", lengths(windows().map(Window::length_s))),
    ];
    all.extend(lengths.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    for name in PLACEMENT {
        let its = trials.iter().filter_map(|trial| trial.facts.get(name).cloned());
        all.extend(range(its).map(|range| (name.to_owned(), range)));
    }
    all
}

/// Whole seconds of the shortest and the longest; nothing of none.
fn lengths(seconds: impl Iterator<Item = f64>) -> Option<Value> {
    let all: Vec<f64> = seconds.map(f64::round).collect();
    let least_s = all.iter().copied().reduce(f64::min)?;
    let most_s = all.iter().copied().reduce(f64::max)?;
    Some(Value::Lengths { least_s, most_s })
}

/// The first and the last of these in their order; nothing of none.
fn range(all: impl Iterator<Item = String>) -> Option<Value> {
    let all: Vec<String> = all.collect();
    let (first, last) = (all.iter().min()?.clone(), all.iter().max()?.clone());
    Some(Value::Range { first, last })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{study, trial};

    fn window(from_s: f64, to_s: f64) -> Window {
        Window { from_s, to_s }
    }

    fn side(facts: &[(&str, &str)], settings: &[(&str, &str)], window: Window) -> Study {
        let owned = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let mut study = study(&["a"], &[]);
        study.facts = owned(facts);
        study.configs[0].settings = owned(settings);
        study.configs[0].rig.server = "mysqld 9".into();
        study.trials = vec![Trial { window: Some(window), ..trial("a", &[]) }];
        study
    }

    #[test]
    fn what_two_studies_were_run_under_is_named_where_it_differs() {
        let facts = [("kernel", "6.1"), ("memory", "16303412 kB"), ("location", "/tmp/one")];
        let before = side(&facts, &[("innodb_buffer_pool_size", "32M")], window(2.0, 12.04));
        let found = |a: &Study, b: &Study| circumstances((a, &a.configs[0]), (b, &b.configs[0]));
        assert_eq!(found(&before, &before), []);
        let facts = [("kernel", "6.1"), ("memory", "16303400 kB"), ("location", "/tmp/two")];
        let same = side(&facts, &[("innodb_buffer_pool_size", "32M")], window(2.0, 11.98));
        assert_eq!(found(&before, &same), [], "the same machine, another directory");

        let facts = [("kernel", "6.2"), ("memory", "8151706 kB"), ("cpus", "4")];
        let mut after = side(&facts, &[("sync_binlog", "0")], window(5.0, 65.0));
        after.form = Some("Quick profile: …".into());
        after.configs[0].rig.server = "mysqld 8".into();
        after.trials[0].started_at = Some("2026-02-03T00:00:00Z".into());
        after.trials[0].key.repeat = 3;
        let text = |text: &str| Some(Value::Text(text.into()));
        let server = |text: &str| Some(Value::Layer(RigLayer::Server(text.into())));
        let day = |day: &str| Some(Value::Range { first: day.into(), last: day.into() });
        let length = |s: f64| Some(Value::Lengths { least_s: s, most_s: s });
        let memory = |gib_tenths: u64| Some(Value::Memory { gib_tenths });
        let expected = [
            ("cpus", None, text("4")),
            ("date", day("2026-01-02"), day("2026-02-03")),
            ("form of the plan", Some(Value::Form(Form::Full)), Some(Value::Form(Form::Quick))),
            ("innodb_buffer_pool_size", text("32M"), None),
            ("kernel", text("6.1"), text("6.2")),
            ("memory", memory(155), memory(78)),
            ("repeats", Some(Value::Repeats(1)), Some(Value::Repeats(3))),
            ("seconds", length(10.0), length(60.0)),
            ("server", server("mysqld 9"), server("mysqld 8")),
            ("sync_binlog", None, text("0")),
            ("warmup_seconds", length(2.0), length(5.0)),
        ];
        let all = found(&before, &after).into_iter().map(|one| (one.what, one.a, one.b));
        let expected = expected.map(|(what, a, b)| (what.to_owned(), a, b));
        assert_eq!(all.collect::<Vec<_>>(), expected);
    }
}
