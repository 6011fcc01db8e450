//! An entry of the catalogue, and the macro that entries are written with.

use std::borrow::Cow;

use super::layer::Layer;
use super::shown::{Chart, Column, Group, Line};
use super::unit::Unit;
use crate::events::Events;

/// Placeholder for a device's name or a CPU's number in labels and names.
const PLACE: &str = "{}";

/// Most groups that show one metric as a column.
const COLUMNS_MOST: usize = 3;

/// A counter or figure: its name, unit, label and meaning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricEntry {
    /// Name in store and report, unit last. A metric of each CPU has [`PLACE`] for the number.
    pub name: &'static str,
    pub layer: Layer,
    pub unit: Unit,
    /// Template of [`Events::fill`], with [`PLACE`] for the device's name, if it has one.
    label: &'static str,
    /// True if it is recorded every second.
    pub is_series: bool,
    pub aggregation: Aggregation,
    /// True if its seconds are waiting times, of which the longest matters.
    pub is_latency: bool,
    pub better: Option<Better>,
    /// The server's own names for it, if it is read by name.
    pub gives: Option<Gives>,
    /// Set if the judge compares it.
    pub judged: Option<Judged>,
    /// Columns of tables that show it, without gaps.
    columns: [Option<Column>; COLUMNS_MOST],
    pub line: Option<Line>,
}

/// Rule that makes a run's result of the series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aggregation {
    /// The mean of the window's seconds.
    Mean,
    /// The mean of the window's seconds, weighted by another series: a latency's seconds by their
    /// operations.
    WeightedMean { by: &'static str },
    /// The last value before the end of the window.
    LastSeen,
    /// The growth from the last sample before the window to the first after it.
    Growth,
    /// `scale × over ÷ under`, of other results.
    Quotient { over: &'static str, under: &'static str, scale: f64 },
    /// Not from a series: from totals and histograms of the load, or computed by the run.
    Computed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
}

/// A value that the server keeps itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gives {
    /// True for a counter, whose growth is recorded; false for a value that is recorded as it is.
    pub is_counter: bool,
    /// Sources, best first. Each is a sum of status variables (`Name`), InnoDB metrics
    /// (`metrics.name`) and sums over the files of a kind (`files.kind.column`); a leading `-`
    /// subtracts.
    pub sources: &'static [&'static [&'static str]],
}

/// Properties of a metric that the judge compares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Name in verdicts.
    pub label: &'static str,
    /// Share of transactions above the percentile; `None` for other metrics.
    pub tail: Option<f64>,
}

/// A metric that is recorded. Its result is the mean of the window's seconds.
pub(super) const fn series(
    layer: Layer,
    name: &'static str,
    unit: Unit,
    label: &'static str,
) -> MetricEntry {
    MetricEntry {
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

/// A metric that has a result and no series.
pub(super) const fn result(
    layer: Layer,
    name: &'static str,
    unit: Unit,
    label: &'static str,
) -> MetricEntry {
    let metric = series(layer, name, unit, label);
    MetricEntry { is_series: false, aggregation: Aggregation::Computed, ..metric }
}

/// Makes a table of metrics of one layer. Each entry is
/// `KIND NAME, UNIT, LABEL, WORD(…), …;`, where `KIND` is `series` or `result`, and the words are
///
/// - `column(GROUP PLACE HEAD SHOWN TITLE)`, or with `+ NAME` behind it for a second metric that is
///   added: a column of a table
/// - `line(CHART PLACE ROLE)`: a line of a chart
/// - `counter([A B] [C])`, `gauge(…)`: the server's own value, from the sum of A and B or else C
/// - every other method of [`MetricEntry`] below, with its arguments
macro_rules! metrics {
    (@words $metric:expr) => { $metric };
    (@words $metric:expr, column($group:ident $place:literal $head:literal $shown:ident
        $title:literal $(+ $plus:literal)?) $($rest:tt)*) => {
        metrics!(@words $metric.column($crate::metrics::Column {
            group: $crate::metrics::Group::$group,
            place: $place,
            head: $head,
            shown: $crate::metrics::Shown::$shown,
            title: $title,
            plus: [$(Some($plus),)? None][0],
        }) $($rest)*)
    };
    (@words $metric:expr, line($chart:ident $place:literal $role:literal) $($rest:tt)*) => {
        metrics!(@words
            $metric.line($crate::metrics::Chart::$chart, $place, $role) $($rest)*)
    };
    (@words $metric:expr, counter($([$($source:literal)+])+) $($rest:tt)*) => {
        metrics!(@words $metric.given(true, &[$(&[$($source),+]),+]) $($rest)*)
    };
    (@words $metric:expr, gauge($([$($source:literal)+])+) $($rest:tt)*) => {
        metrics!(@words $metric.given(false, &[$(&[$($source),+]),+]) $($rest)*)
    };
    (@words $metric:expr, $word:ident($($argument:tt)*) $($rest:tt)*) => {
        metrics!(@words $metric.$word($($argument)*) $($rest)*)
    };
    ($layer:ident: $($kind:ident $name:expr, $unit:ident, $label:expr
        $(, $word:ident($($argument:tt)*))*;)+) => {
        &[$(metrics!(@words $crate::metrics::entry::$kind(
            $crate::metrics::Layer::$layer,
            $name,
            $crate::metrics::Unit::$unit,
            $label,
        ) $(, $word($($argument)*))*)),+]
    };
}
pub(super) use metrics;

/// The words of [`metrics!`].
impl MetricEntry {
    pub(super) const fn weighted_by(self, by: &'static str) -> MetricEntry {
        MetricEntry { aggregation: Aggregation::WeightedMean { by }, ..self }
    }

    pub(super) const fn last_seen(self) -> MetricEntry {
        MetricEntry { aggregation: Aggregation::LastSeen, ..self }
    }

    pub(super) const fn growth(self) -> MetricEntry {
        MetricEntry { aggregation: Aggregation::Growth, ..self }
    }

    pub(super) const fn computed(self) -> MetricEntry {
        MetricEntry { aggregation: Aggregation::Computed, ..self }
    }

    pub(super) const fn quotient(
        self,
        over: &'static str,
        under: &'static str,
        scale: f64,
    ) -> MetricEntry {
        MetricEntry { aggregation: Aggregation::Quotient { over, under, scale }, ..self }
    }

    pub(super) const fn latency(self) -> MetricEntry {
        MetricEntry { is_latency: true, ..self.better_lower() }
    }

    pub(super) const fn better_higher(self) -> MetricEntry {
        MetricEntry { better: Some(Better::Higher), ..self }
    }

    pub(super) const fn better_lower(self) -> MetricEntry {
        MetricEntry { better: Some(Better::Lower), ..self }
    }

    pub(super) const fn given(
        self,
        is_counter: bool,
        sources: &'static [&'static [&'static str]],
    ) -> MetricEntry {
        MetricEntry { gives: Some(Gives { is_counter, sources }), ..self }
    }

    pub(super) const fn judged(self, label: &'static str, tail: Option<f64>) -> MetricEntry {
        MetricEntry { judged: Some(Judged { label, tail }), ..self }
    }

    pub(super) const fn column(mut self, column: Column) -> MetricEntry {
        let mut free = 0;
        while self.columns[free].is_some() {
            free += 1;
        }
        self.columns[free] = Some(column);
        self
    }

    pub(super) const fn line(self, chart: Chart, place: u8, role: &'static str) -> MetricEntry {
        MetricEntry { line: Some(Line { chart, place, role }), ..self }
    }

    /// Hides the metric from tables and charts unless `is_shown`.
    pub(super) const fn shown_if(self, is_shown: bool) -> MetricEntry {
        if is_shown {
            return self;
        }
        MetricEntry { columns: [None; COLUMNS_MOST], line: None, ..self }
    }
}

impl MetricEntry {
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().flatten()
    }

    /// The metric's column in `group`.
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

    /// The stored name for the CPU with this number.
    pub fn name_of(&self, number: &str) -> String {
        self.name.replace(PLACE, number)
    }

    /// The label in a study whose load counts `events`.
    pub fn label(&self, events: Events) -> Cow<'static, str> {
        events.fill(self.label)
    }

    /// The label that is stored, which names transactions whatever the load.
    pub fn stored_label(&self) -> Cow<'static, str> {
        self.label(Events::Transactions)
    }

    /// The stored label for the device with this name, or the CPU with this number.
    pub fn label_of(&self, device: &str) -> String {
        self.stored_label().replace(PLACE, device)
    }

    /// Returns true if the metric is stored under `name`.
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
