//! What the judge makes of the study: durability of its arms, chains of its cells, life and cost of its drives.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use crate::judge::Level;
use crate::judge::chain::{self, Chain};
use crate::judge::durability::{self, Durability};
use crate::judge::reconcile::{self, Pair};
use crate::judge::worth::cost::{self, Cost, Measured};
use crate::judge::worth::endurance::{self, Endurance, Rated};
use crate::judge::worth::interval::Interval;
use crate::judge::worth::prices::Prices;
use crate::store::{Arm, Cell, CellKey, Disk, Store, Study};

use super::space;
use super::summary::Group;

/// All of it.
#[derive(Debug)]
pub(super) struct Judged {
    /// Of each arm of the study, in their order.
    pub(super) durability: Vec<Durability>,
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
    /// Servers of the study's first arm that one of this replaces under the same load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replaces: Option<Interval>,
    /// Keys that are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) missing: Vec<String>,
}

impl Judged {
    /// Of the study in `store` and the throughput that was judged of it, with prices that go before those of its plan. `variables` holds, for each arm, the distinct sets
    /// of its servers' variables.
    ///
    /// # Errors
    /// A store that cannot be read, or prices of an arm that is none.
    pub(super) fn of(
        store: &Store,
        (study, groups, levels): (&Study, &[Group<'_>], &[Level]),
        variables: &[Vec<BTreeMap<String, String>>],
        prices: Option<&Prices>,
    ) -> Result<Judged> {
        let disks = store.disks()?;
        let of_plan = Prices::of_plan(&study.plan_toml)?;
        let prices = prices.or(of_plan.as_ref());
        if let Some(prices) = prices {
            prices.check_arms(study.arms.iter().map(|arm| arm.name.as_str()))?;
        }
        let arms = study.arms.iter().zip(variables);
        let durability = arms.map(|(arm, sets)| {
            durability::of_arm(&arm.settings, sets.first(), disks.get(&arm.name))
        });
        let own = |arm: &str| prices.cloned().unwrap_or_default().of_arm(arm, disks.get(arm));
        let rated = study.arms.iter().filter_map(|arm| {
            Some((arm.name.clone(), endurance::rated(disks.get(&arm.name), &own(&arm.name))?))
        });
        let endurance = study.cells.iter().filter_map(|cell| {
            let arm = &cell.key.arm;
            let found = endurance::of_results(&cell.results, disks.get(arm), &own(arm))?;
            Some(OfCell { key: cell.key.clone(), endurance: found })
        });
        Ok(Judged {
            durability: durability.collect(),
            factors: reconcile::of_pairs(study),
            chains: study.cells.iter().filter_map(chain::of_cell).collect(),
            endurance: endurance.collect(),
            rated: rated.collect(),
            scales: scales(study, &disks),
            costs: prices.map(|prices| costs((study, groups), levels, &disks, prices)),
        })
    }

    /// The label beside figures of the arm at this place.
    pub(super) fn label(&self, arm: usize) -> &str {
        self.durability.get(arm).map_or("", |durability| &durability.label)
    }
}

fn costs(
    (study, groups): (&Study, &[Group<'_>]),
    levels: &[Level],
    disks: &BTreeMap<String, Disk>,
    prices: &Prices,
) -> Vec<OfGroup> {
    let tps_of = |arm: &str, group: &Group<'_>| {
        let workload = &study.workloads.get(group.workload)?.name;
        let is_it = |one: &&Level| {
            (one.arm.as_str(), &one.workload, one.threads) == (arm, workload, group.threads)
        };
        levels.iter().find(is_it).map(|level| level.tps)
    };
    let of_group = |group: &Group<'_>| {
        let arm = &study.arms.get(group.arm)?.name;
        let disk = disks.get(arm);
        let own = prices.of_arm(arm, disk);
        let drives = own.drives.unwrap_or(1.0);
        let sold = disk.and_then(|disk| disk.user_bytes).map(|bytes| bytes * drives);
        let measured = Measured {
            tps: tps_of(arm, group)?,
            space_ratio: Interval::of_repeats(
                &group.done().filter_map(space_ratio).collect::<Vec<_>>(),
            ),
            parallel_scale: scale(disk),
            capacity_bytes: own.capacity_bytes.or(sold),
        };
        let (cost, missing) = match cost::of(&measured, prices, &own) {
            Ok(cost) => (Some(cost), Vec::new()),
            Err(missing) => (None, missing),
        };
        let replaces = first_of_same_load(groups, group)
            .filter(|_| group.arm > 0)
            .zip(study.arms.first())
            .and_then(|(first, arm)| {
                Some(tps_of(&arm.name, first)?.times(scale(disks.get(&arm.name))))
            })
            .map(|first| cost::consolidation(first, measured.tps.times(measured.parallel_scale)));
        Some(OfGroup {
            arm: arm.clone(),
            workload: study.workloads.get(group.workload)?.name.clone(),
            threads: group.threads,
            cost,
            replaces,
            missing,
        })
    };
    groups.iter().filter_map(of_group).collect()
}

fn scales(study: &Study, disks: &BTreeMap<String, Disk>) -> BTreeMap<String, (f64, f64)> {
    let of = |arm: &Arm| {
        let disk = disks.get(&arm.name)?;
        let scales = (disk.capacity_scale.unwrap_or(1.0), disk.parallel_scale.unwrap_or(1.0));
        (scales != (1.0, 1.0)).then(|| (arm.name.clone(), scales))
    };
    study.arms.iter().filter_map(of).collect()
}

fn scale(disk: Option<&Disk>) -> f64 {
    disk.and_then(|disk| disk.parallel_scale).unwrap_or(1.0)
}

fn first_of_same_load<'a>(groups: &'a [Group<'a>], group: &Group<'_>) -> Option<&'a Group<'a>> {
    groups
        .iter()
        .find(|one| (one.arm, one.workload, one.threads) == (0, group.workload, group.threads))
}

/// Bytes of data for each byte that they take. Of modelled flash, which holds what wore it in too, by what the database wrote while it was
/// measured; of other drives by their own ratio; files that are compressed by punching holes, by what is allocated to them.
fn space_ratio(cell: &Cell) -> Option<f64> {
    let figure = |name: &str| cell.results.get(name).copied().filter(|bytes| *bytes > 0.0);
    let of_files = figure("space_file_bytes")? / figure("space_allocated_bytes")?;
    let of_drive = match space::is_worn(cell) {
        true => space::stored_ratio(cell)?,
        false => figure("drive_compression_ratio").unwrap_or(1.0),
    };
    Some(of_files * of_drive)
}

/// In one line, what would make costs appear.
pub(super) const NO_PRICES: &str = "No costs: give currency, years, server_price and drive_price with `assay report STUDY --prices FILE` \
    or in the plan's [prices]; docs/cost.md has an example.";
