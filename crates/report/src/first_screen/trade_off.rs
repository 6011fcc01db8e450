//! The price of throughput, for the first screen: bytes and, where there are prices, money.

use crate::words::verdict::word;
use assay_judge::worth::cost::Cost;
use assay_judge::{Conclusion, JudgedComparison};

use crate::analysis::Analysis;
use crate::comparisons::paired_figures::{At, Sides, told};
use crate::figures::columns::{Metric, column, columns};
use crate::figures::format::{figure, plural};
use crate::first_screen::number::Number;
use assay_judge::summary::RepeatStatistics;
use assay_judge::worth::CostOfLoad;
use assay_judge::worth::space::WRITTEN_LEAST_BYTES;
use assay_study::Events;
use assay_study::metrics::{Group, metric};

/// Written to the device under the server's file system.
pub(crate) const WRITTEN: Metric<'static> =
    column(metric!("write_bytes_per_transaction"), Group::Taken);

/// Bytes that a transaction took: written to flash, else to the device, else, where nothing is
/// written, read. Nobody judges counters, so there is no verdict, but how far the repeats lie
/// apart.
pub(crate) fn taken(events: Events, sides: &Sides<'_>) -> Option<Number> {
    let counts = |(metric, at): &(Metric<'_>, Vec<At>)| {
        at.iter().any(|one| one.config.max(one.base) / metric.scale >= WRITTEN_LEAST_BYTES)
    };
    let all = columns(Group::Taken).into_iter();
    let known: Vec<(Metric<'_>, Vec<At>)> =
        all.map(|one| (one, sides.at(&one))).filter(|(_, at)| !at.is_empty()).collect();
    let first @ (metric, at) = known.iter().find(|one| counts(one)).or(known.first())?;
    let shown = metric.unit(events);
    let (value, unit) = match mean_ratio(at).filter(|_| counts(first)) {
        Some(found) => ratio(found),
        None => (figure(at.last()?.config), shown.to_string()),
    };
    Some(Number {
        name: metric.title(events).into(),
        value,
        unit,
        interval: spread(&sides.figures(metric), &shown),
        verdict: None,
        details: vec![told(at, &shown)],
        durability: Vec::new(),
    })
}

/// The geometric mean over thread counts, as of throughput; nothing where the baseline took
/// nothing.
fn mean_ratio(at: &[At]) -> Option<f64> {
    let logs: f64 = at.iter().map(|one| (one.config / one.base).ln()).sum();
    let mean = (logs / at.len() as f64).exp();
    (!mean.is_nan() && mean.is_finite()).then_some(mean)
}

fn spread(all: &[(u32, [RepeatStatistics; 2])], unit: &str) -> String {
    let span = |one: &RepeatStatistics| match (figure(one.low), figure(one.high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low}–{high}"),
    };
    match all {
        [(_, [config, base])] if config.values.len() > 1 => {
            format!("repeats {} and {} {unit}", span(config), span(base))
        }
        [_] => "one repeat".into(),
        several => format!("mean over {}", plural(several.len(), "thread count")),
    }
}

/// Cost of a transaction per second on both sides, at the highest compared thread count; `None` if
/// prices are missing. Bills are as given, so the ratio has the uncertainty of throughput alone:
/// its interval is the judge's, inverted.
pub(crate) fn price(analysis: &Analysis, parts: &[&JudgedComparison]) -> Option<Number> {
    let compared = parts.iter().filter(|one| one.difference.is_some());
    let part = compared.max_by_key(|one| one.threads)?;
    let (threads, found) = (part.threads?, part.difference.as_ref()?);
    let of = |config: &str, workload: &str| -> Option<&Cost> {
        let is_it = |one: &&CostOfLoad| {
            (one.config.as_str(), one.workload.as_str(), one.threads) == (config, workload, threads)
        };
        analysis.appraisal.costs.as_ref()?.iter().find(is_it)?.cost.as_ref()
    };
    let against = part.against_workload.as_ref().unwrap_or(&part.workload);
    let (config, base) = (of(&part.config, &part.workload)?, of(&part.baseline, against)?);
    let mid = config.cost_per_tps.mid / base.cost_per_tps.mid;
    let (low, high) =
        (mid * found.ratio / found.ratio_interval.1, mid * found.ratio / found.ratio_interval.0);
    let (value, unit) = ratio(mid);
    let is_told = low > 1.0 || high < 1.0;
    let in_one_run = if part.verdict.is_of_one_run() { ", of this one run" } else { "" };
    Some(Number {
        name: format!("Price per {} per second", analysis.study.events().noun()),
        value,
        unit,
        interval: format!("95 % interval {} to {}{in_one_run}", joined(low), joined(high)),
        verdict: (!is_told).then_some((word(Conclusion::Inconclusive), "neither")),
        details: vec![format!(
            "{} against {} {} over {} years, at {}",
            figure(config.cost_per_tps.mid),
            figure(base.cost_per_tps.mid),
            config.bill.currency,
            config.bill.years,
            plural(threads as usize, "thread")
        )],
        durability: Vec::new(),
    })
}

fn joined(of: f64) -> String {
    let (value, unit) = ratio(of);
    format!("{value} {unit}")
}

/// `2.60 times as much`, `12 % more`, `12 % less`; with a decimal where without it nothing would be
/// left.
fn ratio(ratio: f64) -> (String, String) {
    let percent = |percent: f64| match percent {
        _ if percent == 0.0 || percent >= 0.95 => format!("{percent:.0} %"),
        _ => format!("{percent:.1} %"),
    };
    let (value, unit) = match ratio {
        _ if ratio >= 2.0 => (figure(ratio), "times as much"),
        _ if ratio >= 1.0 => (percent((ratio - 1.0) * 100.0), "more"),
        _ => (percent((1.0 - ratio) * 100.0), "less"),
    };
    (value, unit.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_told_with_digits_enough() {
        let told = [2.6, 1.12, 1.0, 0.998, 0.5, 1.004].map(joined);
        assert_eq!(
            told,
            [
                "2.60 times as much",
                "12 % more",
                "0 % more",
                "0.2 % less",
                "50 % less",
                "0.4 % more"
            ]
        );
    }

    #[test]
    fn nothing_over_nothing_is_no_ratio() {
        let at = |config, base| At { threads: 1, config, base };
        assert_eq!(mean_ratio(&[at(0.0, 0.0)]), None);
        assert_eq!(mean_ratio(&[at(3.0, 0.0)]), None);
        assert!((mean_ratio(&[at(2.0, 1.0), at(8.0, 1.0)]).unwrap() - 4.0).abs() < 1e-12);
    }
}
