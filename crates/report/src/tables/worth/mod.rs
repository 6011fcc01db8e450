//! Life of drives and cost of configurations, as tables of the page: rows grouped by load.

pub(crate) mod cost;
pub(crate) mod endurance;
pub(crate) mod servers;
mod uncosted;

use std::borrow::Cow;

use serde::Serialize;

use assay_judge::summary::RepeatGroup;
use assay_judge::worth::interval::Interval;
use assay_study::{Events, Study};

use crate::comparisons::questions::is_aa_run;
use crate::figures::format::{figure, threads};
use crate::words;
use assay_judge::worth::server_scale;

/// A table in words, a row for each configuration under each load.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    columns: Vec<Column>,
    blocks: Vec<Block>,
    /// Notes below the table.
    notes: Vec<String>,
}

/// The rows of one load.
#[derive(Debug, Serialize)]
struct Block {
    load: String,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    config: usize,
    /// Warnings about its runs, which the summary shows too.
    warnings: Vec<String>,
    fields: Vec<String>,
}

/// Head of a column, and what it means.
pub(crate) type Column = (String, Cow<'static, str>);

/// A column whose texts are templates of [`Events::fill`].
pub(crate) fn column(events: Events, head: &'static str, title: &'static str) -> Column {
    (events.fill(head).into_owned(), events.fill(title))
}

/// Rows of texts, each of a configuration by its place in the study.
pub(crate) type Fields = Vec<(usize, Vec<String>)>;

/// In the place of a figure that is not known.
pub(crate) const NONE: &str = "–";

/// From where bounds of costs are, and what a model stands for.
const BOUNDS: &str = "Bounds follow from the 95 % confidence interval of the throughput. For \
    scaled models, the throughput is that of the full device in a server that keeps up with it.";

impl Table {
    /// A table of the fields of each group, in the order of the groups; `None` without fields.
    pub(crate) fn of(
        study: &Study,
        columns: Vec<Column>,
        rows: Vec<(&RepeatGroup<'_>, Vec<String>)>,
        notes: Vec<String>,
    ) -> Option<Table> {
        let mut blocks: Vec<Block> = Vec::new();
        for (group, fields) in rows {
            let load = load(study, group);
            let warnings = warnings(study.events(), group);
            let row = Row { config: group.config, warnings, fields };
            match blocks.last_mut().filter(|block| block.load == load) {
                Some(block) => block.rows.push(row),
                None => blocks.push(Block { load, rows: vec![row] }),
            }
        }
        (!blocks.is_empty()).then_some(Table { columns, blocks, notes })
    }

    /// A table without rows; `None` without notes.
    fn of_notes(notes: Vec<String>) -> Option<Table> {
        let (columns, blocks) = (Vec::new(), Vec::new());
        (!notes.is_empty()).then_some(Table { columns, blocks, notes })
    }

    /// A table of rows under heads of their own, without columns that have a figure in no row;
    /// `None` without rows.
    pub(crate) fn in_blocks(columns: Vec<Column>, blocks: Vec<(String, Fields)>) -> Option<Table> {
        let row = |(config, fields)| Row { config, warnings: Vec::new(), fields };
        let blocks: Vec<Block> = blocks
            .into_iter()
            .map(|(load, rows)| Block { load, rows: rows.into_iter().map(row).collect() })
            .collect();
        let table = Table { columns, blocks, notes: Vec::new() };
        (!table.blocks.is_empty()).then(|| table.without_empty_columns())
    }

    /// Without columns that have a figure in no row.
    fn without_empty_columns(mut self) -> Table {
        let rows = || self.blocks.iter().flat_map(|block| &block.rows);
        let has_figure = |column: usize| rows().any(|row| row.fields[column] != NONE);
        let keep: Vec<bool> = (0..self.columns.len()).map(has_figure).collect();
        let mut kept = keep.iter();
        self.columns.retain(|_| kept.next() == Some(&true));
        for row in self.blocks.iter_mut().flat_map(|block| &mut block.rows) {
            let mut kept = keep.iter();
            row.fields.retain(|_| kept.next() == Some(&true));
        }
        self
    }
}

/// `TPS`, and with what the measured one is multiplied where that is the same for all rows and not
/// 1.
fn tps_head<'a>(study: &Study, configs: impl Iterator<Item = &'a str>) -> String {
    let tps = study.events().per_second();
    let mut scales = configs.filter_map(|config| server_scale(study, config));
    let first = scales.next().filter(|first| *first != 1.0);
    match first.filter(|first| scales.all(|one| one == *first)) {
        Some(scale) => format!("{tps} (measured × {})", figure(scale)),
        None => tps.into(),
    }
}

/// `write only, 8 threads`.
fn load(study: &Study, group: &RepeatGroup<'_>) -> String {
    let workload = study.workloads.get(group.workload).map_or("", |one| one.name.as_str());
    format!("{workload}, {}", threads(&[group.threads]))
}

/// Each mark of its runs once.
fn warnings(events: Events, group: &RepeatGroup<'_>) -> Vec<String> {
    let mut warnings: Vec<String> =
        group.done().flat_map(|trial| words::warning::of_trial(events, trial)).collect();
    warnings.sort();
    warnings.dedup();
    warnings
}

/// Groups of the most threads of their workload and of no A/A run; the CSV file beside the page has
/// all.
fn shown<'a>(
    study: &'a Study,
    groups: &'a [RepeatGroup<'a>],
) -> impl Iterator<Item = &'a RepeatGroup<'a>> {
    groups.iter().filter(|group| {
        let same = groups.iter().filter(|one| one.workload == group.workload);
        let most = same.map(|one| one.threads).max();
        let is_aa_run = study.configs.get(group.config).is_some_and(|one| is_aa_run(study, one));
        most == Some(group.threads) && !is_aa_run
    })
}

/// `5.00 (4.80–5.20)`, or the figure alone where its bounds are shown alike.
fn bounds(interval: Interval) -> String {
    bounded(interval, figure)
}

/// Bounds further apart than this say that nothing is known.
const BOUNDS_APART_MOST: f64 = 100.0;

/// The same with figures of another kind.
fn bounded(interval: Interval, text: impl Fn(f64) -> String) -> String {
    if interval.high / interval.low > BOUNDS_APART_MOST {
        return format!("{}, uncertain by more than {BOUNDS_APART_MOST} times", text(interval.mid));
    }
    let [low, mid, high] = [interval.low, interval.mid, interval.high].map(text);
    if low == high { mid } else { format!("{mid} ({low}–{high})") }
}
