//! The processes that take part, as the kernel counts them.

use super::super::entry::{Metric, result, series};
use super::super::layer::Layer::{Daemon, Load, Server};
use super::super::shown::{Chart, Group, Shown};
use super::super::unit::Unit::{
    Bytes, BytesPerSecond, Count, MicrosecondsPerQuery, PerSecond, Percent,
};

/// What is counted of a process; `$shown` says where its CPU time is shown.
macro_rules! process {
    ($layer:expr, $of:literal $($shown:tt)*) => {
        &[
            series(
                $layer,
                concat!($of, "_cpu_user_percent"),
                Percent,
                concat!("user time of the ", $of, " process (100 = one CPU)"),
            ),
            series(
                $layer,
                concat!($of, "_cpu_system_percent"),
                Percent,
                concat!("system time of the ", $of, " process (100 = one CPU)"),
            ),
            series(
                $layer,
                concat!($of, "_cpu_percent"),
                Percent,
                concat!("user and system time of the ", $of, " process (100 = one CPU)"),
            )
            $($shown)*,
            series(
                $layer,
                concat!($of, "_read_bytes_per_s"),
                BytesPerSecond,
                concat!("bytes read from storage by the ", $of, " process"),
            ),
            series(
                $layer,
                concat!($of, "_write_bytes_per_s"),
                BytesPerSecond,
                concat!("bytes written towards storage by the ", $of, " process"),
            ),
            series(
                $layer,
                concat!($of, "_cancelled_write_bytes_per_s"),
                BytesPerSecond,
                concat!("cancelled write bytes by the ", $of, " process"),
            ),
            series(
                $layer,
                concat!($of, "_context_switches_per_s"),
                PerSecond,
                concat!("context switches by the ", $of, " process"),
            ),
            series(
                $layer,
                concat!($of, "_threads"),
                Count,
                concat!("threads of the ", $of, " process"),
            ),
            series(
                $layer,
                concat!($of, "_rss_bytes"),
                Bytes,
                concat!("resident memory of the ", $of, " process"),
            ),
        ]
    };
}

pub(super) const SERVER: &[Metric] =
    process!(Server, "server".line(Chart::CpuByProcess, 1, "server"));

pub(super) const DAEMON: &[Metric] = process!(
    Daemon,
    "daemon".line(Chart::CpuByProcess, 2, "software drive or model").column(
        Group::Drive,
        12,
        "CPU",
        Shown::Percent,
        "user and system time of the drive's daemon; 100 is one CPU",
    )
);

pub(super) const LOAD: &[Metric] =
    process!(Load, "load".line(Chart::CpuByProcess, 3, "load generator"));

/// Percent of one CPU: a hundredth of a second each second.
const US_PER_S: f64 = 1e4;

/// What each query took of their time.
pub(super) const TAKEN: &[Metric] = &[
    result(Server, "server_cpu_us_per_query", MicrosecondsPerQuery, "CPU time of the server")
        .quotient("server_cpu_percent", "qps", US_PER_S)
        .better_lower()
        .column(
            Group::More,
            12,
            "server CPU",
            Shown::MicrosecondsPerQuery,
            "CPU time of the server per query",
        ),
    result(
        Daemon,
        "daemon_cpu_us_per_query",
        MicrosecondsPerQuery,
        "CPU time of the drive's daemon",
    )
    .quotient("daemon_cpu_percent", "qps", US_PER_S)
    .better_lower()
    .column(
        Group::More,
        13,
        "drive CPU",
        Shown::MicrosecondsPerQuery,
        "CPU time of the drive's daemon per query",
    ),
    // Of the load's own threads, which it counts itself over the window.
    result(Load, "load_cpu_us_per_query", MicrosecondsPerQuery, "CPU time of the load")
        .better_lower()
        .column(
            Group::More,
            14,
            "load CPU",
            Shown::MicrosecondsPerQuery,
            "CPU time of the load generator per query",
        ),
];
