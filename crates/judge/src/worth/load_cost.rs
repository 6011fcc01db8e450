//! The cost of one configuration under one load.

use serde::Serialize;

use crate::Judgement;
use crate::interval::Interval;
use crate::summary::RepeatGroup;
use crate::worth::cost::{self, Cost, MeasuredLoad};
use crate::worth::load::{Load, server_scale};
use crate::worth::space::space_ratio;
use assay_study::prices::Prices;
use assay_study::{DiskRecord, Study};

/// The cost of a configuration under a load.
#[derive(Debug, Clone, PartialEq)]
pub struct CostOfLoad {
    pub config: String,
    pub workload: String,
    pub threads: u32,
    /// `None` if a price or a figure is missing; `missing` names it.
    pub cost: Option<Cost>,
    /// Servers of the baseline that one server replaces under the same load, by the judged ratio.
    pub replaces: Option<Interval>,
    /// The configuration whose servers are replaced.
    pub replaced: Option<String>,
    /// An assumption that no measurement supports.
    pub assumption: Option<Assumption>,
    /// Keys of prices that are missing.
    pub missing: Vec<String>,
}

/// An assumption in a cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Assumption {
    /// The cost counts this many drives in a server, but the throughput is that of the one disk
    /// in the study.
    SeveralDrives(f64),
}

/// Costs of all `groups`.
pub(crate) fn costs(
    (study, groups): (&Study, &[&RepeatGroup<'_>]),
    judgement: &Judgement,
    prices: &Prices,
) -> Vec<CostOfLoad> {
    groups.iter().filter_map(|group| of_group(study, group, judgement, prices)).collect()
}

fn of_group(
    study: &Study,
    group: &RepeatGroup<'_>,
    judgement: &Judgement,
    prices: &Prices,
) -> Option<CostOfLoad> {
    let load = Load::of(study, group)?;
    let disk = study.disk(load.config);
    let own = prices.of_config(load.config, disk);
    let drives = own.drives.unwrap_or(1.0);
    let as_run = disk.map_or(1.0, DiskRecord::devices);
    // The capacity of several drives together depends on how they are combined.
    let sold = disk.and_then(|disk| disk.user_bytes).filter(|_| drives == as_run);
    let ratios: Vec<f64> = group.done().filter_map(space_ratio).collect();
    let measured = MeasuredLoad {
        tps: load.tps(judgement)?,
        space_ratio: Interval::of_repeats(&ratios).filter(Interval::is_sound),
        scale: server_scale(study, load.config)?,
        capacity_bytes: own.capacity_bytes.or(sold),
    };
    let (cost, missing) = match cost::of(&measured, prices, &own) {
        Ok(cost) => (Some(cost), Vec::new()),
        Err(missing) => (None, missing),
    };
    let (replaced, replaces) = replaces(&load, judgement, study).unzip();
    let is_assumed = cost.is_some() && drives != as_run && drives > 1.0;
    Some(CostOfLoad {
        config: load.config.to_owned(),
        workload: load.workload.to_owned(),
        threads: load.threads,
        assumption: is_assumed.then_some(Assumption::SeveralDrives(drives)),
        cost,
        replaces,
        replaced,
        missing,
    })
}

/// The configuration that the load is judged against, and the number of its servers that one
/// server of the load's configuration replaces.
fn replaces(load: &Load<'_>, judgement: &Judgement, study: &Study) -> Option<(String, Interval)> {
    let against = load.against(judgement, study)?;
    let replaces = cost::consolidation(against.ratio, against.scales);
    replaces.is_sound().then_some((against.baseline, replaces))
}
