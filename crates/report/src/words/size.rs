//! How large a difference is: `19 % faster (95 % interval 15 to 23 %)`, whole or part by part.

use std::fmt;

use super::short;
use assay_judge::{Difference, Metric};

/// Ratios from here on are told as factors: "2.4 times" says more than "140 % more".
const FACTOR_FROM: f64 = 2.0;

/// An interval of one or two degrees of freedom may have an end that nobody would write down.
const OPEN_FROM: f64 = 100.0;

/// A difference in words, in the parts that are laid out apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifferenceSize {
    /// `19 %`, `2.4`, or `no` where there is none.
    pub value: String,
    /// Words after it: `faster`, `times the throughput`, or `difference` where there is none.
    pub unit: &'static str,
    /// `95 % interval 15 to 23 %`.
    pub interval: String,
    /// Whether it is told as a factor.
    pub is_factor: bool,
}

impl DifferenceSize {
    /// The size of a difference of this metric.
    pub fn of(metric: Metric, difference: &Difference) -> DifferenceSize {
        let ratio = difference.ratio;
        let bare = if ratio >= FACTOR_FROM || ratio <= 1.0 / FACTOR_FROM {
            factor(metric, ratio, difference.ratio_interval)
        } else {
            percents(metric, ratio, difference.ratio_interval)
        };
        let level = short(difference.level * 100.0);
        DifferenceSize { interval: format!("{level} % interval {}", bare.interval), ..bare }
    }

    /// Without the interval: `19 % faster`.
    pub fn claim(&self) -> String {
        format!("{} {}", self.value, self.unit)
    }
}

impl fmt::Display for DifferenceSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.value, self.unit, self.interval)
    }
}

fn percents(metric: Metric, ratio: f64, (low, high): (f64, f64)) -> DifferenceSize {
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let decimals = decimals([percent(low), percent(ratio), percent(high)]);
    let side = |ratio: f64| side(metric, ratio > 1.0);
    let bare = |ratio: f64| format!("{:.decimals$}", percent(ratio).abs());
    let interval = match (low > 1.0, high > 1.0) {
        (true, true) if high > OPEN_FROM => format!("{} % to no upper end", bare(low)),
        (true, true) => format!("{} to {} %", bare(low), bare(high)),
        (false, false) => format!("{} to {} %", bare(high), bare(low)),
        _ if high > OPEN_FROM => format!("{} % {} to no upper end", bare(low), side(low)),
        _ => format!("{} % {} to {} % {}", bare(low), side(low), bare(high), side(high)),
    };
    let (value, unit) = match is_zero(percent(ratio), decimals) {
        true => ("no".to_owned(), "difference"),
        false => (format!("{} %", bare(ratio)), side(ratio)),
    };
    DifferenceSize { value, unit, interval, is_factor: false }
}

fn factor(metric: Metric, ratio: f64, (low, high): (f64, f64)) -> DifferenceSize {
    let times = |ratio: f64| match ratio {
        _ if ratio >= 9.95 => format!("{ratio:.0}"),
        _ if ratio >= 0.995 => format!("{ratio:.1}"),
        _ => format!("{ratio:.2}"),
    };
    let unit = match metric {
        Metric::Throughput => "times the throughput",
        _ => "times the time",
    };
    let to = if high > OPEN_FROM && high > 10.0 * ratio {
        "no upper end".to_owned()
    } else {
        format!("{} times", times(high))
    };
    let interval = format!("{} to {to}", times(low));
    DifferenceSize { value: times(ratio), unit, interval, is_factor: true }
}

/// A ratio without an interval: `4.1 % slower`, `2.4 times the throughput`.
pub fn in_words(metric: Metric, ratio: f64) -> String {
    if ratio >= FACTOR_FROM || ratio <= 1.0 / FACTOR_FROM {
        return factor(metric, ratio, (ratio, ratio)).claim();
    }
    format!("{:.1} % {}", (ratio - 1.0).abs() * 100.0, side(metric, ratio > 1.0))
}

/// An interval without its level: `15 to 23 %`, `3 % slower to 6 % faster`.
pub fn interval_in_words(metric: Metric, (low, high): (f64, f64)) -> String {
    let middle = (low * high).sqrt();
    let bare = if middle >= FACTOR_FROM || middle <= 1.0 / FACTOR_FROM {
        factor(metric, middle, (low, high))
    } else {
        percents(metric, middle, (low, high))
    };
    bare.interval
}

fn side(metric: Metric, is_more: bool) -> &'static str {
    match (metric, is_more) {
        (Metric::Throughput, true) => "faster",
        (Metric::Throughput, false) => "slower",
        (_, true) => "longer",
        (_, false) => "shorter",
    }
}

/// Whether nothing but zeroes is left of a number.
fn is_zero(number: f64, decimals: usize) -> bool {
    number.abs() < half_of_last(decimals)
}

/// Half of the last digit with so many decimals: what is less is written as zero.
fn half_of_last(decimals: usize) -> f64 {
    0.5 / 10_f64.powi(decimals as i32)
}

/// As many as the width of the interval deserves, and so many more that nothing is told as zero
/// that is not.
fn decimals([low, mid, high]: [f64; 3]) -> usize {
    const MOST: usize = 2;
    let deserved = match high - low {
        width if width >= 5.0 => 0,
        width if width >= 0.2 => 1,
        _ => MOST,
    };
    let is_told = |decimals: usize| {
        [low, mid, high].into_iter().all(|one| one == 0.0 || one.abs() >= half_of_last(decimals))
    };
    (deserved..=MOST).find(|decimals| is_told(*decimals)).unwrap_or(MOST)
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::testing::difference;

    fn told(metric: Metric, ratio: f64, low: f64, high: f64) -> String {
        let difference = difference(ratio, (low, high));
        DifferenceSize::of(metric, &difference).to_string()
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

    #[test]
    fn a_size_falls_into_the_parts_that_are_laid_out_apart() {
        let parts = |ratio: f64, low: f64, high: f64| {
            let size = DifferenceSize::of(Metric::Throughput, &difference(ratio, (low, high)));
            (size.value, size.unit, size.interval, size.is_factor)
        };
        assert_eq!(
            parts(1.19, 1.15, 1.23),
            ("19 %".into(), "faster", "95 % interval 15 to 23 %".into(), false)
        );
        let (value, unit, _, is_factor) = parts(2.43, 2.1, 12.8);
        assert_eq!((value.as_str(), unit, is_factor), ("2.4", "times the throughput", true));
        let (value, unit, _, is_factor) = parts(1.0, 0.98, 1.02);
        assert_eq!((value.as_str(), unit, is_factor), ("no", "difference", false));
    }
}
