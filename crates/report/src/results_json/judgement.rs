//! The judgement in `results.json`: its values, and next to them the sentences that people read.

use serde::{Serialize, Serializer};

use assay_judge::papers::Samples;
use assay_judge::{
    Basis, ByDay, Chain, Conclusion, Correction, Difference, JudgedComparison, Judgement, Look,
    Metric, NoiseFloor, OfPhase, OfTrial, OrderRange, OverOrders, Permuted, Phases, Stalls, Starts,
    Statements, Steady, Step, ThroughputLevel,
};
use assay_study::{Events, Study, TrialKey};

use super::effects::EffectsView;
use crate::words::samples;
use crate::words::{reason, stalls, steady, steps, verdict};

/// A study, judgement.
#[derive(Debug, Serialize)]
pub struct JudgementView<'a> {
    level: f64,
    look: Look,
    margin_percent: f64,
    baseline: Option<&'a str>,
    noise_floor: Option<&'a NoiseFloor>,
    levels: &'a [ThroughputLevel],
    comparisons: Vec<ComparisonView<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    days: Vec<DaysView<'a>>,
    chains: Vec<ChainView<'a>>,
    effects: Vec<EffectsView<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    starts: &'a [Starts],
    samples_note: String,
    #[serde(rename = "runs")]
    trials: Vec<TrialView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phases: Option<PhasesView<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    recoveries: Vec<ComparisonView<'a>>,
}

/// Phases, each judged by itself.
#[derive(Debug, Serialize)]
struct PhasesView<'a> {
    runs: &'a [OfPhase],
    verdicts: Vec<PhaseVerdictsView<'a>>,
}

#[derive(Debug, Serialize)]
struct PhaseVerdictsView<'a> {
    phase: &'a str,
    comparisons: Vec<ComparisonView<'a>>,
}

impl<'a> PhasesView<'a> {
    /// Nothing of a study without.
    fn of(phases: &'a Phases) -> Option<PhasesView<'a>> {
        let verdicts = phases.verdicts.iter().map(|one| PhaseVerdictsView {
            phase: &one.phase,
            comparisons: one.comparisons.iter().map(ComparisonView::of).collect(),
        });
        let runs = &phases.of_trials;
        (!runs.is_empty()).then(|| PhasesView { runs, verdicts: verdicts.collect() })
    }
}

impl<'a> JudgementView<'a> {
    pub fn of(study: &Study, judgement: &'a Judgement) -> JudgementView<'a> {
        JudgementView {
            level: judgement.level,
            look: judgement.look,
            margin_percent: judgement.margin_percent,
            baseline: judgement.baseline.as_deref(),
            noise_floor: judgement.noise_floor.as_ref(),
            levels: &judgement.levels,
            comparisons: judgement.comparisons.iter().map(ComparisonView::of).collect(),
            days: days(study, judgement),
            chains: judgement.chains.iter().map(ChainView::of).collect(),
            effects: judgement.effects.iter().map(EffectsView::of).collect(),
            starts: &judgement.starts,
            samples_note: samples::note(Events::Transactions),
            trials: judgement.trials.iter().map(TrialView::of).collect(),
            phases: PhasesView::of(&judgement.phases),
            recoveries: judgement.recoveries.iter().map(ComparisonView::of).collect(),
        }
    }
}

/// A comparison by day, of a study with sessions.
#[derive(Debug, Serialize)]
struct DaysView<'a> {
    config: &'a str,
    baseline: &'a str,
    workload: &'a str,
    threads: Option<u32>,
    metric: &'a str,
    #[serde(flatten)]
    by_day: ByDay,
}

fn days<'a>(study: &Study, judgement: &'a Judgement) -> Vec<DaysView<'a>> {
    let of = |one: &'a JudgedComparison| {
        Some(DaysView {
            config: &one.config,
            baseline: &one.baseline,
            workload: &one.workload,
            threads: one.threads,
            metric: one.metric.name(),
            by_day: ByDay::of(study, one)?,
        })
    };
    judgement.comparisons.iter().filter_map(of).collect()
}

/// A pair that differs in several factors, in steps.
#[derive(Debug, Serialize)]
struct ChainView<'a> {
    workload: &'a str,
    threads: &'a [u32],
    whole: StepView<'a>,
    steps: Vec<StepView<'a>>,
}

#[derive(Debug, Serialize)]
struct StepView<'a> {
    baseline: &'a str,
    config: &'a str,
    factors: &'a [String],
    throughput: Option<ComparisonView<'a>>,
    /// Bytes of the configuration for each of the baseline, both for a transaction.
    bytes_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_to: Option<&'static str>,
    bytes_interval: Option<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    over_orders: Option<OrdersView<'a>>,
}

/// The same change of factors over all orders that the study has.
#[derive(Debug, Serialize)]
struct OrdersView<'a> {
    orders: f64,
    throughput: Option<ComparisonView<'a>>,
    throughput_by_order: Option<OrderRange>,
    bytes_ratio: Option<f64>,
    bytes_interval: Option<(f64, f64)>,
    bytes_by_order: Option<OrderRange>,
}

impl<'a> OrdersView<'a> {
    fn of(one: &'a OverOrders) -> OrdersView<'a> {
        OrdersView {
            orders: one.orders,
            throughput: one.throughput.as_ref().map(ComparisonView::of),
            throughput_by_order: one.throughput_range,
            bytes_ratio: one.taken.map(|taken| taken.ratio),
            bytes_interval: one.taken.and_then(|taken| taken.interval),
            bytes_by_order: one.taken_range,
        }
    }
}

impl<'a> ChainView<'a> {
    fn of(one: &'a Chain) -> ChainView<'a> {
        ChainView {
            workload: &one.workload,
            threads: &one.threads,
            whole: StepView::of(&one.whole),
            steps: one.steps.iter().map(StepView::of).collect(),
        }
    }
}

impl<'a> StepView<'a> {
    fn of(one: &'a Step) -> StepView<'a> {
        StepView {
            baseline: &one.against,
            config: &one.config,
            factors: &one.factors,
            throughput: one.throughput.as_ref().map(ComparisonView::of),
            bytes_ratio: one.taken.map(|taken| taken.ratio),
            bytes_to: one.taken.map(steps::bytes_to),
            bytes_interval: one.taken.and_then(|taken| taken.interval),
            over_orders: one.over_orders.as_ref().map(OrdersView::of),
        }
    }
}

/// One configuration against another.
#[derive(Debug, Serialize)]
struct ComparisonView<'a> {
    workload: &'a str,
    threads: Option<u32>,
    baseline: &'a str,
    config: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    against_workload: Option<&'a str>,
    /// From 1, in the order of the plan's pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<usize>,
    metric: Metric,
    improvement_factor: Option<f64>,
    difference: Option<DifferenceView>,
    p: Option<f64>,
    p_corrected: Option<f64>,
    correction: Correction,
    verdict: Conclusion,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unlikely_before: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    doubtful: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_without_doubtful: Option<f64>,
    #[serde(rename = "despite_doubtful", skip_serializing_if = "std::ops::Not::not")]
    is_despite_doubtful: bool,
}

impl<'a> ComparisonView<'a> {
    fn of(one: &'a JudgedComparison) -> ComparisonView<'a> {
        ComparisonView {
            workload: &one.workload,
            threads: one.threads,
            baseline: &one.baseline,
            config: &one.config,
            against_workload: one.against_workload.as_deref(),
            question: one.question.map(|place| place + 1),
            metric: one.metric,
            improvement_factor: one.improvement_factor,
            difference: one.difference.as_ref().map(DifferenceView::of),
            p: one.p,
            p_corrected: one.p_corrected,
            correction: one.correction,
            verdict: one.verdict.conclusion,
            text: verdict::text(one),
            because: reason::because(Events::Transactions, one),
            unlikely_before: one.verdict.unlikely_before,
            left_out: one.left_out.iter().map(verdict::not_comparable).collect(),
            doubtful: one.doubtful.iter().map(ToString::to_string).collect(),
            ratio_without_doubtful: one.ratio_without_doubtful,
            is_despite_doubtful: one.is_despite_doubtful,
        }
    }
}

/// A comparison as JSON has it, for `serialize_with`.
///
/// # Errors
/// Those of the serializer.
pub fn comparison<S: Serializer>(one: &JudgedComparison, to: S) -> Result<S::Ok, S::Error> {
    ComparisonView::of(one).serialize(to)
}

#[derive(Debug, Serialize)]
pub(super) struct DifferenceView {
    baseline_value: f64,
    value: f64,
    ratio: f64,
    ratio_interval: (f64, f64),
    difference: f64,
    difference_interval: (f64, f64),
    basis: Basis,
    repeats: usize,
    thread_counts: usize,
    deviation: f64,
    p_t: f64,
    permutation: Option<PermutationView>,
}

#[derive(Debug, Serialize)]
struct PermutationView {
    of: String,
    units: usize,
    #[serde(flatten)]
    permuted: Permuted,
}

impl DifferenceView {
    pub(super) fn of(one: &Difference) -> DifferenceView {
        let permutation = one.permutation.as_ref().map(|permutation| PermutationView {
            of: verdict::units(permutation.of),
            units: permutation.units,
            permuted: permutation.permuted,
        });
        DifferenceView {
            baseline_value: one.baseline_value,
            value: one.value,
            ratio: one.ratio,
            ratio_interval: one.ratio_interval,
            difference: one.difference,
            difference_interval: one.difference_interval,
            basis: one.basis,
            repeats: one.repeats,
            thread_counts: one.thread_counts,
            deviation: one.deviation,
            p_t: one.p_t,
            permutation,
        }
    }
}

/// A run judged by itself.
#[derive(Debug, Serialize)]
struct TrialView<'a> {
    #[serde(flatten)]
    key: &'a TrialKey,
    steady: Option<WithText<&'a Steady>>,
    stalls: Option<WithText<&'a Stalls>>,
    samples: SamplesView<'a>,
    statements: &'a [Statements],
}

/// Values, and the same in words.
#[derive(Debug, Serialize)]
struct WithText<T> {
    #[serde(flatten)]
    values: T,
    text: String,
}

#[derive(Debug, Serialize)]
struct SamplesView<'a> {
    rows: Vec<SampleView<'a>>,
    latency_ms_p95: Option<f64>,
}

#[derive(Debug, Serialize)]
struct SampleView<'a> {
    what: &'static str,
    #[serde(flatten)]
    row: &'a Samples,
}

impl<'a> TrialView<'a> {
    fn of(trial: &'a OfTrial) -> TrialView<'a> {
        let steady = trial.steady.as_ref();
        let stalls = trial.stalls.as_ref();
        let rows = trial.samples.rows.iter();
        TrialView {
            key: &trial.key,
            steady: steady.map(|values| WithText { values, text: steady::text(values) }),
            stalls: stalls.map(|values| WithText { values, text: stalls::text(values) }),
            statements: &trial.statements,
            samples: SamplesView {
                rows: rows.map(|row| SampleView { what: samples::what(row.what), row }).collect(),
                latency_ms_p95: trial.samples.latency_ms_p95,
            },
        }
    }
}
