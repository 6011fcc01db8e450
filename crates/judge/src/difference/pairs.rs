//! Which pairs of a study are compared, and in which order: those that its plan asks about, then
//! every configuration against the baseline.
//!
//! [`of_interest`] is what the plan asks; a headline speaks of these, and runs are best spent on
//! them.

use assay_study::{AskedPair, Study, TrialKey};

use crate::difference::comparison::baseline_of;

/// One side of a pair.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Side {
    /// Name of the configuration.
    pub config: String,
    /// Name of the workload in the study, its data profile included.
    pub workload: String,
}

impl Side {
    /// Whether the run is one of it.
    pub fn has(&self, key: &TrialKey) -> bool {
        (&self.config, &self.workload) == (&key.config, &key.workload)
    }
}

/// Two configurations under one workload, or one or two on two data profiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    pub judged: Side,
    /// The baseline of the pair.
    pub against: Side,
    /// The place in the plan's list of the question that it belongs to; nothing where the plan does
    /// not ask about it.
    pub question: Option<usize>,
}

/// The pairs that the study asks about, of which both sides are planned, in the order of its
/// questions: those that its plan names, else every configuration against the baseline.
pub fn of_interest(study: &Study) -> Vec<Pair> {
    let keys: Vec<&TrialKey> = study.trials.iter().map(|trial| &trial.key).collect();
    let asked = asked(study, &keys);
    if asked.is_empty() { against_baseline(study, &keys) } else { asked }
}

/// All that are judged, each once: first those that the plan names.
pub(crate) fn all(study: &Study, keys: &[&TrialKey]) -> Vec<Pair> {
    let mut pairs = asked(study, keys);
    for pair in against_baseline(study, keys) {
        let is_there = |one: &Pair| (&one.judged, &one.against) == (&pair.judged, &pair.against);
        if !pairs.iter().any(is_there) {
            pairs.push(pair);
        }
    }
    pairs
}

/// Those that the plan names; of one named by several questions the first has it.
fn asked(study: &Study, keys: &[&TrialKey]) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    for (question, asked) in study.judging.compare.iter().enumerate() {
        for (judged, against) in sides(study, asked) {
            let is_run = |side: &Side| keys.iter().any(|key| side.has(key));
            let is_there = |one: &Pair| one.judged == judged && one.against == against;
            if is_run(&judged) && is_run(&against) && !pairs.iter().any(is_there) {
                pairs.push(Pair { judged, against, question: Some(question) });
            }
        }
    }
    pairs
}

/// Both sides under each workload that the plan means.
fn sides(study: &Study, asked: &AskedPair) -> Vec<(Side, Side)> {
    let is_meant = |wanted: &Option<String>, one: Option<&str>| {
        wanted.as_deref().is_none_or(|wanted| Some(wanted) == one)
    };
    let its = study.workloads.iter().filter(|one| {
        is_meant(&asked.workload, Some(&one.workload))
            && is_meant(&asked.data_profile, one.data_profile.as_deref())
    });
    let both = its.filter_map(|one| {
        let profile = asked.against_data_profile.as_ref().or(one.data_profile.as_ref());
        let mut others = study.workloads.iter();
        let other = others.find(|other| {
            other.workload == one.workload && other.data_profile.as_ref() == profile
        })?;
        let side = |config: &str, workload: &str| Side {
            config: config.to_owned(),
            workload: workload.to_owned(),
        };
        Some((side(&asked.config, &one.name), side(&asked.against, &other.name)))
    });
    both.collect()
}

/// Every configuration against the baseline, or, of a workload that it is not run on, the first
/// that is.
fn against_baseline(study: &Study, keys: &[&TrialKey]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for workload in &study.workloads {
        let side =
            |config: &str| Side { config: config.to_owned(), workload: workload.name.clone() };
        let is_aa_run = |config: &str| study.judging.aa_runs.contains_key(config);
        let names = study.configs.iter().map(|config| config.name.as_str());
        let its: Vec<Side> = names
            .filter(|config| !is_aa_run(config))
            .map(side)
            .filter(|side| keys.iter().any(|key| side.has(key)))
            .collect();
        let named = baseline_of(study)
            .and_then(|name| its.iter().find(|side| side.config == name).cloned());
        let Some(base) = named.or_else(|| its.first().cloned()) else { continue };
        pairs.extend(its.into_iter().filter(|side| *side != base).map(|judged| Pair {
            judged,
            against: base.clone(),
            question: None,
        }));
    }
    pairs
}
