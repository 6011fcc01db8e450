//! All CPUs, each of them, and what the kernel tells of waiting.

use super::super::entry::{Metric, series};
use super::super::layer::Layer::Cpu;
use super::super::shown::{Chart, Column, Group, Shown};
use super::super::unit::Unit::{PerSecond, Percent};

pub(super) const CPUS: &[Metric] = &[
    series(Cpu, "cpu_user_percent", Percent, "user (all CPUs)")
        .with_column(Column {
            group: Group::Machine,
            place: 1,
            head: "CPU",
            shown: Shown::Percent,
            title: "user and system time of all CPUs, from the kernel's accounting",
            plus: Some("cpu_system_percent"),
        })
        .line(Chart::Cpu, 1, "user"),
    series(Cpu, "cpu_nice_percent", Percent, "nice (all CPUs)"),
    series(Cpu, "cpu_system_percent", Percent, "system (all CPUs)").line(Chart::Cpu, 2, "system"),
    series(Cpu, "cpu_idle_percent", Percent, "idle (all CPUs)"),
    series(Cpu, "cpu_iowait_percent", Percent, "I/O wait (all CPUs)")
        .column(
            Group::Machine,
            2,
            "I/O wait",
            Shown::Percent,
            "CPU time idle with I/O outstanding, from the kernel's accounting",
        )
        .line(Chart::Cpu, 3, "I/O wait"),
    series(Cpu, "cpu_irq_percent", Percent, "irq (all CPUs)"),
    series(Cpu, "cpu_softirq_percent", Percent, "softirq (all CPUs)").line(
        Chart::Cpu,
        4,
        "softirq",
    ),
    series(Cpu, "cpu_steal_percent", Percent, "steal (all CPUs)")
        .column(
            Group::Machine,
            7,
            "steal",
            Shown::Percent,
            "CPU time that the hypervisor gave to other machines, from the kernel's accounting",
        )
        .line(Chart::Cpu, 5, "steal"),
    series(Cpu, "cpu_throttled_percent", Percent, "throttled by a CPU quota (all CPUs)").line(
        Chart::Cpu,
        6,
        "throttled",
    ),
    series(Cpu, "cpu{}_busy_percent", Percent, "busy (CPU {})"),
    series(Cpu, "cpu{}_iowait_percent", Percent, "I/O wait (CPU {})"),
    series(Cpu, "cpu_context_switches_per_s", PerSecond, "context switches (all CPUs)"),
    series(Cpu, "others_cpu_percent", Percent, "user time of other programs (100 = one CPU)")
        .column(
            Group::More,
            15,
            "other programs",
            Shown::PercentOfProcessor,
            "user time of programs other than server, load and drive; 100 is one CPU",
        )
        .line(Chart::CpuByProcess, 4, "other programs"),
    series(Cpu, "pressure_cpu_some_percent", Percent, "pressure: some tasks wait for cpu"),
    series(Cpu, "pressure_cpu_full_percent", Percent, "pressure: full tasks wait for cpu"),
    series(Cpu, "pressure_io_some_percent", Percent, "pressure: some tasks wait for io"),
    series(Cpu, "pressure_io_full_percent", Percent, "pressure: full tasks wait for io"),
    series(Cpu, "pressure_memory_some_percent", Percent, "pressure: some tasks wait for memory"),
    series(Cpu, "pressure_memory_full_percent", Percent, "pressure: full tasks wait for memory"),
];
