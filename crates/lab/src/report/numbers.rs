//! The numbers of the first screen: of the arm that the question is about against the baseline throughput and p99 with their
//! verdicts, what they took of the device and, where there are prices, what they cost.

use serde::Serialize;

use crate::judge::worth::cost::Cost;
use crate::judge::worth::interval::Interval;
use crate::judge::{Comparison, Metric, size};

use super::format::{figure, plural};
use super::headline;
use super::judged::{Judged, OfGroup};
use super::metrics::{self, metric};
use super::page::Input;
use super::summary::{Figure, Group};

/// One of them.
#[derive(Debug, Serialize)]
pub(super) struct Number {
    name: String,
    value: String,
    unit: String,
    /// Its interval, or how far the repeats lie apart.
    interval: String,
    /// The verdict in words, and its kind for the style sheet.
    verdict: Option<(&'static str, &'static str)>,
    /// What both sides were.
    detail: String,
    /// What a power cut can take of each side.
    durability: Vec<(String, String)>,
}

/// The numbers of a comparison: throughput, p99, what it took and, where there are prices, what it costs.
pub(super) fn compared(input: &Input<'_>, lead: &Comparison) -> Vec<Number> {
    let sides = Sides::of(input, lead);
    let same = |metric: Metric| {
        headline::whole(input.judgement, metric)
            .into_iter()
            .find(|one| (&one.workload, &one.arm) == (&lead.workload, &lead.arm))
    };
    let p99 = same(Metric::P99);
    let [tps, _] = metrics::THROUGHPUT;
    let [_, _, p99_figure, _] = metrics::LATENCY;
    [
        Some(judged("Throughput", lead, &sides, &tps)),
        p99.map(|one| judged("p99 response time", one, &sides, &p99_figure)),
        taken(&sides),
        sides.at.and_then(|[group, _]| price(input.judged, lead, group.threads)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Both sides of a comparison at the most threads that both have been measured with.
struct Sides<'a> {
    names: [&'a str; 2],
    labels: [&'a str; 2],
    at: Option<[&'a Group<'a>; 2]>,
}

impl<'a> Sides<'a> {
    fn of(input: &'a Input<'a>, lead: &'a Comparison) -> Sides<'a> {
        let names = [lead.arm.as_str(), lead.baseline.as_str()];
        let place = |name: &str| input.study.arms.iter().position(|arm| arm.name == name);
        let of_side = |name: &str| {
            let its = input.groups.iter().filter(move |group| {
                Some(group.arm) == place(name)
                    && input
                        .study
                        .workloads
                        .get(group.workload)
                        .is_some_and(|one| one.name == lead.workload)
            });
            its.filter(|group| group.done().next().is_some()).collect::<Vec<_>>()
        };
        let [arm, base] = names.map(of_side);
        let both = |group: &&&'a Group<'a>| base.iter().any(|one| one.threads == group.threads);
        let most = arm.iter().filter(both).max_by_key(|group| group.threads);
        let at = most.and_then(|group| {
            Some([*group, *base.iter().find(|one| one.threads == group.threads)?])
        });
        let label = |name: &str| place(name).map_or("", |place| input.judged.label(place));
        Sides { names, labels: names.map(label), at }
    }

    fn figures(&self, metric: &metrics::Metric<'_>) -> Option<[Figure; 2]> {
        let [arm, base] = self.at?;
        Some([arm.figure(metric)?, base.figure(metric)?])
    }

    /// `966 against 812 1/s at 32 threads`.
    fn detail(&self, metric: &metrics::Metric<'_>) -> String {
        let Some([arm, base]) = self.figures(metric) else { return String::new() };
        let threads = self.at.map_or(0, |[group, _]| group.threads);
        format!(
            "{} against {} {} at {}",
            figure(arm.mean),
            figure(base.mean),
            unit(metric),
            plural(threads as usize, "thread")
        )
    }

    fn durability(&self) -> Vec<(String, String)> {
        if self.labels[0] == self.labels[1] {
            return vec![("both".into(), self.labels[0].to_owned())];
        }
        let both = self.names.iter().zip(self.labels);
        both.map(|(name, label)| ((*name).to_owned(), label.to_owned())).collect()
    }
}

/// `1/s` alone does not say of what.
fn unit(metric: &metrics::Metric<'_>) -> String {
    if metric.name == "tps" { "transactions/s".into() } else { metric.unit.into() }
}

fn judged(name: &str, one: &Comparison, sides: &Sides<'_>, metric: &metrics::Metric<'_>) -> Number {
    let is_throughput = one.metric == Metric::Throughput;
    let size = one.difference.as_ref().map(|found| size(one.metric, found));
    let (claim, interval) =
        size.as_deref().and_then(|text| text.split_once(" (")).unwrap_or(("–", ""));
    let (value, unit) = claim.split_once(" times ").map_or_else(
        || claim.rsplit_once(' ').unwrap_or((claim, "")),
        |(factor, rest)| (factor, rest),
    );
    let unit = if claim.contains(" times ") { format!("times {unit}") } else { unit.to_owned() };
    let word = one.verdict.verdict.text();
    if size.is_none() {
        return untold(name, one, sides, metric);
    }
    Number {
        name: name.into(),
        value: value.into(),
        unit,
        interval: interval.trim_end_matches(')').into(),
        verdict: Some((word, kind(word))),
        detail: sides.detail(metric),
        durability: if is_throughput { sides.durability() } else { Vec::new() },
    }
}

/// Nothing can be said of the difference: what was measured of the arm, and why no more.
fn untold(name: &str, one: &Comparison, sides: &Sides<'_>, metric: &metrics::Metric<'_>) -> Number {
    let word = one.verdict.verdict.text();
    let arm = sides.figures(metric).map(|[arm, _]| figure(arm.mean));
    Number {
        name: name.into(),
        unit: if arm.is_some() { unit(metric) } else { String::new() },
        value: arm.unwrap_or_else(|| "–".into()),
        interval: one.verdict.because.as_deref().map_or("", headline::short_reason).to_owned(),
        verdict: Some((word, kind(word))),
        detail: sides.detail(metric),
        durability: Vec::new(),
    }
}

fn kind(word: &str) -> &'static str {
    match word {
        "better" => "better",
        "worse" => "worse",
        _ => "neither",
    }
}

/// What throughput was paid with: bytes to the flash, else to the device, else room. Nobody judges counters, so there is no verdict, but
/// how far the repeats lie apart.
fn taken(sides: &Sides<'_>) -> Option<Number> {
    let known = [
        metric(
            "media_write_bytes_per_transaction",
            "",
            "kB",
            1e-3,
            "Written to media, a transaction",
        ),
        metric(
            "write_bytes_per_transaction",
            "",
            "kB",
            1e-3,
            "Written to the device, a transaction",
        ),
        metric("space_physical_bytes", "", "MB", 1e-6, "Space taken"),
    ];
    let (metric, [arm, base]) = known.iter().find_map(|one| {
        let figures = sides.figures(one)?;
        figures.iter().all(|one| one.mean > 0.0).then_some((one, figures))
    })?;
    let (value, unit) = ratio(arm.mean / base.mean);
    let spread = |one: &Figure| match (figure(one.low), figure(one.high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low}–{high}"),
    };
    Some(Number {
        name: metric.title.into(),
        value,
        unit,
        interval: if arm.values.len() > 1 {
            format!("repeats {} and {} {}", spread(&arm), spread(&base), metric.unit)
        } else {
            "one repeat".into()
        },
        verdict: None,
        detail: sides.detail(metric),
        durability: Vec::new(),
    })
}

/// What a transaction a second costs on both sides, with so many threads; nothing where prices are missing.
fn price(judged: &Judged, lead: &Comparison, threads: u32) -> Option<Number> {
    let of = |arm: &str| {
        let is_it = |one: &&OfGroup| {
            (one.arm.as_str(), &one.workload, one.threads) == (arm, &lead.workload, threads)
        };
        judged.costs.as_ref()?.iter().find(is_it)?.cost.as_ref()
    };
    let (arm, base) = (of(&lead.arm)?, of(&lead.baseline)?);
    let (value, unit) = ratio(arm.cost_per_tps.mid / base.cost_per_tps.mid);
    let bounds = |cost: &Cost| {
        let Interval { low, high, .. } = cost.cost_per_tps;
        (low < high).then(|| format!("{} to {}", figure(low), figure(high)))
    };
    let currency = &arm.bill.currency;
    let interval = match (bounds(arm), bounds(base)) {
        (Some(arm), Some(base)) => format!("95 % intervals {arm} and {base} {currency}"),
        _ => "how far a repeat would differ is not known".to_owned(),
    };
    Some(Number {
        name: "Price of a transaction a second".into(),
        value,
        unit,
        interval,
        verdict: None,
        detail: format!(
            "{} against {} {} over {} years, at {}",
            figure(arm.cost_per_tps.mid),
            figure(base.cost_per_tps.mid),
            arm.bill.currency,
            arm.bill.years,
            plural(threads as usize, "thread")
        ),
        durability: Vec::new(),
    })
}

/// `2.60 times as much`, `12 % more`, `12 % less`.
fn ratio(ratio: f64) -> (String, String) {
    let (value, unit) = match ratio {
        _ if ratio >= 2.0 => (figure(ratio), "times as much"),
        _ if ratio >= 1.0 => (format!("{:.0} %", (ratio - 1.0) * 100.0), "more"),
        _ => (format!("{:.0} %", (1.0 - ratio) * 100.0), "less"),
    };
    (value, unit.to_owned())
}

/// The numbers of a study with nothing to compare: of its first arm, where it did most.
pub(super) fn alone(input: &Input<'_>) -> Vec<Number> {
    let [tps, _] = metrics::THROUGHPUT;
    let [_, _, p99, _] = metrics::LATENCY;
    let rate = |group: &Group<'_>| group.figure(&tps).map_or(0.0, |figure| figure.mean);
    let with_rate = input.groups.iter().filter(|group| rate(group) > 0.0);
    let Some(most) = with_rate.max_by(|a, b| rate(a).total_cmp(&rate(b))) else {
        return Vec::new();
    };
    let written = metric(
        "write_bytes_per_transaction",
        "",
        "kB",
        1e-3,
        "Written to the device, a transaction",
    );
    let named = [("Throughput", tps), ("p99 response time", p99), (written.title, written)];
    let arm = input.study.arms.get(most.arm).map_or("", |arm| arm.name.as_str());
    let number = |(name, metric): (&str, metrics::Metric<'_>)| {
        let found = most.figure(&metric)?;
        Some(Number {
            name: name.into(),
            value: figure(found.mean),
            unit: unit(&metric),
            interval: if found.values.len() > 1 {
                format!("repeats {} to {}", figure(found.low), figure(found.high))
            } else {
                "one repeat".into()
            },
            verdict: None,
            detail: format!("{arm} at {}", plural(most.threads as usize, "thread")),
            durability: if metric.name == "tps" {
                vec![(arm.to_owned(), input.judged.label(most.arm).to_owned())]
            } else {
                Vec::new()
            },
        })
    };
    named.into_iter().filter_map(number).collect()
}
