//! The share of each factor where two configurations differ in several: steps between them that
//! differ in fewer, through configurations of the same study.
//!
//! A chain changes each factor once and none back, so the ratios of its steps multiply to that of
//! the whole. The share of a factor holds for this order: where factors interact, another order
//! gives other shares.

use std::collections::BTreeSet;

use crate::difference::comparison::JudgedComparison;
use crate::difference::noise::AaRuns;
use crate::difference::pairs::{Pair, Side, all};
use crate::difference::runs::over;
use crate::reconcile::factors;
use crate::summary::{RepeatGroup, groups};
use crate::trial::measured::Measured;
use assay_study::metrics::metric;
use assay_study::{Config, Study, Trial, TrialKey};

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
}

/// Bytes of one configuration for each byte of another, both for a transaction: geometric means
/// over thread counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taken {
    /// The ratio; below 1 the judged one takes fewer.
    pub ratio: f64,
    /// Whether they went to the media of a drive or a model; else to the device.
    pub is_to_media: bool,
}

/// Chains of every judged pair that has configurations between, under one workload.
pub(crate) fn chains(
    study: &Study,
    trials: &[Measured],
    aa_runs: &AaRuns<'_>,
    margin: f64,
) -> Vec<Chain> {
    let keys: Vec<&TrialKey> = trials.iter().map(|trial| &trial.key).collect();
    let groups = groups(study);
    let pairs = all(study, &keys).into_iter();
    let of_pair = |pair: Pair| {
        let Pair { judged, against, .. } = &pair;
        let path = path(study, &keys, judged, against)?;
        let threads = shared_threads(&keys, &judged.workload, &path)?;
        let measured = Counted { study, groups: &groups, threads: &threads, path: &path };
        let step = |against: &str, config: &str| Step {
            against: against.to_owned(),
            config: config.to_owned(),
            factors: named(study, against, config),
            throughput: {
                let side = |name: &str| Side { config: name.to_owned(), ..judged.clone() };
                let pair = Pair { judged: side(config), against: side(against), question: None };
                over(&threads, &pair, trials, aa_runs, margin)
            },
            taken: measured.taken(&judged.workload, [against, config]),
        };
        Some(Chain {
            workload: judged.workload.clone(),
            threads: threads.iter().copied().collect(),
            whole: step(&against.config, &judged.config),
            steps: path.windows(2).map(|two| step(&two[0], &two[1])).collect(),
        })
    };
    pairs.filter(|pair| pair.judged.workload == pair.against.workload).filter_map(of_pair).collect()
}

fn config<'a>(study: &'a Study, name: &str) -> Option<&'a Config> {
    study.configs.iter().find(|config| config.name == name)
}

/// Factors in which two configurations differ, by name.
fn named(study: &Study, one: &str, other: &str) -> Vec<String> {
    let both = config(study, one).zip(config(study, other));
    both.map_or_else(Vec::new, |(one, other)| factors(one, other))
}

/// The names from `against` to `judged` by the most steps, the first by the plan's order; nothing
/// where there is but one.
fn path(study: &Study, keys: &[&TrialKey], judged: &Side, against: &Side) -> Option<Vec<String>> {
    let is_run = |name: &str| {
        keys.iter().any(|key| key.config == name && key.workload == judged.workload)
            && !study.judging.aa_runs.contains_key(name)
    };
    let between: Vec<&str> = study
        .configs
        .iter()
        .map(|config| config.name.as_str())
        .filter(|name| is_run(name) && *name != judged.config && *name != against.config)
        .collect();
    let path = longest(study, &between, &against.config, &judged.config);
    (path.len() > 2).then_some(path)
}

fn longest(study: &Study, between: &[&str], from: &str, to: &str) -> Vec<String> {
    let set =
        |one: &str, other: &str| named(study, one, other).into_iter().collect::<BTreeSet<_>>();
    let whole = set(from, to);
    let mut best = vec![from.to_owned(), to.to_owned()];
    for middle in between {
        let (first, rest) = (set(from, middle), set(middle, to));
        let is_step = !first.is_empty() && !rest.is_empty() && first.is_disjoint(&rest);
        if !is_step || first.union(&rest).cloned().collect::<BTreeSet<_>>() != whole {
            continue;
        }
        let mut path = vec![from.to_owned()];
        path.extend(longest(study, between, middle, to));
        if path.len() > best.len() {
            best = path;
        }
    }
    best
}

/// Thread counts that all of these are planned for; nothing where there are none.
fn shared_threads(keys: &[&TrialKey], workload: &str, path: &[String]) -> Option<BTreeSet<u32>> {
    let of = |config: &String| -> BTreeSet<u32> {
        let its = keys.iter().filter(|key| key.config == *config && key.workload == workload);
        its.map(|key| key.threads).collect()
    };
    let shared = path.iter().map(of).reduce(|a, b| a.intersection(&b).copied().collect())?;
    (!shared.is_empty()).then_some(shared)
}

/// Results of the runs of a chain's configurations.
struct Counted<'a> {
    study: &'a Study,
    groups: &'a [RepeatGroup<'a>],
    threads: &'a BTreeSet<u32>,
    path: &'a [String],
}

impl Counted<'_> {
    /// To media if all of the chain count that, else to the device.
    fn taken(&self, workload: &str, sides: [&str; 2]) -> Option<Taken> {
        let ratio = |read: fn(&Trial) -> Option<f64>| {
            let all: Option<Vec<f64>> =
                self.path.iter().map(|config| self.log_mean(workload, config, read)).collect();
            all?;
            let [against, config] = sides.map(|side| self.log_mean(workload, side, read));
            Some((config? - against?).exp())
        };
        let to_media = ratio(to_media).map(|ratio| Taken { ratio, is_to_media: true });
        to_media.or_else(|| Some(Taken { ratio: ratio(to_device)?, is_to_media: false }))
    }

    /// The mean over the thread counts of the logarithm; nothing where one has no figure above
    /// zero.
    fn log_mean(
        &self,
        workload: &str,
        config: &str,
        read: fn(&Trial) -> Option<f64>,
    ) -> Option<f64> {
        let logs: Option<Vec<f64>> = self
            .threads
            .iter()
            .map(|threads| {
                let is_it = |group: &&RepeatGroup<'_>| {
                    group.threads == *threads
                        && self.study.configs.get(group.config).is_some_and(|c| c.name == config)
                        && self
                            .study
                            .workloads
                            .get(group.workload)
                            .is_some_and(|one| one.name == workload)
                };
                // A study lists its runs repeat by repeat, so a load may have several groups.
                let its = self.groups.iter().filter(is_it).filter_map(RepeatGroup::comparable);
                let values: Vec<f64> = its
                    .flat_map(|group| group.done().filter_map(read).collect::<Vec<_>>())
                    .collect();
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                (mean > 0.0).then(|| mean.ln())
            })
            .collect();
        let logs = logs?;
        Some(logs.iter().sum::<f64>() / logs.len() as f64)
    }
}

fn to_media(trial: &Trial) -> Option<f64> {
    trial.results.get(metric!("media_write_bytes_per_transaction").name).copied()
}

fn to_device(trial: &Trial) -> Option<f64> {
    trial.results.get(metric!("write_bytes_per_transaction").name).copied()
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
        chains(&study, &runs, &AaRuns::of(&runs, &study.judging.aa_runs), 0.03)
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
