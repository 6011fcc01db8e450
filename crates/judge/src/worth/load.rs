//! One configuration under one load: its throughput, and the configuration that it is judged
//! against.

use crate::interval::Interval;
use crate::summary::RepeatGroup;
use crate::{Conclusion, JudgedComparison, Judgement, Metric, baseline_of};
use assay_study::Study;

/// A configuration, a workload and a number of connections.
pub(super) struct Load<'a> {
    pub(super) config: &'a str,
    pub(super) workload: &'a str,
    pub(super) threads: u32,
}

/// How the throughput of a load compares with that of another configuration.
pub(super) struct Against {
    /// The other configuration.
    pub(super) baseline: String,
    /// Own throughput ÷ the other's, both as they were run.
    pub(super) ratio: Interval,
    /// How many times a server of what the other stands for does what was measured, and of what the
    /// configuration does.
    pub(super) scales: [f64; 2],
    /// The verdict.
    pub(super) word: Conclusion,
}

impl<'a> Load<'a> {
    /// The load of these runs; `None` for runs of another study.
    pub(super) fn of(study: &'a Study, group: &RepeatGroup<'_>) -> Option<Load<'a>> {
        Some(Load {
            config: &study.configs.get(group.config)?.name,
            workload: &study.workloads.get(group.workload)?.name,
            threads: group.threads,
        })
    }

    /// Its throughput with its interval; nothing where it is none that a machine can have.
    pub(super) fn tps(&self, judgement: &Judgement) -> Option<Interval> {
        let mut levels = judgement.levels.iter();
        let level = levels.find(|one| self.is(&one.config, &one.workload, one.threads))?;
        Some(level.tps).filter(Interval::is_sound)
    }

    /// Its throughput beside that of the baseline, else of another that it is judged against under
    /// the same load.
    pub(super) fn against(&self, judgement: &Judgement, study: &Study) -> Option<Against> {
        let its = || of_throughput(judgement).filter(|one| self.is_of(&one.config, one));
        let baseline = baseline_of(study);
        let by_baseline = its().find(|one| Some(&one.baseline) == baseline.as_ref());
        let one = by_baseline.or_else(|| its().next())?;
        let found = one.difference.as_ref()?;
        let (low, high) = found.ratio_interval;
        Some(Against {
            baseline: one.baseline.clone(),
            ratio: Interval { low, mid: found.ratio, high },
            scales: [server_scale(study, &one.baseline)?, server_scale(study, self.config)?],
            word: one.verdict.conclusion,
        })
    }

    /// Whether another configuration's throughput is set against its own under the same load.
    pub(super) fn is_a_measure(&self, judgement: &Judgement) -> bool {
        let mut all = of_throughput(judgement);
        all.any(|one| self.is_of(&one.baseline, one) && one.difference.is_some())
    }

    fn is_of(&self, config: &str, one: &JudgedComparison) -> bool {
        one.threads.is_some_and(|threads| self.is(config, &one.workload, threads))
    }

    fn is(&self, config: &str, workload: &str, threads: u32) -> bool {
        (self.config, self.workload, self.threads) == (config, workload, threads)
    }
}

/// Comparisons of throughput under the same workload on both sides.
fn of_throughput(judgement: &Judgement) -> impl Iterator<Item = &JudgedComparison> {
    let all = judgement.comparisons.iter();
    all.filter(|one| one.metric == Metric::Throughput && one.against_workload.is_none())
}

/// Factor from the throughput of a configuration to that of one server with whole devices: the
/// divisor of its rates ÷ the servers that made them together. `None` for a scale that was not
/// kept.
pub fn server_scale(study: &Study, config: &str) -> Option<f64> {
    Some(study.parallel_scale(config)? / study.servers(config))
}
