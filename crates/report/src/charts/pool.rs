//! How charts of pools are drawn, which a study has only where a configuration stands on one.

use crate::charts::layout::{Layout, lines, of_drive};
use assay_study::metrics::{Chart as Series, Shown};

/// Charts of the pool, for configurations that have one.
pub(crate) const CHARTS: [Layout; 4] = [
    of_drive(lines(
        Series::PoolSpace,
        "pool-space",
        "Pool: space",
        Shown::Bytes,
        "Bytes that the images hold, and what these take on all stores, by the cluster's own \
        figures, which are a few seconds old.",
    )),
    of_drive(lines(
        Series::PoolCommit,
        "pool-commit",
        "Pool: commit latency",
        Shown::Milliseconds,
        "How long stores took to make a write durable, by their own account; a few seconds old.",
    )),
    Layout {
        top: Some(100.0),
        ..of_drive(lines(
            Series::PoolDegraded,
            "pool-degraded",
            "Pool: copies and parts missing",
            Shown::Percent,
            "Copies and parts of objects that were missing, of all: they are restored when a \
            store returns, or on other stores.",
        ))
    },
    of_drive(lines(
        Series::PoolRecovery,
        "pool-recovery",
        "Pool: recovery",
        Shown::BytesPerSecond,
        "Bytes that stores restored, by the cluster's own figures.",
    )),
];
