//! Charts against threads of each workload: which figures each can show.

use serde::Serialize;

use crate::charts::plots::{self, Plot};
use crate::figures::columns::{self, Metric};
use crate::figures::format::{figure, plural};
use crate::input::Input;
use assay_study::metrics::Group;

/// A chart against threads, with the figures it can show.
#[derive(Serialize)]
pub(crate) struct Sweep {
    name: String,
    /// Where on the page it belongs.
    kind: &'static str,
    heading: &'static str,
    choices: Vec<Choice>,
}

#[derive(Serialize)]
struct Choice {
    plot: usize,
    label: String,
    caption: String,
    finding: String,
    is_first: bool,
}

/// Those of the workload at that place, whose plots are added to `plots`; `more` are figures beyond
/// the known ones.
pub(crate) fn sweeps(
    input: &Input<'_>,
    workload: usize,
    more: &[Metric<'_>],
    plots: &mut Vec<Plot>,
) -> Vec<Sweep> {
    let others: Vec<Metric<'_>> =
        columns::columns(Group::Machine).into_iter().chain(more.iter().copied()).collect();
    // Of the percentiles the 95th is shown first: it is the one sysbench prints.
    let [p50, p95, p99, p999] = columns::LATENCY;
    let kinds = [
        ("throughput", "Throughput", columns::THROUGHPUT.to_vec()),
        ("latency", "Latency", vec![p95, p99, p999, p50]),
        ("other", "Other figures", others),
    ];
    kinds
        .into_iter()
        .filter_map(|(kind, heading, metrics)| {
            let choices = choices(input, workload, &metrics, plots);
            let name = format!("{kind}-by-threads:{workload}");
            (!choices.is_empty()).then_some(Sweep { name, kind, heading, choices })
        })
        .collect()
}

fn choices(
    input: &Input<'_>,
    workload: usize,
    metrics: &[Metric<'_>],
    plots: &mut Vec<Plot>,
) -> Vec<Choice> {
    let events = input.study.events();
    let mut choices = Vec::new();
    for metric in metrics {
        let plot = plots::against_threads(input.study, input.groups, workload, metric);
        let Some(plot) = plot else { continue };
        plots.push(plot);
        let unit = metric.unit(events);
        let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
        choices.push(Choice {
            plot: plots.len() - 1,
            label: format!("{}{unit}", metric.head(events)),
            caption: metric.title(events).into(),
            finding: finding(input, workload, metric),
            is_first: choices.is_empty(),
        });
    }
    choices
}

/// The values at the chart's right end: each configuration at the highest thread count.
fn finding(input: &Input<'_>, workload: usize, metric: &Metric<'_>) -> String {
    let its = || input.groups.iter().filter(move |group| group.workload == workload);
    let known = its().filter(|group| metric.over(group).is_some());
    let Some(threads) = known.map(|group| group.threads).max() else { return String::new() };
    let at_end = its().filter(|group| group.threads == threads);
    let told = at_end.filter_map(|group| {
        let config = input.study.configs.get(group.config)?;
        Some(format!("{} {}", config.name, figure(metric.over(group)?.mean)))
    });
    let told: Vec<String> = told.collect();
    let unit = metric.unit(input.study.events());
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    format!("At {}: {}{unit}", plural(threads as usize, "thread"), told.join("; "))
}
