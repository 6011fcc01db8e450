//! Whether the machine disturbed one side of a comparison more than the other. Random order makes
//! that rare, and with few repeats it happens all the same: then part of the difference may be the
//! machine's.

use assay_judge::{JudgedComparison, Judgement, Metric, is_comparable};
use assay_study::{CpuUse, Study, Trial};

use crate::comparisons::questions;

/// Means of the two sides that lie so far apart are told, in percent of all CPUs.
const APART_PERCENT: f64 = 5.0;

/// A sentence for each comparison of throughput that stands for a workload.
pub(crate) fn sentences(study: &Study, judgement: &Judgement) -> Vec<String> {
    let all = questions::whole(judgement, Metric::Throughput);
    all.into_iter().filter_map(|one| sentence(study, one)).collect()
}

/// A sentence about one comparison; `None` if there is no comparison, or both sides were disturbed
/// alike.
pub(crate) fn sentence(study: &Study, one: &JudgedComparison) -> Option<String> {
    one.difference.as_ref()?;
    let against = one.against_workload.as_deref().unwrap_or(&one.workload);
    let sides = [(&one.config, one.workload.as_str()), (&one.baseline, against)];
    let [judged, base] = sides.map(|(config, workload)| lost(study, config, workload, one.threads));
    let (judged, base) = (judged?, base?);
    let [name, base_name] = questions::sides(one);
    ((judged - base).abs() >= APART_PERCENT).then(|| {
        format!(
            "Other programs and the host took {judged:.0} % of the CPUs during the runs of \
            {name} and {base:.0} % during those of {base_name} ({}), which may explain part of \
            the difference.",
            one.workload
        )
    })
}

/// CPU time that the comparable runs of a configuration did not get, on average, in percent of all
/// CPUs.
fn lost(study: &Study, config: &str, workload: &str, threads: Option<u32>) -> Option<f64> {
    let is_its = |trial: &&Trial| {
        (trial.key.config.as_str(), trial.key.workload.as_str()) == (config, workload)
            && threads.is_none_or(|threads| trial.key.threads == threads)
            && is_comparable(trial)
    };
    let cpus = study.calibration.as_ref().map_or(1.0, |found| f64::from(found.cpus.max(1)));
    let lost = |trial: &Trial| CpuUse::of_results(&trial.results, cpus).lost_percent();
    let all: Vec<f64> = study.trials.iter().filter(is_its).map(lost).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}
