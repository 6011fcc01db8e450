//! Measurements of every operation: YCSB's time series and raw data.

use std::fmt::Write;

use super::export::Value;

/// A measured operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken {
    /// End, in ms of the Unix epoch.
    end_ms: u64,
    latency_us: u64,
}

impl Taken {
    pub(super) fn new(end_ns: u64, latency_ns: u64) -> Taken {
        Taken { end_ms: end_ns / 1_000_000, latency_us: latency_ns / 1000 }
    }
}

/// Mean latencies, in µs, of spans of `granularity_ms`, keyed by their start in ms since the first
/// operation. Spans without an operation are left out. An operation that never succeeded has YCSB's
/// mean of none.
pub(super) fn series(all: &[Taken], granularity_ms: u64) -> Vec<(u64, f64)> {
    let Some(first) = all.first() else { return vec![(0, f64::NAN)] };
    let unit =
        |operation: &Taken| (operation.end_ms - first.end_ms) / granularity_ms * granularity_ms;
    all.chunk_by(|a, b| unit(a) == unit(b))
        .map(|stretch| (unit(&stretch[0]), mean_us(stretch)))
        .collect()
}

fn mean_us(all: &[Taken]) -> f64 {
    all.iter().map(|operation| operation.latency_us).sum::<u64>() as f64 / all.len() as f64
}

/// Writes a heading, then a line per operation: name, ms of the Unix epoch, µs.
pub(super) fn write_raw(text: &mut String, name: &str, all: &[Taken]) {
    let _ = writeln!(text, "{name} latency raw data: op, timestamp(ms), latency(us)");
    for operation in all {
        let _ = writeln!(text, "{name},{},{}", operation.end_ms, operation.latency_us);
    }
}

/// Percentiles by the place in the sorted latencies, as YCSB takes them.
const PLACES: [(&str, f64); 8] = [
    ("p1", 0.01),
    ("p5", 0.05),
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

/// Exact statistics of at least one operation.
pub(super) fn summary(all: &[Taken]) -> Vec<(&'static str, Value)> {
    let mut sorted: Vec<u64> = all.iter().map(|operation| operation.latency_us).collect();
    sorted.sort_unstable();
    let at = |place: usize| Value::Whole(sorted.get(place).copied().unwrap_or_default());
    let mut figures = vec![
        ("Below is a summary of latency in microseconds:", Value::MinusOne),
        ("Average", Value::Double(mean_us(all))),
        ("Min", at(0)),
        ("Max", at(sorted.len() - 1)),
    ];
    figures.extend(PLACES.map(|(name, share)| (name, at((sorted.len() as f64 * share) as usize))));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(all: &[(u64, u64)]) -> Vec<Taken> {
        all.iter().map(|(ms, us)| Taken::new(ms * 1_000_000, us * 1000 + 999)).collect()
    }

    #[test]
    fn a_series_has_the_means_of_stretches_that_have_operations() {
        let all = taken(&[(5000, 10), (5499, 20), (5500, 7), (6999, 3), (7000, 5)]);
        assert_eq!(series(&all, 500), [(0, 15.0), (500, 7.0), (1500, 3.0), (2000, 5.0)]);
        assert!(series(&[], 500)[0].1.is_nan());
    }

    #[test]
    fn raw_data_have_a_line_to_each_operation_and_an_exact_summary() {
        let all = taken(&[(1, 30), (2, 10), (3, 20)]);
        let mut text = String::new();
        write_raw(&mut text, "READ", &all);
        let head = "READ latency raw data: op, timestamp(ms), latency(us)";
        assert_eq!(text, format!("{head}\nREAD,1,30\nREAD,2,10\nREAD,3,20\n"));
        let figures = summary(&all);
        let of = |name: &str| {
            figures.iter().find(|(operation, _)| *operation == name).map(|(_, value)| *value)
        };
        assert_eq!(of("Average"), Some(Value::Double(20.0)));
        assert_eq!((of("Min"), of("Max")), (Some(Value::Whole(10)), Some(Value::Whole(30))));
        assert_eq!((of("p1"), of("p50")), (Some(Value::Whole(10)), Some(Value::Whole(20))));
        assert_eq!((of("p99.99"), figures.len()), (Some(Value::Whole(30)), 12));
    }
}
