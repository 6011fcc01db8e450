//! The share of each factor where two configurations differ in several: steps between them that
//! differ in fewer, through configurations of the same study.
//!
//! A chain changes each factor once and none back, so the ratios of its steps multiply to that of
//! the whole. The share of a factor depends on the order of the steps where factors interact, so a
//! study that has several orders gives the mean over them, which multiplies to the whole too.

use std::collections::BTreeSet;

use crate::difference::comparison::JudgedComparison;
use crate::difference::looks::Rules;
use crate::difference::noise::AaRuns;
use crate::difference::orders::{Orders, OverOrders};
use crate::difference::pairs::{Pair, Side, all};
use crate::difference::runs::over;
use crate::difference::steps::WeightedStep;
use crate::difference::taken::{CountedBytes, Taken};
use crate::reconcile::factors;
use crate::trial::measured::Measured;
use assay_study::{Config, Study, TrialKey};

/// A pair in steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// The workload.
    pub workload: String,
    /// The thread counts that all configurations of the chain were planned for.
    pub threads: Vec<u32>,
    /// The pair itself over these.
    pub whole: Step,
    /// From what is measured by to what is judged.
    pub steps: Vec<Step>,
}

/// From one configuration to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub against: String,
    pub config: String,
    /// Layers of the rig and server settings that differ, as [`factors`] names them.
    pub factors: Vec<String>,
    /// Throughput over the chain's thread counts.
    pub throughput: Option<JudgedComparison>,
    /// Bytes for each transaction, where all configurations of the chain count them.
    pub taken: Option<Taken>,
    /// The same change of factors in every order that the study has; `None` if it has one.
    pub over_orders: Option<OverOrders>,
}

impl Step {
    /// Bytes for each transaction over all orders, else of this one.
    pub fn taken_over_orders(&self) -> Option<Taken> {
        self.over_orders.as_ref().and_then(|orders| orders.taken).or(self.taken)
    }

    /// Throughput over all orders, else of this one.
    pub fn throughput_over_orders(&self) -> Option<&JudgedComparison> {
        let of_all = self.over_orders.as_ref().and_then(|orders| orders.throughput.as_ref());
        of_all.or(self.throughput.as_ref())
    }
}

/// Chains of every judged pair that has configurations between, under one workload.
pub(crate) fn chains(
    study: &Study,
    trials: &[Measured],
    aa_runs: &AaRuns<'_>,
    rules: Rules,
) -> Vec<Chain> {
    let keys: Vec<&TrialKey> = trials.iter().map(|trial| &trial.key).collect();
    let pairs = all(study, &keys).into_iter();
    let of_pair = |pair: Pair| {
        let Pair { judged, against, .. } = &pair;
        let stops = stops(study, &keys, judged, against)?;
        let path = longest(&stops);
        if path.len() <= 2 {
            return None;
        }
        let groups: Vec<BTreeSet<String>> = path
            .windows(2)
            .map(|two| stops[two[1]].changed.difference(&stops[two[0]].changed).cloned().collect())
            .collect();
        let path: Vec<&str> = path.iter().map(|place| stops[*place].config).collect();
        let configs: BTreeSet<&str> = path.iter().copied().collect();
        let threads = shared_threads(&keys, &judged.workload, &configs)?;
        let counted = CountedBytes::of(study, &judged.workload, &threads, &configs);
        // A configuration without these thread counts, or without these bytes, is on no other way.
        let has_threads = |config: &str| {
            let its = shared_threads(&keys, &judged.workload, &[config].into());
            its.is_some_and(|its| its.is_superset(&threads))
        };
        let others = stops.iter().filter(|one| has_threads(one.config));
        let orders = Orders::of(&groups, others.map(|one| (one.config, &one.changed)));
        let of_orders =
            CountedBytes::of(study, &judged.workload, &threads, &orders.configs().collect())
                .filter(|bytes| counted.as_ref().is_some_and(|other| bytes.is_like(other)));
        let judge = |sides: [&str; 2]| {
            let side = |name: &str| Side { config: name.to_owned(), ..judged.clone() };
            let [against, config] = sides.map(side);
            over(
                &threads,
                &Pair { judged: config, against, question: None },
                trials,
                aa_runs,
                rules,
            )
        };
        let step = |against: &str, config: &str| Step {
            against: against.to_owned(),
            config: config.to_owned(),
            factors: named(study, against, config),
            throughput: judge([against, config]),
            taken: counted.as_ref().and_then(|counted| counted.taken(&[single(against, config)])),
            over_orders: None,
        };
        let measured = orders.over(&judged.workload, &threads, trials, aa_runs, rules);
        let steps = path.windows(2).enumerate().map(|(group, two)| Step {
            over_orders: measured.of_group(group, of_orders.as_ref()),
            ..step(two[0], two[1])
        });
        Some(Chain {
            workload: judged.workload.clone(),
            whole: step(&against.config, &judged.config),
            steps: steps.collect(),
            threads: threads.iter().copied().collect(),
        })
    };
    pairs.filter(|pair| pair.judged.workload == pair.against.workload).filter_map(of_pair).collect()
}

fn single(against: &str, config: &str) -> WeightedStep {
    WeightedStep { weight: 1.0, against: against.to_owned(), config: config.to_owned() }
}

fn config<'a>(study: &'a Study, name: &str) -> Option<&'a Config> {
    study.configs.iter().find(|config| config.name == name)
}

/// Factors in which two configurations differ, by name.
fn named(study: &Study, one: &str, other: &str) -> Vec<String> {
    let both = config(study, one).zip(config(study, other));
    both.map_or_else(Vec::new, |(one, other)| factors(one, other))
}

/// A configuration on the way, with the factors that are changed there.
struct Stop<'a> {
    config: &'a str,
    changed: BTreeSet<String>,
}

/// The configurations that are like one side in some factors and like the other in the rest, in the
/// plan's order between both sides; `None` if a side is unknown.
fn stops<'a>(
    study: &'a Study,
    keys: &[&TrialKey],
    judged: &Side,
    against: &Side,
) -> Option<Vec<Stop<'a>>> {
    let (from, to) = (config(study, &against.config)?, config(study, &judged.config)?);
    let is_run = |name: &str| {
        keys.iter().any(|key| key.config == name && key.workload == judged.workload)
            && !study.judging.aa_runs.contains_key(name)
    };
    let set = |one, other| factors(one, other).into_iter().collect::<BTreeSet<String>>();
    let whole = set(from, to);
    let stop = |one: &'a Config| {
        let (changed, rest) = (set(from, one), set(one, to));
        let is_between = !changed.is_empty() && !rest.is_empty() && changed.is_disjoint(&rest);
        let is_stop = is_between && changed.union(&rest).eq(&whole);
        is_stop.then_some(Stop { config: &one.name, changed })
    };
    let between = study.configs.iter().filter(|one| is_run(&one.name)).filter_map(stop);
    let first = Stop { config: &from.name, changed: BTreeSet::new() };
    let last = Stop { config: &to.name, changed: whole.clone() };
    Some(std::iter::once(first).chain(between).chain([last]).collect())
}

/// Places of the stops from the first to the last by the most steps, the first by the plan's order.
fn longest(stops: &[Stop<'_>]) -> Vec<usize> {
    let mut by_size: Vec<usize> = (0..stops.len()).collect();
    by_size.sort_by_key(|place| std::cmp::Reverse(stops[*place].changed.len()));
    let mut rest: Vec<Vec<usize>> = stops.iter().map(|_| Vec::new()).collect();
    for place in by_size {
        let is_after = |other: usize| {
            let (here, there) = (&stops[place].changed, &stops[other].changed);
            here.len() < there.len() && here.is_subset(there)
        };
        let mut best: &[usize] = &[];
        for other in (0..stops.len()).filter(|other| is_after(*other)) {
            if rest[other].len() > best.len() {
                best = &rest[other];
            }
        }
        rest[place] = std::iter::once(place).chain(best.iter().copied()).collect();
    }
    rest.into_iter().next().unwrap_or_default()
}

/// Thread counts that all of these are planned for; nothing where there are none.
fn shared_threads(
    keys: &[&TrialKey],
    workload: &str,
    configs: &BTreeSet<&str>,
) -> Option<BTreeSet<u32>> {
    let of = |config: &&str| -> BTreeSet<u32> {
        let its = keys.iter().filter(|key| key.config == *config && key.workload == workload);
        its.map(|key| key.threads).collect()
    };
    let shared = configs.iter().map(of).reduce(|a, b| a.intersection(&b).copied().collect())?;
    (!shared.is_empty()).then_some(shared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Truth, key, study, trial};
    use crate::statistics::simulated::Noise;
    use assay_study::{DiskRecord, Media};

    /// Plain and compressing drives with the doublewrite buffer on and off: throughput and bytes of
    /// each.
    const FOUR: [(&str, bool, bool, f64, f64); 4] = [
        ("plain on", false, true, 1000.0, 40e3),
        ("plain off", false, false, 1250.0, 24e3),
        ("csd on", true, true, 1100.0, 10.8e3),
        ("csd off", true, false, 1500.0, 5.2e3),
    ];

    fn four(names: &[&str]) -> (Study, Vec<Measured>) {
        let mut noise = Noise::new(3);
        let quiet = Truth { second: 0.01, ..Truth::minute(0.001) };
        let mut study = study(names, &[]);
        let mut runs = Vec::new();
        for config in &mut study.configs {
            let (name, is_csd, is_on, tps, bytes) =
                *FOUR.iter().find(|one| one.0 == config.name).unwrap();
            let path = if is_csd { "/dev/csd" } else { "/dev/plain" };
            let media = Media::Device { path: path.into() };
            config.rig.disk = Some(DiskRecord { media, ..DiskRecord::default() });
            config.settings.insert("innodb_doublewrite".into(), is_on.to_string());
            for repeat in 1..=3 {
                runs.push(quiet.trial(&mut noise, key(name, 8, repeat), tps));
                let mut one = trial(name, &[("tps", tps), ("write_bytes_per_transaction", bytes)]);
                one.key.repeat = repeat;
                study.trials.push(one);
            }
        }
        (study, runs)
    }

    fn found(names: &[&str]) -> Vec<Chain> {
        let (study, runs) = four(names);
        chains(&study, &runs, &AaRuns::of(&runs, &study.judging.aa_runs), Rules::of(&study))
    }

    #[test]
    fn drive_and_doublewrite_are_told_apart() {
        let all = found(&["plain on", "csd on", "csd off", "plain off"]);
        let [chain] = all.as_slice() else { panic!("{all:?}") };
        let names: Vec<_> = chain.steps.iter().map(|one| (&*one.against, &*one.config)).collect();
        assert_eq!(names, [("plain on", "csd on"), ("csd on", "csd off")]);
        let factors: Vec<&str> = chain.steps.iter().map(|one| &*one.factors[0]).collect();
        assert_eq!(factors, ["disk", "innodb_doublewrite"]);
        let bytes = |step: &Step| step.taken.unwrap().ratio;
        assert!((bytes(&chain.whole) - 0.13).abs() < 1e-9);
        assert!((bytes(&chain.steps[0]) - 0.27).abs() < 1e-9, "the drive alone: 73 % less");
        let ratio =
            |step: &Step| step.throughput.as_ref().unwrap().difference.as_ref().unwrap().ratio;
        let product: f64 = chain.steps.iter().map(ratio).product();
        assert!((product / ratio(&chain.whole) - 1.0).abs() < 1e-9);
        assert!((ratio(&chain.steps[0]) - 1.1).abs() < 0.01);
        let product: f64 = chain.steps.iter().map(bytes).product();
        assert!((product / bytes(&chain.whole) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn without_a_configuration_between_there_is_no_chain() {
        assert_eq!(found(&["plain on", "csd off"]), []);
        assert_eq!(found(&["plain on", "csd on", "plain off"]), [], "each differs in one thing");
        let other = found(&["plain on", "csd off", "plain off"]);
        assert_eq!(other[0].steps[0].factors, ["innodb_doublewrite"], "in the order that there is");
    }
}
