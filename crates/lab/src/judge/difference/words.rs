//! Differences in words that a person can read.

use crate::judge::cell::metric::Metric;
use crate::judge::difference::compare::Difference;

/// Ratios from here on are told as factors: "2.4 times" says more than "140 % more".
const FACTOR_FROM: f64 = 2.0;

/// `19 % faster (95 % interval 15 to 23 %)`.
pub(crate) fn size(metric: Metric, difference: &Difference) -> String {
    let (low, high) = difference.ratio_interval;
    if difference.ratio >= FACTOR_FROM || difference.ratio <= 1.0 / FACTOR_FROM {
        return factor(metric, difference.ratio, low, high);
    }
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let decimals = decimals([percent(low), percent(difference.ratio), percent(high)]);
    let side = |ratio: f64| direction(metric, ratio > 1.0);
    let bare = |ratio: f64| format!("{:.decimals$}", percent(ratio).abs());
    let interval = match (low > 1.0, high > 1.0) {
        (true, true) if high > OPEN_FROM => format!("{} % to no upper end", bare(low)),
        (true, true) => format!("{} to {} %", bare(low), bare(high)),
        (false, false) => format!("{} to {} %", bare(high), bare(low)),
        _ if high > OPEN_FROM => format!("{} % {} to no upper end", bare(low), side(low)),
        _ => format!("{} % {} to {} % {}", bare(low), side(low), bare(high), side(high)),
    };
    match bare(difference.ratio).parse() {
        Ok(0.0) => format!("no difference (95 % interval {interval})"),
        _ => format!(
            "{} % {} (95 % interval {interval})",
            bare(difference.ratio),
            side(difference.ratio)
        ),
    }
}

/// An interval of one or two degrees of freedom may have an end that nobody would write down.
const OPEN_FROM: f64 = 100.0;

fn factor(metric: Metric, ratio: f64, low: f64, high: f64) -> String {
    let times = |ratio: f64| match ratio {
        _ if ratio >= 9.95 => format!("{ratio:.0}"),
        _ if ratio >= 0.995 => format!("{ratio:.1}"),
        _ => format!("{ratio:.2}"),
    };
    let noun = if metric == Metric::Throughput { "the throughput" } else { "the time" };
    let to = if high > OPEN_FROM && high > 10.0 * ratio {
        "no upper end".to_owned()
    } else {
        format!("{} times", times(high))
    };
    format!("{} times {noun} (95 % interval {} to {to})", times(ratio), times(low))
}

fn direction(metric: Metric, is_more: bool) -> &'static str {
    match (metric, is_more) {
        (Metric::Throughput, true) => "faster",
        (Metric::Throughput, false) => "slower",
        (_, true) => "longer",
        (_, false) => "shorter",
    }
}

/// As many as the width of the interval deserves, and so many more that nothing is told as zero that is not.
fn decimals([low, mid, high]: [f64; 3]) -> usize {
    const MOST: usize = 2;
    let deserved = match high - low {
        width if width >= 5.0 => 0,
        width if width >= 0.2 => 1,
        _ => MOST,
    };
    let is_told = |decimals: usize| {
        let least = 0.5 / 10_f64.powi(decimals as i32);
        [low, mid, high].into_iter().all(|one| one == 0.0 || one.abs() >= least)
    };
    (deserved..=MOST).find(|decimals| is_told(*decimals)).unwrap_or(MOST)
}

/// A percentage without needless digits.
pub(in crate::judge) fn short(percent: f64) -> String {
    let text = format!("{percent:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A p as it is written.
pub(in crate::judge) fn p(p: f64) -> String {
    if p < 0.001 { "below 0.001".into() } else { format!("{p:.3}") }
}

/// How many more repeats would tell.
pub(in crate::judge) fn more(repeats: Option<u32>, is_one_run: bool) -> String {
    match repeats {
        None => "no number of repeats up to a thousand would tell".into(),
        Some(more) if is_one_run => {
            format!("at least {} would tell", crate::print::counted(u64::from(more), "more repeat"))
        }
        Some(more) => {
            format!("about {} would tell", crate::print::counted(u64::from(more), "more repeat"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::difference::compare::Basis;
    use crate::judge::statistics::Spread;

    fn told(metric: Metric, ratio: f64, low: f64, high: f64) -> String {
        let difference = Difference {
            baseline_value: 1.0,
            value: ratio,
            ratio,
            ratio_interval: (low, high),
            difference: 0.0,
            difference_interval: (0.0, 0.0),
            basis: Basis::Repeats,
            repeats: 3,
            thread_counts: 1,
            deviation: 0.1,
            p_t: 0.5,
            permutation: None,
            log: Spread { mean: ratio.ln(), error: 0.1, df: 2.0 },
        };
        size(metric, &difference)
    }

    #[test]
    fn differences_read_as_sentences() {
        use Metric::{P99, Throughput};
        for (found, expected) in [
            (told(Throughput, 1.19, 1.15, 1.23), "19 % faster (95 % interval 15 to 23 %)"),
            (told(Throughput, 0.952, 0.943, 0.961), "4.8 % slower (95 % interval 3.9 to 5.7 %)"),
            (
                told(Throughput, 1.012, 0.969, 1.056),
                "1 % faster (95 % interval 3 % slower to 6 % faster)",
            ),
            (
                told(Throughput, 1.0, 0.98, 1.02),
                "no difference (95 % interval 2.0 % slower to 2.0 % faster)",
            ),
            (told(Throughput, 0.944, 0.888, 0.996), "5.6 % slower (95 % interval 0.4 to 11.2 %)"),
            (
                told(Throughput, 0.9981, 0.9, 1.1),
                "0.2 % slower (95 % interval 10.0 % slower to 10.0 % faster)",
            ),
            (told(P99, 0.88, 0.80, 0.97), "12 % shorter (95 % interval 3 to 20 %)"),
            (
                told(P99, 1.002, 0.9995, 1.0008),
                "0.20 % longer (95 % interval 0.05 % shorter to 0.08 % longer)",
            ),
            (
                told(Throughput, 2.43, 2.1, 12.8),
                "2.4 times the throughput (95 % interval 2.1 to 13 times)",
            ),
            (told(P99, 0.11, 0.09, 0.13), "0.11 times the time (95 % interval 0.09 to 0.13 times)"),
            (
                told(Throughput, 1.5, 0.01, 1e9),
                "50 % faster (95 % interval 99 % slower to no upper end)",
            ),
        ] {
            assert_eq!(found, expected);
        }
    }
}
