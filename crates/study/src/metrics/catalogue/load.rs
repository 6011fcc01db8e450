//! The load generator's counters: transactions, queries and their times.
//!
//! Results come from totals and histograms of the whole window, not from the series: a percentile
//! does not follow from the percentiles of seconds.

use super::super::entry::{MetricEntry, metrics};

pub(super) const TOTALS: &[MetricEntry] = metrics! { Load:
    series "tps", PerSecond, "{events}", computed(), better_higher(),
        judged("throughput", None),
        column(Throughput 1 "{TPS}" PerSecond
            "{events} {done} per second, counted by the load generator"),
        line(Throughput 1 "{events}");
    series "qps", PerSecond, "queries", computed(), better_higher(),
        column(Throughput 2 "QPS" PerSecond
            "queries answered per second, counted by the load generator");
    // Of runs on several servers.
    result "servers", Count, "servers",
        column(Servers 1 "servers" Bare "servers under the run's own load at once");
    result "tps_of_servers_mean", PerSecond, "{events} of a server, mean of all",
        better_higher(),
        column(Servers 2 "{TPS} each" PerSecond
            "{events} per second of a server, mean of all: what each loses as others join is \
            missing here");
    result "tps_of_servers_least", PerSecond, "{events} of the server with the fewest",
        better_higher(),
        column(Servers 3 "least" PerSecond "{events} per second of the server with the fewest");
    result "tps_of_servers_most", PerSecond, "{events} of the server with the most",
        better_higher(),
        column(Servers 4 "most" PerSecond "{events} per second of the server with the most");
    result "fairness_ratio", Ratio, "fairness (Jain's index of the servers' throughputs)",
        better_higher(),
        column(Servers 5 "fairness" ShareInPercent
            "Jain's index of the servers' throughputs: 100 % where all have the same, 100 % ÷ \
            servers where one has all");
    result "latency_ms_p99_of_servers_best", Milliseconds,
        "{event} latency, p99, of the server with the shortest", better_lower(),
        column(Servers 6 "p99 best" Milliseconds "99th percentile of the server whose is shortest");
    result "latency_ms_p99_of_servers_worst", Milliseconds,
        "{event} latency, p99, of the server with the longest", better_lower(),
        column(Servers 7 "worst" Milliseconds "99th percentile of the server whose is longest");
    series "tps_of_server{}", PerSecond, "{events} of server {}", computed();
    series "latency_ms_p99_of_server{}", Milliseconds, "{event} latency, p99, of server {}",
        computed(), latency();
    // Response times: from the planned start, with all attempts.
    series "latency_ms_mean", Milliseconds, "{event} latency, mean", computed(), latency(),
        column(More 1 "mean" Milliseconds "mean response time of {an event}");
    series "latency_ms_p50", Milliseconds, "{event} latency, p50", computed(), latency(),
        judged("p50", Some(0.5)),
        column(Latency 1 "p50" Milliseconds
            "median {event} response time, measured by the load generator"),
        line(Latency 1 "p50");
    series "latency_ms_p95", Milliseconds, "{event} latency, p95", computed(), latency(),
        judged("p95", Some(0.05)),
        column(Latency 2 "p95" Milliseconds "95th percentile of {event} response times"),
        line(Latency 2 "p95");
    series "latency_ms_p99", Milliseconds, "{event} latency, p99", computed(), latency(),
        judged("p99", Some(0.01)),
        column(Latency 3 "p99" Milliseconds "99th percentile of {event} response times"),
        line(Latency 3 "p99");
    result "latency_ms_p999", Milliseconds, "{event} latency, p99.9", latency(),
        judged("p99.9", Some(0.001)),
        column(Latency 4 "p99.9" Milliseconds "99.9th percentile of {event} response times");
    series "latency_ms_max", Milliseconds, "{event} latency, maximum", computed(), latency(),
        column(More 2 "max" Milliseconds "longest response time of {an event}");
    // Service times: from the actual start, of the attempt that succeeded.
    result "service_ms_mean", Milliseconds, "{event} service time, mean", latency();
    result "service_ms_p50", Milliseconds, "{event} service time, p50", latency();
    result "service_ms_p95", Milliseconds, "{event} service time, p95", latency();
    result "service_ms_p99", Milliseconds, "{event} service time, p99", latency();
    result "service_ms_p999", Milliseconds, "{event} service time, p99.9", latency();
    result "service_ms_max", Milliseconds, "{event} service time, maximum", latency();
    series "errors_ignored_per_s", PerSecond, "errors ignored";
    series "queue_length", Count, "planned events in the queue";
    result "transactions", Count, "{events}";
    result "queries_per_transaction", PerTransaction, "queries",
        column(More 3 "queries" PerTransaction "queries per {event}");
    result "errors_ignored", Count, "errors ignored",
        column(More 16 "errors" Bare "errors after which the {event} was retried");
    result "reconnects", Count, "reconnects";
    result "target_rate", PerSecond, "planned rate",
        column(More 17 "target" PerSecond "planned rate of {events}");
    result "achieved_rate", PerSecond, "rate reached",
        column(More 18 "achieved" PerSecond "achieved rate of {events}");
    result "capacity_per_s", PerSecond, "rate within the objective", better_higher(),
        column(More 30 "capacity" PerSecond
            "rate of {events} within the plan's latency objective; the section Capacity says in \
            which share of windows");
    result "capacity_low_per_s", PerSecond, "lower end of the search's 90 % interval";
    result "capacity_high_per_s", PerSecond, "upper end of the search's 90 % interval";
};
