//! The write path per transaction as the page shows it, and `tables/write_path.csv`.

use std::borrow::Cow;
use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::words::reconcile;
use crate::words::write_path::{activity, held, layer};
use assay_judge::reconcile::CrossCheck;
use assay_judge::write_path::{Boundary, Spent, TransactionLayer, WritePath};
use assay_study::{Events, Study};

use crate::analysis::Analysis;
use crate::charts::write_path_flow::{Flow, flows};
use crate::figures::format::{bytes, figure};
use crate::tables::csv::write_row;
use assay_judge::summary::{RepeatGroup, RepeatStatistics};

/// The write paths of one workload, configurations side by side at one thread count.
#[derive(Debug, Serialize)]
pub(crate) struct Evidence {
    workload: String,
    threads: u32,
    /// Places of the configurations that have any.
    configs: Vec<usize>,
    /// Pictures of what was written.
    flows: Vec<Flow>,
    blocks: Vec<Block>,
    /// Checks that failed, once each.
    disagreements: Vec<String>,
    held: usize,
}

/// Rows of one kind.
#[derive(Debug, Serialize)]
struct Block {
    title: &'static str,
    unit: Cow<'static, str>,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    /// A value for each configuration; `None` where unknown.
    values: Vec<Option<String>>,
}

/// Tables of every workload at its highest thread count that has write paths.
pub(crate) fn shown(
    study: &Study,
    groups: &[RepeatGroup<'_>],
    analysis: &Analysis,
) -> Vec<Evidence> {
    let of_workload = |(place, workload): (usize, &assay_study::WorkloadRecord)| {
        let its = || groups.iter().filter(move |group| group.workload == place);
        let has_write_path = |group: &&RepeatGroup<'_>| !write_paths(group, analysis).is_empty();
        let threads = its().filter(has_write_path).map(|group| group.threads).max()?;
        let sides: Vec<(usize, Vec<&WritePath>)> = its()
            .filter(|group| group.threads == threads)
            .map(|group| (group.config, write_paths(group, analysis)))
            .filter(|(_, write_paths)| !write_paths.is_empty())
            .collect();
        Some(evidence(study.events(), (workload.name.clone(), threads), &sides))
    };
    study.workloads.iter().enumerate().filter_map(of_workload).collect()
}

fn write_paths<'a>(group: &RepeatGroup<'_>, analysis: &'a Analysis) -> Vec<&'a WritePath> {
    let its = |write_path: &&WritePath| group.done().any(|trial| trial.key == write_path.key);
    analysis.appraisal.write_paths.iter().filter(its).collect()
}

fn evidence(
    events: Events,
    (workload, threads): (String, u32),
    sides: &[(usize, Vec<&WritePath>)],
) -> Evidence {
    let all = || sides.iter().flat_map(|(_, write_paths)| write_paths);
    let checks: Vec<&CrossCheck> = all().flat_map(|write_path| &write_path.checks).collect();
    let mut disagreements: Vec<String> = Vec::new();
    for check in checks.iter().filter(|check| !check.holds) {
        let text =
            format!("{}: {}", reconcile::name(events, check), reconcile::arithmetic(events, check));
        if !disagreements.contains(&text) {
            disagreements.push(text);
        }
    }
    Evidence {
        workload,
        threads,
        configs: sides.iter().map(|(config, _)| *config).collect(),
        flows: flows(events, sides),
        blocks: blocks(events, sides),
        disagreements,
        held: checks.iter().filter(|check| check.holds).count(),
    }
}

/// Rows: the name in a write path, and the figure.
type Entries = Vec<(String, f64)>;

fn blocks(events: Events, sides: &[(usize, Vec<&WritePath>)]) -> Vec<Block> {
    let of_layers = |read: fn(&TransactionLayer) -> Option<f64>| {
        move |write_path: &WritePath| -> Entries {
            let layers = write_path.layers.iter();
            layers.filter_map(|one| Some((layer(one.name).to_owned(), read(one)?))).collect()
        }
    };
    let kb = |bytes: f64| figure(bytes / 1e3);
    let all = [
        block(events, sides, ("written", "kB/{trx}"), of_layers(|layer| layer.write_bytes), kb),
        block(events, sides, ("amplification", "byte/byte"), amplification, figure),
        block(events, sides, ("writes", "/{trx}"), of_layers(|layer| layer.writes), figure),
        block(events, sides, ("flushes", "/{trx}"), of_layers(|layer| layer.flushes), figure),
        block(events, sides, ("read", "kB/{trx}"), of_layers(|layer| layer.read_bytes), kb),
        block(events, sides, ("reads", "/{trx}"), of_layers(|layer| layer.reads), figure),
        block(events, sides, ("time", "µs/{trx}"), spent(events), figure),
        block(events, sides, ("space", ""), space, bytes),
    ];
    all.into_iter().filter(|block| !block.rows.is_empty()).collect()
}

fn amplification(write_path: &WritePath) -> Entries {
    let boundaries = write_path.amplification.iter();
    let between = |one: &Boundary| format!("{} → {}", layer(one.from), layer(one.to));
    boundaries.map(|one| (between(one), one.factor)).collect()
}

fn spent(events: Events) -> impl Fn(&WritePath) -> Entries {
    move |write_path| {
        let entry = |one: &Spent| (activity(events, one.what).to_owned(), one.us);
        write_path.spent.iter().map(entry).collect()
    }
}

fn space(write_path: &WritePath) -> Entries {
    write_path.space.iter().map(|one| (held(one.layer).to_owned(), one.bytes)).collect()
}

/// Means over the repeats, in the order in which names first come.
fn block(
    events: Events,
    sides: &[(usize, Vec<&WritePath>)],
    (title, unit): (&'static str, &'static str),
    entries: impl Fn(&WritePath) -> Entries,
    shown: impl Fn(f64) -> String,
) -> Block {
    let of_sides: Vec<Vec<Entries>> = sides
        .iter()
        .map(|(_, write_paths)| write_paths.iter().map(|write_path| entries(write_path)).collect())
        .collect();
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in of_sides.iter().flatten().flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let value = |repeats: &Vec<Entries>, name: &String| {
        let its = repeats.iter().flatten().filter(|(one, _)| one == name);
        let mean = RepeatStatistics::of(its.map(|(_, value)| *value).collect())?.mean;
        Some(shown(mean))
    };
    let row = |name: &String| Row {
        name: name.clone(),
        values: of_sides.iter().map(|repeats| value(repeats, name)).collect(),
    };
    Block { title, unit: events.fill(unit), rows: names.into_iter().map(row).collect() }
}

/// `write_path.csv`: a row a figure, of each run. What is not known has no row.
pub(crate) fn write_table(file: &mut dyn Write, write_paths: &[WritePath]) -> Result<()> {
    let head = ["config", "workload", "threads", "repeat", "measure", "name", "value"];
    write_row(file, head.map(String::from))?;
    for write_path in write_paths {
        let key = &write_path.key;
        for (measure, name, value) in figures(write_path) {
            let row = [
                key.config.clone(),
                key.workload.clone(),
                key.threads.to_string(),
                key.repeat.to_string(),
                measure.into(),
                name,
                value.to_string(),
            ];
            write_row(file, row)?;
        }
    }
    Ok(())
}

fn figures(write_path: &WritePath) -> Vec<(&'static str, String, f64)> {
    let of_layer = |one: &TransactionLayer| {
        let all = [
            ("write_bytes_per_transaction", one.write_bytes),
            ("writes_per_transaction", one.writes),
            ("read_bytes_per_transaction", one.read_bytes),
            ("reads_per_transaction", one.reads),
            ("flushes_per_transaction", one.flushes),
        ];
        let name = layer(one.name);
        all.map(|(measure, value)| (measure, name, value))
    };
    let layers = write_path.layers.iter().flat_map(of_layer);
    let known = layers.filter_map(|(measure, name, value)| Some((measure, name.into(), value?)));
    let named = |measure: &'static str, entries: Entries| {
        entries.into_iter().map(move |(name, value)| (measure, name, value))
    };
    known
        .chain(named("amplification", amplification(write_path)))
        .chain(named("us_per_transaction", spent(Events::Transactions)(write_path)))
        .chain(named("space_bytes", space(write_path)))
        .collect()
}
