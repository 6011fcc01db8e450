//! A percentile of the time of one kind of statement, such as the p99 of updates by index.
//!
//! From the run's own distribution of that kind, from the actual start of each statement. The
//! load's kinds have their names here once more, as a metric is a small value with names that live
//! as long as the program; a test holds both lists together.

/// A percentile of one kind of statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StatementPercentile {
    /// Place in [`KINDS`].
    kind: usize,
    /// Place in [`TAILS`].
    percentile: usize,
}

/// The shares above the percentiles, in the order of the names.
const TAILS: [f64; 4] = [0.5, 0.05, 0.01, 0.001];

/// A kind of statement with the names of its percentiles: stored, and as a person reads them.
struct Names {
    kind: &'static str,
    stored: [&'static str; TAILS.len()],
    labels: [&'static str; TAILS.len()],
}

macro_rules! kinds {
    ($($kind:literal),+ $(,)?) => {
        &[$(Names {
            kind: $kind,
            stored: [
                concat!("latency_ms_p50{", $kind, "}"),
                concat!("latency_ms_p95{", $kind, "}"),
                concat!("latency_ms_p99{", $kind, "}"),
                concat!("latency_ms_p999{", $kind, "}"),
            ],
            labels: [
                concat!($kind, " p50"),
                concat!($kind, " p95"),
                concat!($kind, " p99"),
                concat!($kind, " p99.9"),
            ],
        }),+]
    };
}

const KINDS: &[Names] = kinds![
    "begin",
    "commit",
    "point_select",
    "simple_range",
    "sum_range",
    "order_range",
    "distinct_range",
    "index_update",
    "non_index_update",
    "delete",
    "insert",
    "text_select",
    "text_update",
    "random_points",
    "random_ranges",
    "update_before_delete",
    "read",
    "update",
    "scan",
    "read_modify_write",
    "write",
    "fsync",
];

impl StatementPercentile {
    /// The percentiles of a kind, by the load's word for it; nothing where there is no such kind.
    pub fn of(kind: &str) -> Option<[StatementPercentile; TAILS.len()]> {
        let kind = KINDS.iter().position(|one| one.kind == kind)?;
        Some(std::array::from_fn(|percentile| StatementPercentile { kind, percentile }))
    }

    /// All of them, kind by kind.
    pub(crate) fn all() -> impl Iterator<Item = StatementPercentile> {
        let each =
            |kind| (0..TAILS.len()).map(move |percentile| StatementPercentile { kind, percentile });
        (0..KINDS.len()).flat_map(each)
    }

    /// `latency_ms_p99{index_update}`.
    pub(crate) fn name(self) -> &'static str {
        KINDS[self.kind].stored[self.percentile]
    }

    /// `index_update p99`.
    pub(crate) fn label(self) -> &'static str {
        KINDS[self.kind].labels[self.percentile]
    }

    /// The share of statements above it.
    pub(crate) fn tail(self) -> f64 {
        TAILS[self.percentile]
    }

    /// Its value among so many statements with these times (ns, count), in ms; nothing where fewer
    /// than `least` are above.
    pub(crate) fn value_ms(self, buckets: &[(u64, u64)], least: f64) -> Option<f64> {
        percentile_ns(buckets, self.tail(), least).map(|ns| ns as f64 / 1e6)
    }
}

/// The time that the share `tail` of all exceed, in ns; nothing where that are fewer than `least`.
pub(crate) fn percentile_ns(buckets: &[(u64, u64)], tail: f64, least: f64) -> Option<u64> {
    let count: u64 = buckets.iter().map(|(_, count)| count).sum();
    // The rank, from 1: the smallest that no more than the share of all are above. Thousandths are
    // counted whole.
    let per_mille = 1000 - (tail * 1000.0).round() as u64;
    let rank = (count * per_mille).div_ceil(1000).max(1);
    let mut below = 0;
    let found = buckets.iter().find(|(_, its)| {
        below += its;
        below >= rank
    })?;
    (count as f64 * tail >= least).then_some(found.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_kind_that_the_load_times_has_percentiles() {
        let load: BTreeSet<&str> = assay_load::oltp::StatementKind::ALL
            .into_iter()
            .map(assay_load::oltp::StatementKind::name)
            .collect();
        assert_eq!(KINDS.iter().map(|one| one.kind).collect::<BTreeSet<_>>(), load);
        let [_, _, p99, _] = StatementPercentile::of("index_update").unwrap();
        assert_eq!((p99.name(), p99.label()), ("latency_ms_p99{index_update}", "index_update p99"));
        assert_eq!(p99.tail(), 0.01);
        assert_eq!(StatementPercentile::of("index_updates"), None);
    }
}
