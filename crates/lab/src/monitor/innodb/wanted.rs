//! The server's counters to read: the metrics of the catalogue that name them.
//!
//! A counter may have several sources; the first that a server has is used. A source is a sum of
//! terms: status variables (`Name`), InnoDB metrics (`metrics.name`), sums over files of one kind
//! (`files.kind.column`); a leading `-` subtracts.

use assay_study::metrics::{self, Gives, MetricEntry};

/// Counters, then gauges, each in the catalogue's order.
pub(super) fn all() -> impl Iterator<Item = (&'static MetricEntry, Gives)> {
    let of = |is_counter| {
        let given = metrics::all().filter_map(|metric| Some((metric, metric.gives?)));
        given.filter(move |(_, gives)| gives.is_counter == is_counter)
    };
    of(true).chain(of(false))
}

/// A term without its sign.
pub(super) fn bare(term: &'static str) -> &'static str {
    term.trim_start_matches('-')
}

/// Names in any source that begin with `prefix`, without the prefix.
pub(super) fn names(prefix: &'static str) -> Vec<&'static str> {
    let terms = all().flat_map(|(_, gives)| gives.sources.iter().copied().flatten());
    let mut names: Vec<_> = terms.filter_map(|term| bare(term).strip_prefix(prefix)).collect();
    names.sort_unstable();
    names.dedup();
    names
}
