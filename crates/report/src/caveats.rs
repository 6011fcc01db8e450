//! What could be wrong with the study: its notes, cells that failed or carry a mark, errors, what was not run.

use std::collections::BTreeMap;

use serde::Serialize;

use assay_judge::Judgement;
use assay_judge::durability::Durability;
use assay_study::metrics::{Metric, Window, metric};
use assay_study::{Arm, Cell, State, Study};

use super::format::{figure, plural};
use super::headline;
use super::series::Embedded;
use crate::words;

/// One thing to know before a number is quoted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Caveat {
    /// What sort of thing.
    pub(super) kind: &'static str,
    /// The thing itself.
    pub(super) text: String,
}

fn caveat(kind: &'static str, text: String) -> Caveat {
    Caveat { kind, text }
}

/// All of them, the gravest first.
pub(super) fn of(
    study: &Study,
    judgement: &Judgement,
    durability: &[Durability],
    series: &Embedded,
) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = of_cells(study, State::Failed, "failed", |cell| {
        vec![cell.reason.clone().unwrap_or_else(|| "no reason was stored".into())]
    });
    caveats.extend(of_cells(study, State::Done, "marked", words::warning::of_cell));
    caveats.extend(uneven(study, durability).into_iter().map(|text| caveat("safety", text)));
    caveats.extend(models(study));
    caveats.extend(waits_before_models(study));
    caveats.extend(noise(judgement));
    caveats.extend(study.notes.iter().map(|note| caveat("note", words::note(*note).into())));
    caveats.extend(of_cells(study, State::Done, "errors", errors));
    caveats.extend(not_run(study));
    caveats.extend(once(study));
    caveats.extend(not_tested(study));
    caveats.extend(of_page(series));
    caveats
}

/// Arms whose speeds are not bought with the same safety, against the first arm: what differs, a sentence each. Twins are not told
/// of: they are as safe as their arms.
pub(super) fn uneven(study: &Study, durability: &[Durability]) -> Vec<String> {
    let Some((first, rest)) = durability.split_first() else { return Vec::new() };
    let told = |(kept, arm): (&Durability, &Arm)| {
        let unlike = if first.class == kept.class { Vec::new() } else { first.differs(kept) };
        let differs = words::durability::differences(&unlike)?;
        let first = study.arms.first()?;
        Some(format!(
            "{} and {} do not keep data alike, so their speeds are not of the same thing: {differs}.",
            first.name, arm.name
        ))
    };
    let others = rest.iter().zip(study.arms.iter().skip(1));
    others.filter(|(_, arm)| !headline::is_twin(study, arm)).filter_map(told).collect()
}

/// One caveat for each distinct text, naming its cells.
fn of_cells(
    study: &Study,
    state: State,
    kind: &'static str,
    texts: impl Fn(&Cell) -> Vec<String>,
) -> Vec<Caveat> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for cell in study.cells.iter().filter(|cell| cell.state == state) {
        for text in texts(cell) {
            match found.iter_mut().find(|(one, _)| *one == text) {
                Some((_, cells)) => cells.push(cell.key.to_string()),
                None => found.push((text, vec![cell.key.to_string()])),
            }
        }
    }
    let named = |(text, cells): (String, Vec<String>)| {
        let more = cells.len().saturating_sub(4);
        let mut names = cells.into_iter().take(4).collect::<Vec<_>>().join("; ");
        if more > 0 {
            names.push_str(&format!("; and {more} more"));
        }
        caveat(kind, format!("{text} ({names})"))
    };
    found.into_iter().map(named).collect()
}

/// Counts differ from cell to cell, so the text names the codes only; counts are in `results.json`.
fn errors(cell: &Cell) -> Vec<String> {
    cell.errors.keys().map(|code| format!("transactions met server error {code}")).collect()
}

fn not_run(study: &Study) -> Option<Caveat> {
    let waiting = |cell: &&Cell| matches!(cell.state, State::Pending | State::Running);
    let count = study.cells.iter().filter(waiting).count();
    let text = format!("{} of {} not run yet", count, plural(study.cells.len(), "cell"));
    (count > 0).then(|| caveat("not run", text))
}

fn once(study: &Study) -> Option<Caveat> {
    let mut repeats: BTreeMap<_, u32> = BTreeMap::new();
    for cell in study.cells.iter().filter(|cell| cell.state == State::Done) {
        *repeats.entry((&cell.key.arm, &cell.key.workload, cell.key.threads)).or_default() += 1;
    }
    let count = repeats.values().filter(|repeats| **repeats == 1).count();
    let text = format!(
        "{} of {} of arm, workload and threads finished one repeat only: how far another would differ is not known",
        count,
        plural(repeats.len(), "combination")
    );
    (count > 0).then(|| caveat("one repeat", text))
}

/// Arms whose figures follow from a preset and not from a device.
fn models(study: &Study) -> Option<Caveat> {
    let names = headline::models(study);
    let text = format!(
        "{} stand on models: their figures follow from a preset, of whose numbers some are published, some computed and some fitted; \
         `assay models` tells which. A device may do better or worse",
        names.join(", ")
    );
    (!names.is_empty()).then(|| caveat("models", text))
}

/// The kernel's mean latency of a model's commands above the model's own by more than this factor is told.
const WAITS_FROM: f64 = 1.25;

/// Kinds of command: how many a model was asked, how long they took by the kernel, and how long by the model.
const COMMANDS: [(&str, [&Metric; 3]); 2] = [
    (
        "read",
        [
            metric!("model_reads_per_s"),
            metric!("disk_read_latency_ms"),
            metric!("model_read_shown_latency_ms"),
        ],
    ),
    (
        "write",
        [
            metric!("model_writes_per_s"),
            metric!("disk_write_latency_ms"),
            metric!("model_write_shown_latency_ms"),
        ],
    ),
];

/// What commands wait in the kernel for their way to a model, which the model cannot see, is neither late nor added there.
fn waits_before_models(study: &Study) -> Option<Caveat> {
    let of_kind = |arm: &Arm, (kind, metrics): (&str, [&Metric; 3])| {
        let its = study.cells.iter().filter(|cell| cell.key.arm == arm.name);
        let ratios: Vec<f64> = its.filter_map(|cell| waited(cell, metrics)).collect();
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        (mean > WAITS_FROM).then(|| format!("{} times for {kind}s of {}", figure(mean), arm.name))
    };
    let arms = study.arms.iter().filter(|arm| !headline::is_twin(study, arm));
    let told: Vec<String> =
        arms.flat_map(|arm| COMMANDS.map(|kind| of_kind(arm, kind))).flatten().collect();
    let text = format!(
        "commands took longer by the kernel's account than the models showed them: in the mean {}. They wait in the kernel for the way to \
         the model, longer than for a device with queues of its own, and that is in no count of what is late or added",
        told.join(", ")
    );
    (!told.is_empty()).then(|| caveat("models", text))
}

/// The kernel's mean latency of a cell's commands ÷ the model's, of a kind that came at least once a second.
fn waited(cell: &Cell, metrics: [&Metric; 3]) -> Option<f64> {
    let figure =
        |metric: &Metric| cell.results.get(metric.name).copied().filter(|value| *value > 0.0);
    let [rate, kernel_ms, model_ms] = metrics.map(figure);
    rate.filter(|rate| *rate >= 1.0)?;
    Some(kernel_ms? / model_ms?)
}

/// What one arm differs by from itself, where that is known.
fn noise(judgement: &Judgement) -> Option<Caveat> {
    if judgement.comparisons.is_empty() {
        return None;
    }
    let seen = judgement.noise_floor.iter().flat_map(|floor| &floor.seen);
    let tps = seen.filter(|one| one.metric == assay_judge::Metric::Throughput);
    let widest = tps.map(|one| one.floor_percent).reduce(f64::max);
    let text = match widest {
        Some(percent) => format!(
            "one arm against itself stays below {} % of throughput in 95 of 100 cases, where it is noisiest: what is smaller may be chance",
            figure(percent)
        ),
        None => "no arm ran twice, so how far one arm lies from itself is not known; name a twin in the plan to learn it".into(),
    };
    Some(caveat("noise floor", text))
}

/// What lies outside of every study of this kind, with this one's own bounds.
fn not_tested(study: &Study) -> Option<Caveat> {
    let lengths = study.cells.iter().filter_map(|cell| cell.window).map(Window::length_s);
    let longest = lengths.fold(0.0, f64::max);
    let text = format!(
        "cells were measured for at most {}, so what takes longer is not in the figures: wear, heat, a device that fills up, a backup or an \
         alteration of a table meanwhile. Nothing is said of other sizes of data, other ratios of data to memory, other servers or replicas",
        plural(longest.round() as usize, "second")
    );
    (longest > 0.0).then(|| caveat("not tested", text))
}

fn of_page(series: &Embedded) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if series.coarsest_step_s > 1 {
        caveats.push(caveat(
            "this page",
            format!(
                "a point of the second-by-second charts stands for up to {} seconds: means, of latencies the longest; every second is in tables/series",
                series.coarsest_step_s
            ),
        ));
    }
    if !series.left_out.is_empty() {
        caveats.push(caveat(
            "this page",
            format!(
                "left out to keep the page small, but in tables/series: {}",
                series.left_out.join(", ")
            ),
        ));
    }
    caveats
}
