//! Which comparisons lead: those of the metric that answers, which stand for a workload each; what
//! the plan asks about; and how configurations are called in sentences.
//!
//! Nothing here judges.

use assay_judge::{Conclusion, JudgedComparison, Judgement, Metric};
use assay_study::{Config, Study};

use crate::words::answer;

/// The metric that answers a study's question: throughput; but where every load comes at a fixed
/// rate and the configurations do not differ in how much of it they did, how long one waits at that
/// rate.
pub(crate) fn metric(study: &Study, judgement: &Judgement) -> Metric {
    let done = whole(judgement, Metric::Throughput);
    let is_paced = |one: &&JudgedComparison| {
        let against = one.against_workload.as_deref().unwrap_or(&one.workload);
        study.rate(&one.workload).is_some() && study.rate(against).is_some()
    };
    let differs = |one: &&JudgedComparison| {
        matches!(one.verdict.conclusion, Conclusion::Better | Conclusion::Worse)
            || hangs_on_threads(judgement, one)
    };
    let has_times = whole(judgement, Metric::P99).iter().any(|one| has_figure(judgement, one));
    match !done.is_empty() && done.iter().all(is_paced) && !done.iter().any(differs) && has_times {
        true => Metric::P99,
        false => Metric::Throughput,
    }
}

/// The comparisons that answer: of the metric that does.
pub(crate) fn answers<'a>(study: &Study, judgement: &'a Judgement) -> Vec<&'a JudgedComparison> {
    whole(judgement, metric(study, judgement))
}

/// The comparisons of `metric` that stand for a workload each: over all thread counts, or of the
/// only one.
pub(crate) fn whole(judgement: &Judgement, metric: Metric) -> Vec<&JudgedComparison> {
    let of_metric = || judgement.comparisons.iter().filter(move |one| one.metric == metric);
    let has_whole = |one: &JudgedComparison| {
        of_metric().any(|other| other.threads.is_none() && other.is_of_same_pair(one))
    };
    of_metric().filter(|one| one.threads.is_none() || !has_whole(one)).collect()
}

/// The rows of the first chart: comparisons over all threads, and where one could not be made but
/// some of its thread counts could, those in its place.
pub(crate) fn rows<'a>(judgement: &'a Judgement, metric: Metric) -> Vec<&'a JudgedComparison> {
    let of = |one: &'a JudgedComparison| match has_parts(judgement, one) {
        true => by_threads(judgement, one),
        false => vec![one],
    };
    whole(judgement, metric).into_iter().flat_map(of).collect()
}

/// Whether there is a figure: over all thread counts, or at some.
pub(crate) fn has_figure(judgement: &Judgement, one: &JudgedComparison) -> bool {
    one.difference.is_some() || has_parts(judgement, one)
}

/// Whether there is no figure over all thread counts, but one at some.
pub(crate) fn has_parts(judgement: &Judgement, whole: &JudgedComparison) -> bool {
    let is_unmade = whole.threads.is_none() && whole.difference.is_none();
    is_unmade && by_threads(judgement, whole).iter().any(|one| one.difference.is_some())
}

/// The comparison that the first screen's numbers are of: of the first question, under the first
/// workload where it could be made, whatever came out. To lead with the first that has a verdict
/// would lead with chance: of six pairs that do not differ one has a direction in 27 of 100
/// studies, and a true 5 % is told as 7.
pub(crate) fn leading<'a>(
    study: &Study,
    judgement: &Judgement,
    all: &[&'a JudgedComparison],
) -> Option<&'a JudgedComparison> {
    let asked = questions(study, all).into_iter().next()?;
    let its = || asked.iter().copied();
    let is_made = |one: &&JudgedComparison| one.difference.is_some();
    its()
        .find(is_made)
        .or_else(|| its().find(|one| has_figure(judgement, one)))
        .or_else(|| its().next())
}

/// The comparisons that answer a question each, in the order of the plan's: of the pairs that it
/// names; else of the first configuration that is compared with the baseline, for a plan names
/// first what it asks about.
pub(crate) fn questions<'a>(
    study: &Study,
    all: &[&'a JudgedComparison],
) -> Vec<Vec<&'a JudgedComparison>> {
    let of = |is_its: &dyn Fn(&JudgedComparison) -> bool| -> Vec<&'a JudgedComparison> {
        all.iter().copied().filter(|one| is_its(one)).collect()
    };
    let asked = 0..study.judging.compare.len();
    let mut questions: Vec<Vec<&JudgedComparison>> =
        asked.map(|place| of(&|one| one.question == Some(place))).collect();
    if all.iter().all(|one| one.question.is_none()) {
        let names = study.configs.iter().map(|config| config.name.as_str());
        questions = names.map(|name| of(&|one| one.config == name)).collect();
        let first = questions.iter().position(|its| !its.is_empty());
        questions = questions.into_iter().skip(first.unwrap_or(0)).take(1).collect();
    }
    questions.retain(|its| !its.is_empty());
    questions
}

/// A side of a comparison as a sentence names it: with its workload where the two sides have not
/// the same.
pub(crate) fn sides(one: &JudgedComparison) -> [String; 2] {
    let [config, base] = [&one.config, &one.baseline].map(|name| named(name));
    match &one.against_workload {
        None => [config, base],
        Some(against) => {
            [format!("{config} on “{}”", one.workload), format!("{base} on “{against}”")]
        }
    }
}

/// The comparisons of each thread count that one over all of them is made of, the fewest threads
/// first.
pub(crate) fn by_threads<'a>(
    judgement: &'a Judgement,
    whole: &JudgedComparison,
) -> Vec<&'a JudgedComparison> {
    let is_part = |one: &&JudgedComparison| {
        one.threads.is_some() && one.metric == whole.metric && one.is_of_same_pair(whole)
    };
    judgement.comparisons.iter().filter(is_part).collect()
}

/// Whether thread counts tell what a word over all of them would hide: better at one and worse at
/// another, or a verdict at some where that over all is "equivalent" or could not be made.
pub(crate) fn hangs_on_threads(judgement: &Judgement, whole: &JudgedComparison) -> bool {
    let parts = by_threads(judgement, whole);
    let is_any = |word: Conclusion| parts.iter().any(|one| one.verdict.conclusion == word);
    let is_unmade = whole.threads.is_none() && whole.difference.is_none();
    let is_equivalent =
        whole.threads.is_none() && whole.verdict.conclusion == Conclusion::Equivalent;
    match (is_any(Conclusion::Better), is_any(Conclusion::Worse)) {
        (true, true) => true,
        (better, worse) => (is_unmade || is_equivalent) && (better || worse),
    }
}

/// The same of what there is a figure of over all.
pub(crate) fn is_mixed(judgement: &Judgement, whole: &JudgedComparison) -> bool {
    whole.difference.is_some() && hangs_on_threads(judgement, whole)
}

/// Text in place of a verdict that depends on the threads.
pub(crate) const BY_THREADS: &str = "by threads";

/// A sentence that begins with a capital also where a name would begin it that has none.
pub(crate) fn capital(metric: Metric, sentence: String) -> String {
    let is_low = sentence.chars().next().is_some_and(char::is_lowercase);
    if is_low { format!("By {}, {sentence}", answer::name(metric)) } else { sentence }
}

/// A name as it stands in a sentence: one with a comma in it would fall apart.
pub(crate) fn named(name: &str) -> String {
    if name.contains(',') { format!("“{name}”") } else { name.to_owned() }
}

/// Whether the configuration is another one run again, which shows the noise and is no
/// configuration of its own.
pub(crate) fn is_aa_run(study: &Study, config: &Config) -> bool {
    study.judging.aa_runs.contains_key(&config.name)
}

/// Configurations that stand on a model and on no device: they are called so wherever their figures
/// lead. An A/A run is its configuration's model once more.
pub(crate) fn models(study: &Study) -> Vec<&str> {
    let is_model = |config: &&Config| config.rig.model().is_some();
    let configs = study.configs.iter().filter(|config| !is_aa_run(study, config));
    configs.filter(is_model).map(|config| config.name.as_str()).collect()
}
