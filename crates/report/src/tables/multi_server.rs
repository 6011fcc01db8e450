//! Runs on several servers: what each does as others join, how evenly they share, and each server's
//! own figures.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::json;

use assay_judge::interval::Interval;
use assay_judge::sharing::{Point, Sharing, sharing};
use assay_judge::summary::{RepeatGroup, RepeatStatistics};
use assay_study::Study;
use assay_study::metrics::{Group as Columns, MetricEntry, metric};

use crate::charts::plots::{Plot, Style, hover, label, title, whiskers};
use crate::figures::columns;
use crate::figures::format::{figure, plural, threads};
use crate::tables::figures;
use crate::tables::phases::spread;
use crate::tables::worth;

#[derive(Serialize)]
pub(crate) struct Shown {
    charts: Vec<Chart>,
    /// How servers stand beside each other, workload by workload.
    tables: Vec<(String, figures::Table)>,
    /// Each server by itself.
    each: Option<worth::Table>,
}

/// A chart against the number of servers.
#[derive(Serialize)]
struct Chart {
    heading: String,
    name: String,
    plot: usize,
    finding: String,
    caption: Cow<'static, str>,
}

/// The section; nothing of a study whose runs have one server each.
pub(crate) fn shown(
    study: &Study,
    groups: &[RepeatGroup<'_>],
    plots: &mut Vec<Plot>,
) -> Option<Shown> {
    let columns = columns::columns(Columns::Servers);
    let tables: Vec<(String, figures::Table)> = study
        .workloads
        .iter()
        .enumerate()
        .filter_map(|(place, workload)| {
            let table = figures::table_where_any(study.events(), groups, place, &columns)?;
            Some((workload.name.clone(), table))
        })
        .collect();
    if tables.is_empty() {
        return None;
    }
    let all = sharing(study, groups);
    let charts = all.iter().enumerate().flat_map(|(number, one)| charts(study, number, one, plots));
    let charts = charts.collect();
    Some(Shown { charts, tables, each: each(study, groups) })
}

/// Throughput and tail of each server against how many there are.
fn charts(study: &Study, number: usize, one: &Sharing, plots: &mut Vec<Plot>) -> Vec<Chart> {
    let events = study.events();
    let load = load(study, one.workload, one.threads);
    let tps = |point: &Point| Some(point.tps_each);
    let mut push = |plot: Plot| {
        plots.push(plot);
        plots.len() - 1
    };
    let throughput = Chart {
        heading: format!("Throughput of each server: {load}"),
        name: format!("servers-tps:{number}"),
        plot: push(plot(one, &format!("{} of each server", events.rate()), tps)),
        finding: finding(study, one),
        caption: events.fill(
            "{Events} per second of a server, mean of all, against the number \
            of servers; whiskers are 95 % confidence intervals over the repeats.",
        ),
    };
    let has_p99 = one.points.iter().any(|point| point.p99_ms.is_some());
    let tail = has_p99.then(|| Chart {
        heading: format!("p99 of the slowest server: {load}"),
        name: format!("servers-p99:{number}"),
        plot: push(plot(one, "ms", |point| point.p99_ms)),
        finding: tail_finding(one),
        caption: events.fill(
            "99th percentile of {event} response times of the server whose is \
            longest, against the number of servers; whiskers are 95 % confidence intervals over \
            the repeats.",
        ),
    });
    [Some(throughput), tail].into_iter().flatten().collect()
}

fn plot(one: &Sharing, unit: &str, of: impl Fn(&Point) -> Option<Interval>) -> Plot {
    let x_axis = json!({ "type": "category", "title": title("servers") });
    let mut plot = Plot::new(x_axis, json!({ "title": title(&label(unit)) }));
    let known: Vec<(u32, Interval)> =
        one.points.iter().filter_map(|point| Some((point.servers, of(point)?))).collect();
    let config = one.points.first().map_or(0, |point| point.config);
    let Style { line, marker } = Style::of(config);
    let of =
        |part: fn(&Interval) -> f64| known.iter().map(|(_, one)| part(one)).collect::<Vec<_>>();
    let is_any = known.iter().any(|(_, one)| one.high > one.low);
    plot.push(
        config,
        json!({
            "type": "scatter",
            "x": known.iter().map(|(servers, _)| servers.to_string()).collect::<Vec<_>>(),
            "y": of(|one| one.mid),
            "name": "",
            "mode": "lines+markers",
            "line": line,
            "marker": marker,
            "error_y": whiskers(
                &of(|one| one.high - one.mid),
                &of(|one| one.mid - one.low),
                is_any,
            ),
            "hovertemplate": hover(unit),
        }),
    );
    plot
}

/// `Each of 3 servers does 49 % (44 to 55 %) of what each of 1 does`, and whether more was asked
/// for.
fn finding(study: &Study, one: &Sharing) -> String {
    let (Some(first), Some(last)) = (one.points.first(), one.points.last()) else {
        return String::new();
    };
    let told = last.tps_kept.map(|kept| {
        let percent = |share: f64| figure(100.0 * share);
        let bounds = match kept.high > kept.low {
            true => format!(" ({} to {} %)", percent(kept.low), percent(kept.high)),
            false => String::new(),
        };
        let workload = study.workloads.get(one.workload).map_or("", |one| one.name.as_str());
        let at_a_rate = match study.rate(workload) {
            Some(rate) => {
                format!(", at {rate}/s that were asked of each: no more than that could be seen")
            }
            None => String::new(),
        };
        format!(
            "Each of {} does {} %{bounds} of what {} does{at_a_rate}",
            plural(last.servers as usize, "server"),
            percent(kept.mid),
            if first.servers == 1 {
                "one alone".into()
            } else {
                format!("each of {}", first.servers)
            },
        )
    });
    told.unwrap_or_default()
}

fn tail_finding(one: &Sharing) -> String {
    let told = one.points.iter().filter_map(|point| {
        let servers = plural(point.servers as usize, "server");
        Some(format!("{servers} {} ms", figure(point.p99_ms?.mid)))
    });
    told.collect::<Vec<String>>().join("; ")
}

fn load(study: &Study, workload: usize, count: u32) -> String {
    let name = study.workloads.get(workload).map_or("", |one| one.name.as_str());
    format!("{name}, {} each", threads(&[count]))
}

/// Metrics shown for each server.
const EACH: [(&MetricEntry, f64, &str, &str); 7] = [
    (metric!("tps"), 1.0, "{TPS}", "{events} per second"),
    (metric!("latency_ms_p50"), 1.0, "p50, ms", "median response time"),
    (metric!("latency_ms_p99"), 1.0, "p99, ms", "99th percentile"),
    (metric!("disk_read_bytes_per_s"), 1e-6, "read, MB/s", "bytes that its device read per second"),
    (
        metric!("disk_write_bytes_per_s"),
        1e-6,
        "written, MB/s",
        "bytes that its device wrote per second",
    ),
    (metric!("disk_write_latency_ms"), 1.0, "disk write, ms", "mean time of a write of its device"),
    (metric!("server_cpu_percent"), 1.0, "CPU, %", "CPU time of its process; 100 is one CPU"),
];

/// A row for each server of each configuration under each load.
fn each(study: &Study, groups: &[RepeatGroup<'_>]) -> Option<worth::Table> {
    let mut blocks: Vec<(String, worth::Fields)> = Vec::new();
    for group in groups {
        let Some(first) = group.done().find(|trial| !trial.servers.is_empty()) else { continue };
        let load = load(study, group.workload, group.threads);
        for server in &first.servers {
            let neighbour = server.neighbour.as_ref();
            let noisy = neighbour.map_or_else(String::new, |name| format!(", neighbour: {name}"));
            let head = format!("{load} · server {}{noisy}", server.server);
            let fields = EACH.map(|(metric, scale, ..)| {
                let values = group.done().filter_map(|trial| {
                    let its = trial.servers.iter().find(|one| one.server == server.server)?;
                    Some(its.results.get(metric.name)? * scale)
                });
                spread(RepeatStatistics::of(values.collect()), figure)
            });
            let row = (group.config, fields.to_vec());
            match blocks.iter_mut().find(|(other, _)| *other == head) {
                Some((_, rows)) => rows.push(row),
                None => blocks.push((head, vec![row])),
            }
        }
    }
    let columns = EACH.map(|(_, _, head, title)| worth::column(study.events(), head, title)).into();
    worth::Table::in_blocks(columns, blocks)
}
