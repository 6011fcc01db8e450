//! The pool below a server, as its cluster tells, and the processes of a private cluster.

use super::super::entry::{Metric, result, series};
use super::super::layer::Layer::Pool;
use super::super::shown::{Chart, Group, Shown};
use super::super::unit::Unit::{Bytes, BytesPerSecond, Count, Milliseconds, Percent, Ratio};

pub(super) const POOL: &[Metric] = &[
    series(Pool, "pool_stores_up", Count, "stores that answer (pool)"),
    series(Pool, "pool_degraded_percent", Percent, "copies and parts missing (pool)")
        .better_lower()
        .column(
            Group::Pool,
            5,
            "degraded",
            Shown::Percent,
            "copies and parts of objects that were missing, mean of the window",
        )
        .line(Chart::PoolDegraded, 1, "copies and parts missing"),
    series(Pool, "pool_recovery_bytes_per_s", BytesPerSecond, "bytes restored (pool)").line(
        Chart::PoolRecovery,
        1,
        "bytes restored",
    ),
    series(Pool, "pool_stored_bytes", Bytes, "bytes stored by users (pool)")
        .last_seen()
        .column(
            Group::Pool,
            1,
            "stored",
            Shown::Megabytes,
            "bytes that the images of all servers held at the end, before copies and compression",
        )
        .line(Chart::PoolSpace, 1, "stored by users"),
    series(Pool, "pool_used_bytes", Bytes, "bytes used on all stores (pool)")
        .last_seen()
        .column(
            Group::Pool,
            2,
            "used",
            Shown::Megabytes,
            "bytes that this took on all stores, copies, parts and compression included",
        )
        .line(Chart::PoolSpace, 2, "used on all stores"),
    result(Pool, "pool_used_ratio", Ratio, "bytes used on all stores per byte stored (pool)")
        .quotient("pool_used_bytes", "pool_stored_bytes", 1.0)
        .better_lower()
        .column(
            Group::Pool,
            3,
            "used/stored",
            Shown::BytesPerByte,
            "bytes used on all stores per byte stored: copies or parts, less what compression saved",
        ),
    series(
        Pool,
        "pool_compressed_from_bytes",
        Bytes,
        "bytes that stores compressed, before (pool)",
    )
    .last_seen(),
    series(Pool, "pool_compressed_to_bytes", Bytes, "bytes that stores compressed, after (pool)")
        .last_seen(),
    series(Pool, "pool_commit_latency_ms", Milliseconds, "commit latency, mean of all stores (pool)")
        .latency()
        .column(
            Group::Pool,
            4,
            "commit",
            Shown::Milliseconds,
            "how long a store took to make a write durable, mean of all stores, by their own account",
        )
        .line(Chart::PoolCommit, 1, "mean of all stores"),
    series(Pool, "pool_store{}_commit_latency_ms", Milliseconds, "commit latency of store {} (pool)")
        .latency(),
    series(
        Pool,
        "pool_cpu_percent",
        Percent,
        "user and system time of all processes of the private cluster (100 = one CPU)",
    )
    .column(
        Group::Pool,
        6,
        "CPU",
        Shown::PercentOfProcessor,
        "CPU time of all processes of the private cluster, which it takes from this machine; 100 is one CPU",
    )
    .line(Chart::CpuByProcess, 5, "pool"),
    series(Pool, "pool_rss_bytes", Bytes, "memory of all processes of the private cluster"),
];
