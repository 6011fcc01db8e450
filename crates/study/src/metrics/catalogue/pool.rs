//! The pool below a server, by its cluster's reports, and the processes of a private cluster.

use super::super::entry::{MetricEntry, metrics};

pub(super) const POOL: &[MetricEntry] = metrics! { Pool:
    series "pool_stores_up", Count, "stores that answer (pool)";
    series "pool_degraded_percent", Percent, "copies and parts missing (pool)", better_lower(),
        column(Pool 5 "degraded" Percent
            "copies and parts of objects that were missing, mean of the window"),
        line(PoolDegraded 1 "copies and parts missing");
    series "pool_recovery_bytes_per_s", BytesPerSecond, "bytes restored (pool)",
        line(PoolRecovery 1 "bytes restored");
    series "pool_stored_bytes", Bytes, "bytes stored by users (pool)", last_seen(),
        column(Pool 1 "stored" Megabytes
            "bytes that the images of all servers held at the end, before copies and compression"),
        line(PoolSpace 1 "stored by users");
    series "pool_used_bytes", Bytes, "bytes used on all stores (pool)", last_seen(),
        column(Pool 2 "used" Megabytes
            "bytes that this took on all stores, copies, parts and compression included"),
        line(PoolSpace 2 "used on all stores");
    result "pool_used_ratio", Ratio, "bytes used on all stores per byte stored (pool)",
        quotient("pool_used_bytes", "pool_stored_bytes", 1.0), better_lower(),
        column(Pool 3 "used/stored" BytesPerByte
            "bytes used on all stores per byte stored: copies or parts, less what compression \
            saved");
    series "pool_compressed_from_bytes", Bytes, "bytes that stores compressed, before (pool)",
        last_seen();
    series "pool_compressed_to_bytes", Bytes, "bytes that stores compressed, after (pool)",
        last_seen();
    series "pool_commit_latency_ms", Milliseconds, "commit latency, mean of all stores (pool)",
        latency(),
        column(Pool 4 "commit" Milliseconds
            "how long a store took to make a write durable, mean of all stores, by their own \
            account"), line(PoolCommit 1 "mean of all stores");
    series "pool_store{}_commit_latency_ms", Milliseconds, "commit latency of store {} (pool)",
        latency();
    series "pool_cpu_percent", Percent,
        "user and system time of all processes of the private cluster (100 = one CPU)",
        column(Pool 6 "CPU" PercentOfProcessor
            "CPU time of all processes of the private cluster, which it takes from this machine; \
            100 is one CPU"), line(CpuByProcess 5 "pool");
    series "pool_rss_bytes", Bytes, "memory of all processes of the private cluster";
};
