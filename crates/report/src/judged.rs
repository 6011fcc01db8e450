//! What the judge makes of the study: durability of its arms, chains of its cells, life and cost of its drives.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use crate::words;
use assay_judge::chain::{self, Chain};
use assay_judge::durability::{self, Durability};
use assay_judge::reconcile::{self, Pair};
use assay_judge::worth::cost::{self, Cost, Measured};
use assay_judge::worth::endurance::{self, Endurance, Rated};
use assay_judge::worth::interval::Interval;
use assay_judge::{Comparison, Judgement, Level, Metric};
use assay_study::metrics::{Metric as Entry, metric};
use assay_study::prices::Prices;
use assay_study::{Arm, Cell, CellKey, Disk, Study};

use super::stored;
use assay_judge::summary::Group;

/// All of it.
#[derive(Debug)]
pub(super) struct Judged {
    /// Of each arm of the study, in their order.
    pub(super) durability: Vec<Durability>,
    /// What stands beside figures of each arm.
    labels: Vec<String>,
    /// What differs between each two arms.
    pub(super) factors: Vec<Pair>,
    /// Of each cell that has one.
    pub(super) chains: Vec<Chain>,
    /// Of each cell whose writes were counted.
    pub(super) endurance: Vec<OfCell>,
    /// What each arm's device is rated for, where that is known.
    pub(super) rated: BTreeMap<String, Rated>,
    /// Of each arm on a model at a scale: what its capacity and its parallelism are divided by.
    pub(super) scales: BTreeMap<String, (f64, f64)>,
    /// Of each group that has throughput; nothing where nobody gave prices.
    pub(super) costs: Option<Vec<OfGroup>>,
}

/// The endurance of one cell's drive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct OfCell {
    /// Which cell.
    #[serde(flatten)]
    pub(super) key: CellKey,
    /// What its writing means.
    #[serde(flatten)]
    pub(super) endurance: Endurance,
}

/// What one arm costs under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct OfGroup {
    /// Name of the arm.
    pub(super) arm: String,
    /// Name of the workload.
    pub(super) workload: String,
    /// Connections.
    pub(super) threads: u32,
    /// What it costs, if everything is known that it takes.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) cost: Option<Cost>,
    /// Servers of the baseline that one of this replaces under the same load, by the judged ratio of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replaces: Option<Interval>,
    /// The arm whose servers those are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replaced: Option<String>,
    /// What is taken for granted in it that nobody measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) assumed: Vec<String>,
    /// Keys that are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) missing: Vec<String>,
}

impl Judged {
    /// Of a study and what was judged of it, with prices that go before those of its plan. `variables` holds, for each
    /// arm, the distinct sets of its servers' variables.
    ///
    /// # Errors
    /// Prices of an arm that is none.
    pub(super) fn of(
        (study, groups, judgement): (&Study, &[Group<'_>], &Judgement),
        variables: &[Vec<BTreeMap<String, String>>],
        prices: Option<&Prices>,
    ) -> Result<Judged> {
        let prices = prices.or(study.prices.as_ref());
        if let Some(prices) = prices {
            prices.check_arms(study.arms.iter().map(|arm| arm.name.as_str()))?;
        }
        let prices = prices.map(|prices| prices.with_twins(&study.judging.twins));
        let prices = prices.as_ref();
        let arms = study.arms.iter().zip(variables);
        let durability: Vec<Durability> = arms
            .map(|(arm, sets)| {
                durability::of_arm(&arm.settings, sets.first(), arm.rig.disk.as_ref())
            })
            .collect();
        let own = |arm: &str| prices.cloned().unwrap_or_default().of_arm(arm, study.disk(arm));
        let rated = study.arms.iter().filter_map(|arm| {
            Some((arm.name.clone(), endurance::rated(arm.rig.disk.as_ref(), &own(&arm.name))?))
        });
        let endurance = study.cells.iter().filter_map(|cell| {
            let arm = &cell.key.arm;
            let found = endurance::of_results(&cell.results, study.disk(arm), &own(arm))?;
            Some(OfCell { key: cell.key.clone(), endurance: found })
        });
        Ok(Judged {
            labels: durability.iter().map(words::durability::label).collect(),
            durability,
            factors: reconcile::of_pairs(study),
            chains: study.cells.iter().filter_map(chain::of_cell).collect(),
            endurance: endurance.collect(),
            rated: rated.collect(),
            scales: scales(study),
            costs: prices.map(|prices| costs((study, groups), judgement, prices)),
        })
    }

    /// The label beside figures of the arm at this place.
    pub(super) fn label(&self, arm: usize) -> &str {
        self.labels.get(arm).map_or("", String::as_str)
    }
}

fn costs(
    (study, groups): (&Study, &[Group<'_>]),
    judgement: &Judgement,
    prices: &Prices,
) -> Vec<OfGroup> {
    let of_group = |group: &Group<'_>| {
        let load = Load {
            arm: &study.arms.get(group.arm)?.name,
            workload: &study.workloads.get(group.workload)?.name,
            threads: group.threads,
        };
        let disk = study.disk(load.arm);
        let own = prices.of_arm(load.arm, disk);
        let drives = own.drives.unwrap_or(1.0);
        // What several drives hold together hangs on how they are put together.
        let sold = disk.and_then(|disk| disk.user_bytes).filter(|_| drives == 1.0);
        let measured = Measured {
            tps: load.tps(&judgement.levels)?,
            space_ratio: Interval::of_repeats(
                &group.done().filter_map(space_ratio).collect::<Vec<_>>(),
            )
            .filter(Interval::is_sound),
            parallel_scale: scale(disk),
            capacity_bytes: own.capacity_bytes.or(sold),
        };
        let (cost, missing) = match cost::of(&measured, prices, &own) {
            Ok(cost) => (Some(cost), Vec::new()),
            Err(missing) => (None, missing),
        };
        let (replaced, replaces) = load.replaces(&judgement.comparisons, study).unzip();
        Some(OfGroup {
            arm: load.arm.to_owned(),
            workload: load.workload.to_owned(),
            threads: load.threads,
            assumed: cost.iter().filter_map(|_| of_several(drives)).collect(),
            cost,
            replaces,
            replaced,
            missing,
        })
    };
    groups.iter().filter_map(of_group).collect()
}

fn scales(study: &Study) -> BTreeMap<String, (f64, f64)> {
    let of = |arm: &Arm| {
        let model = arm.rig.model()?;
        let scales = (model.capacity_scale, model.parallel_scale);
        (scales != (1.0, 1.0)).then(|| (arm.name.clone(), scales))
    };
    study.arms.iter().filter_map(of).collect()
}

/// One arm under one load.
struct Load<'a> {
    arm: &'a str,
    workload: &'a str,
    threads: u32,
}

impl Load<'_> {
    /// Its throughput with its interval; nothing where it is none that a machine can have.
    fn tps(&self, levels: &[Level]) -> Option<Interval> {
        let is_it = |one: &&Level| {
            (one.arm.as_str(), one.workload.as_str(), one.threads)
                == (self.arm, self.workload, self.threads)
        };
        levels.iter().find(is_it).map(|level| level.tps).filter(Interval::is_sound)
    }

    /// The arm that it is judged against, and how many of that one's servers one of its own replaces.
    fn replaces(&self, comparisons: &[Comparison], study: &Study) -> Option<(String, Interval)> {
        let is_it = |one: &&Comparison| {
            (one.arm.as_str(), one.workload.as_str(), one.threads, one.metric)
                == (self.arm, self.workload, Some(self.threads), Metric::Throughput)
        };
        let one = comparisons.iter().find(is_it)?;
        let found = one.difference.as_ref()?;
        let (low, high) = found.ratio_interval;
        let scales = [scale(study.disk(&one.baseline)), scale(study.disk(self.arm))];
        let ratio = Interval { low, mid: found.ratio, high };
        Some((one.baseline.clone(), cost::consolidation(ratio, scales)))
            .filter(|(_, replaces)| replaces.is_sound())
    }
}

/// What is taken for granted where servers have several drives.
fn of_several(drives: f64) -> Option<String> {
    (drives > 1.0).then(|| {
        format!(
            "{drives} drives are paid for in each server, and its throughput is that of the one disk of the study (of a scale model: \
             of the whole device), with nothing added for the others. That is so of a mirror, and of a disk that is all of them; where \
             they share the load, a transaction costs less than is told here. What they hold together is what capacity_bytes says, \
             and not known without it."
        )
    })
}

/// What models are divided by, and more; what is beyond was not written by us.
const SCALES: std::ops::RangeInclusive<f64> = 1e-3..=1e9;

fn scale(disk: Option<&Disk>) -> f64 {
    let scale = disk.and_then(Disk::parallel_scale);
    scale.filter(|scale| SCALES.contains(scale)).unwrap_or(1.0)
}

/// Bytes of data for each byte that they take. Of modelled flash, which holds what wore it in too, by what the database wrote while it was
/// measured; of other drives by their own ratio; files that are compressed by punching holes, by what is allocated to them.
fn space_ratio(cell: &Cell) -> Option<f64> {
    let figure = |one: &Entry| cell.results.get(one.name).copied().filter(|value| *value > 0.0);
    let of_files = figure(metric!("space_file_bytes"))? / figure(metric!("space_allocated_bytes"))?;
    let of_drive = match stored::is_worn(cell) {
        true => stored::stored_ratio(cell)?,
        false => figure(metric!("drive_compression_ratio")).unwrap_or(1.0),
    };
    Some(of_files * of_drive)
}

impl Judged {
    /// What prices were given too few of: a line for all arms that lack the same keys.
    pub(super) fn lacking(&self) -> Vec<String> {
        let keys = |one: &OfGroup| (!one.missing.is_empty()).then(|| one.missing.join(", "));
        let lines = self.by_arms(keys).into_iter().map(|(keys, arms)| {
            format!("No costs of {}: give {keys}; docs/cost.md tells of each.", arms.join("; "))
        });
        lines.collect()
    }

    /// What is taken for granted in costs: a line for all arms of which the same is.
    pub(super) fn assumed(&self) -> Vec<String> {
        let assumed = |one: &OfGroup| (!one.assumed.is_empty()).then(|| one.assumed.join(" "));
        let lines = self.by_arms(assumed).into_iter();
        lines.map(|(assumed, arms)| format!("{}: {assumed}", arms.join("; "))).collect()
    }

    /// Arms of which the same is told, each once.
    fn by_arms(&self, told: impl Fn(&OfGroup) -> Option<String>) -> BTreeMap<String, Vec<&str>> {
        let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for one in self.costs.iter().flatten() {
            let Some(told) = told(one) else { continue };
            let arms = found.entry(told).or_default();
            if !arms.contains(&one.arm.as_str()) {
                arms.push(&one.arm);
            }
        }
        found
    }
}

/// In one line, what would make costs appear.
pub(super) const NO_PRICES: &str = "No costs: give currency, years, server_price and drive_price with `assay report STUDY --prices FILE` \
    or in the plan's [prices]; docs/cost.md has an example.";
