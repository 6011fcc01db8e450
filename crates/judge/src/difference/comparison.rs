//! The comparison of two configurations: the difference, p alone and corrected, and the verdict.

use crate::difference::compare::{ComparedRuns, Difference, Suspects};
use crate::difference::family::Correction;
use crate::difference::looks::Look;
use crate::difference::noise::NoiseSpread;
use crate::difference::reason::Reason;
use crate::difference::verdict::{Conclusion, Verdict, p_of, verdict};
use crate::papers::improvement_factor;
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
    /// The p that counts, of this comparison alone.
    pub p: Option<f64>,
    /// The same, corrected over the comparisons that it belongs to.
    pub p_corrected: Option<f64>,
    pub correction: Correction,
    /// The share that does not matter.
    pub margin: f64,
    pub verdict: Verdict,
    /// Runs that are done and have no part in it, for the machine disturbed them.
    pub left_out: Vec<TrialKey>,
    /// Runs that have a part in it and are flagged for what their configuration may have caused.
    pub doubtful: Vec<TrialKey>,
    /// The ratio without the doubtful runs.
    pub ratio_without_doubtful: Option<f64>,
    /// The doubtful runs can only have made the difference look smaller, so its direction stands
    /// with them.
    pub is_despite_doubtful: bool,
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

/// A comparison before its p is corrected and its verdict given.
#[derive(Debug)]
pub(crate) struct Undecided {
    /// All but p and verdict.
    told: JudgedComparison,
    /// Why there is no verdict whatever p is.
    refusal: Option<Reason>,
    without: WithoutEach,
    noise: Option<NoiseSpread>,
    look: Look,
}

/// A comparison without the runs that may explain each conclusion.
#[derive(Debug)]
struct WithoutEach {
    all: Without,
    of_better: Without,
    of_worse: Without,
}

impl WithoutEach {
    fn of(&self, suspects: Suspects) -> &Without {
        match suspects {
            Suspects::All => &self.all,
            Suspects::OfBetter => &self.of_better,
            Suspects::OfWorse => &self.of_worse,
        }
    }
}

/// A comparison without the runs that may explain a conclusion.
#[derive(Debug)]
enum Without {
    /// There are none.
    Nothing,
    /// Too few repeats are left without this run and others.
    TooFew(TrialKey),
    Difference(Box<Difference>),
}

impl Teller<'_> {
    /// One for each thread count; an error is why there can be none.
    pub(crate) fn of_thread_counts(
        &self,
        counts: &[u32],
        strata: &[Result<ComparedRuns<'_>, Reason>],
        compare: Compare<'_>,
    ) -> Vec<Undecided> {
        let of = |(threads, stratum): (&u32, &Result<ComparedRuns<'_>, Reason>)| {
            let stratum = stratum.as_ref().map(std::slice::from_ref).map_err(Clone::clone);
            self.undecided(Some(*threads), stratum, compare)
        };
        counts.iter().zip(strata).map(of).collect()
    }

    pub(crate) fn undecided(
        &self,
        threads: Option<u32>,
        strata: Result<&[ComparedRuns<'_>], Reason>,
        compare: Compare<'_>,
    ) -> Undecided {
        let all = strata.as_ref().map_or(&[][..], |strata| strata);
        let difference = strata.as_ref().ok().and_then(|strata| compare(strata));
        let left_out = all.iter().flat_map(|one| one.left_out.clone()).collect();
        let doubtful: Vec<TrialKey> = all.iter().flat_map(|one| one.doubtful.clone()).collect();
        let without = |suspects| self.without(suspects, all, compare);
        let without = WithoutEach {
            all: without(Suspects::All),
            of_better: without(Suspects::OfBetter),
            of_worse: without(Suspects::OfWorse),
        };
        let refusal = match (&strata, &difference) {
            (Err(why), _) => Some(why.clone()),
            (Ok(strata), None) => Some(why_none(strata, self.metric)),
            (Ok(_), Some(_)) => None,
        };
        let ratio_without_doubtful = match &without.all {
            Without::Difference(found) => Some(found.ratio),
            Without::Nothing | Without::TooFew(_) => None,
        };
        let told = self.told(threads, difference, left_out);
        Undecided {
            told: JudgedComparison { doubtful, ratio_without_doubtful, ..told },
            refusal,
            without,
            noise: self.noise.copied(),
            look: Look::ONLY,
        }
    }

    fn told(
        &self,
        threads: Option<u32>,
        difference: Option<Difference>,
        left_out: Vec<TrialKey>,
    ) -> JudgedComparison {
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
            p: difference.as_ref().map(|one| p_of(one, 1)),
            p_corrected: None,
            correction: Correction::None,
            difference,
            margin: self.margin,
            verdict: Verdict::none(Reason::SpreadUnknown),
            left_out,
            doubtful: Vec::new(),
            ratio_without_doubtful: None,
            is_despite_doubtful: false,
        }
    }

    /// The comparison without runs that may explain a conclusion.
    fn without(
        &self,
        suspects: Suspects,
        strata: &[ComparedRuns<'_>],
        compare: Compare<'_>,
    ) -> Without {
        let Some(first) = strata.iter().flat_map(|one| one.suspects(suspects)).next() else {
            return Without::Nothing;
        };
        let too_few = || Without::TooFew(first.key.clone());
        let sound: Result<Vec<ComparedRuns<'_>>, TrialKey> =
            strata.iter().map(|one| one.without(suspects, self.is_one_study)).collect();
        match sound {
            Err(key) => Without::TooFew(key),
            Ok(sound) => {
                compare(&sound).map_or_else(too_few, |found| Without::Difference(Box::new(found)))
            }
        }
    }
}

impl Undecided {
    pub(crate) fn told(&self) -> &JudgedComparison {
        &self.told
    }

    pub(crate) fn has_p(&self) -> bool {
        self.told.p.is_some()
    }

    /// The same at a look.
    pub(crate) fn at(self, look: &Look) -> Undecided {
        Undecided { look: *look, ..self }
    }

    /// p for the correction over so many comparisons.
    pub(crate) fn p(&self, family: usize) -> Option<f64> {
        self.told.difference.as_ref().map(|one| self.as_single(p_of(one, family)))
    }

    fn as_single(&self, p: f64) -> f64 {
        self.look.p_as_single(p)
    }

    /// The same as a comparison by itself.
    pub(crate) fn decided_alone(self) -> JudgedComparison {
        let p = self.told.p.map(|p| self.as_single(p));
        self.decided(p, Correction::None)
    }

    /// The comparison with its verdict by the corrected p.
    pub(crate) fn decided(self, p: Option<f64>, correction: Correction) -> JudgedComparison {
        let verdict = match (&self.refusal, &self.told.difference) {
            (Some(why), _) => Verdict::none(why.clone()),
            (None, Some(found)) => {
                match self.held(self.verdict(found, p.unwrap_or(1.0), correction)) {
                    Ok(held) => self.seen_as_planned(held, found),
                    Err(run) => return self.without_figures(run),
                }
            }
            (None, None) => Verdict::none(Reason::SpreadUnknown),
        };
        let is_despite_doubtful = !self.told.doubtful.is_empty()
            && verdict.conclusion.has_direction()
            && matches!(self.without_suspects_of(verdict.conclusion), Without::Nothing);
        let told_level = self.look.told_level();
        let difference = self.told.difference.map(|found| found.at_level(told_level));
        JudgedComparison {
            p_corrected: p,
            correction,
            verdict,
            difference,
            is_despite_doubtful,
            ..self.told
        }
    }

    /// Says only that too few runs may be compared, of which this is one.
    fn without_figures(self, run: TrialKey) -> JudgedComparison {
        JudgedComparison {
            verdict: Verdict::none(Reason::TrialNotComparable(run)),
            difference: None,
            improvement_factor: None,
            p: None,
            ratio_without_doubtful: None,
            ..self.told
        }
    }

    /// The comparison without the runs that may explain this conclusion.
    fn without_suspects_of(&self, conclusion: Conclusion) -> &Without {
        self.without.of(Suspects::of(conclusion))
    }

    fn verdict(&self, found: &Difference, p: f64, correction: Correction) -> Verdict {
        let found = found.clone().at_level(self.look.level());
        verdict(self.told.metric, &found, (p, correction), self.told.margin, self.noise.as_ref())
    }

    /// The verdict; or, if it is open for no other reason than that the plan does not judge after
    /// these repeats, that reason.
    fn seen_as_planned(&self, verdict: Verdict, found: &Difference) -> Verdict {
        if self.look.is_planned || verdict.conclusion != Conclusion::Inconclusive {
            return verdict;
        }
        let alone = self.single_look(found);
        match alone.conclusion {
            Conclusion::Inconclusive => verdict,
            _ => Verdict::none(Reason::UnplannedLook(self.look)),
        }
    }

    /// The verdict if these repeats were all that the plan asks for.
    fn single_look(&self, found: &Difference) -> Verdict {
        let by = (p_of(found, 1), Correction::None);
        verdict(self.told.metric, found, by, self.told.margin, self.noise.as_ref())
    }

    /// The verdict, if it is the same without the runs that may explain it.
    ///
    /// # Errors
    /// Too few repeats are left without them; one of the runs.
    fn held(&self, of_all: Verdict) -> Result<Verdict, TrialKey> {
        let found = match self.without_suspects_of(of_all.conclusion) {
            Without::Nothing => return Ok(of_all),
            Without::TooFew(run) => return Err(run.clone()),
            Without::Difference(found) => found,
        };
        let other = self.verdict(found, self.as_single(p_of(found, 1)), Correction::None);
        if other.conclusion == of_all.conclusion {
            return Ok(of_all);
        }
        Ok(Verdict::none(Reason::DependsOnDoubtful {
            runs: self.told.doubtful.clone(),
            of_all: of_all.conclusion,
            without: other.conclusion,
            ratio_without: found.ratio,
        }))
    }
}

/// Why nothing can be told of runs that nothing forbids.
fn why_none(strata: &[ComparedRuns<'_>], metric: Metric) -> Reason {
    let mut trials = strata.iter().flat_map(|one| one.base.iter().chain(&one.other));
    let absent = trials.find_map(|trial| Some((&trial.key, *trial.absent.get(&metric)?)));
    absent.map_or(Reason::SpreadUnknown, |(key, why)| Reason::FigureAbsent(key.clone(), why))
}
