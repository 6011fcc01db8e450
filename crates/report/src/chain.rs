//! The write path per transaction as the page shows it, and `tables/chain.csv`.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::words::chain::{activity, held, layer};
use crate::words::reconcile;
use assay_judge::chain::{Boundary, Chain, Layer};
use assay_judge::reconcile::Check;
use assay_study::Study;

use super::flow::{Flow, flows};
use super::format::{bytes, figure};
use super::judged::Judged;
use super::tables::write_row;
use assay_judge::summary::{Figure, Group};

/// The chains of one workload, configurations side by side at one thread count.
#[derive(Debug, Serialize)]
pub(super) struct Evidence {
    workload: String,
    threads: u32,
    /// Places of the configurations that have any.
    configs: Vec<usize>,
    /// Pictures of what was written.
    flows: Vec<Flow>,
    blocks: Vec<Block>,
    /// What did not agree, once each.
    disagreements: Vec<String>,
    held: usize,
}

/// Rows of one kind.
#[derive(Debug, Serialize)]
struct Block {
    title: &'static str,
    unit: &'static str,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    /// Of each configuration; nothing where it is not known.
    values: Vec<Option<String>>,
}

/// Of every workload at its largest thread count that has chains.
pub(super) fn shown(study: &Study, groups: &[Group<'_>], judged: &Judged) -> Vec<Evidence> {
    let of_workload = |(place, workload): (usize, &assay_study::Workload)| {
        let its = || groups.iter().filter(move |group| group.workload == place);
        let has_chain = |group: &&Group<'_>| !chains(group, judged).is_empty();
        let threads = its().filter(has_chain).map(|group| group.threads).max()?;
        let sides: Vec<(usize, Vec<&Chain>)> = its()
            .filter(|group| group.threads == threads)
            .map(|group| (group.config, chains(group, judged)))
            .filter(|(_, chains)| !chains.is_empty())
            .collect();
        Some(evidence(workload.name.clone(), threads, &sides))
    };
    study.workloads.iter().enumerate().filter_map(of_workload).collect()
}

fn chains<'a>(group: &Group<'_>, judged: &'a Judged) -> Vec<&'a Chain> {
    let its = |chain: &&Chain| group.done().any(|trial| trial.key == chain.key);
    judged.chains.iter().filter(its).collect()
}

fn evidence(workload: String, threads: u32, sides: &[(usize, Vec<&Chain>)]) -> Evidence {
    let all = || sides.iter().flat_map(|(_, chains)| chains);
    let checks: Vec<&Check> = all().flat_map(|chain| &chain.checks).collect();
    let mut disagreements: Vec<String> = Vec::new();
    for check in checks.iter().filter(|check| !check.holds) {
        let text = format!("{}: {}", reconcile::name(check), reconcile::arithmetic(check));
        if !disagreements.contains(&text) {
            disagreements.push(text);
        }
    }
    Evidence {
        workload,
        threads,
        configs: sides.iter().map(|(config, _)| *config).collect(),
        flows: flows(sides),
        blocks: blocks(sides),
        disagreements,
        held: checks.iter().filter(|check| check.holds).count(),
    }
}

/// What a row is of: its name in a chain, and its figure.
type Entries = Vec<(String, f64)>;

fn blocks(sides: &[(usize, Vec<&Chain>)]) -> Vec<Block> {
    let of_layers = |read: fn(&Layer) -> Option<f64>| {
        move |chain: &Chain| -> Entries {
            let layers = chain.layers.iter();
            layers.filter_map(|one| Some((layer(one.name).to_owned(), read(one)?))).collect()
        }
    };
    let kb = |bytes: f64| figure(bytes / 1e3);
    let all = [
        block(sides, ("written", "kB/trx"), of_layers(|layer| layer.write_bytes), kb),
        block(sides, ("amplification", "byte/byte"), amplification, figure),
        block(sides, ("writes", "/trx"), of_layers(|layer| layer.writes), figure),
        block(sides, ("flushes", "/trx"), of_layers(|layer| layer.flushes), figure),
        block(sides, ("read", "kB/trx"), of_layers(|layer| layer.read_bytes), kb),
        block(sides, ("reads", "/trx"), of_layers(|layer| layer.reads), figure),
        block(sides, ("time", "µs/trx"), spent, figure),
        block(sides, ("space", ""), space, bytes),
    ];
    all.into_iter().filter(|block| !block.rows.is_empty()).collect()
}

fn amplification(chain: &Chain) -> Entries {
    let boundaries = chain.amplification.iter();
    let between = |one: &Boundary| format!("{} → {}", layer(one.from), layer(one.to));
    boundaries.map(|one| (between(one), one.factor)).collect()
}

fn spent(chain: &Chain) -> Entries {
    chain.spent.iter().map(|one| (activity(one.what).to_owned(), one.us)).collect()
}

fn space(chain: &Chain) -> Entries {
    chain.space.iter().map(|one| (held(one.layer).to_owned(), one.bytes)).collect()
}

/// Means over the repeats, in the order in which names first come.
fn block(
    sides: &[(usize, Vec<&Chain>)],
    (title, unit): (&'static str, &'static str),
    entries: impl Fn(&Chain) -> Entries,
    shown: impl Fn(f64) -> String,
) -> Block {
    let of_sides: Vec<Vec<Entries>> = sides
        .iter()
        .map(|(_, chains)| chains.iter().map(|chain| entries(chain)).collect())
        .collect();
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in of_sides.iter().flatten().flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let value = |repeats: &Vec<Entries>, name: &String| {
        let its = repeats.iter().flatten().filter(|(one, _)| one == name);
        let mean = Figure::of(its.map(|(_, value)| *value).collect())?.mean;
        Some(shown(mean))
    };
    let row = |name: &String| Row {
        name: name.clone(),
        values: of_sides.iter().map(|repeats| value(repeats, name)).collect(),
    };
    Block { title, unit, rows: names.into_iter().map(row).collect() }
}

/// `chain.csv`: a row a figure, of each run. What is not known has no row.
pub(super) fn write_table(file: &mut dyn Write, chains: &[Chain]) -> Result<()> {
    let head = ["config", "workload", "threads", "repeat", "measure", "name", "value"];
    write_row(file, head.map(String::from))?;
    for chain in chains {
        let key = &chain.key;
        for (measure, name, value) in figures(chain) {
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

fn figures(chain: &Chain) -> Vec<(&'static str, String, f64)> {
    let of_layer = |one: &Layer| {
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
    let layers = chain.layers.iter().flat_map(of_layer);
    let known = layers.filter_map(|(measure, name, value)| Some((measure, name.into(), value?)));
    let named = |measure: &'static str, entries: Entries| {
        entries.into_iter().map(move |(name, value)| (measure, name, value))
    };
    known
        .chain(named("amplification", amplification(chain)))
        .chain(named("us_per_transaction", spent(chain)))
        .chain(named("space_bytes", space(chain)))
        .collect()
}
