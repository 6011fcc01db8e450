//! The numbers of the first screen: of the configuration that the question is about against the
//! baseline throughput and p99 with their verdicts, what they took of the device and, where there
//! are prices, what they cost.
//!
//! None of them is made of a run that may not be compared.

use crate::words::reason::reason_in_short;
use crate::words::size::DifferenceSize;
use crate::words::steps;
use crate::words::verdict::{kind, word};
use assay_judge::{Chain, JudgedComparison, Metric};
use assay_study::RunState;

use crate::comparisons::closed_loop;
use crate::comparisons::flagged;
use crate::comparisons::paired_figures::{self, Sides, told, unit};
use crate::comparisons::questions::{self, BY_THREADS};
use crate::figures::columns;
use crate::figures::format::{figure, plural};
use crate::first_screen::number::Number;
use crate::first_screen::trade_off::{WRITTEN, price, taken};
use crate::input::Input;
use assay_judge::summary::RepeatGroup;

/// The numbers of a comparison: throughput, p99, what it took and, where there are prices, what it
/// costs.
pub(crate) fn compared(input: &Input<'_>, lead: &JudgedComparison) -> Vec<Number> {
    let sides = Sides::of(input, lead);
    let [tps, _] = columns::THROUGHPUT;
    let [_, _, p99, _] = columns::LATENCY;
    let of_throughput = paired_figures::same(input, lead, Metric::Throughput);
    let of_p99 = paired_figures::same(input, lead, Metric::P99);
    let mut answers = [
        of_throughput.map(|one| judged(input, "Throughput", one, &sides, &tps)),
        of_p99.map(|one| judged(input, "p99 response time", one, &sides, &p99)),
    ];
    // What answers stands first.
    if lead.metric == Metric::P99 {
        answers.reverse();
    }
    let [first, second] = answers;
    [
        first,
        second,
        taken(input.study.events(), &sides).map(|number| in_steps(input, lead, number)),
        // A transaction's price follows from how many there are.
        of_throughput.and_then(|one| price(input.analysis, &paired_figures::parts(input, one))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// With what each factor did of it, where the sides differ in several and others lie between.
fn in_steps(input: &Input<'_>, lead: &JudgedComparison, number: Number) -> Number {
    let is_its = |chain: &&Chain| {
        let whole = &chain.whole;
        lead.against_workload.is_none()
            && (&chain.workload, &whole.config, &whole.against)
                == (&lead.workload, &lead.config, &lead.baseline)
    };
    let steps = input
        .judgement
        .chains
        .iter()
        .find(is_its)
        .and_then(|chain| steps::bytes(input.study.events(), chain));
    Number { details: number.details.into_iter().chain(steps).collect(), ..number }
}

fn judged(
    input: &Input<'_>,
    name: &str,
    one: &JudgedComparison,
    sides: &Sides<'_>,
    metric: &columns::Metric<'_>,
) -> Number {
    let durability = match one.metric {
        Metric::Throughput => sides.durability(),
        _ => Vec::new(),
    };
    let events = input.study.events();
    let parts = paired_figures::parts(input, one);
    let number = match &one.difference {
        _ if questions::hangs_on_threads(input.judgement, one)
            || questions::has_parts(input.judgement, one) =>
        {
            by_threads(input, one, &parts, metric)
        }
        None => untold(input, one, sides, metric),
        Some(found) => {
            let size = DifferenceSize::of(one.metric, found);
            Number {
                value: size.value,
                unit: size.unit.into(),
                interval: size.interval,
                verdict: Some(verdict(one)),
                details: [
                    Some(told(&paired_figures::compared(&parts), &unit(events, metric))),
                    left_out(one),
                    closed_loop::beside(input.study, one),
                ]
                .into_iter()
                .flatten()
                .collect(),
                ..Number::named("")
            }
        }
    };
    Number { name: name.into(), durability, ..number }
}

/// That not all runs are in it.
fn left_out(one: &JudgedComparison) -> Option<String> {
    let runs = plural(one.left_out.len(), "run");
    (!one.left_out.is_empty()).then(|| format!("without {runs} that cannot be compared"))
}

/// Thread counts come out otherwise than one another, or not all could be compared: each by itself,
/// as a figure over all would hide it.
fn by_threads(
    input: &Input<'_>,
    whole: &JudgedComparison,
    parts: &[&JudgedComparison],
    metric: &columns::Metric<'_>,
) -> Number {
    let events = input.study.events();
    let line = |one: &&JudgedComparison| {
        let threads = plural(one.threads? as usize, "thread");
        let Some(found) = &one.difference else {
            let because = why(input, one);
            return Some(format!("At {threads}: {because}"));
        };
        let word = word(one.verdict.conclusion);
        let size = DifferenceSize::of(one.metric, found);
        let pair = format!("{} against {}", figure(found.value), figure(found.baseline_value));
        Some(format!("At {threads} {word}: {size}; {pair} {}", unit(events, metric)))
    };
    let is_mixed = whole.difference.is_some();
    let because = || why(input, whole);
    let (value, unit, interval, word) = match is_mixed {
        true => ("Depends", "on the thread count", String::new(), BY_THREADS),
        false => ("–", "", format!("over all: {}", because()), "at some threads"),
    };
    Number {
        value: value.into(),
        unit: unit.into(),
        interval,
        verdict: Some((word, "neither")),
        details: parts.iter().filter_map(line).collect(),
        ..Number::named("")
    }
}

/// Nothing can be said of the difference: what was measured of the configuration that may be
/// compared, and why no more.
fn untold(
    input: &Input<'_>,
    one: &JudgedComparison,
    sides: &Sides<'_>,
    metric: &columns::Metric<'_>,
) -> Number {
    let events = input.study.events();
    let at = sides.at(metric);
    let most = at.last();
    let details = match most {
        Some(most) => told(std::slice::from_ref(most), &unit(events, metric)),
        None => "The two have no comparable runs in common.".into(),
    };
    Number {
        unit: most.map_or_else(String::new, |_| unit(events, metric)),
        value: most.map_or_else(|| "–".into(), |most| figure(most.config)),
        interval: why(input, one),
        verdict: Some(verdict(one)),
        details: vec![details],
        ..Number::named("")
    }
}

/// Why there is no comparison: what disturbed its runs, else what the judge says.
fn why(input: &Input<'_>, one: &JudgedComparison) -> String {
    let disturbance = flagged::of_comparison(input.study, one).map(|(cause, _)| cause);
    disturbance.or_else(|| reason_in_short(input.study.events(), one)).unwrap_or_default()
}

/// The verdict in words, and its kind for the style sheet.
fn verdict(one: &JudgedComparison) -> (&'static str, &'static str) {
    (word(one.verdict.conclusion), kind(one.verdict.conclusion))
}

/// The numbers of a study with nothing to compare: of its first configuration, where it did most.
pub(crate) fn alone(input: &Input<'_>) -> Vec<Number> {
    let [tps, _] = columns::THROUGHPUT;
    let [_, _, p99, _] = columns::LATENCY;
    let rate = |group: &RepeatGroup<'_>| tps.over(group).map_or(0.0, |figure| figure.mean);
    let groups: Vec<RepeatGroup<'_>> =
        input.groups.iter().filter_map(RepeatGroup::comparable).collect();
    let with_rate = groups.iter().filter(|group| rate(group) > 0.0);
    let Some(most) = with_rate.max_by(|a, b| rate(a).total_cmp(&rate(b))) else {
        let is_done = input.study.trials.iter().any(|trial| trial.state == RunState::Done);
        let interval = "every finished run is flagged as not comparable".to_owned();
        let none = Number { interval, ..Number::named("Throughput") };
        return if is_done && groups.is_empty() { vec![none] } else { Vec::new() };
    };
    let events = input.study.events();
    let written = WRITTEN.title(events);
    let named = [("Throughput", tps), ("p99 response time", p99), (&written, WRITTEN)];
    let config = input.study.configs.get(most.config).map_or("", |config| config.name.as_str());
    let number = |(name, metric): (&str, columns::Metric<'_>)| {
        let found = metric.over(most)?;
        Some(Number {
            value: figure(found.mean),
            unit: unit(events, &metric),
            interval: if found.values.len() > 1 {
                format!("repeats {} to {}", figure(found.low), figure(found.high))
            } else {
                "one repeat".into()
            },
            details: vec![format!("{config} at {}", plural(most.threads as usize, "thread"))],
            durability: if metric.name == "tps" {
                vec![(config.to_owned(), input.analysis.label(most.config).to_owned())]
            } else {
                Vec::new()
            },
            ..Number::named(name)
        })
    };
    named.into_iter().filter_map(number).collect()
}
