//! The comparisons of a pair from its runs: at each thread count, and over all of them.

use std::collections::BTreeSet;

use crate::difference::compare::{ComparedRuns, within_study};
use crate::difference::comparison::{JudgedComparison, SEED, Teller, Undecided};
use crate::difference::looks::Rules;
use crate::difference::noise::{AaRuns, NoiseSpread};
use crate::difference::pairs::{Pair, Side};
use crate::difference::reason::Reason;
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;

/// Comparisons of every pair, metric by metric, before they are decided.
pub(crate) fn of_pairs(
    pairs: &[Pair],
    metrics: &[Metric],
    trials: &[Measured],
    aa_runs: &AaRuns<'_>,
    margin: f64,
) -> Vec<Undecided> {
    let mut found = Vec::new();
    for pair in pairs {
        let runs = Runs { pair, trials, among: None };
        for metric in metrics.iter().filter(|metric| runs.may_have(**metric)) {
            found.extend(runs.judged(*metric, widest(aa_runs, *metric, pair).as_ref(), margin));
        }
    }
    found
}

/// The throughput of a pair over these thread counts together.
pub(crate) fn over(
    threads: &BTreeSet<u32>,
    pair: &Pair,
    trials: &[Measured],
    aa_runs: &AaRuns<'_>,
    rules: Rules,
) -> Option<JudgedComparison> {
    let runs = Runs { pair, trials, among: Some(threads) };
    let noise = widest(aa_runs, Metric::Throughput, pair);
    let whole = runs.judged(Metric::Throughput, noise.as_ref(), rules.margin).pop()?;
    Some(whole.at(&rules.look).decided_alone())
}

/// The wider of the spreads that noise has under the workloads of both sides.
fn widest(aa_runs: &AaRuns<'_>, metric: Metric, pair: &Pair) -> Option<NoiseSpread> {
    let sides = [&pair.judged, &pair.against];
    let spreads = sides.iter().filter_map(|side| aa_runs.spread(metric, &side.workload));
    spreads.max_by(|a, b| a.reach(1).total_cmp(&b.reach(1)))
}

/// The runs of a pair.
struct Runs<'a> {
    pair: &'a Pair,
    trials: &'a [Measured],
    /// The thread counts that are looked at; all if absent.
    among: Option<&'a BTreeSet<u32>>,
}

impl<'a> Runs<'a> {
    /// At each thread count, and over all.
    fn judged(&self, metric: Metric, noise: Option<&NoiseSpread>, margin: f64) -> Vec<Undecided> {
        let counts = self.thread_counts();
        let strata: Vec<Result<ComparedRuns<'a>, Reason>> =
            counts.iter().map(|threads| self.stratum(*threads)).collect();
        let of = |strata: &[ComparedRuns<'_>]| within_study(metric, strata, noise, SEED);
        let Pair { judged, against, question } = self.pair;
        let is_across = judged.workload != against.workload;
        let teller = Teller {
            workload: &judged.workload,
            baseline: &against.config,
            config: &judged.config,
            against_workload: is_across.then_some(against.workload.as_str()),
            question: *question,
            metric,
            margin,
            noise,
            is_one_study: true,
        };
        let mut all = teller.of_thread_counts(&counts, &strata, &of);
        if counts.len() > 1 {
            let whole: Result<Vec<ComparedRuns<'a>>, Reason> = strata.into_iter().collect();
            all.push(teller.undecided(None, whole.as_deref().map_err(Clone::clone), &of));
        }
        all
    }

    /// Whether its load has such a metric: a workload sends statements of some kinds only.
    fn may_have(&self, metric: Metric) -> bool {
        let is_there = |trial: &Measured| {
            trial.figures.contains_key(&metric) || trial.absent.contains_key(&metric)
        };
        let sides = || self.of_side(&self.pair.judged).chain(self.of_side(&self.pair.against));
        !matches!(metric, Metric::Statement(_)) || sides().any(is_there)
    }

    /// Thread counts that both sides were planned for.
    fn thread_counts(&self) -> Vec<u32> {
        let of = |side: &Side| -> BTreeSet<u32> {
            self.of_side(side).map(|trial| trial.key.threads).collect()
        };
        let is_among = |one: &u32| self.among.is_none_or(|among| among.contains(one));
        let both = of(&self.pair.against);
        both.intersection(&of(&self.pair.judged)).copied().filter(is_among).collect()
    }

    fn of_side(&self, side: &Side) -> impl Iterator<Item = &'a Measured> {
        self.trials.iter().filter(move |trial| side.has(&trial.key))
    }

    /// Repeats that both sides have; an error where a run forbids a verdict.
    fn stratum(&self, threads: u32) -> Result<ComparedRuns<'a>, Reason> {
        let of = |side| self.of_side(side).filter(move |trial| trial.key.threads == threads);
        ComparedRuns::of(of(&self.pair.against), of(&self.pair.judged), true)
    }
}
