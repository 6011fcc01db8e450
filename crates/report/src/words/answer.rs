//! How a sentence speaks of the metric that answers a study's question: of throughput as of speed,
//! of a response time by its name.

use assay_judge::{Conclusion, Metric};

use super::size::DifferenceSize;
use super::verdict;

/// The metric as a sentence names it.
#[must_use]
pub fn name(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "throughput",
        Metric::P99 => "p99 response time",
        other => other.label(),
    }
}

/// Subject of a comparison: the configuration itself, which is faster, or its response time; at the
/// beginning of a sentence or within one.
#[must_use]
pub fn subject(metric: Metric, config: &str, begins: bool) -> String {
    let the = if begins { "The" } else { "the" };
    match metric {
        Metric::Throughput => config.to_owned(),
        other => format!("{the} {} of {config}", name(other)),
    }
}

/// Object of a comparison.
#[must_use]
pub fn object(metric: Metric, base: &str) -> String {
    match metric {
        Metric::Throughput => base.to_owned(),
        _ => format!("that of {base}"),
    }
}

/// That one is better or worse, and by how much.
#[must_use]
pub fn differs(
    metric: Metric,
    size: &DifferenceSize,
    [config, base]: [&str; 2],
    begins: bool,
) -> String {
    let (subject, object) = (subject(metric, config, begins), object(metric, base));
    match (metric, size.is_factor) {
        (Metric::Throughput, true) => format!("{subject} gives {} of {object}", size.claim()),
        (_, true) => format!("{subject} is {} times {object}", size.value),
        (_, false) => format!("{subject} is {} than {object}", size.claim()),
    }
}

/// That both are the same, as far as it matters.
#[must_use]
pub fn equals(metric: Metric, [config, base]: [&str; 2]) -> String {
    match metric {
        Metric::Throughput => format!("{config} and {base} are equally fast"),
        other => format!("{config} and {base} have equivalent {}s", name(other)),
    }
}

/// How one of several comparisons came out.
#[must_use]
pub fn outcome(metric: Metric, word: Conclusion) -> &'static str {
    match (metric, word) {
        (Metric::Throughput, Conclusion::Better) => "faster",
        (Metric::Throughput, Conclusion::Worse) => "slower",
        (Metric::Throughput, Conclusion::Equivalent) => "equally fast",
        (_, word) => verdict::word(word),
    }
}
