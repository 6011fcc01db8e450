//! An entry of the catalogue, and the words that entries are written in.

use super::layer::Layer;
use super::shown::{Chart, Column, Group, Line, Shown};
use super::unit::Unit;

/// What stands for a device's name or a CPU's number in labels and names.
const PLACE: &str = "{}";

/// No metric is a column of more groups.
const COLUMNS_MOST: usize = 3;

/// A counter or figure: its name, unit, label and meaning, said once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    /// The one word for it in store and report, unit last. Of what there is one of for each CPU, with [`PLACE`]
    /// for its number.
    pub name: &'static str,
    pub layer: Layer,
    pub unit: Unit,
    /// What a person reads, with [`PLACE`] for the device's name where there is one.
    pub label: &'static str,
    /// Whether it is recorded second by second.
    pub is_series: bool,
    /// How the result of a run comes about.
    pub aggregation: Aggregation,
    /// Whether its seconds are times that somebody waited, of which the longest is what matters.
    pub is_latency: bool,
    pub better: Option<Better>,
    /// Under which names the server keeps it, where it is read by name.
    pub gives: Option<Gives>,
    /// What the judge makes of it, if it judges it.
    pub judged: Option<Judged>,
    /// Where tables show it; the first that are there.
    columns: [Option<Column>; COLUMNS_MOST],
    /// Where charts of seconds show it.
    pub line: Option<Line>,
}

/// How the result of a run comes about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aggregation {
    /// The mean of the window's seconds.
    Mean,
    /// The same, but that a second weighs as much as this series had in it: a latency's seconds weigh as many as they
    /// had operations.
    WeightedMean { by: &'static str },
    /// What was last seen until the window's end.
    LastSeen,
    /// By how much it grew from the last sample before the window to the first behind it.
    Growth,
    /// `scale × over ÷ under`, of other results.
    Quotient { over: &'static str, under: &'static str, scale: f64 },
    /// No seconds tell it, or not as well: the load's own totals and histograms of the window, or a computation of the run.
    Computed,
}

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
}

/// What the server's own counters give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gives {
    /// Whether it is a counter, whose growth is recorded; else a value that is recorded as it is.
    pub is_counter: bool,
    /// Where to find it, best first. Each source is a sum: of status variables (`Name`), of InnoDB metrics
    /// (`metrics.name`), of sums over files of one kind (`files.kind.column`); a leading `-` subtracts.
    pub sources: &'static [&'static [&'static str]],
}

/// What the judge knows of a metric that it judges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// What verdicts call it.
    pub label: &'static str,
    /// The share of transactions that a percentile leaves above it.
    pub tail: Option<f64>,
}

/// One that is recorded, with the mean of its seconds for a result.
pub(super) const fn series(
    layer: Layer,
    name: &'static str,
    unit: Unit,
    label: &'static str,
) -> Metric {
    Metric {
        name,
        layer,
        unit,
        label,
        is_series: true,
        aggregation: Aggregation::Mean,
        is_latency: false,
        better: None,
        gives: None,
        judged: None,
        columns: [None; COLUMNS_MOST],
        line: None,
    }
}

/// One that is a result alone.
pub(super) const fn result(
    layer: Layer,
    name: &'static str,
    unit: Unit,
    label: &'static str,
) -> Metric {
    let metric = series(layer, name, unit, label);
    Metric { is_series: false, aggregation: Aggregation::Computed, ..metric }
}

/// The rest of an entry, a word at a time.
impl Metric {
    pub(super) const fn weighted_by(self, by: &'static str) -> Metric {
        Metric { aggregation: Aggregation::WeightedMean { by }, ..self }
    }

    pub(super) const fn last_seen(self) -> Metric {
        Metric { aggregation: Aggregation::LastSeen, ..self }
    }

    pub(super) const fn growth(self) -> Metric {
        Metric { aggregation: Aggregation::Growth, ..self }
    }

    pub(super) const fn computed(self) -> Metric {
        Metric { aggregation: Aggregation::Computed, ..self }
    }

    pub(super) const fn quotient(
        self,
        over: &'static str,
        under: &'static str,
        scale: f64,
    ) -> Metric {
        Metric { aggregation: Aggregation::Quotient { over, under, scale }, ..self }
    }

    pub(super) const fn latency(self) -> Metric {
        Metric { is_latency: true, ..self.better_lower() }
    }

    pub(super) const fn better_higher(self) -> Metric {
        Metric { better: Some(Better::Higher), ..self }
    }

    pub(super) const fn better_lower(self) -> Metric {
        Metric { better: Some(Better::Lower), ..self }
    }

    pub(super) const fn given(
        self,
        is_counter: bool,
        sources: &'static [&'static [&'static str]],
    ) -> Metric {
        Metric { gives: Some(Gives { is_counter, sources }), ..self }
    }

    pub(super) const fn judged(self, label: &'static str, tail: Option<f64>) -> Metric {
        Metric { judged: Some(Judged { label, tail }), ..self }
    }

    pub(super) const fn column(
        self,
        group: Group,
        place: u8,
        head: &'static str,
        shown: Shown,
        title: &'static str,
    ) -> Metric {
        self.with_column(Column { group, place, head, shown, title, plus: None })
    }

    pub(super) const fn with_column(mut self, column: Column) -> Metric {
        let mut free = 0;
        while self.columns[free].is_some() {
            free += 1;
        }
        self.columns[free] = Some(column);
        self
    }

    pub(super) const fn line(self, chart: Chart, place: u8, role: &'static str) -> Metric {
        Metric { line: Some(Line { chart, place, role }), ..self }
    }

    /// Of a family that tables and charts show some members of.
    pub(super) const fn shown_if(self, is_shown: bool) -> Metric {
        if is_shown {
            return self;
        }
        Metric { columns: [None; COLUMNS_MOST], line: None, ..self }
    }
}

impl Metric {
    /// Where tables show it.
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().flatten()
    }

    /// Its column among those of `group`, for tables that are known while compiling.
    pub const fn column_of(&self, group: Group) -> Option<Column> {
        let mut at = 0;
        while at < COLUMNS_MOST {
            match self.columns[at] {
                Some(column) if column.group as u8 == group as u8 => return Some(column),
                _ => at += 1,
            }
        }
        None
    }

    /// Its stored name where it is of a CPU of this number.
    pub fn name_of(&self, number: &str) -> String {
        self.name.replace(PLACE, number)
    }

    /// Its label where it is of a device of this name, or of a CPU of this number.
    pub fn label_of(&self, device: &str) -> String {
        self.label.replace(PLACE, device)
    }

    /// Whether it is stored under this name.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let Some((before, behind)) = self.name.split_once(PLACE) else { return self.name == name };
        let number = name.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
        number.is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    }

    pub fn is_better_higher(&self) -> bool {
        self.better == Some(Better::Higher)
    }
}
