//! Figures that should agree with each other: each rule with both sides of its arithmetic, so that a reader can repeat it.

use serde::{Deserialize, Serialize};

/// A rule with both sides of its arithmetic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rule", content = "sides", rename_all = "snake_case")]
pub enum Sides {
    /// Threads = TPS × mean latency.
    Little {
        /// TPS × mean latency.
        busy: f64,
        /// Connections.
        threads: f64,
    },
    /// Queries ÷ transactions is the recipe's.
    Recipe {
        /// Queries ÷ transactions.
        queries_per_transaction: f64,
        /// What the recipe has.
        expected: f64,
    },
    /// Percentile p ≤ mean ÷ (1 − p).
    Markov {
        /// The p.
        share: f64,
        /// The percentile.
        percentile_ms: f64,
        /// The mean.
        mean_ms: f64,
        /// Mean ÷ (1 − p).
        most_ms: f64,
    },
    /// Percentiles ascend to the longest: names and milliseconds, in the order in which they must be.
    Ascending(Vec<(String, f64)>),
    /// The target rate was reached, in transactions a second.
    Rate {
        /// What was reached.
        achieved: f64,
        /// What was asked for.
        target: f64,
    },
    /// The device writes what the server does.
    Device(ExplainedWrites),
    /// The device writes what is written to files past the page cache.
    Files(ExplainedWrites),
    /// The drive takes what its device writes, in bytes a second.
    Drive {
        /// By the drive's count.
        taken: f64,
        /// By the kernel's.
        written: f64,
    },
    /// The parts of media writes add up, in bytes a second.
    Media {
        /// All that the drive wrote.
        whole: f64,
        /// Its parts together.
        parts: f64,
    },
}

/// What a device wrote and what explains it, in bytes a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ExplainedWrites {
    /// What it wrote.
    pub written: f64,
    /// What InnoDB, or the load, wrote to its files.
    pub files: f64,
    /// That and the binary log, as far as it is known.
    pub logged: f64,
    /// Flushes a second.
    pub flushes: f64,
    /// The least that it can have written.
    pub least: f64,
    /// The most that files and flushes explain.
    pub most: f64,
}
