//! Judged metrics: throughput and percentiles of a transaction's response time, which the catalogue
//! of metrics has; percentiles of kinds of statement, where a plan asks for them; and the recovery
//! time of power cuts.

use serde::{Serialize, Serializer};

use super::of_statement::StatementPercentile;
use assay_study::metrics::{self, metric};

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Transactions per second.
    Throughput,
    /// Half of the transactions were answered within this.
    P50,
    /// 95 of 100.
    P95,
    /// 99 of 100.
    P99,
    /// 999 of 1000.
    P999,
    /// A percentile of one kind of statement.
    Statement(StatementPercentile),
    /// How long it takes to come up again after a power cut; no figure of a run.
    Recovery,
}

/// The name of [`Metric::Recovery`], which the catalogue of what runs measure does not have.
const RECOVERY: &str = "recovery_ms";

impl Metric {
    /// Those of every study.
    pub const ALL: [Metric; 5] =
        [Metric::Throughput, Metric::P50, Metric::P95, Metric::P99, Metric::P999];

    /// The percentiles of a kind of statement, by the load's word for it; nothing where there is no
    /// such kind.
    pub fn of_statement(kind: &str) -> Option<impl Iterator<Item = Metric>> {
        Some(StatementPercentile::of(kind)?.into_iter().map(Metric::Statement))
    }

    /// The catalogue's entry of this metric, or of a time like it.
    fn entry(self) -> &'static metrics::MetricEntry {
        match self {
            Metric::Statement(_) | Metric::Recovery => metric!("latency_ms_p99"),
            Metric::Throughput => metric!("tps"),
            Metric::P50 => metric!("latency_ms_p50"),
            Metric::P95 => metric!("latency_ms_p95"),
            Metric::P99 => metric!("latency_ms_p99"),
            Metric::P999 => metric!("latency_ms_p999"),
        }
    }

    /// The name of the stored result.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Statement(one) => one.name(),
            Metric::Recovery => RECOVERY,
            _ => self.entry().name,
        }
    }

    /// The label shown to people.
    pub fn label(self) -> &'static str {
        match self {
            Metric::Statement(one) => one.label(),
            Metric::Recovery => "recovery time",
            _ => self.entry().judged.map_or(self.name(), |judged| judged.label),
        }
    }

    /// The unit of its values.
    pub fn unit(self) -> &'static str {
        self.entry().unit.word()
    }

    /// The share of transactions, or of statements of its kind, that a percentile leaves above it.
    pub fn tail(self) -> Option<f64> {
        match self {
            Metric::Statement(one) => Some(one.tail()),
            Metric::Recovery => None,
            _ => self.entry().judged.and_then(|judged| judged.tail),
        }
    }

    /// Returns true for the percentiles that a stall can decide: those with at most 5 % above.
    pub fn is_tail(self) -> bool {
        self.tail().is_some_and(|tail| tail <= 0.05)
    }

    /// Whether more of it is better.
    pub fn is_better_higher(self) -> bool {
        self.entry().is_better_higher()
    }

    /// The metric of this name, as stored or as read.
    pub fn named(name: &str) -> Option<Metric> {
        let of_statements = StatementPercentile::all().map(Metric::Statement);
        let mut all = Metric::ALL.into_iter().chain(of_statements);
        all.find(|one| one.name() == name || one.label() == name)
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_catalogue_has_judged_is_judged() {
        let judged = metrics::all().filter(|one| one.judged.is_some()).map(|one| one.name);
        assert_eq!(judged.collect::<Vec<_>>(), Metric::ALL.map(Metric::name));
        assert_eq!(Metric::ALL.map(Metric::label), ["throughput", "p50", "p95", "p99", "p99.9"]);
        let tails = [None, Some(0.5), Some(0.05), Some(0.01), Some(0.001)];
        assert_eq!(Metric::ALL.map(Metric::tail), tails);
        assert_eq!(Metric::ALL.map(Metric::unit), ["1/s", "ms", "ms", "ms", "ms"]);
        assert_eq!(Metric::ALL.map(Metric::is_better_higher), [true, false, false, false, false]);
    }
}
