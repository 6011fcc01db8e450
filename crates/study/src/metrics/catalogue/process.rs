//! The processes of a run, by the kernel's counters.

use super::super::entry::{MetricEntry, metrics};

/// The counters of a process; `$shown` places its CPU time in charts and tables.
macro_rules! process {
    ($layer:ident, $of:literal, $($shown:tt)*) => {
        metrics! { $layer:
            series concat!($of, "_cpu_user_percent"), Percent,
                concat!("user time of the ", $of, " process (100 = one CPU)");
            series concat!($of, "_cpu_system_percent"), Percent,
                concat!("system time of the ", $of, " process (100 = one CPU)");
            series concat!($of, "_cpu_percent"), Percent,
                concat!("user and system time of the ", $of, " process (100 = one CPU)"),
                $($shown)*;
            series concat!($of, "_read_bytes_per_s"), BytesPerSecond,
                concat!("bytes read from storage by the ", $of, " process");
            series concat!($of, "_write_bytes_per_s"), BytesPerSecond,
                concat!("bytes written towards storage by the ", $of, " process");
            series concat!($of, "_cancelled_write_bytes_per_s"), BytesPerSecond,
                concat!("cancelled write bytes by the ", $of, " process");
            series concat!($of, "_context_switches_per_s"), PerSecond,
                concat!("context switches by the ", $of, " process");
            series concat!($of, "_threads"), Count, concat!("threads of the ", $of, " process");
            series concat!($of, "_rss_bytes"), Bytes,
                concat!("resident memory of the ", $of, " process");
        }
    };
}

pub(super) const SERVER: &[MetricEntry] =
    process! { Server, "server", line(CpuByProcess 1 "server") };

pub(super) const DAEMON: &[MetricEntry] = process! {
    Daemon, "daemon", line(CpuByProcess 2 "software drive or model"),
    column(Drive 12 "CPU" Percent "user and system time of the drive's daemon; 100 is one CPU")
};

pub(super) const LOAD: &[MetricEntry] =
    process! { Load, "load", line(CpuByProcess 3 "load generator") };

/// Microseconds a second of one percent of a CPU.
const US_PER_S: f64 = 1e4;

/// CPU time of each query, by process.
pub(super) const SERVER_BY_QUERY: &[MetricEntry] = metrics! { Server:
    result "server_cpu_us_per_query", MicrosecondsPerQuery, "CPU time of the server",
        quotient("server_cpu_percent", "qps", US_PER_S), better_lower(),
        column(More 12 "server CPU" MicrosecondsPerQuery "CPU time of the server per query");
};

pub(super) const DAEMON_BY_QUERY: &[MetricEntry] = metrics! { Daemon:
    result "daemon_cpu_us_per_query", MicrosecondsPerQuery, "CPU time of the drive's daemon",
        quotient("daemon_cpu_percent", "qps", US_PER_S), better_lower(),
        column(More 13 "drive CPU" MicrosecondsPerQuery "CPU time of the drive's daemon per query");
};

/// The load counts the CPU time of its own threads over the window.
pub(super) const LOAD_BY_QUERY: &[MetricEntry] = metrics! { Load:
    result "load_cpu_us_per_query", MicrosecondsPerQuery, "CPU time of the load", better_lower(),
        column(More 14 "load CPU" MicrosecondsPerQuery "CPU time of the load generator per query");
};
