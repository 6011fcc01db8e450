//! The table in place of costs where nobody gave prices: servers for a load, and the price up to
//! which one is worth it; and `tables/servers.csv`, with prices and without.

use std::io::Write;

use anyhow::Result;

use assay_judge::summary::RepeatGroup;
use assay_judge::worth::interval::Interval;
use assay_study::{Events, Study};

use super::{BOUNDS, Column, NONE, Table, bounded, bounds, column, shown, tps_head, uncosted};
use crate::analysis::Analysis;
use crate::comparisons::questions::named;
use crate::figures::format::count;
use crate::tables::csv::{optional, write_row};
use assay_judge::worth::{ServersForLoad, WorthUpTo};

/// ServersForLoad, or why none are counted; nothing where no throughput was measured.
pub(crate) fn table(
    study: &Study,
    groups: &[RepeatGroup<'_>],
    analysis: &Analysis,
) -> Option<Table> {
    let of_group = |group: &RepeatGroup<'_>| {
        let config = &study.configs.get(group.config)?.name;
        let workload = &study.workloads.get(group.workload)?.name;
        analysis.appraisal.servers.iter().find(|one| {
            (&one.config, &one.workload, one.threads) == (config, workload, group.threads)
        })
    };
    let found: Vec<(&RepeatGroup<'_>, &ServersForLoad)> =
        shown(study, groups).filter_map(|group| Some((group, of_group(group)?))).collect();
    let baseline = common_baseline(&found);
    let rows = found.iter().map(|(group, one)| {
        let mut fields = fields(one, baseline.is_some());
        fields.push(analysis.label(group.config).to_owned());
        (*group, fields)
    });
    let notes = notes(analysis, &found);
    let tps = tps_head(study, found.iter().map(|(_, one)| one.config.as_str()));
    Table::of(study, columns(study.events(), tps, baseline), rows.collect(), notes)
        .map(Table::without_empty_columns)
        .or_else(|| Table::of_notes(uncosted::notes(&analysis.appraisal.uncosted)))
}

fn columns(events: Events, tps: String, baseline: Option<&str>) -> Vec<Column> {
    let server =
        baseline.map_or_else(String::new, |name| format!(", × a server with {}", named(name)));
    vec![
        (tps, events.fill("{events} per second of one server with the full device")),
        column(
            events,
            "servers for each 10,000 {events}/s",
            "rounded up: to tenths below ten, else to whole servers",
        ),
        (
            format!("worth up to{server}"),
            events.fill(
                "a server (drives included) that costs less than this is cheaper per {event}: it \
                is the ratio of the throughputs",
            ),
        ),
        column(
            events,
            "crash safety",
            "what a power cut can destroy; costs are comparable only where it is the same",
        ),
    ]
}

/// The one configuration in whose servers all prices are counted.
fn common_baseline<'a>(found: &[(&RepeatGroup<'_>, &'a ServersForLoad)]) -> Option<&'a str> {
    let mut all =
        found.iter().filter_map(|(_, one)| Some(one.worth_up_to.as_ref()?.against.as_str()));
    let first = all.next()?;
    all.all(|one| one == first).then_some(first)
}

fn fields(one: &ServersForLoad, has_common_baseline: bool) -> Vec<String> {
    let price = |up_to: &WorthUpTo| {
        let times = bounds(up_to.price.times);
        let open = if up_to.price.is_conclusive { "" } else { ", inconclusive" };
        match has_common_baseline {
            true => format!("{times}{open}"),
            false => format!("{times}{open}, × {}", named(&up_to.against)),
        }
    };
    vec![
        bounds(one.tps),
        servers(one.servers_per_10000_tps),
        one.worth_up_to.as_ref().map_or_else(|| NONE.to_owned(), price),
    ]
}

/// As they are counted: whole, or fewer than ten in tenths.
fn servers(interval: Interval) -> String {
    let is_whole = interval.mid > 10.0;
    bounded(interval, |one| match is_whole {
        true => count(one as usize),
        false => format!("{one:.1}"),
    })
}

/// Notes below the table, first how to get amounts of money.
fn notes(analysis: &Analysis, found: &[(&RepeatGroup<'_>, &ServersForLoad)]) -> Vec<String> {
    let mut notes = match &analysis.appraisal.costs {
        None => vec![NO_PRICES.to_owned()],
        Some(_) => analysis.lacking(),
    };
    let events = analysis.study.events();
    let rate = events.rate();
    let is_compared = found.iter().any(|(_, one)| one.worth_up_to.is_some());
    let worth = if is_compared { events.fill(WORTH_UP_TO) } else { "".into() };
    notes.push(format!("For 20,000 {rate}, take twice as many, rounded up. {worth}{BOUNDS}"));
    notes.extend(uncosted::notes(&analysis.appraisal.uncosted));
    notes
}

/// Advice that leads to costs.
const NO_PRICES: &str = "No prices were given, so servers are counted. For money, give currency, \
    years, server_price and drive_price with `assay report STUDY --prices FILE` or in the plan's \
    [prices]; docs/cost.md has an example.";

/// Explanation of the break-even price.
const WORTH_UP_TO: &str =
    "A server (drives included) that costs less than it is “worth up to” is cheaper per {event}. ";

/// `servers.csv`: a row a configuration × workload × threads, of each figure the lowest and the
/// highest too.
pub(crate) fn write(file: &mut dyn Write, all: &[ServersForLoad]) -> Result<()> {
    let head = ["config", "workload", "threads"].map(String::from);
    let bounded = ["tps", "servers_per_10000_tps", "worth_up_to"];
    let columns =
        bounded.iter().flat_map(|name| ["", "_low", "_high"].map(|end| format!("{name}{end}")));
    let last = ["worth_up_to_against", "worth_up_to_is_conclusive"].map(String::from);
    write_row(file, head.into_iter().chain(columns).chain(last))?;
    for one in all {
        let up_to = one.worth_up_to.as_ref();
        let figures =
            [Some(one.tps), Some(one.servers_per_10000_tps), up_to.map(|one| one.price.times)];
        let figures = figures.into_iter().flat_map(|found| {
            [found.map(|one| one.mid), found.map(|one| one.low), found.map(|one| one.high)]
        });
        let key = [one.config.clone(), one.workload.clone(), one.threads.to_string()];
        let last = [
            optional(up_to.map(|one| &one.against)),
            optional(up_to.map(|one| one.price.is_conclusive)),
        ];
        write_row(file, key.into_iter().chain(figures.map(optional)).chain(last))?;
    }
    Ok(())
}
