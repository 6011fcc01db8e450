//! Results that the report shows, as columns of tables and choices of charts: views on the
//! catalogue's metrics. A result that has no column there is shown under its stored name.

use std::borrow::Cow;
use std::collections::BTreeSet;

use assay_judge::summary::{self, RepeatGroup as Trials, RepeatStatistics};
use assay_study::metrics::{self, Column, Group, metric};
use assay_study::{Events, Study, Trial};

/// One column of a table and one choice of a chart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Metric<'a> {
    /// The stored result.
    pub(crate) name: &'a str,
    /// A second one that is added to it.
    pub(crate) plus: Option<&'a str>,
    texts: Texts<'a>,
    /// Stored value × scale = shown value.
    pub(crate) scale: f64,
}

/// Texts of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Texts<'a> {
    /// Templates of [`Events::fill`]; `title` says what it is and where it was measured.
    Known { head: &'static str, unit: &'static str, title: &'static str },
    /// The stored name, of a metric that is not in the catalogue.
    Name(&'a str),
}

/// The stored name; the count of events is called by their noun.
fn named(name: &str, events: Events) -> Cow<'_, str> {
    if name == metric!("transactions").name { events.many().into() } else { name.into() }
}

impl<'a> Metric<'a> {
    /// One that nobody knows more of than its name.
    const fn bare(name: &'a str) -> Metric<'a> {
        Metric { name, plus: None, scale: 1.0, texts: Texts::Name(name) }
    }

    /// Head of its column.
    pub(crate) fn head(&self, events: Events) -> Cow<'a, str> {
        match self.texts {
            Texts::Known { head, .. } => events.fill(head),
            Texts::Name(name) => named(name, events),
        }
    }

    /// Unit in which it is shown.
    pub(crate) fn unit(&self, events: Events) -> Cow<'static, str> {
        match self.texts {
            Texts::Known { unit, .. } => events.fill(unit),
            Texts::Name(_) => "".into(),
        }
    }

    /// The measured quantity and where it was measured.
    pub(crate) fn title(&self, events: Events) -> Cow<'a, str> {
        match self.texts {
            Texts::Known { title, .. } => events.fill(title),
            Texts::Name(name) => named(name, events),
        }
    }

    /// The metric's value in a run, in the shown unit; nothing of a percentile that a handful of
    /// transactions made.
    pub(crate) fn of(&self, trial: &Trial) -> Option<f64> {
        let first = summary::result(trial, self.name)?;
        let second = self.plus.map_or(Some(0.0), |name| trial.results.get(name).copied())?;
        Some((first + second) * self.scale)
    }

    /// The metric over the repeats that have it.
    pub(crate) fn over(&self, group: &Trials<'_>) -> Option<RepeatStatistics> {
        group.figure(|trial| self.of(trial))
    }

    /// Stored name, as it stands in the tables.
    pub(crate) fn stored(&self) -> String {
        match self.plus {
            Some(second) => format!("{} + {second}", self.name),
            None => self.name.into(),
        }
    }
}

/// As the catalogue shows it in a group of columns.
pub(crate) const fn column(metric: &'static metrics::MetricEntry, group: Group) -> Metric<'static> {
    match metric.column_of(group) {
        Some(Column { head, shown, title, plus, .. }) => {
            let (unit, scale) = (shown.template(), shown.scale());
            Metric { name: metric.name, plus, scale, texts: Texts::Known { head, unit, title } }
        }
        None => Metric::bare(metric.name),
    }
}

/// Every column of a group, in their order.
pub(crate) fn columns(group: Group) -> Vec<Metric<'static>> {
    let its = metrics::all().filter_map(|metric| Some((metric.column_of(group)?.place, metric)));
    let mut its: Vec<(u8, &metrics::MetricEntry)> = its.collect();
    its.sort_by_key(|(place, _)| *place);
    its.into_iter().map(|(_, metric)| column(metric, group)).collect()
}

/// Transactions and queries per second.
pub(crate) const THROUGHPUT: [Metric<'static>; 2] =
    [column(metric!("tps"), Group::Throughput), column(metric!("qps"), Group::Throughput)];

/// Response time of a transaction.
pub(crate) const LATENCY: [Metric<'static>; 4] = [
    column(metric!("latency_ms_p50"), Group::Latency),
    column(metric!("latency_ms_p95"), Group::Latency),
    column(metric!("latency_ms_p99"), Group::Latency),
    column(metric!("latency_ms_p999"), Group::Latency),
];

/// Compression of the database's writes, see `figures::storage`: shown beside the metric that it
/// follows from.
pub(crate) const STORED: Metric<'static> = Metric {
    texts: Texts::Known {
        head: "compression of writes",
        unit: ": 1",
        title: "bytes written by the host during the measurement, without zeroes, per byte stored",
    },
    ..Metric::bare(metric!("drive_write_bytes_payload_per_s").name)
};

/// Columns of the summary table.
pub(crate) fn summary() -> Vec<Metric<'static>> {
    [Group::Throughput, Group::Latency, Group::Machine].into_iter().flat_map(columns).collect()
}

/// Everything else that any run holds: what is known first, then the rest by name.
pub(crate) fn more(study: &Study) -> Vec<Metric<'_>> {
    let held: BTreeSet<&str> =
        study.trials.iter().flat_map(|trial| trial.results.keys().map(String::as_str)).collect();
    let known = columns(Group::More).into_iter().filter(|metric| held.contains(metric.name));
    let mut all: Vec<Metric<'_>> = known.collect();
    let shown = shown();
    all.extend(held.into_iter().filter(|name| !shown.contains(name)).map(Metric::bare));
    all
}

/// Names of all that stand in some column.
fn shown() -> BTreeSet<&'static str> {
    let names = metrics::all()
        .flat_map(|metric| metric.columns().flat_map(|column| [Some(metric.name), column.plus]));
    names.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_are_asked_for_by_name_are_all_that_there_are() {
        assert_eq!(columns(Group::Throughput), THROUGHPUT);
        assert_eq!(columns(Group::Latency), LATENCY);
    }

    #[test]
    fn columns_stand_in_the_order_of_their_places() {
        let heads = |group| {
            columns(group).into_iter().map(|one| one.head(Events::Transactions)).collect::<Vec<_>>()
        };
        assert_eq!(
            heads(Group::Machine),
            ["CPU", "I/O wait", "read", "written", "written", "to media", "steal"]
        );
        assert_eq!(heads(Group::Space), ["files", "allocated", "on the drive", "physical"]);
        assert_eq!(heads(Group::Drive)[..3], ["ratio", "from host", "to media"]);
        let cpu = columns(Group::Machine)[0];
        assert_eq!(cpu.stored(), "cpu_user_percent + cpu_system_percent");
    }
}
