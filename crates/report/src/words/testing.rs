//! Invented comparisons, to see what is said of them.

use assay_judge::{
    Basis, Conclusion, Difference, JudgedComparison, Metric, Reason, Spread, Verdict,
};
use assay_study::TrialKey;

/// A difference of this ratio within this interval, of three repeats.
pub(super) fn difference(ratio: f64, ratio_interval: (f64, f64)) -> Difference {
    Difference {
        baseline_value: 1.0,
        value: ratio,
        ratio,
        ratio_interval,
        difference: 0.0,
        difference_interval: (0.0, 0.0),
        basis: Basis::Repeats,
        repeats: 3,
        thread_counts: 1,
        deviation: 0.1,
        p_t: 0.5,
        permutation: None,
        log: Spread { mean: ratio.ln(), error: 0.1, df: 2.0 },
        plain: Spread { mean: 0.0, error: 0.1, df: 2.0 },
        level: 0.95,
    }
}

/// Throughput 19 % higher, of which this is said.
pub(super) fn comparison(conclusion: Conclusion, reason: Option<Reason>) -> JudgedComparison {
    JudgedComparison {
        workload: "w".into(),
        threads: Some(8),
        baseline: "base".into(),
        config: "other".into(),
        against_workload: None,
        question: None,
        metric: Metric::Throughput,
        improvement_factor: None,
        difference: Some(difference(1.19, (1.15, 1.23))),
        p: None,
        p_corrected: None,
        correction: assay_judge::Correction::None,
        margin: 0.03,
        verdict: Verdict { conclusion, reason, unlikely_before: None, exceptions: Vec::new() },
        left_out: Vec::new(),
        doubtful: Vec::new(),
        ratio_without_doubtful: None,
        is_despite_doubtful: false,
    }
}

/// The same with an interval that rests on this.
pub(super) fn resting_on(basis: Basis, one: JudgedComparison) -> JudgedComparison {
    let difference = one.difference.map(|found| Difference { basis, ..found });
    JudgedComparison { difference, ..one }
}

/// A run at 8 threads.
pub(super) fn key(config: &str, repeat: u32) -> TrialKey {
    TrialKey { config: config.into(), workload: "w".into(), threads: 8, repeat }
}
