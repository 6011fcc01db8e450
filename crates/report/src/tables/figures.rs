//! Tables of the page, as texts: what the template prints and no more.

use serde::Serialize;

use assay_study::{Events, RunState, Study, Trial};

use crate::figures::columns::Metric;
use crate::figures::format::{bytes, figure, plural};
use crate::words;
use assay_judge::summary::{RepeatGroup, RepeatStatistics};

/// A table of figures: configurations within thread counts, a metric a column.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    columns: Vec<Column>,
    blocks: Vec<Block>,
    footnotes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Column {
    head: String,
    unit: String,
    title: String,
}

/// The rows of one thread count.
#[derive(Debug, Serialize)]
struct Block {
    threads: String,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    config: usize,
    /// Why there are no figures.
    reason: Option<String>,
    /// Numbers of the footnotes that concern the row, from 1.
    notes: Vec<usize>,
    fields: Vec<Field>,
}

/// A figure as it is read, with the raw one behind it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Field {
    text: String,
    spread: Option<String>,
    raw: String,
    /// Length of the bar under it in percent of the largest, in the first column.
    bar: Option<u32>,
}

impl Field {
    fn of(metric: &Metric<'_>, figure_of: Option<RepeatStatistics>) -> Field {
        let Some(found) = figure_of else {
            return Field { text: "–".into(), ..Field::default() };
        };
        let (low, high) = (figure(found.low), figure(found.high));
        let repeats: Vec<String> =
            found.values.iter().map(|value| (value / metric.scale).to_string()).collect();
        Field {
            text: figure(found.mean),
            spread: (low != high).then(|| format!("{low}–{high}")),
            raw: format!("{}: {}", metric.stored(), repeats.join(", ")),
            bar: None,
        }
    }
}

/// The figures of one workload. Columns that no run has are left out.
pub(crate) fn table(
    events: Events,
    groups: &[RepeatGroup<'_>],
    workload: usize,
    metrics: &[Metric<'_>],
) -> Table {
    table_of(events, groups.iter().filter(|group| group.workload == workload).collect(), metrics)
}

/// The same, of those groups alone that have the first of `metrics`; nothing if there are none.
pub(crate) fn table_where_any(
    events: Events,
    groups: &[RepeatGroup<'_>],
    workload: usize,
    metrics: &[Metric<'_>],
) -> Option<Table> {
    let has_first =
        |group: &&RepeatGroup<'_>| metrics.first().is_some_and(|first| first.over(group).is_some());
    let of_workload = groups.iter().filter(|group| group.workload == workload);
    let having: Vec<&RepeatGroup<'_>> = of_workload.filter(has_first).collect();
    (!having.is_empty()).then(|| table_of(events, having, metrics))
}

fn table_of(events: Events, of_workload: Vec<&RepeatGroup<'_>>, metrics: &[Metric<'_>]) -> Table {
    let present: Vec<Metric<'_>> = metrics
        .iter()
        .copied()
        .filter(|metric| of_workload.iter().any(|group| metric.over(group).is_some()))
        .collect();
    let mut footnotes = Vec::new();
    let mut blocks: Vec<(u32, Block)> = Vec::new();
    let largest = present.first().map_or(0.0, |first| largest(&of_workload, first));
    for group in of_workload {
        let row = row(events, group, &present, largest, &mut footnotes);
        match blocks.last_mut() {
            Some((threads, block)) if *threads == group.threads => block.rows.push(row),
            _ => {
                let threads = plural(group.threads as usize, "thread");
                blocks.push((group.threads, Block { threads, rows: vec![row] }));
            }
        }
    }
    let column = |metric: Metric<'_>| Column {
        head: metric.head(events).into(),
        unit: metric.unit(events).into(),
        title: format!("{} ({})", metric.title(events), metric.stored()),
    };
    Table {
        columns: present.into_iter().map(column).collect(),
        blocks: blocks.into_iter().map(|(_, block)| block).collect(),
        footnotes,
    }
}

fn largest(groups: &[&RepeatGroup<'_>], metric: &Metric<'_>) -> f64 {
    groups.iter().filter_map(|group| metric.over(group)).map(|one| one.mean).fold(0.0, f64::max)
}

fn row(
    events: Events,
    group: &RepeatGroup<'_>,
    metrics: &[Metric<'_>],
    largest: f64,
    notes: &mut Vec<String>,
) -> Row {
    if group.done().next().is_none() {
        let reason = Some(reasons(&group.trials));
        return Row { config: group.config, reason, notes: Vec::new(), fields: Vec::new() };
    }
    let mut fields: Vec<Field> =
        metrics.iter().map(|metric| Field::of(metric, metric.over(group))).collect();
    if let (Some(field), Some(first)) = (fields.first_mut(), metrics.first()) {
        let part = first.over(group).map(|one| one.mean / largest).filter(|part| part.is_finite());
        field.bar = part.map(|part| (part * 100.0).round() as u32);
    }
    let mut numbers: Vec<usize> =
        remarks(events, group).map(|text| number_of(text, notes)).collect();
    numbers.dedup();
    Row { config: group.config, reason: None, notes: numbers, fields }
}

fn number_of(text: String, notes: &mut Vec<String>) -> usize {
    let place = notes.iter().position(|note| *note == text).unwrap_or_else(|| {
        notes.push(text);
        notes.len() - 1
    });
    place + 1
}

/// Remarks on a row that has figures.
fn remarks<'a>(events: Events, group: &'a RepeatGroup<'_>) -> impl Iterator<Item = String> + 'a {
    group.trials.iter().flat_map(move |trial| match trial.state {
        RunState::Done => words::warning::of_trial(events, trial),
        _ => vec![format!("repeat {} {}", trial.key.repeat, standing(trial))],
    })
}

/// Why a group has no figures at all.
fn reasons(trials: &[&Trial]) -> String {
    let mut reasons: Vec<String> = trials.iter().map(|trial| standing(trial)).collect();
    reasons.dedup();
    reasons.join("; ")
}

/// Where a run without results stands.
pub(crate) fn standing(trial: &Trial) -> String {
    match (trial.state, &trial.reason) {
        (RunState::Failed, Some(reason)) => format!("failed: {reason}"),
        (RunState::Failed, None) => "failed".into(),
        (RunState::Running, _) => "was interrupted".into(),
        (RunState::Pending, _) => "not run yet".into(),
        (RunState::Done, _) => "done".into(),
    }
}

/// A row of the table of all runs.
#[derive(Debug, Serialize)]
pub(crate) struct TrialRow {
    position: u32,
    config: usize,
    workload: String,
    threads: u32,
    repeat: u32,
    started_at: String,
    seconds: String,
    tps: Field,
    remarks: Vec<String>,
}

/// All runs in the order in which they were run.
pub(crate) fn trials(study: &Study) -> Vec<TrialRow> {
    let mut trials: Vec<&Trial> = study.trials.iter().collect();
    trials.sort_by_key(|trial| trial.position);
    let row = |trial: &Trial| {
        let mut remarks = words::warning::of_trial(study.events(), trial);
        if trial.state != RunState::Done {
            remarks.push(standing(trial));
        }
        let [tps, _] = crate::figures::columns::THROUGHPUT;
        Some(TrialRow {
            position: trial.position,
            config: study.configs.iter().position(|config| config.name == trial.key.config)?,
            workload: trial.key.workload.clone(),
            threads: trial.key.threads,
            repeat: trial.key.repeat,
            started_at: trial.started_at.clone().unwrap_or_default(),
            seconds: trial.window.map(|window| figure(window.length_s())).unwrap_or_default(),
            tps: Field::of(&tps, RepeatStatistics::of(tps.of(trial).into_iter().collect())),
            remarks,
        })
    };
    trials.into_iter().filter_map(row).collect()
}

/// Space of each workload's data, configuration by configuration.
#[derive(Debug, Serialize)]
pub(crate) struct SpaceRow {
    workload: String,
    config: usize,
    fields: Vec<Field>,
}

impl SpaceRow {
    /// A row of figures in the order of the columns.
    pub(crate) fn of(workload: &str, config: usize, fields: Vec<Field>) -> SpaceRow {
        SpaceRow { workload: workload.to_owned(), config, fields }
    }
}

impl Field {
    /// Bytes with their prefix.
    pub(crate) fn of_bytes(kind: &Metric<'_>, figure: Option<RepeatStatistics>) -> Field {
        let text = figure.as_ref().map(|figure| bytes(figure.mean / kind.scale));
        let field = Field::of(kind, figure);
        Field { text: text.unwrap_or_else(|| field.text.clone()), spread: None, ..field }
    }

    /// A figure without its spread.
    pub(crate) fn bare(kind: &Metric<'_>, figure: Option<RepeatStatistics>) -> Field {
        Field { spread: None, ..Field::of(kind, figure) }
    }
}
