//! Findings of the charts of seconds, in words: the usual value in the window, the second that was
//! furthest from it, and, for throughput, the worst breakdown that the judge found, with the layers
//! below at that time.
//!
//! Computed from every second of the store, not from the thinned points of the page.

use std::collections::BTreeMap;

use assay_judge::{self, Judgement, Stall};
use assay_study::metrics::{self, Shown, Unit};
use assay_study::{Events, Series, Trial};

use crate::charts::layout::Chart;
use crate::charts::series::Head;
use crate::charts::timeline;
use crate::figures::format::{bytes, figure, plural};

/// By the chart's name.
pub(crate) type Highlights = BTreeMap<&'static str, String>;

/// Fewer seconds have nothing usual.
const SECONDS_LEAST: usize = 3;

/// Share below which the furthest second of throughput, rates and times is not worth a sentence.
const STEADY_SHARE: f64 = 0.02;

/// A throughput that fell as deep as the judge's drops fell; below it, what is told is how long
/// nothing was answered.
const FALLEN_PERCENT: f64 = 100.0 * assay_judge::DEPTH_LEAST;

/// Every chart that has something of this run.
pub(crate) fn of_trial(events: Events, trial: &Trial, series: &[Series]) -> Highlights {
    let told = |chart: &'static Chart| Some((chart.name, finding(events, chart, trial, series)?));
    timeline::all().filter_map(told).collect()
}

/// Findings of each chart of the page for the run, in the charts' order; empty where there are
/// none.
pub(crate) fn told(
    judgement: &Judgement,
    (events, templates, heads): (Events, &[timeline::Template], &[Head]),
    trial: &Trial,
    its: &Highlights,
) -> Vec<String> {
    let of_chart = |template: &timeline::Template| {
        let chart = template.chart();
        let text = its.get(chart.name).cloned().unwrap_or_default();
        match chart.of {
            Some(metrics::Chart::Throughput) => {
                text + &breakdown(judgement, (events.noun(), heads), trial)
            }
            _ => text,
        }
    };
    templates.iter().map(of_chart).collect()
}

fn finding(events: Events, chart: &Chart, trial: &Trial, series: &[Series]) -> Option<String> {
    let of = |name: &str| Some(inside(trial, series.iter().find(|one| one.name == name)?));
    let lines = chart.series.iter().filter_map(|(name, role)| Some((*role, of(name)?)));
    let lines: Vec<(&str, BTreeMap<u32, f64>)> = lines.collect();
    match (chart.is_stacked, lines.as_slice()) {
        (true, lines) => of_line(events, chart, "together", &stacked(lines)),
        (false, [one, other]) => of_pair(events, chart, one, other),
        (false, lines) => {
            let (role, points) = shown_line(chart, lines)?;
            of_line(events, chart, &role, points)
        }
    }
}

/// The line that is told of, the same in every run: of percentiles the last, else the first.
fn shown_line<'a>(
    chart: &Chart,
    lines: &'a [(&str, BTreeMap<u32, f64>)],
) -> Option<(String, &'a BTreeMap<u32, f64>)> {
    let is_latency = chart.of == Some(metrics::Chart::Latency);
    let (role, points) = if is_latency { lines.last()? } else { lines.first()? };
    let role = match (is_latency, chart.series.len()) {
        (true, _) => format!("{role} of each second"),
        (false, 1) => String::new(),
        (false, _) => (*role).to_owned(),
    };
    Some((role, points))
}

/// Both lines of a chart that has two.
fn of_pair(
    events: Events,
    chart: &Chart,
    one: &(&str, BTreeMap<u32, f64>),
    other: &(&str, BTreeMap<u32, f64>),
) -> Option<String> {
    let [a, b] =
        [median(&one.1)?, median(&other.1)?].map(|usual| amount(events, usual, chart.unit));
    let points = [one, other].into_iter().flat_map(|(role, points)| {
        points.iter().map(move |(second, value)| (*role, *second, *value))
    });
    let most = points.max_by(|a, b| a.2.total_cmp(&b.2));
    let (role, second, value) = most.filter(|point| point.2 > 0.0)?;
    Some(format!(
        "{} {a}, {} {b} at the median; most {} ({role}) at second {second}",
        one.0,
        other.0,
        amount(events, value, chart.unit)
    ))
}

fn of_line(
    events: Events,
    chart: &Chart,
    role: &str,
    points: &BTreeMap<u32, f64>,
) -> Option<String> {
    let usual = median(points)?;
    let (word, furthest) = match is_feared_low(chart) {
        true => ("least", points.iter().min_by(|a, b| a.1.total_cmp(b.1))?),
        false => ("most", points.iter().max_by(|a, b| a.1.total_cmp(b.1))?),
    };
    let role = if role.is_empty() { String::new() } else { format!("{role} ") };
    if points.values().all(|value| *value == 0.0) {
        return Some("nothing".into());
    }
    let shown = amount(events, usual, chart.unit);
    if (furthest.1 - usual).abs() <= STEADY_SHARE * usual.abs() {
        return Some(format!("{role}{shown} throughout"));
    }
    Some(format!(
        "{role}{shown} at the median, {word} {} at second {}",
        amount(events, *furthest.1, chart.unit),
        furthest.0
    ))
}

/// Whether the lowest second is what one looks for, as more of what the chart shows is better; of
/// other charts it is the highest.
fn is_feared_low(chart: &Chart) -> bool {
    let first = chart.series.first().and_then(|(name, _)| metrics::find(name));
    first.is_some_and(metrics::MetricEntry::is_better_higher)
}

/// Seconds inside the window, as the judge uses them.
fn inside(trial: &Trial, series: &Series) -> BTreeMap<u32, f64> {
    let is_in = |second: u32| trial.window.is_none_or(|window| window.contains_second(second));
    series.points.iter().copied().filter(|(second, _)| is_in(*second)).collect()
}

fn stacked(lines: &[(&str, BTreeMap<u32, f64>)]) -> BTreeMap<u32, f64> {
    let mut sum = BTreeMap::new();
    for (second, value) in lines.iter().flat_map(|(_, points)| points) {
        *sum.entry(*second).or_insert(0.0) += value;
    }
    sum
}

fn median(points: &BTreeMap<u32, f64>) -> Option<f64> {
    let values: Vec<f64> = points.values().copied().collect();
    (values.len() >= SECONDS_LEAST).then(|| assay_judge::median(&values))
}

/// With its unit; bytes with their prefix.
fn amount(events: Events, value: f64, unit: Shown) -> String {
    match unit {
        Shown::Bytes => bytes(value),
        Shown::BytesPerSecond => format!("{}/s", bytes(value)),
        Shown::PerSecond | Shown::TransactionsPerSecond | Shown::RowsPerSecond => {
            format!("{}/s", figure(value))
        }
        Shown::Bare => figure(value),
        unit => format!("{} {}", figure(value), unit.text(events)),
    }
}

/// As it is stored, with the word for its unit where that is known.
fn counted(value: f64, unit: Option<Unit>) -> String {
    match unit {
        None => figure(value),
        Some(Unit::PerSecond) => format!("{}/s", figure(value)),
        Some(unit) => format!("{} {}", figure(value), unit.word()),
    }
}

/// The worst of the run's breakdowns, and how many there are besides; empty where there is none.
fn breakdown(judgement: &Judgement, (noun, heads): (&str, &[Head]), trial: &Trial) -> String {
    let its = judgement.trials.iter().find(|one| one.key == trial.key);
    let events = its.and_then(|one| one.stalls.as_ref()).map_or(&[][..], |stalls| &stalls.events);
    let worst = events.iter().max_by(|a, b| a.depth_percent.total_cmp(&b.depth_percent));
    let Some(worst) = worst else { return String::new() };
    let more = match events.len() {
        1 => String::new(),
        several => format!("; {} more", plural(several - 1, "such moment")),
    };
    format!(". {}{}{more}", fell(noun, worst), meanwhile(heads, worst))
}

fn fell(noun: &str, event: &Stall) -> String {
    let seconds = (event.to_second - event.from_second + 1) as usize;
    let from = event.from_second;
    match event.delay_ms {
        Some(delay) if event.depth_percent < FALLEN_PERCENT => {
            format!("At second {from}, no {noun} was answered for about {} ms", figure(delay))
        }
        _ => format!(
            "It dropped by {:.0} % for {} from second {from}",
            event.depth_percent,
            plural(seconds, "second")
        ),
    }
}

/// The counter below the load that was furthest from its own median then.
fn meanwhile(heads: &[Head], event: &Stall) -> String {
    let Some(first) = event.departures.first() else { return String::new() };
    let head = heads.iter().find(|head| head.name == first.series);
    let label = head.map_or(&first.series, |head| &head.label);
    let unit = head.map(|head| head.unit);
    format!(
        ", when {label} was {} (usually {})",
        counted(first.value, unit),
        counted(first.median, unit)
    )
}
