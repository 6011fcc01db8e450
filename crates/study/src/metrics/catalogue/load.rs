//! What the load generator counts: transactions, queries, and how long they took.
//!
//! Results are from its own totals and histograms of the whole window, which its seconds cannot tell as well: no percentile follows from
//! percentiles.

use super::super::entry::{Metric, result, series};
use super::super::layer::Layer::Load;
use super::super::shown::{Chart, Group, Shown};
use super::super::unit::Unit::{Count, Milliseconds, PerSecond, PerTransaction, Ratio};

pub(super) const TOTALS: &[Metric] = &[
    series(Load, "tps", PerSecond, "transactions")
        .computed()
        .better_higher()
        .judged("throughput", None)
        .column(
            Group::Throughput,
            1,
            "TPS",
            Shown::PerSecond,
            "transactions committed per second, counted by the load generator",
        )
        .line(Chart::Throughput, 1, "transactions"),
    series(Load, "qps", PerSecond, "queries").computed().better_higher().column(
        Group::Throughput,
        2,
        "QPS",
        Shown::PerSecond,
        "queries answered per second, counted by the load generator",
    ),
    // Of runs on several servers.
    result(Load, "servers", Count, "servers").column(
        Group::Servers,
        1,
        "servers",
        Shown::Bare,
        "servers under the run's own load at once",
    ),
    result(Load, "tps_of_servers_mean", PerSecond, "transactions of a server, mean of all")
        .better_higher()
        .column(
            Group::Servers,
            2,
            "TPS each",
            Shown::PerSecond,
            "transactions per second of a server, mean of all: what each loses as others join is missing here",
        ),
    result(Load, "tps_of_servers_least", PerSecond, "transactions of the server with the fewest")
        .better_higher()
        .column(
            Group::Servers,
            3,
            "least",
            Shown::PerSecond,
            "transactions per second of the server with the fewest",
        ),
    result(Load, "tps_of_servers_most", PerSecond, "transactions of the server with the most")
        .better_higher()
        .column(
            Group::Servers,
            4,
            "most",
            Shown::PerSecond,
            "transactions per second of the server with the most",
        ),
    result(Load, "fairness_ratio", Ratio, "fairness (Jain's index of the servers' throughputs)")
        .better_higher()
        .column(
            Group::Servers,
            5,
            "fairness",
            Shown::ShareInPercent,
            "Jain's index of the servers' throughputs: 100 % where all have the same, 100 % ÷ servers where one has all",
        ),
    result(
        Load,
        "latency_ms_p99_of_servers_best",
        Milliseconds,
        "transaction latency, p99, of the server with the shortest",
    )
    .better_lower()
    .column(
        Group::Servers,
        6,
        "p99 best",
        Shown::Milliseconds,
        "99th percentile of the server whose is shortest",
    ),
    result(
        Load,
        "latency_ms_p99_of_servers_worst",
        Milliseconds,
        "transaction latency, p99, of the server with the longest",
    )
    .better_lower()
    .column(
        Group::Servers,
        7,
        "worst",
        Shown::Milliseconds,
        "99th percentile of the server whose is longest",
    ),
    series(Load, "tps_of_server{}", PerSecond, "transactions of server {}").computed(),
    series(
        Load,
        "latency_ms_p99_of_server{}",
        Milliseconds,
        "transaction latency, p99, of server {}",
    )
    .computed()
    .latency(),
    // Response times: from the planned start, with all attempts.
    series(Load, "latency_ms_mean", Milliseconds, "transaction latency, mean")
        .computed()
        .latency()
        .column(Group::More, 1, "mean", Shown::Milliseconds, "mean response time of a transaction"),
    series(Load, "latency_ms_p50", Milliseconds, "transaction latency, p50")
        .computed()
        .latency()
        .judged("p50", Some(0.5))
        .column(
            Group::Latency,
            1,
            "p50",
            Shown::Milliseconds,
            "median transaction response time, measured by the load generator",
        )
        .line(Chart::Latency, 1, "p50"),
    series(Load, "latency_ms_p95", Milliseconds, "transaction latency, p95")
        .computed()
        .latency()
        .judged("p95", Some(0.05))
        .column(
            Group::Latency,
            2,
            "p95",
            Shown::Milliseconds,
            "95th percentile of transaction response times",
        )
        .line(Chart::Latency, 2, "p95"),
    series(Load, "latency_ms_p99", Milliseconds, "transaction latency, p99")
        .computed()
        .latency()
        .judged("p99", Some(0.01))
        .column(
            Group::Latency,
            3,
            "p99",
            Shown::Milliseconds,
            "99th percentile of transaction response times",
        )
        .line(Chart::Latency, 3, "p99"),
    result(Load, "latency_ms_p999", Milliseconds, "transaction latency, p99.9")
        .latency()
        .judged("p99.9", Some(0.001))
        .column(
            Group::Latency,
            4,
            "p99.9",
            Shown::Milliseconds,
            "99.9th percentile of transaction response times",
        ),
    series(Load, "latency_ms_max", Milliseconds, "transaction latency, maximum")
        .computed()
        .latency()
        .column(
            Group::More,
            2,
            "max",
            Shown::Milliseconds,
            "longest response time of a transaction",
        ),
    // Service times: from the actual start, of the attempt that succeeded.
    result(Load, "service_ms_mean", Milliseconds, "transaction service time, mean").latency(),
    result(Load, "service_ms_p50", Milliseconds, "transaction service time, p50").latency(),
    result(Load, "service_ms_p95", Milliseconds, "transaction service time, p95").latency(),
    result(Load, "service_ms_p99", Milliseconds, "transaction service time, p99").latency(),
    result(Load, "service_ms_p999", Milliseconds, "transaction service time, p99.9").latency(),
    result(Load, "service_ms_max", Milliseconds, "transaction service time, maximum").latency(),
    series(Load, "errors_ignored_per_s", PerSecond, "errors ignored"),
    series(Load, "queue_length", Count, "planned events in the queue"),
    result(Load, "transactions", Count, "transactions"),
    result(Load, "queries_per_transaction", PerTransaction, "queries").column(
        Group::More,
        3,
        "queries",
        Shown::PerTransaction,
        "queries per transaction",
    ),
    result(Load, "errors_ignored", Count, "errors ignored").column(
        Group::More,
        16,
        "errors",
        Shown::Bare,
        "errors after which the transaction was retried",
    ),
    result(Load, "reconnects", Count, "reconnects"),
    result(Load, "target_rate", PerSecond, "planned rate").column(
        Group::More,
        17,
        "target",
        Shown::PerSecond,
        "planned rate of transactions",
    ),
    result(Load, "achieved_rate", PerSecond, "rate reached").column(
        Group::More,
        18,
        "achieved",
        Shown::PerSecond,
        "achieved rate of transactions",
    ),
    result(Load, "capacity_per_s", PerSecond, "highest rate within the objective")
        .better_higher()
        .column(
            Group::More,
            30,
            "capacity",
            Shown::PerSecond,
            "highest rate of transactions that keeps the plan's latency objective",
        ),
    result(Load, "capacity_low_per_s", PerSecond, "lower end of its 90 % interval"),
    result(Load, "capacity_high_per_s", PerSecond, "upper end of its 90 % interval"),
];
