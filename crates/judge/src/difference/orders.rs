//! The effect of a change as the mean over the orders in which changes can be made (Shapley, "A
//! value for n-person games", 1953; Lindeman, Merenda and Gold, "Introduction to bivariate and
//! multivariate analysis", 1980, on shares of regressors).
//!
//! Guarantees: the means of all changes multiply to the whole, whatever interacts. A mean over a
//! full cross is made of more runs than one path's step, so it varies less.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::difference::compare::ComparedRuns;
use crate::difference::comparison::{JudgedComparison, Teller};
use crate::difference::contrast::Contrast;
use crate::difference::looks::Rules;
use crate::difference::noise::{AaRuns, NoiseSpread};
use crate::difference::reason::Reason;
use crate::difference::steps::{WeightedStep, contrast, log_ratio, mean_step, strata, weights};
use crate::difference::taken::{CountedBytes, Taken};
use crate::difference::verdict::ALPHA;
use crate::statistics::holm;
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;

/// Changes whose orders are counted: masks have 64 bits.
const GROUPS_MOST: usize = 60;

/// A change over all orders that the study has.
#[derive(Debug, Clone, PartialEq)]
pub struct OverOrders {
    /// Number of orders.
    pub orders: f64,
    /// The mean of throughput over the orders; `None` if its spread is unknown, as with a single
    /// repeat.
    pub throughput: Option<JudgedComparison>,
    /// The ratios of throughput by order.
    pub throughput_range: Option<OrderRange>,
    /// The mean of the bytes for a transaction over the orders.
    pub taken: Option<Taken>,
    /// The ratios of these bytes by order.
    pub taken_range: Option<OrderRange>,
}

/// The lowest and the highest ratio that an order gives a change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OrderRange {
    pub low: f64,
    pub high: f64,
    /// Returns true if two orders differ by more than chance: Student's t of their difference over
    /// repeats, corrected by Holm over all pairs of steps.
    pub disagrees: bool,
}

/// Configurations by the changes that are made there, and the ways through them.
pub(crate) struct Orders<'a> {
    groups: usize,
    configs: BTreeMap<u64, &'a str>,
    /// Ways from the first configuration to each.
    up: BTreeMap<u64, f64>,
    /// Ways from each to the last.
    down: BTreeMap<u64, f64>,
}

impl<'a> Orders<'a> {
    /// The orders of these groups of factors; stops that change part of a group are on no way.
    pub(crate) fn of<'b>(
        groups: &[BTreeSet<String>],
        stops: impl Iterator<Item = (&'a str, &'b BTreeSet<String>)>,
    ) -> Orders<'a> {
        let mask = |changed: &BTreeSet<String>| -> Option<u64> {
            let mut mask = 0;
            for (place, group) in groups.iter().enumerate() {
                if group.is_subset(changed) {
                    mask |= 1 << place;
                } else if !group.is_disjoint(changed) {
                    return None;
                }
            }
            Some(mask)
        };
        let mut configs = BTreeMap::new();
        for (config, changed) in stops.filter(|_| groups.len() <= GROUPS_MOST) {
            if let Some(mask) = mask(changed) {
                configs.entry(mask).or_insert(config);
            }
        }
        let groups = groups.len();
        let last = (1 << groups.min(GROUPS_MOST)) - 1;
        let (mut up, mut down) = (BTreeMap::from([(0, 1.0)]), BTreeMap::from([(last, 1.0)]));
        // A mask less a bit is smaller, so each comes after those that it is made of.
        for mask in configs.keys().copied().filter(|mask| *mask != 0) {
            let before = bits(groups).filter(|bit| mask & bit != 0).map(|bit| mask ^ bit);
            let ways = before.filter_map(|before| up.get(&before)).sum();
            up.insert(mask, ways);
        }
        for mask in configs.keys().rev().copied().filter(|mask| *mask != last) {
            let after = bits(groups).filter(|bit| mask & bit == 0).map(|bit| mask | bit);
            let ways = after.filter_map(|after| down.get(&after)).sum();
            down.insert(mask, ways);
        }
        Orders { groups, configs, up, down }
    }

    /// Number of orders.
    fn count(&self) -> f64 {
        self.down.get(&0).copied().unwrap_or(0.0)
    }

    /// Configurations that are on a way.
    pub(crate) fn configs(&self) -> impl Iterator<Item = &'a str> {
        let ways = |mask: &u64| self.up.get(mask).zip(self.down.get(mask)).map(|(a, b)| a * b);
        let on_way = self.configs.iter().filter(move |(mask, _)| ways(mask) > Some(0.0));
        on_way.map(|(_, config)| *config)
    }

    /// The steps that change this group, each weighted by its share of the orders.
    fn steps(&self, group: usize) -> Vec<WeightedStep> {
        let Some(bit) = bits(self.groups).nth(group) else { return Vec::new() };
        let step = |(mask, against): (&u64, &&str)| {
            let config = self.configs.get(&(mask | bit)).filter(|_| mask & bit == 0)?;
            let ways = self.up.get(mask)? * self.down.get(&(mask | bit))?;
            let weight = ways / self.count();
            (weight > 0.0).then(|| WeightedStep {
                weight,
                against: (*against).to_owned(),
                config: (*config).to_owned(),
            })
        };
        self.configs.iter().filter_map(step).collect()
    }

    /// The same with the runs of the configurations.
    pub(crate) fn over<'b>(
        &'b self,
        workload: &'b str,
        threads: &'b BTreeSet<u32>,
        trials: &'b [Measured],
        aa_runs: &AaRuns<'_>,
        rules: Rules,
    ) -> MeasuredOrders<'b> {
        let noise = aa_runs.spread(Metric::Throughput, workload);
        MeasuredOrders { orders: self, workload, threads, trials, noise, rules }
    }
}

fn bits(groups: usize) -> impl Iterator<Item = u64> {
    (0..groups.min(GROUPS_MOST)).map(|place| 1 << place)
}

/// Orders with the runs of their configurations.
pub(crate) struct MeasuredOrders<'a> {
    orders: &'a Orders<'a>,
    workload: &'a str,
    threads: &'a BTreeSet<u32>,
    trials: &'a [Measured],
    noise: Option<NoiseSpread>,
    rules: Rules,
}

impl MeasuredOrders<'_> {
    /// One group over all orders; `None` if there is one order.
    pub(crate) fn of_group(
        &self,
        group: usize,
        counted: Option<&CountedBytes<'_>>,
    ) -> Option<OverOrders> {
        let steps = self.orders.steps(group);
        if self.orders.groups < 2 || steps.len() < 2 {
            return None;
        }
        let strata = strata(self.trials, self.workload, self.threads, &steps);
        let of_metric = |steps: &[WeightedStep]| {
            let of = |step: &WeightedStep| self.contrast(std::slice::from_ref(step));
            steps.iter().map(of).collect::<Option<Vec<Contrast>>>()
        };
        let of_bytes = |steps: &[WeightedStep]| {
            let of = |step: &WeightedStep| counted?.contrast(std::slice::from_ref(step));
            steps.iter().map(of).collect::<Option<Vec<Contrast>>>()
        };
        let unweighted = |weight: f64, step: &WeightedStep| WeightedStep { weight, ..step.clone() };
        let alone: Vec<WeightedStep> = steps.iter().map(|step| unweighted(1.0, step)).collect();
        let pairs: Vec<[WeightedStep; 2]> = (0..steps.len())
            .flat_map(|a| (a + 1..steps.len()).map(move |b| (a, b)))
            .map(|(a, b)| [unweighted(-1.0, &steps[a]), unweighted(1.0, &steps[b])])
            .collect();
        let between = |of: &dyn Fn(&[WeightedStep]) -> Option<Contrast>| -> Vec<Contrast> {
            pairs.iter().filter_map(|pair| of(pair)).collect()
        };
        let between_bytes = between(&|pair| counted?.contrast(pair));
        Some(OverOrders {
            orders: self.orders.count(),
            throughput: Some(self.judged(&steps, strata)).filter(|one| one.difference.is_some()),
            throughput_range: of_metric(&alone)
                .map(|each| range(&each, &between(&|pair| self.contrast(pair)))),
            taken: counted.and_then(|counted| counted.taken(&steps)),
            taken_range: of_bytes(&alone).map(|each| range(&each, &between_bytes)),
        })
    }

    fn contrast(&self, steps: &[WeightedStep]) -> Option<Contrast> {
        let strata = strata(self.trials, self.workload, self.threads, steps).ok()?;
        contrast(Metric::Throughput, &strata, &weights(steps, self.threads.len()), log_ratio)
    }

    fn judged(
        &self,
        steps: &[WeightedStep],
        strata: Result<Vec<ComparedRuns<'_>>, Reason>,
    ) -> JudgedComparison {
        let weights = weights(steps, self.threads.len());
        let mean = |strata: &[ComparedRuns<'_>]| mean_step(Metric::Throughput, strata, &weights);
        let (baseline, config) =
            steps.first().map_or(("", ""), |step| (&*step.against, &*step.config));
        let teller = Teller {
            workload: self.workload,
            baseline,
            config,
            against_workload: None,
            question: None,
            metric: Metric::Throughput,
            margin: self.rules.margin,
            noise: self.noise.as_ref(),
            is_one_study: true,
        };
        let strata = strata.as_deref().map_err(Clone::clone);
        teller.undecided(None, strata, &mean).at(&self.rules.look).decided_alone()
    }
}

fn range(each: &[Contrast], between: &[Contrast]) -> OrderRange {
    let ratios = || each.iter().map(|one| one.value().exp());
    let p: Vec<f64> = between.iter().filter_map(Contrast::spread).map(|one| one.p()).collect();
    OrderRange {
        low: ratios().fold(f64::INFINITY, f64::min),
        high: ratios().fold(f64::NEG_INFINITY, f64::max),
        disagrees: holm(&p).into_iter().any(|p| p <= ALPHA),
    }
}
