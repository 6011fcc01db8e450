//! What is judged: throughput, and percentiles of the response time of a transaction.

use serde::{Serialize, Serializer};

/// A figure of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Metric {
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
}

impl Metric {
    /// All of them.
    pub(crate) const ALL: [Metric; 5] =
        [Metric::Throughput, Metric::P50, Metric::P95, Metric::P99, Metric::P999];

    /// The name of the stored result.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Metric::Throughput => "tps",
            Metric::P50 => "latency_ms_p50",
            Metric::P95 => "latency_ms_p95",
            Metric::P99 => "latency_ms_p99",
            Metric::P999 => "latency_ms_p999",
        }
    }

    /// What a person reads.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Metric::Throughput => "throughput",
            Metric::P50 => "p50",
            Metric::P95 => "p95",
            Metric::P99 => "p99",
            Metric::P999 => "p99.9",
        }
    }

    /// The unit of its values.
    pub(crate) fn unit(self) -> &'static str {
        if self == Metric::Throughput { "1/s" } else { "ms" }
    }

    /// The share of transactions that a percentile leaves above it.
    pub(crate) fn tail(self) -> Option<f64> {
        match self {
            Metric::Throughput => None,
            Metric::P50 => Some(0.5),
            Metric::P95 => Some(0.05),
            Metric::P99 => Some(0.01),
            Metric::P999 => Some(0.001),
        }
    }

    /// Whether more of it is better.
    pub(crate) fn is_better_higher(self) -> bool {
        self == Metric::Throughput
    }

    /// The metric of this name, as stored or as read.
    pub(crate) fn named(name: &str) -> Option<Metric> {
        Metric::ALL.into_iter().find(|one| one.name() == name || one.label() == name)
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
