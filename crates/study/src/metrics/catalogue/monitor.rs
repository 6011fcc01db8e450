//! What monitoring costs, so that nobody need wonder.

use super::super::entry::{Metric, series};
use super::super::layer::Layer::Monitor;
use super::super::unit::Unit::Percent;

pub(super) const COST: &[Metric] = &[
    series(
        Monitor,
        "monitor_kernel_cpu_percent",
        Percent,
        "CPU time of the monitor, kernel thread (100 = one CPU)",
    ),
    series(
        Monitor,
        "monitor_server_cpu_percent",
        Percent,
        "CPU time of the monitor, server thread (100 = one CPU)",
    ),
];
