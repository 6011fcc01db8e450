//! Latency beside throughput, and the whole of a latency distribution: two charts for each
//! workload.
//!
//! Distributions are of the response times of transactions, from the histograms in the store: of
//! the window, at the most threads. A percentile with fewer than [`ABOVE_LEAST`] transactions above
//! it in a repeat is not drawn, as a handful of transactions do not tell where it lies.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use assay_study::{Events, Histogram, Study, Trial};

use crate::charts::plots::{Plot, Style, label, symbol, title, whiskers};
use crate::comparisons::flagged;
use crate::figures::columns;
use crate::figures::format::{figure, plural};
use crate::input::Input;
use assay_judge::summary::{RepeatGroup, RepeatStatistics};

/// Transactions that must lie above a percentile.
const ABOVE_LEAST: f64 = 10.0;

/// The shares that are drawn, in percent.
const PERCENTILES: [f64; 10] = [10.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// The distribution of a run's response times, if it has one.
pub(crate) fn of_transactions(histograms: Vec<Histogram>) -> Option<Vec<(u64, u64)>> {
    histograms.into_iter().find(Histogram::is_of_responses).map(|one| one.buckets)
}

/// A chart with what it says.
struct Told {
    plot: Plot,
    finding: String,
}

/// A chart of latency that stands beside those against threads.
#[derive(Serialize)]
pub(crate) struct Tail {
    name: String,
    heading: &'static str,
    plot: usize,
    finding: String,
    caption: Cow<'static, str>,
}

/// Response times of transactions by the id of their run: upper end of a bucket in ns, and count.
pub(crate) type Distributions = BTreeMap<i64, Vec<(u64, u64)>>;

/// Both charts of the workload at that place, where there is anything to draw; their plots are
/// added to `plots`.
pub(crate) fn tails(
    input: &Input<'_>,
    distributions: &Distributions,
    workload: usize,
    plots: &mut Vec<Plot>,
) -> Vec<Tail> {
    let (study, groups) = (input.study, input.groups);
    let events = study.events();
    let all = [
        (
            "throughput-p99",
            "Throughput against p99",
            throughput_and_p99(study, groups, workload),
            "Lower right is better. Labels are threads; whiskers span the lowest to the highest \
            repeat."
                .into(),
        ),
        (
            "distribution",
            "Latency distribution",
            distribution(study, groups, workload, distributions),
            events.fill(
                "{Event} latency at the highest thread count; percentiles with fewer \
                than ten samples above them in a repeat are omitted.",
            ),
        ),
    ];
    let mut found = Vec::new();
    for (name, heading, told, caption) in all {
        let Some(told) = told else { continue };
        plots.push(told.plot);
        let name = format!("{name}:{workload}");
        found.push(Tail { name, heading, plot: plots.len() - 1, finding: told.finding, caption });
    }
    found
}

/// Throughput against p99: a line for each configuration through its thread counts. Nothing of
/// fewer than two points.
fn throughput_and_p99(study: &Study, groups: &[RepeatGroup<'_>], workload: usize) -> Option<Told> {
    let [tps, _] = columns::THROUGHPUT;
    let [_, _, p99, _] = columns::LATENCY;
    let x_axis = json!({
        "rangemode": "tozero", "separatethousands": true, "title": title(study.events().rate()),
    });
    let mut plot = Plot::new(x_axis, json!({ "title": title("p99, ms") }));
    plot.adjust("hovermode", json!("closest"));
    let mut best: Vec<String> = Vec::new();
    let mut without = 0;
    for (place, config) in study.configs.iter().enumerate() {
        let its = groups.iter().filter(|group| (group.config, group.workload) == (place, workload));
        let its: Vec<&RepeatGroup<'_>> = its.filter(|group| tps.over(group).is_some()).collect();
        let point = |group: &&RepeatGroup<'_>| {
            let flag = flagged::reason(group.done().collect::<Vec<_>>().into_iter());
            Some(Beside {
                threads: group.threads,
                throughput: tps.over(group)?,
                latency: p99.over(group)?,
                flag,
            })
        };
        let points: Vec<Beside> = its.iter().filter_map(point).collect();
        without += its.len() - points.len();
        let most = |a: &&Beside, b: &&Beside| a.throughput.mean.total_cmp(&b.throughput.mean);
        let Some(top) = points.iter().max_by(most) else { continue };
        let (rate, time) = (figure(top.throughput.mean), figure(top.latency.mean));
        best.push(format!("{} {rate}/s at {time} ms", config.name));
        plot.push(place, line(place, &config.name, &points));
    }
    let events = study.events().many();
    let without = match without {
        0 => String::new(),
        1 => format!(". One point is missing: too few {events} for a p99"),
        count => format!(". {count} points are missing: too few {events} for a p99"),
    };
    let finding = format!("Most: {}{without}", best.join("; "));
    (!best.is_empty()).then_some(Told { plot, finding })
}

/// A thread count's throughput and p99, and why they may not be compared.
struct Beside {
    threads: u32,
    throughput: RepeatStatistics,
    latency: RepeatStatistics,
    flag: Option<String>,
}

fn line(place: usize, name: &str, points: &[Beside]) -> Value {
    let Style { line, mut marker } = Style::of(place);
    let symbols: Vec<String> = points.iter().map(|point| symbol(place, &point.flag)).collect();
    marker["symbol"] = json!(symbols);
    let of = |read: fn(&Beside) -> &RepeatStatistics| -> Vec<&RepeatStatistics> {
        points.iter().map(read).collect()
    };
    let means = |all: &[&RepeatStatistics]| all.iter().map(|one| one.mean).collect::<Vec<_>>();
    let (throughput, latency) = (of(|point| &point.throughput), of(|point| &point.latency));
    let hover = |point: &Beside| {
        let why = point.flag.iter().map(|why| format!("<br>not comparable: {}", label(why)));
        let why: String = why.collect();
        format!("threads: %{{text}}; %{{x:,.4~r}}/s, p99 %{{y:,.4~r}} ms{why}")
    };
    // Labels of configurations whose points lie close together stand on different sides.
    let side = ["top left", "bottom right", "top right", "bottom left", "middle right"][place % 5];
    json!({
        "type": "scatter",
        "x": means(&throughput),
        "y": means(&latency),
        "name": label(name),
        "mode": "lines+markers+text",
        "text": points.iter().map(|point| point.threads.to_string()).collect::<Vec<_>>(),
        "textposition": side,
        "cliponaxis": false,
        "line": line,
        "marker": marker,
        "error_x": spread(&throughput),
        "error_y": spread(&latency),
        "hovertemplate": points.iter().map(hover).collect::<Vec<_>>(),
    })
}

fn spread(figures: &[&RepeatStatistics]) -> Value {
    let reach = |end: fn(&RepeatStatistics) -> f64| -> Vec<f64> {
        figures.iter().map(|one| end(one)).collect()
    };
    let (above, below) = (reach(|one| one.high - one.mean), reach(|one| one.mean - one.low));
    let is_any = above.iter().chain(&below).any(|reach| *reach > 0.0);
    whiskers(&above, &below, is_any)
}

/// Distributions at the most threads: each percentile's mean over the repeats, with its lowest and
/// highest.
fn distribution(
    study: &Study,
    groups: &[RepeatGroup<'_>],
    workload: usize,
    all: &Distributions,
) -> Option<Told> {
    let its = || groups.iter().filter(|group| group.workload == workload);
    let has = |group: &&RepeatGroup<'_>| group.done().any(|trial| all.contains_key(&trial.id));
    let threads = its().filter(has).map(|group| group.threads).max()?;
    let mut plot = Plot::new(percentile_axis(study.events()), latency_axis());
    let mut ends: Vec<String> = Vec::new();
    for group in its().filter(|group| group.threads == threads) {
        let trials: Vec<&Trial> = group.done().collect();
        let points = points(&trials, all);
        let (Some(config), Some(last)) = (study.configs.get(group.config), points.last()) else {
            continue;
        };
        ends.push(format!("{} p{} {} ms", config.name, last.0, figure(last.1.mean)));
        plot.push(group.config, curve(group.config, &config.name, &points));
    }
    let finding = format!("At {}: {}", plural(threads as usize, "thread"), ends.join("; "));
    (!ends.is_empty()).then_some(Told { plot, finding })
}

/// Each decade towards 100 % takes the same room.
fn percentile_axis(events: Events) -> Value {
    let shown = [0.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99];
    json!({
        "type": "log",
        "range": [0.0, 4.1],
        "tickvals": shown.map(place),
        "ticktext": shown.map(|percent| percent.to_string()),
        "title": title(&format!("percent of {} answered within", events.many())),
    })
}

/// Ticks at 1, 2 and 5 of each decade from a microsecond to a quarter of an hour.
fn latency_axis() -> Value {
    let decades = (-3..6).map(|power| 10_f64.powi(power));
    let ticks: Vec<f64> = decades.flat_map(|one| [one, 2.0 * one, 5.0 * one]).collect();
    let texts: Vec<String> =
        ticks.iter().map(|tick| format!("{}", (tick * 1e4).round() / 1e4)).collect();
    json!({
        "type": "log", "tickvals": ticks, "ticktext": texts, "title": title("response time, ms"),
    })
}

/// 50 stands at 2, 99 at 100, 99.99 at 10 000.
fn place(percent: f64) -> f64 {
    let place = 100.0 / (100.0 - percent);
    (place * 1e6).round() / 1e6
}

fn points(trials: &[&Trial], all: &Distributions) -> Vec<(f64, RepeatStatistics)> {
    let its: Vec<&Vec<(u64, u64)>> = trials.iter().filter_map(|trial| all.get(&trial.id)).collect();
    let at = |percent: f64| {
        let values: Option<Vec<f64>> =
            its.iter().map(|buckets| percentile(buckets, percent)).collect();
        Some((percent, RepeatStatistics::of(values?)?))
    };
    PERCENTILES.into_iter().filter_map(at).collect()
}

/// In ms; nothing where too few lie above.
fn percentile(buckets: &[(u64, u64)], percent: f64) -> Option<f64> {
    let count: u64 = buckets.iter().map(|(_, count)| count).sum();
    let count = count as f64;
    if count * (1.0 - percent / 100.0) < ABOVE_LEAST - 1e-9 {
        return None;
    }
    let mut below = 0.0;
    let bucket = buckets.iter().find(|(_, its)| {
        below += *its as f64;
        below >= count * percent / 100.0
    })?;
    Some(bucket.0 as f64 / 1e6)
}

fn curve(config: usize, name: &str, points: &[(f64, RepeatStatistics)]) -> Value {
    let Style { line, marker } = Style::of(config);
    let figures: Vec<&RepeatStatistics> = points.iter().map(|point| &point.1).collect();
    json!({
        "type": "scatter",
        "x": points.iter().map(|point| place(point.0)).collect::<Vec<_>>(),
        "y": figures.iter().map(|one| one.mean).collect::<Vec<_>>(),
        "name": label(name),
        "mode": "lines+markers",
        "text": points.iter().map(|point| format!("{} %", point.0)).collect::<Vec<_>>(),
        "line": line,
        "marker": marker,
        "error_y": spread(&figures),
        "hovertemplate": "%{text}: %{y:,.4~r} ms",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_enough_above_it() {
        let buckets = [(1_000_000, 90), (20_000_000, 10)];
        assert_eq!(percentile(&buckets, 50.0), Some(1.0));
        assert_eq!(percentile(&buckets, 90.0), Some(1.0));
        assert_eq!(percentile(&buckets, 95.0), None, "five transactions tell nothing");
        let many: Vec<(u64, u64)> = buckets.iter().map(|(ns, count)| (*ns, count * 1000)).collect();
        assert_eq!(percentile(&many, 99.99), Some(20.0));
        assert_eq!(percentile(&[], 50.0), None);
    }

    #[test]
    fn every_decade_takes_the_same_room() {
        assert_eq!([50.0, 90.0, 99.0, 99.99].map(place), [2.0, 10.0, 100.0, 10_000.0]);
    }
}
