//! The runs of an experiment, in running order.
//!
//! Guarantees: each repeat is a block that holds every run once. Runs that are compared follow each
//! other within it, in an order by chance: what drifts over an hour (heat, neighbours, the disk's
//! own state) then meets both sides of a difference alike. Every second repeat is its predecessor
//! backwards, so a steady drift, and whatever comes of being first, cancels over the two. Each
//! study has an order of its own, unless its plan names a seed.

use std::collections::BTreeMap;
use std::path::Path;

use assay_load::capacity::MET_SHARE;
use assay_load::random::Rng;
use indexmap::IndexMap;
use serde_json::json;

use super::Experiment;
use crate::document::{Plan, VariantKey, VariantSpec};
use assay_study::{AskedPair, Design, TrialKey, fingerprint};

/// A run in its place in the order.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedTrial {
    pub key: TrialKey,
    /// The workload's name in the plan.
    pub workload: String,
    /// The configuration and the data profile that it is run on.
    pub variant: VariantKey,
    /// Place in the order, from 1.
    pub position: u32,
    /// Runs that have it in common are made at once, with their servers up together.
    pub start: u32,
    /// Changes when anything changes that could change the run's result.
    pub fingerprint: String,
}

impl Experiment {
    /// Every run in running order.
    #[must_use]
    pub fn trials(&self) -> Vec<PlannedTrial> {
        trials(&self.document)
    }
}

/// Every run of a document in running order.
pub(crate) fn trials(plan: &Plan) -> Vec<PlannedTrial> {
    let mut trials = Vec::new();
    for (repeat, in_session) in repeats(plan) {
        let mut block = ordered(plan, repeat);
        block.retain(|trial| in_session <= plan.repeats.at_most || is_asked_about(plan, trial));
        trials.extend(block);
    }
    let mut variants: BTreeMap<VariantKey, VariantSpec> = BTreeMap::new();
    variants.extend(plan.variants().into_iter().map(|variant| (variant.key.clone(), variant)));
    let starts = starts(plan, &trials);
    let numbered = (1..).zip(trials).zip(starts);
    numbered
        .map(|((position, trial), start)| {
            let Coordinates { key, variant, workload } = trial;
            let fingerprint = conditions(plan, variants.get(&variant), &workload);
            PlannedTrial { key, workload, variant, position, start, fingerprint }
        })
        .collect()
}

/// The start of each run: its own, or one with all neighbours under the same load.
fn starts(plan: &Plan, trials: &[Coordinates]) -> Vec<u32> {
    let is_joined = |place: usize| {
        plan.design == Design::Switchback
            && place > 0
            && is_under_one_load(&trials[place - 1].key, &trials[place].key)
    };
    let mut start = 0;
    let number = |place: usize| {
        start += u32::from(!is_joined(place));
        start
    };
    (0..trials.len()).map(number).collect()
}

fn is_under_one_load(a: &TrialKey, b: &TrialKey) -> bool {
    (&a.workload, a.threads, a.repeat) == (&b.workload, b.threads, b.repeat)
}

/// Every repeat with its place in its session.
fn repeats(plan: &Plan) -> Vec<(u32, u32)> {
    let sessions = &plan.sessions;
    if sessions.repeats.is_empty() {
        return (1..=plan.session_repeats()).map(|repeat| (repeat, repeat)).collect();
    }
    sessions.bounds().flat_map(|bounds| bounds.zip(1..)).collect()
}

/// A run before it has its place.
struct Coordinates {
    key: TrialKey,
    variant: VariantKey,
    workload: String,
}

fn block(plan: &Plan, repeat: u32) -> Vec<Coordinates> {
    let mut block = Vec::new();
    for (name, config) in &plan.configs {
        for load in plan.loads() {
            let set = load.data_profile.and_then(|set| plan.data_profiles.get(set));
            if set.is_some_and(|set| !set.has_config(name)) {
                continue;
            }
            let variant = VariantKey {
                config: name.clone(),
                data_profile: load.data_profile.map(str::to_owned),
            };
            block.extend(plan.threads_of(config, set).into_iter().map(|threads| Coordinates {
                key: TrialKey { config: name.clone(), workload: load.name(), threads, repeat },
                variant: variant.clone(),
                workload: load.workload.to_owned(),
            }));
        }
    }
    block
}

/// The runs of a repeat in running order.
fn ordered(plan: &Plan, repeat: u32) -> Vec<Coordinates> {
    let is_backwards = repeat.is_multiple_of(2);
    let drawn_with = if is_backwards { repeat - 1 } else { repeat };
    let seed = plan.sessions.order_seed.unwrap_or(plan.seed);
    let mut rng = Rng::new(seed, u64::from(drawn_with));
    let mut loads: IndexMap<(String, u32), Vec<Coordinates>> = IndexMap::new();
    for trial in block(plan, repeat) {
        // Sides of a pair may be on two data profiles, unless they take turns.
        let load = match plan.design {
            Design::Adjacent => trial.workload.clone(),
            Design::Switchback => trial.key.workload.clone(),
        };
        loads.entry((load, trial.key.threads)).or_default().push(trial);
    }
    let mut loads: Vec<Vec<Coordinates>> =
        loads.into_values().map(|trials| side_by_side(plan, trials, &mut rng)).collect();
    shuffle(&mut loads, &mut rng);
    let mut trials: Vec<Coordinates> = loads.into_iter().flatten().collect();
    if is_backwards {
        trials.reverse();
    }
    trials
}

/// Runs under one load, of which both sides of a pair that the plan compares are neighbours; a run
/// with several partners has the first that is free.
fn side_by_side(plan: &Plan, trials: Vec<Coordinates>, rng: &mut Rng) -> Vec<Coordinates> {
    let mut free: Vec<Option<Coordinates>> = trials.into_iter().map(Some).collect();
    let mut units: Vec<Vec<Coordinates>> = Vec::new();
    for pair in &plan.compare {
        while let Some((judged, against)) = partners(pair, &free) {
            let mut unit: Vec<Coordinates> =
                [judged, against].into_iter().filter_map(|place| free[place].take()).collect();
            shuffle(&mut unit, rng);
            units.push(unit);
        }
    }
    units.extend(free.into_iter().flatten().map(|trial| vec![trial]));
    shuffle(&mut units, rng);
    units.into_iter().flatten().collect()
}

/// The places of the first two free runs that the pair compares.
fn partners(pair: &AskedPair, free: &[Option<Coordinates>]) -> Option<(usize, usize)> {
    let places = || {
        let there = free.iter().enumerate();
        there.filter_map(|(place, trial)| Some((place, trial.as_ref()?)))
    };
    places().filter(|(_, judged)| is_judged(pair, judged)).find_map(|(place, judged)| {
        let profile = pair.against_data_profile.as_ref().or(judged.variant.data_profile.as_ref());
        let (other, _) = places().find(|(_, other)| {
            other.variant.config == pair.against && other.variant.data_profile.as_ref() == profile
        })?;
        Some((place, other))
    })
}

/// Returns true if a pair that the plan compares needs the run.
fn is_asked_about(plan: &Plan, trial: &Coordinates) -> bool {
    plan.compare.iter().any(|pair| is_judged(pair, trial) || is_against(pair, trial))
}

/// Returns true if the pair judges the run's configuration under its load.
fn is_judged(pair: &AskedPair, trial: &Coordinates) -> bool {
    is_on(trial, &pair.config, pair.data_profile.as_ref()) && is_under(pair, trial)
}

/// Returns true if the pair compares with the run's configuration under its load.
fn is_against(pair: &AskedPair, trial: &Coordinates) -> bool {
    let profile = pair.against_data_profile.as_ref().or(pair.data_profile.as_ref());
    is_on(trial, &pair.against, profile) && is_under(pair, trial)
}

fn is_on(trial: &Coordinates, config: &str, profile: Option<&String>) -> bool {
    let VariantKey { config: its, data_profile } = &trial.variant;
    its == config && (profile.is_none() || profile == data_profile.as_ref())
}

fn is_under(pair: &AskedPair, trial: &Coordinates) -> bool {
    pair.workload.as_ref().is_none_or(|workload| *workload == trial.workload)
}

/// Fisher and Yates, as in Knuth, TAOCP vol. 2, 3.4.2, algorithm P.
fn shuffle<T>(items: &mut [T], rng: &mut Rng) {
    for last in (1..items.len()).rev() {
        let other = rng.below(last as u64 + 1) as usize;
        items.swap(last, other);
    }
}

/// Fingerprint of all keys that can change a result: those that only name, order or multiply runs
/// are left out.
fn conditions(plan: &Plan, variant: Option<&VariantSpec>, workload: &str) -> String {
    let config = variant.and_then(|variant| plan.configs.get(&variant.key.config));
    let server = config.and_then(|config| config.server.as_ref()).or(plan.server.as_ref());
    // Paths that are not UTF-8 are refused later, with their reason.
    let mut conditions = json!({
        "seed": plan.seed,
        "seconds": plan.seconds,
        "warmup": [json!(plan.warmup_seconds), json!(plan.warmup_until_steady)],
        "pace": plan.pace_of(workload),
        "location": plan.location.as_deref().map(Path::to_string_lossy),
        "server": server.map(|path| path.to_string_lossy()),
        "placement": plan.placement,
        "schema": variant.map(|variant| &variant.schema),
        "settings": config.map(|config| plan.settings_of(config)),
        "rig": variant.map(|variant| &variant.rig),
        "workload": plan.workloads.get(workload),
    });
    // Left out where there is none, so that studies older than the key can go on.
    if let Some(events) = plan.events {
        conditions["events"] = json!(events);
    }
    if let Some(config) = config.filter(|config| config.servers.unwrap_or(1) > 1) {
        let neighbour = config.neighbour.as_ref();
        let workload = neighbour.map(|one| plan.workloads.get(&one.workload));
        conditions["servers"] = json!([json!(config.servers), json!(neighbour), json!(workload)]);
    }
    if plan.is_load_apart() {
        conditions["hosts"] = json!([plan.server_host(), plan.load_hosts()]);
    }
    if let Some(objective) = &plan.objective {
        // Searches of earlier versions looked for the rate that half of the windows meet.
        conditions["objective"] = json!([json!(objective), json!(MET_SHARE)]);
    }
    if !plan.design.is_default() {
        conditions["design"] = json!(plan.design);
    }
    if let Some(phases) = plan.phases_of(workload) {
        let happenings = plan.phases.iter().map(|phase| json!(phase.happening));
        conditions["phases"] = json!([json!(phases), happenings.collect::<serde_json::Value>()]);
    }
    fingerprint(&conditions.to_string())
}
