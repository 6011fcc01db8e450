//! Figures that must agree: each rule with both sides of its arithmetic, so that readers can repeat
//! it.

use serde::{Deserialize, Serialize};

/// A rule with both sides of its arithmetic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rule", content = "sides", rename_all = "snake_case")]
pub enum Sides {
    /// Threads = TPS × mean latency.
    Little { busy: f64, threads: f64 },
    /// Queries ÷ transactions equals the recipe's.
    Recipe { queries_per_transaction: f64, expected: f64 },
    /// Percentile p ≤ mean ÷ (1 − p).
    Markov {
        share: f64,
        percentile_ms: f64,
        mean_ms: f64,
        /// Mean ÷ (1 − p).
        most_ms: f64,
    },
    /// Percentiles ascend: names and milliseconds, in the required order.
    Ascending(Vec<(String, f64)>),
    /// The target rate was reached, in transactions per second.
    Rate { achieved: f64, target: f64 },
    /// The device writes the bytes that the server writes.
    Device(ExplainedWrites),
    /// The device writes the bytes that are written to files past the page cache.
    Files(ExplainedWrites),
    /// The drive receives the bytes that its device writes, per second.
    Drive {
        /// Bytes counted by the drive.
        taken: f64,
        /// Bytes counted by the kernel.
        written: f64,
    },
    /// The parts of media writes add up, in bytes per second.
    Media {
        whole: f64,
        /// Sum of the parts.
        parts: f64,
    },
}

/// Writes of a device and their sources, in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ExplainedWrites {
    /// Bytes that the device wrote.
    pub written: f64,
    /// Bytes that InnoDB, or the load, wrote to its files.
    pub files: f64,
    /// `files` and the binary log, if known.
    pub logged: f64,
    /// Flushes per second.
    pub flushes: f64,
    /// Lower bound of the device's writes.
    pub least: f64,
    /// Upper bound of the writes that files and flushes explain.
    pub most: f64,
}
