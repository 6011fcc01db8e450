//! Cost without prices, of each configuration under each load: servers for a load, and the price up
//! to which a server is worth it.

use serde::Serialize;

use crate::Judgement;
use crate::interval::Interval;
use crate::summary::RepeatGroup;
use crate::worth::break_even::{self, BreakEven};
use assay_study::Study;

use super::load::{Load, server_scale};

/// Servers of one configuration for one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServersForLoad {
    /// Name of the configuration.
    pub config: String,
    /// Name of the workload.
    pub workload: String,
    /// Connections.
    pub threads: u32,
    /// Transactions a second of one server with the whole device.
    pub tps: Interval,
    /// Servers that carry 10,000 transactions a second, rounded up.
    pub servers_per_10000_tps: Interval,
    /// Up to which price one of them is worth it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worth_up_to: Option<WorthUpTo>,
}

/// A break-even price, and the configuration in whose servers it is counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorthUpTo {
    /// The configuration.
    pub against: String,
    /// The price.
    #[serde(flatten)]
    pub price: BreakEven,
}

/// Servers of each group whose throughput makes costs.
pub(crate) fn of_groups(
    study: &Study,
    groups: &[&RepeatGroup<'_>],
    judgement: &Judgement,
) -> Vec<ServersForLoad> {
    let of_group = |group: &&RepeatGroup<'_>| {
        let load = Load::of(study, group)?;
        let tps = load.tps(judgement)?.times(server_scale(study, load.config)?);
        Some(ServersForLoad {
            config: load.config.to_owned(),
            workload: load.workload.to_owned(),
            threads: load.threads,
            tps,
            servers_per_10000_tps: break_even::servers(tps)?,
            worth_up_to: worth_up_to(&load, judgement, study),
        })
    };
    groups.iter().filter_map(of_group).collect()
}

/// The worth of a server; the baseline is worth its own price.
fn worth_up_to(load: &Load<'_>, judgement: &Judgement, study: &Study) -> Option<WorthUpTo> {
    let Some(one) = load.against(judgement, study) else {
        let (against, price) = (load.config.to_owned(), BreakEven::of_itself());
        return load.is_a_measure(judgement).then_some(WorthUpTo { against, price });
    };
    let price = break_even::break_even(one.ratio, one.scales, one.word)?;
    Some(WorthUpTo { against: one.baseline, price })
}
