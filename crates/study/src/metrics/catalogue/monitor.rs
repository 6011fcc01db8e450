//! The cost of monitoring.

use super::super::entry::{MetricEntry, metrics};

pub(super) const COST: &[MetricEntry] = metrics! { Monitor:
    series "monitor_kernel_cpu_percent", Percent,
        "CPU time of the monitor, kernel thread (100 = one CPU)";
    series "monitor_server_cpu_percent", Percent,
        "CPU time of the monitor, server thread (100 = one CPU)";
};
