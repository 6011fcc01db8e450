//! The runs that a run is compared with.
//!
//! Guarantees: who has a partner is the partner's partner too. A run that is made again is made
//! again with all of them, so that both sides of a difference come from the same minutes.

use std::collections::BTreeSet;

use super::PlannedTrial;
use crate::document::Plan;
use assay_study::{AskedPair, TrialKey};

/// Runs and what they are compared with.
#[derive(Debug)]
pub struct Partners<'a> {
    trials: &'a [PlannedTrial],
    pairs: Vec<AskedPair>,
}

impl<'a> Partners<'a> {
    pub(crate) fn of(plan: &Plan, trials: &'a [PlannedTrial]) -> Partners<'a> {
        let aa_runs = plan
            .configs
            .iter()
            .filter_map(|(name, config)| Some(pair(name, config.aa_of.as_deref()?)));
        let compared =
            if plan.compare.is_empty() { against_baseline(plan) } else { plan.compare.clone() };
        Partners::of_pairs(trials, compared.into_iter().chain(aa_runs).collect())
    }

    /// Runs of which these pairs are compared.
    #[must_use]
    pub fn of_pairs(trials: &'a [PlannedTrial], pairs: Vec<AskedPair>) -> Partners<'a> {
        Partners { trials, pairs }
    }

    /// The runs that are compared with this one, in running order.
    pub fn with(&self, key: &TrialKey) -> Vec<&'a PlannedTrial> {
        let Some(one) = self.trials.iter().find(|trial| trial.key == *key) else {
            return Vec::new();
        };
        let is_partner = |other: &&PlannedTrial| {
            (other.key.threads, other.key.repeat) == (key.threads, key.repeat)
                && other.workload == one.workload
                && self.pairs.iter().any(|pair| joins(pair, one, other) || joins(pair, other, one))
        };
        self.trials.iter().filter(is_partner).collect()
    }

    /// These runs with all that they are compared with.
    pub fn completed(&self, keys: impl IntoIterator<Item = TrialKey>) -> BTreeSet<TrialKey> {
        let whole = |key: TrialKey| {
            let partners = self.with(&key).into_iter().map(|trial| trial.key.clone());
            std::iter::once(key.clone()).chain(partners.collect::<Vec<_>>())
        };
        keys.into_iter().flat_map(whole).collect()
    }
}

fn pair(config: &str, against: &str) -> AskedPair {
    AskedPair { config: config.to_owned(), against: against.to_owned(), ..AskedPair::default() }
}

/// Every configuration against the baseline, or, on a data profile that it is not run on, the first
/// that is: as results are judged.
fn against_baseline(plan: &Plan) -> Vec<AskedPair> {
    let profiles: Vec<Option<&String>> = match plan.data_profiles.is_empty() {
        true => vec![None],
        false => plan.data_profiles.keys().map(Some).collect(),
    };
    profiles.into_iter().flat_map(|profile| against_baseline_on(plan, profile)).collect()
}

fn against_baseline_on(plan: &Plan, profile: Option<&String>) -> Vec<AskedPair> {
    let is_run = |name: &str| {
        let set = profile.and_then(|profile| plan.data_profiles.get(profile));
        set.is_none_or(|set| set.has_config(name))
    };
    let originals = plan.configs.iter().filter(|(_, config)| config.aa_of.is_none());
    let names: Vec<&str> =
        originals.map(|(name, _)| name.as_str()).filter(|name| is_run(name)).collect();
    let named = plan.baseline().filter(|name| names.contains(name));
    let Some(base) = named.or(names.first().copied()) else { return Vec::new() };
    let against = names.iter().filter(|name| **name != base).map(|name| pair(name, base));
    against.map(|pair| AskedPair { data_profile: profile.cloned(), ..pair }).collect()
}

/// Returns true if the pair judges the first run against the second.
fn joins(pair: &AskedPair, judged: &PlannedTrial, against: &PlannedTrial) -> bool {
    let is_meant = |wanted: &Option<String>, found: Option<&String>| {
        wanted.is_none() || wanted.as_ref() == found
    };
    let profile = judged.variant.data_profile.as_ref();
    let other_profile = pair.against_data_profile.as_ref().or(profile);
    (judged.variant.config == pair.config && against.variant.config == pair.against)
        && is_meant(&pair.workload, Some(&judged.workload))
        && is_meant(&pair.data_profile, profile)
        && against.variant.data_profile.as_ref() == other_profile
}
