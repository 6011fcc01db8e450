//! Cost of configurations, where prices were given: the page's table, and `tables/cost.csv`.

use std::io::Write;

use anyhow::Result;

use assay_judge::summary::RepeatGroup;
use assay_judge::worth::cost::{Bound, Cost};
use assay_judge::worth::interval::Interval;
use assay_study::Study;

use super::{BOUNDS, NONE, Table, bounded, bounds, tps_head, uncosted};
use crate::analysis::Analysis;
use crate::figures::format::{count, figure};
use crate::tables::csv::{optional, write_row};
use assay_judge::worth::CostOfLoad;

/// Table of costs; `None` if no prices were given, or too few for any configuration.
pub(crate) fn table(
    study: &Study,
    groups: &[RepeatGroup<'_>],
    analysis: &Analysis,
) -> Option<Table> {
    let costs = analysis.appraisal.costs.as_ref()?;
    let group_of = |one: &CostOfLoad| {
        groups.iter().find(|group| {
            study.configs.get(group.config).is_some_and(|config| config.name == one.config)
                && study.workloads.get(group.workload).is_some_and(|load| load.name == one.workload)
                && group.threads == one.threads
        })
    };
    let rows = costs.iter().filter_map(|one| {
        let fields = fields(one, one.cost.as_ref()?);
        Some((group_of(one)?, fields))
    });
    let (currency, years) = costs.iter().find_map(|one| {
        let bill = &one.cost.as_ref()?.bill;
        Some((bill.currency.clone(), bill.years))
    })?;
    let mut notes = vec![format!("All amounts in {currency}, over {years} years. {BOUNDS}")];
    notes.extend(costs.iter().any(|one| one.replaces.is_some()).then(|| REPLACED.to_owned()));
    notes.extend(analysis.assumed());
    notes.extend(analysis.lacking());
    notes.extend(uncosted::notes(&analysis.appraisal.uncosted));
    let tps = tps_head(study, costs.iter().map(|one| one.config.as_str()));
    let column = |(head, title): (&'static str, &'static str)| {
        let (filled, title) = super::column(study.events(), head, title);
        let head = if head == TPS { tps.clone() } else { filled.replace('¤', &currency) };
        (head, title)
    };
    let columns = COLUMNS.map(column).into();
    Table::of(study, columns, rows.collect(), notes)
}

/// Explanation of "replaces".
const REPLACED: &str = "Servers replaced are baseline servers, by the ratio in the verdict; \
    common variation does not widen its interval. A/A runs are not listed.";

/// The head that tells how it was scaled.
const TPS: &str = "{TPS}";

/// With the currency in place of `¤`.
const COLUMNS: [(&str, &str); 8] = [
    ("a server, ¤", "including drives, over all years"),
    (TPS, "{events} per second of one server with the full device"),
    ("{an event}/s, ¤", "all replicas over all years, per {event} per second"),
    ("drives for a GB, ¤", "price of all replicas' drives per gigabyte of data, after compression"),
    ("servers", "for the target load and data, all replicas"),
    ("the target, ¤", "cost of those servers over all years"),
    ("replaces", "baseline servers that one of these replaces under the same load"),
    (
        "what matters",
        "prices with the largest effect on the cost of {an event}: their share, and the cost with \
         the price 20 % lower and higher",
    ),
];

fn fields(one: &CostOfLoad, cost: &Cost) -> Vec<String> {
    let fleet = cost.fleet.as_ref();
    let maybe = |interval: Option<Interval>| interval.map_or_else(|| NONE.to_owned(), bounds);
    let matters = cost.sensitivity.iter().map(|one| {
        format!(
            "{} {:.0} % ({} to {})",
            one.price,
            one.elasticity * 100.0,
            figure(one.cost_per_tps_less),
            figure(one.cost_per_tps_more)
        )
    });
    vec![
        figure(cost.bill.total),
        bounds(cost.tps),
        bounds(cost.cost_per_tps),
        maybe(cost.drive_cost_per_gb),
        fleet.map_or_else(
            || NONE.to_owned(),
            |fleet| format!("{}, by {}", whole(fleet.servers), bound(fleet.bound_by)),
        ),
        maybe(fleet.map(|fleet| fleet.cost)),
        maybe(one.replaces),
        matters.collect::<Vec<_>>().join("; "),
    ]
}

fn bound(by: Bound) -> &'static str {
    match by {
        Bound::Load => "load",
        Bound::Data => "data",
    }
}

/// Servers are whole: `12 (12–14)`.
fn whole(interval: Interval) -> String {
    bounded(interval, |one| match one {
        one if one.is_finite() && one.abs() < 1e15 => count(one.round() as usize),
        one => figure(one),
    })
}

/// `cost.csv`: a row a configuration × workload × threads, of each figure the lowest and the
/// highest too.
pub(crate) fn write(file: &mut dyn Write, costs: &[CostOfLoad]) -> Result<()> {
    let bounded = [
        "tps",
        "cost_per_tps",
        "drive_cost_per_gb",
        "servers",
        "drives",
        "target_cost",
        "replaces",
    ];
    let head = ["config", "workload", "threads", "missing", "currency", "years", "server_cost"];
    let columns = bounded
        .iter()
        .flat_map(|name| [(*name).to_owned(), format!("{name}_low"), format!("{name}_high")]);
    write_row(file, head.map(String::from).into_iter().chain(columns))?;
    for one in costs {
        let cost = one.cost.as_ref();
        let fleet = cost.and_then(|cost| cost.fleet.as_ref());
        let mut row = vec![
            one.config.clone(),
            one.workload.clone(),
            one.threads.to_string(),
            one.missing.join(" "),
            optional(cost.map(|cost| &cost.bill.currency)),
            optional(cost.map(|cost| cost.bill.years)),
            optional(cost.map(|cost| cost.bill.total)),
        ];
        for interval in [
            cost.map(|cost| cost.tps),
            cost.map(|cost| cost.cost_per_tps),
            cost.and_then(|cost| cost.drive_cost_per_gb),
            fleet.map(|fleet| fleet.servers),
            fleet.map(|fleet| fleet.drives),
            fleet.map(|fleet| fleet.cost),
            one.replaces,
        ] {
            row.extend([
                optional(interval.map(|one| one.mid)),
                optional(interval.map(|one| one.low)),
                optional(interval.map(|one| one.high)),
            ]);
        }
        write_row(file, row)?;
    }
    Ok(())
}
