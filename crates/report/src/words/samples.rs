//! Seconds as samples: what was sampled, and what such a table is not.

use assay_judge::papers::Sampled;

/// What stands beside every such table of response times.
pub const PERCENTILE_OF_PERCENTILES: &str = "A row of response times has the 95th percentile of each second as its samples: its mean is a mean of percentiles and its 95th \
     percentile one of percentiles, and neither says within what time 95 of 100 transactions were answered, as a second with ten \
     transactions weighs as much as one with a thousand. That time stands beside it.";

/// What was sampled, with its unit.
pub fn what(sampled: Sampled) -> &'static str {
    match sampled {
        Sampled::Throughput => "tps",
        Sampled::LatencyP95 => "latency_ms_p95 of each second",
        Sampled::CpuIdle => "cpu_idle_percent",
    }
}
