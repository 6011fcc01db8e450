//! How the ratio varied from start to start, of studies whose runs take turns, and which of more
//! repeats and longer runs narrows its interval.

use assay_judge::{Judgement, Starts};
use assay_study::{Design, Study};

/// A sentence on the design, and one for each pair.
pub(crate) fn sentences(study: &Study, judgement: &Judgement) -> Vec<String> {
    if study.judging.design != Design::Switchback {
        return Vec::new();
    }
    let design = format!(
        "The servers of a repeat were up at once, and their loads took turns of {} s; \
         seconds and figures of a run are those of its own turns.",
        Starts::TURN_S
    );
    std::iter::once(design).chain(judgement.starts.iter().map(of_pair)).collect()
}

fn of_pair(starts: &Starts) -> String {
    let Starts { config, baseline, workload, threads, starts: count, deviation, .. } = starts;
    let varies = format!(
        "{config} against {baseline} ({workload}, {threads} threads): the ratio varies by {} from \
         start to start (standard deviation, {count} starts)",
        share(*deviation)
    );
    let remedy = match starts.is_mostly_within() {
        Some(true) => "longer runs narrow the interval as more repeats do",
        Some(false) => "more repeats narrow the interval, longer runs hardly do",
        None => return format!("{varies}."),
    };
    let within = starts.within.map(share).unwrap_or_default();
    format!("{varies}, of which noise within a start explains {within}: {remedy}.")
}

/// A deviation of a logarithm, which is small, as a share.
fn share(deviation: f64) -> String {
    format!("{:.1} %", deviation * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_part_decides_what_narrows_the_interval() {
        let starts = |within: Option<f64>| Starts {
            config: "b".into(),
            baseline: "a".into(),
            workload: "reads".into(),
            threads: 8,
            starts: 5,
            deviation: 0.02,
            within,
        };
        let text = of_pair(&starts(Some(0.005)));
        assert!(
            text.starts_with("b against a (reads, 8 threads): the ratio varies by 2.0 %"),
            "{text}"
        );
        assert!(
            text.ends_with("more repeats narrow the interval, longer runs hardly do."),
            "{text}"
        );
        let text = of_pair(&starts(Some(0.019)));
        assert!(text.contains("longer runs narrow the interval as more repeats do"), "{text}");
        assert!(of_pair(&starts(None)).ends_with("deviation, 5 starts)."));
    }
}
