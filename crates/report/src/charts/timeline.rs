//! Charts of the second-by-second page: how each is drawn and what it says. Which series stand in
//! it, and as what, is in the catalogue. A chart whose series nobody recorded is left out, and a
//! series that is in no chart can be chosen by name.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::{Value, json};

use assay_study::metrics::{Chart as Series, Shown};
use assay_study::{Events, Study};

use super::{drive, model, pool};
use crate::charts::layout::{Chart, Layout, lines};
use crate::charts::plots::{Plot, hover, label};
use crate::charts::series::Embedded;

/// The charts of the ScaleFlux papers, in their order, and those that explain them.
const CHARTS: [Layout; 11] = [
    lines(
        Series::Throughput,
        "throughput",
        "Throughput",
        Shown::TransactionsPerSecond,
        "{Events} {done} per second, counted by the load generator.",
    ),
    lines(
        Series::Latency,
        "latency",
        "Latency",
        Shown::Milliseconds,
        "Percentiles of the {events} that ended in each second, measured by the load generator; \
        the p99 of verdicts and tables is that of all {events}.",
    ),
    Layout {
        is_stacked: true,
        top: Some(100.0),
        ..lines(
            Series::Cpu,
            "cpu",
            "CPU",
            Shown::Percent,
            "All CPUs of the machine, from the kernel's accounting.",
        )
    },
    Layout {
        is_stacked: true,
        ..lines(
            Series::CpuByProcess,
            "cpu-by-process",
            "CPU by process",
            Shown::Percent,
            "User and system time of server, load and drive, and user time of other programs; \
            100 is one CPU. Kernel threads are not included.",
        )
    },
    lines(
        Series::DiskLatency,
        "disk-latency",
        "Disk latency",
        Shown::Milliseconds,
        "Mean request latency at the block device under the data, including queueing, from the \
        kernel's accounting.",
    ),
    lines(
        Series::DiskOperations,
        "disk-operations",
        "Disk operations",
        Shown::PerSecond,
        "Requests completed by the block device under the data, from the kernel's accounting.",
    ),
    lines(
        Series::DiskBytes,
        "disk-bytes",
        "Disk bytes",
        Shown::BytesPerSecond,
        "Bytes moved by the block device under the data, from the kernel's accounting.",
    ),
    Layout {
        is_stacked: true,
        ..lines(
            Series::RowsWritten,
            "rows-written",
            "InnoDB rows written",
            Shown::RowsPerSecond,
            "Rows inserted, updated and deleted, from the server's own counters.",
        )
    },
    lines(
        Series::RowsRead,
        "rows-read",
        "InnoDB rows read",
        Shown::RowsPerSecond,
        "Rows read, from the server's own counters.",
    ),
    lines(
        Series::DirtyPages,
        "dirty-pages",
        "Dirty pages",
        Shown::Pages,
        "Dirty pages in the buffer pool, from the server's counters.",
    ),
    lines(
        Series::CheckpointAge,
        "checkpoint-age",
        "Checkpoint age",
        Shown::Bytes,
        "Checkpoint age: redo log since the last checkpoint, from the server's counters; near \
        the log's capacity the server stalls to flush.",
    ),
];

/// A chart with its empty traces, which the page's script fills with the chosen run's series.
#[derive(Serialize)]
pub(crate) struct Template {
    #[serde(skip)]
    chart: Chart,
    #[serde(flatten)]
    view: ChartView,
    plot: Plot,
}

/// A chart with its texts.
#[derive(Debug, Clone, Serialize)]
struct ChartView {
    name: &'static str,
    title: &'static str,
    unit: Cow<'static, str>,
    caption: Cow<'static, str>,
    /// Names of series, and what the legend calls them.
    series: Vec<(&'static str, Cow<'static, str>)>,
    is_stacked: bool,
    top: Option<f64>,
    is_of_drive: bool,
}

impl ChartView {
    fn of(chart: &Chart, events: Events) -> ChartView {
        let series = chart.series.iter().map(|(name, role)| (*name, events.fill(role)));
        ChartView {
            name: chart.name,
            title: chart.title,
            unit: chart.unit.text(events),
            caption: events.fill(chart.caption),
            series: series.collect(),
            is_stacked: chart.is_stacked,
            top: chart.top,
            is_of_drive: chart.is_of_drive,
        }
    }
}

impl Template {
    pub(crate) fn chart(&self) -> &Chart {
        &self.chart
    }
}

/// The charts that are shown first; the others on demand.
const FIRST: [Series; 6] = [
    Series::Throughput,
    Series::Latency,
    Series::Cpu,
    Series::DiskLatency,
    Series::DiskOperations,
    Series::RowsWritten,
];

/// The charts that have at least one of the series recorded, with those series alone.
pub(crate) fn templates(events: Events, recorded: &BTreeSet<&str>) -> Vec<Template> {
    let of_recorded = |chart: &Chart| {
        let mut chart = chart.clone();
        chart.series.retain(|(name, _)| recorded.contains(name));
        (!chart.series.is_empty()).then(|| template(chart, events))
    };
    all().filter_map(of_recorded).collect()
}

/// Every chart that there can be.
pub(crate) fn all() -> impl Iterator<Item = &'static Chart> {
    static ALL: LazyLock<Vec<Chart>> = LazyLock::new(|| {
        let layouts =
            CHARTS.iter().chain(&model::CHARTS).chain(&drive::CHARTS).chain(&pool::CHARTS);
        layouts.map(|layout| layout.chart()).collect()
    });
    ALL.iter()
}

/// A chart and the configurations that it is drawn for.
#[derive(Serialize)]
pub(crate) struct Drawn {
    #[serde(flatten)]
    view: ChartView,
    /// Its place among the charts.
    place: usize,
    /// Whether it is shown at once.
    is_first: bool,
    /// Unit in its heading.
    unit_text: Cow<'static, str>,
    configs: Vec<usize>,
}

/// Charts with their configurations: all of them, but of a software drive those that have one.
pub(crate) fn shown(templates: &[Template], study: &Study, series: &Embedded) -> Vec<Drawn> {
    let has = |chart: &Chart, config: &str| {
        let is_it =
            |place: &usize| chart.series.iter().any(|one| one.0 == series.heads[*place].name);
        let trials =
            study.trials.iter().zip(&series.trials).filter(|(trial, _)| trial.key.config == config);
        trials.flat_map(|(_, series)| series.keys()).any(is_it)
    };
    let show = |(place, Template { chart, view, .. }): (usize, &Template)| {
        let configs = study.configs.iter().enumerate();
        let configs = configs.filter(|(_, config)| !chart.is_of_drive || has(chart, &config.name));
        Drawn {
            view: view.clone(),
            place,
            is_first: chart.of.is_some_and(|of| FIRST.contains(&of)),
            unit_text: if is_of_bytes(chart.unit) { "".into() } else { view.unit.clone() },
            configs: configs.map(|(place, _)| place).collect(),
        }
    };
    templates.iter().enumerate().map(show).collect()
}

/// The chart of whatever series is chosen by name.
pub(crate) fn any_series() -> Template {
    let chart = Chart {
        of: None,
        name: "any",
        title: "All counters",
        unit: Shown::Bare,
        caption: "",
        series: vec![("", "value")],
        is_stacked: false,
        top: None,
        is_of_drive: false,
    };
    template(chart, Events::Transactions)
}

/// Every series that stands in a chart.
pub(crate) fn charted() -> impl Iterator<Item = &'static str> {
    all().flat_map(|chart| &chart.series).map(|(name, _)| *name)
}

/// Returns true for bytes, whose ticks carry the unit with its prefix.
fn is_of_bytes(unit: Shown) -> bool {
    matches!(unit, Shown::Bytes | Shown::BytesPerSecond)
}

fn template(chart: Chart, events: Events) -> Template {
    let view = ChartView::of(&chart, events);
    let y_axis = match is_of_bytes(chart.unit) {
        true => json!({ "ticksuffix": view.unit }),
        false => json!({}),
    };
    let mut plot = Plot::new(json!({ "ticksuffix": " s" }), y_axis);
    // Small, and its head stands outside of it: the room is the lines'.
    plot.adjust("margin", json!({ "t": 8, "b": 24 }));
    for (place, (_, role)) in view.series.iter().enumerate() {
        plot.push(0, trace(place, role, (&chart, &view.unit)));
    }
    Template { chart, view, plot }
}

fn trace(place: usize, role: &str, (chart, unit): (&Chart, &str)) -> Value {
    let mut trace = json!({
        "type": "scatter",
        "x": [],
        "y": [],
        "name": label(role),
        "mode": "lines",
        "connectgaps": false,
        "hovertemplate": match is_of_bytes(chart.unit) {
            true => format!("%{{y:.4~s}}{unit}"),
            false => hover(unit),
        },
    });
    match chart.is_stacked {
        true => {
            trace["stackgroup"] = json!("all");
            trace["line"] = json!({ "width": 0.8 });
        }
        false => trace["line"] = json!({ "width": 1.6, "dash": dash(place) }),
    }
    trace
}

fn dash(place: usize) -> &'static str {
    match place {
        0 => "solid",
        1 => "dot",
        2 => "dash",
        _ => "dashdot",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::metrics;

    #[test]
    fn every_chart_has_lines_and_every_line_a_chart() {
        for chart in all() {
            assert!(!chart.series.is_empty(), "{}", chart.name);
        }
        for line in metrics::all().filter_map(|metric| metric.line) {
            assert_eq!(all().filter(|one| one.of == Some(line.chart)).count(), 1, "{line:?}");
        }
    }

    #[test]
    fn lines_stand_in_the_order_of_their_places() {
        let chart = all().find(|one| one.of == Some(Series::CpuByProcess)).unwrap();
        let roles: Vec<&str> = chart.series.iter().map(|one| one.1).collect();
        assert_eq!(
            roles,
            ["server", "software drive or model", "load generator", "other programs", "pool"]
        );
    }
}
