//! Seconds as samples: what was sampled, and what such a table is not.

use assay_judge::papers::Sampled;
use assay_study::Events;

/// The note next to every such table of response times.
pub fn note(events: Events) -> String {
    format!(
        "A row of response times has the 95th percentile of each second as its samples: its mean \
        is a mean of percentiles and its 95th percentile one of percentiles, and neither says \
        within what time 95 of 100 {events} were answered, as a second with ten {events} weighs \
        as much as one with a thousand. That time stands beside it.",
        events = events.many()
    )
}

/// The sampled quantity, with its unit.
pub fn what(sampled: Sampled) -> &'static str {
    match sampled {
        Sampled::Throughput => "tps",
        Sampled::LatencyP95 => "latency_ms_p95 of each second",
        Sampled::CpuIdle => "cpu_idle_percent",
    }
}
