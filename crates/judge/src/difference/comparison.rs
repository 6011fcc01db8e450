//! The comparison of two configurations: the difference, p corrected over the thread counts, and
//! the verdict.

use crate::difference::compare::{ComparedRuns, Difference};
use crate::difference::noise::NoiseSpread;
use crate::difference::reason::Reason;
use crate::difference::verdict::{Verdict, p_of, verdict};
use crate::papers::improvement_factor;
use crate::statistics::holm;
use crate::trial::metric::Metric;
use assay_study::{Study, TrialKey};

/// Seed of whatever is drawn at random, so that a study is judged the same each time.
pub(crate) const SEED: u64 = 1;

/// One configuration against another.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedComparison {
    /// The workload.
    pub workload: String,
    /// Connections; absent over all thread counts that both have.
    pub threads: Option<u32>,
    /// The configuration measured by: the baseline, or, of a workload that it is not run on, the
    /// first configuration that is.
    pub baseline: String,
    /// The configuration judged.
    pub config: String,
    /// The workload of the configuration measured by, where that is another one: on another data
    /// profile.
    pub against_workload: Option<String>,
    /// The place in the plan's list of the question that it answers; nothing where the plan does
    /// not ask for it.
    pub question: Option<usize>,
    pub metric: Metric,
    /// By what factor it is better, as STEC's paper tells it: the ratio, turned over where less is
    /// better. Below 1 it is worse.
    pub improvement_factor: Option<f64>,
    /// How large the difference is, where that can be told.
    pub difference: Option<Difference>,
    /// p, corrected over the thread counts of the workload.
    pub p_corrected: Option<f64>,
    /// The share that does not matter.
    pub margin: f64,
    pub verdict: Verdict,
    /// Runs that are done and have no part in it, for the machine disturbed them.
    pub left_out: Vec<TrialKey>,
    /// Runs that have a part in it and are flagged for what their configuration may have caused.
    pub doubtful: Vec<TrialKey>,
    /// The ratio without the doubtful runs.
    pub ratio_without_doubtful: Option<f64>,
}

impl JudgedComparison {
    /// Whether both are of the same two sides.
    pub fn is_of_same_pair(&self, other: &JudgedComparison) -> bool {
        (&self.workload, &self.config) == (&other.workload, &other.config)
            && (&self.baseline, &self.against_workload)
                == (&other.baseline, &other.against_workload)
    }
}

/// The configuration that others of the study are measured by: as the plan names it, else the
/// first.
pub fn baseline_of(study: &Study) -> Option<String> {
    study
        .judging
        .baseline
        .clone()
        .or_else(|| study.configs.first().map(|config| config.name.clone()))
}

/// Makes comparisons of differences: the same for configurations of one study and of two.
pub(crate) struct Teller<'a> {
    pub(crate) workload: &'a str,
    pub(crate) baseline: &'a str,
    pub(crate) config: &'a str,
    pub(crate) against_workload: Option<&'a str>,
    pub(crate) question: Option<usize>,
    pub(crate) metric: Metric,
    pub(crate) margin: f64,
    pub(crate) noise: Option<&'a NoiseSpread>,
    /// Whether both sides are of one study, so that repeats are pairs.
    pub(crate) is_one_study: bool,
}

/// A difference of runs, if it can be computed.
pub(crate) type Compare<'a> = &'a dyn Fn(&[ComparedRuns<'_>]) -> Option<Difference>;

impl Teller<'_> {
    /// One for each thread count, their p corrected; an error is why there can be none.
    pub(crate) fn of_thread_counts(
        &self,
        counts: &[u32],
        strata: &[Result<ComparedRuns<'_>, Reason>],
        compare: Compare<'_>,
    ) -> Vec<JudgedComparison> {
        let differences: Vec<Option<Difference>> =
            strata.iter().map(|one| compare(std::slice::from_ref(one.as_ref().ok()?))).collect();
        let corrected = correct(&differences);
        let mut told = Vec::new();
        for (place, difference) in differences.into_iter().enumerate() {
            let stratum = strata[place].as_ref().map(std::slice::from_ref).map_err(Clone::clone);
            told.push(self.told(
                Some(counts[place]),
                stratum,
                (difference, corrected[place]),
                compare,
            ));
        }
        told
    }

    pub(crate) fn told(
        &self,
        threads: Option<u32>,
        strata: Result<&[ComparedRuns<'_>], Reason>,
        (difference, p): (Option<Difference>, Option<f64>),
        compare: Compare<'_>,
    ) -> JudgedComparison {
        let all = strata.as_ref().map_or(&[][..], |strata| strata);
        let left_out: Vec<TrialKey> = all.iter().flat_map(|one| one.left_out.clone()).collect();
        let doubtful: Vec<TrialKey> = all.iter().flat_map(|one| one.doubtful.clone()).collect();
        let without = if doubtful.is_empty() { None } else { self.without_doubtful(all, compare) };
        let verdict = match (strata, &difference) {
            (Err(why), _) => Verdict::none(why),
            (Ok(strata), None) => Verdict::none(why_none(strata, self.metric)),
            (Ok(_), Some(found)) => {
                let of_all = self.verdict(found, p.unwrap_or(1.0));
                if doubtful.is_empty() {
                    of_all
                } else {
                    self.held(of_all, &doubtful, without.as_ref())
                }
            }
        };
        let factor =
            |one: &Difference| improvement_factor(1.0, one.ratio, self.metric.is_better_higher());
        JudgedComparison {
            workload: self.workload.to_owned(),
            threads,
            baseline: self.baseline.to_owned(),
            config: self.config.to_owned(),
            against_workload: self.against_workload.map(str::to_owned),
            question: self.question,
            metric: self.metric,
            improvement_factor: difference.as_ref().and_then(factor),
            difference,
            p_corrected: p,
            margin: self.margin,
            verdict,
            left_out,
            doubtful,
            ratio_without_doubtful: without.map(|one| one.ratio),
        }
    }

    fn verdict(&self, found: &Difference, p: f64) -> Verdict {
        verdict(self.metric, found, p, self.margin, self.noise)
    }

    /// The difference without the doubtful runs.
    fn without_doubtful(
        &self,
        strata: &[ComparedRuns<'_>],
        compare: Compare<'_>,
    ) -> Option<Difference> {
        let sound: Vec<ComparedRuns<'_>> =
            strata.iter().map(|one| one.without_doubtful(self.is_one_study)).collect();
        compare(&sound)
    }

    /// The verdict, if it is the same without the doubtful runs.
    fn held(
        &self,
        of_all: Verdict,
        doubtful: &[TrialKey],
        without: Option<&Difference>,
    ) -> Verdict {
        let Some(found) = without else {
            return doubtful
                .first()
                .map_or(of_all, |one| Verdict::none(Reason::TrialNotComparable(one.clone())));
        };
        let other = self.verdict(found, p_of(found, 1));
        if other.conclusion == of_all.conclusion {
            return of_all;
        }
        Verdict::none(Reason::DependsOnDoubtful {
            runs: doubtful.to_vec(),
            of_all: of_all.conclusion,
            without: other.conclusion,
            ratio_without: found.ratio,
        })
    }
}

/// Why nothing can be told of runs that nothing forbids.
fn why_none(strata: &[ComparedRuns<'_>], metric: Metric) -> Reason {
    let mut trials = strata.iter().flat_map(|one| one.base.iter().chain(&one.other));
    let absent = trials.find_map(|trial| Some((&trial.key, *trial.absent.get(&metric)?)));
    absent.map_or(Reason::SpreadUnknown, |(key, why)| Reason::FigureAbsent(key.clone(), why))
}

/// Holm's correction over those that there are.
fn correct(differences: &[Option<Difference>]) -> Vec<Option<f64>> {
    let there: Vec<&Difference> = differences.iter().flatten().collect();
    let raw: Vec<f64> = there.iter().map(|one| p_of(one, there.len())).collect();
    let mut corrected = holm(&raw).into_iter();
    differences.iter().map(|one| one.as_ref().and_then(|_| corrected.next())).collect()
}
