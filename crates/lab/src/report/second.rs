//! Charts of the second-by-second page: which series stand in which chart. A chart is a row of the table below;
//! one whose series nobody recorded is left out, and a series that is in no chart can be chosen by name.

use std::collections::BTreeSet;

use plotly::common::{DashType, Line, Mode};
use plotly::layout::Axis;
use plotly::{Scatter, Trace};
use serde::Serialize;

use crate::store::Study;

use super::charts::{Plot, hover, label};
use super::series::Embedded;
use super::{drive, model};

/// One chart, drawn once for each arm, all on one scale.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Chart {
    /// Name, for the page's hooks.
    pub(super) name: &'static str,
    /// Heading.
    pub(super) title: &'static str,
    /// Unit of its y axis.
    pub(super) unit: &'static str,
    /// What it shows and where it was measured.
    pub(super) caption: &'static str,
    /// Series and what they are called in the legend, from the bottom up where they are stacked.
    pub(super) series: &'static [(&'static str, &'static str)],
    /// Areas on top of one another instead of lines.
    pub(super) is_stacked: bool,
    /// The end of the y axis where it is fixed.
    pub(super) top: Option<f64>,
    /// Whether only arms on a software drive or a model have it.
    pub(super) is_of_drive: bool,
}

/// A chart of lines that every arm has.
pub(super) const fn lines(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    caption: &'static str,
    series: &'static [(&'static str, &'static str)],
) -> Chart {
    Chart { name, title, unit, caption, series, is_stacked: false, top: None, is_of_drive: false }
}

/// The same, of arms alone that stand on a software drive or a model.
pub(super) const fn of_drive(chart: Chart) -> Chart {
    Chart { is_of_drive: true, ..chart }
}

/// The charts of the ScaleFlux papers, in their order, and those that explain them.
const CHARTS: [Chart; 11] = [
    lines(
        "throughput",
        "Throughput",
        "transactions/s",
        "Transactions committed in each second, counted by the load generator.",
        &[("tps", "transactions")],
    ),
    lines(
        "latency",
        "Latency",
        "ms",
        "Response time of the transactions that ended in each second, seen by the load generator.",
        &[("latency_ms_p50", "p50"), ("latency_ms_p95", "p95"), ("latency_ms_p99", "p99")],
    ),
    Chart {
        is_stacked: true,
        top: Some(100.0),
        ..lines(
            "cpu",
            "CPU",
            "%",
            "All processors of the machine, from the kernel's accounting.",
            &[
                ("cpu_user_percent", "user"),
                ("cpu_system_percent", "system"),
                ("cpu_iowait_percent", "I/O wait"),
            ],
        )
    },
    Chart {
        is_stacked: true,
        ..lines(
            "cpu-by-process",
            "CPU by process",
            "%",
            "User and system time of the processes that take part, and user time of others; 100 is one processor. What the kernel does on its own account is not in it.",
            &[
                ("server_cpu_percent", "server"),
                ("serving_cpu_percent", "software drive or model"),
                ("load_cpu_percent", "load generator"),
                ("others_cpu_percent", "other programs"),
            ],
        )
    },
    lines(
        "disk-latency",
        "Disk latency",
        "ms",
        "Mean time of a request at the block device under the data, queueing included, from the kernel's accounting.",
        &[("disk_read_latency_ms", "read"), ("disk_write_latency_ms", "write")],
    ),
    lines(
        "disk-operations",
        "Disk operations",
        "1/s",
        "Requests completed by the block device under the data, from the kernel's accounting.",
        &[("disk_reads_per_s", "reads"), ("disk_writes_per_s", "writes")],
    ),
    lines(
        "disk-bytes",
        "Disk bytes",
        "B/s",
        "Bytes moved by the block device under the data, from the kernel's accounting.",
        &[("disk_read_bytes_per_s", "read"), ("disk_write_bytes_per_s", "written")],
    ),
    lines(
        "rows-written",
        "InnoDB rows written",
        "rows/s",
        "Rows inserted, updated and deleted, from the server's own counters.",
        &[
            ("innodb_rows_inserted_per_s", "inserted"),
            ("innodb_rows_updated_per_s", "updated"),
            ("innodb_rows_deleted_per_s", "deleted"),
        ],
    ),
    lines(
        "rows-read",
        "InnoDB rows read",
        "rows/s",
        "Rows read, from the server's own counters.",
        &[("innodb_rows_read_per_s", "read")],
    ),
    lines(
        "dirty-pages",
        "Dirty pages",
        "pages",
        "Pages of the buffer pool that are newer than the disk, from the server's own counters.",
        &[("innodb_dirty_pages", "dirty")],
    ),
    lines(
        "checkpoint-age",
        "Checkpoint age",
        "B",
        "Redo log since the last checkpoint, from the server's own counters; near its capacity the server stalls to flush.",
        &[("innodb_checkpoint_age_bytes", "age")],
    ),
];

/// A chart with its empty traces, which the page's script fills with the chosen cell's series.
#[derive(Serialize)]
pub(super) struct Template {
    #[serde(flatten)]
    chart: Chart,
    plot: Plot,
}

impl Template {
    /// The chart's name.
    pub(super) fn name(&self) -> &'static str {
        self.chart.name
    }
}

/// The charts that have at least one of the series recorded.
pub(super) fn templates(recorded: &BTreeSet<&str>) -> Vec<Template> {
    let has_data = |chart: &&Chart| chart.series.iter().any(|(name, _)| recorded.contains(name));
    all().filter(has_data).map(template).collect()
}

/// Every chart that there can be.
pub(super) fn all() -> impl Iterator<Item = &'static Chart> {
    CHARTS.iter().chain(&model::CHARTS).chain(&drive::CHARTS)
}

/// A chart and the arms that it is drawn for.
#[derive(Serialize)]
pub(super) struct Shown {
    #[serde(flatten)]
    chart: Chart,
    arms: Vec<usize>,
}

/// Charts with their arms: all of them, but of a software drive those that have one.
pub(super) fn shown(templates: &[Template], study: &Study, series: &Embedded) -> Vec<Shown> {
    let has = |chart: &Chart, arm: &str| {
        let is_it =
            |place: &usize| chart.series.iter().any(|one| one.0 == series.heads[*place].name);
        let cells = study.cells.iter().zip(&series.cells).filter(|(cell, _)| cell.key.arm == arm);
        cells.flat_map(|(_, series)| series.keys()).any(is_it)
    };
    let show = |&Template { chart, .. }: &Template| {
        let arms = study.arms.iter().enumerate();
        let arms = arms.filter(|(_, arm)| !chart.is_of_drive || has(&chart, &arm.name));
        Shown { chart, arms: arms.map(|(place, _)| place).collect() }
    };
    templates.iter().map(show).collect()
}

/// The chart of whatever series is chosen by name.
pub(super) fn any_series() -> Template {
    template(&lines("any", "All counters", "", "", &[("", "value")]))
}

/// Every series that stands in a chart.
pub(super) fn charted() -> impl Iterator<Item = &'static str> {
    all().flat_map(|chart| chart.series).map(|(name, _)| *name)
}

fn template(chart: &Chart) -> Template {
    let mut plot = Plot::new(Axis::new().tick_suffix(" s"), Axis::new());
    for (place, (_, role)) in chart.series.iter().enumerate() {
        plot.push(0, trace(place, role, chart));
    }
    Template { chart: *chart, plot }
}

fn trace(place: usize, role: &str, chart: &Chart) -> Box<dyn Trace> {
    let line = Line::new().width(if chart.is_stacked { 0.8 } else { 1.6 });
    let trace = Scatter::<u32, f64>::new(Vec::new(), Vec::new())
        .name(label(role))
        .mode(Mode::Lines)
        .connect_gaps(false)
        .hover_template(hover(chart.unit));
    if chart.is_stacked {
        trace.stack_group("all").line(line)
    } else {
        trace.line(line.dash(dash(place)))
    }
}

fn dash(place: usize) -> DashType {
    match place {
        0 => DashType::Solid,
        1 => DashType::Dot,
        2 => DashType::Dash,
        _ => DashType::DashDot,
    }
}
