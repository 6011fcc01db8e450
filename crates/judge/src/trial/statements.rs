//! Response times by kind of statement (a point select, an update by index, a commit), as some
//! papers print them.
//!
//! Of one run, from its own distribution, from the actual start of each statement. A percentile
//! that fewer than [`ABOVE_LEAST`] statements are above is not told.

use serde::Serialize;

use crate::trial::figure::ABOVE_LEAST;
use crate::trial::of_statement::percentile_ns;
use assay_study::{Histogram, LatencyClock, Timed};

/// One kind of statement in one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statements {
    /// The load's word for it.
    pub statement: String,
    /// How many there were.
    pub count: u64,
    /// Half of them took this or less.
    pub latency_ms_p50: Option<f64>,
    /// 95 of 100.
    pub latency_ms_p95: Option<f64>,
    /// 99 of 100.
    pub latency_ms_p99: Option<f64>,
    /// 999 of 1000.
    pub latency_ms_p999: Option<f64>,
    /// The longest.
    pub latency_ms_max: Option<f64>,
}

/// Each kind that was timed, in the store's order.
pub(crate) fn statements(histograms: &[Histogram]) -> Vec<Statements> {
    let of = |one: &Histogram| match (&one.kind, one.clock) {
        (Timed::Statement(kind), LatencyClock::Service) => Some(of_kind(kind, &one.buckets)),
        _ => None,
    };
    histograms.iter().filter_map(of).collect()
}

fn of_kind(kind: &str, buckets: &[(u64, u64)]) -> Statements {
    let count: u64 = buckets.iter().map(|(_, count)| count).sum();
    let percentile =
        |tail: f64| percentile_ns(buckets, tail, ABOVE_LEAST).map(|ns| ns as f64 / 1e6);
    Statements {
        statement: kind.to_owned(),
        count,
        latency_ms_p50: percentile(0.5),
        latency_ms_p95: percentile(0.05),
        latency_ms_p99: percentile(0.01),
        latency_ms_p999: percentile(0.001),
        latency_ms_max: buckets.iter().map(|(ns, _)| *ns).max().map(|ns| ns as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(kind: &str, clock: LatencyClock, buckets: &[(u64, u64)]) -> Histogram {
        Histogram { kind: Timed::named(kind), clock, buckets: buckets.to_vec() }
    }

    #[test]
    fn each_kind_has_its_own_percentiles_and_none_that_a_handful_made() {
        let reads = [(1_000_000, 900), (2_000_000, 90), (30_000_000, 10)];
        let all = [
            histogram("transaction", LatencyClock::Service, &reads),
            histogram("point_select", LatencyClock::Service, &reads),
            histogram("point_select", LatencyClock::Response, &[(9_000_000, 5)]),
            histogram("index_update", LatencyClock::Service, &[(5_000_000, 8)]),
        ];
        let found = statements(&all);
        let [read, update] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((read.statement.as_str(), read.count), ("point_select", 1000));
        let percentiles = [read.latency_ms_p50, read.latency_ms_p95, read.latency_ms_p99];
        assert_eq!(percentiles, [Some(1.0), Some(2.0), Some(2.0)]);
        assert_eq!((read.latency_ms_p999, read.latency_ms_max), (None, Some(30.0)));
        assert_eq!((update.latency_ms_p50, update.latency_ms_max), (None, Some(5.0)));
    }
}
