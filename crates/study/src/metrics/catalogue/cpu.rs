//! All CPUs, each CPU, and the kernel's pressure stall information.

use super::super::entry::{MetricEntry, metrics};

pub(super) const CPUS: &[MetricEntry] = metrics! { Cpu:
    series "cpu_user_percent", Percent, "user (all CPUs)",
        column(Machine 1 "CPU" Percent
            "user and system time of all CPUs, from the kernel's \
            accounting" + "cpu_system_percent"), line(Cpu 1 "user");
    series "cpu_nice_percent", Percent, "nice (all CPUs)";
    series "cpu_system_percent", Percent, "system (all CPUs)", line(Cpu 2 "system");
    series "cpu_idle_percent", Percent, "idle (all CPUs)";
    series "cpu_iowait_percent", Percent, "I/O wait (all CPUs)",
        column(Machine 2 "I/O wait" Percent
            "CPU time idle with I/O outstanding, from the kernel's accounting"),
        line(Cpu 3 "I/O wait");
    series "cpu_irq_percent", Percent, "irq (all CPUs)";
    series "cpu_softirq_percent", Percent, "softirq (all CPUs)", line(Cpu 4 "softirq");
    series "cpu_steal_percent", Percent, "steal (all CPUs)",
        column(Machine 7 "steal" Percent
            "CPU time that the hypervisor gave to other machines, from the kernel's accounting"),
        line(Cpu 5 "steal");
    series "cpu_throttled_percent", Percent, "throttled by a CPU quota (all CPUs)",
        line(Cpu 6 "throttled");
    series "cpu{}_busy_percent", Percent, "busy (CPU {})";
    series "cpu{}_iowait_percent", Percent, "I/O wait (CPU {})";
    series "cpu_context_switches_per_s", PerSecond, "context switches (all CPUs)";
    series "others_cpu_percent", Percent, "user time of other programs (100 = one CPU)",
        column(More 15 "other programs" PercentOfProcessor
            "user time of programs other than server, load and drive; 100 is one CPU"),
        line(CpuByProcess 4 "other programs");
    series "pressure_cpu_some_percent", Percent, "pressure: some tasks wait for cpu";
    series "pressure_cpu_full_percent", Percent, "pressure: full tasks wait for cpu";
    series "pressure_io_some_percent", Percent, "pressure: some tasks wait for io";
    series "pressure_io_full_percent", Percent, "pressure: full tasks wait for io";
    series "pressure_memory_some_percent", Percent, "pressure: some tasks wait for memory";
    series "pressure_memory_full_percent", Percent, "pressure: full tasks wait for memory";
};
