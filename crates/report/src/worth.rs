//! What drives last and what configurations cost, as the page shows it, and `tables/endurance.csv` and `tables/cost.csv`.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::words::endurance;
use assay_judge::worth::cost::{Bound, Cost};
use assay_judge::worth::endurance::Endurance;
use assay_judge::worth::interval::Interval;
use assay_study::{Study, TrialKey};

use super::format::{bytes, count, figure, list};
use super::judged::{AtRate, Judged, NO_PRICES, OfGroup, Rate};
use super::leading::{is_aa_run, named};
use super::tables::{optional, write_row};
use crate::words;
use assay_judge::summary::{Figure, Group};

/// A table in words, a row for each configuration under each load.
#[derive(Debug, Serialize)]
pub(super) struct Table {
    /// Heads, and what they mean.
    columns: Vec<(String, &'static str)>,
    rows: Vec<Row>,
    /// What is to be said below it.
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Row {
    config: usize,
    workload: String,
    threads: u32,
    /// What is wrong with its runs, which stands with the summary too.
    warnings: Vec<String>,
    fields: Vec<String>,
}

const NONE: &str = "–";

/// Endurance; nothing where no writes were counted.
pub(super) fn endurance(study: &Study, groups: &[Group<'_>], judged: &Judged) -> Option<Table> {
    let rows: Vec<Row> = groups
        .iter()
        .filter(|group| is_shown(study, groups, group))
        .filter_map(|group| {
            let of_trial = |key: &TrialKey| judged.endurance.iter().find(|one| one.key == *key);
            let found: Vec<&Endurance> = group
                .done()
                .filter_map(|trial| of_trial(&trial.key))
                .map(|one| &one.endurance)
                .collect();
            let mean = |read: fn(&Endurance) -> Option<f64>| {
                let values: Vec<f64> = found.iter().filter_map(|one| read(one)).collect();
                Figure::of(values).map(|figure| figure.mean)
            };
            let at_rate = |read: fn(&AtRate) -> Option<f64>| {
                let its = group.done().filter_map(|trial| of_trial(&trial.key)?.at_rate.as_ref());
                Figure::of(its.filter_map(read).collect()).map(|figure| figure.mean)
            };
            let shown = |value: Option<f64>, text: fn(f64) -> String| {
                value.map_or_else(|| NONE.to_owned(), text)
            };
            let kb: fn(f64) -> String = |bytes| figure(bytes / 1e3);
            mean(|one| Some(one.host_bytes_per_transaction))?;
            Some(row(
                study,
                group,
                vec![
                    shown(mean(|one| Some(one.host_bytes_per_transaction)), kb),
                    shown(mean(|one| one.media_bytes_per_transaction), kb),
                    shown(mean(|one| Some(one.host_bytes_per_day)), bytes),
                    shown(mean(|one| one.media_bytes_per_day), bytes),
                    shown(mean(|one| one.drive_writes_per_day), figure),
                    shown(at_rate(|one| Some(one.host_bytes_per_day)), bytes),
                    shown(at_rate(|one| one.life.host_years), figure),
                    shown(at_rate(|one| one.life.media_years), figure),
                ],
            ))
        })
        .collect();
    let mut notes: Vec<String> = vec![at_what(judged).into()];
    notes.extend(scaled(judged));
    notes.extend(rated(study, judged));
    if rows.iter().any(|row| !judged.rated.contains_key(&study.configs[row.config].name)) {
        notes.push(
            "Configurations without endurance figures have no rating: give endurance_bytes, or drive_writes_per_day, warranty_years and capacity_bytes, with --prices FILE or in the plan's [prices]; see docs/cost.md."
                .into(),
        );
    }
    let columns = ENDURANCE.map(|(head, title)| (head.to_owned(), title)).into();
    (!rows.is_empty()).then(|| without_empty_columns(Table { columns, rows, notes }))
}

/// Without columns that have a figure in no row.
fn without_empty_columns(mut table: Table) -> Table {
    let has_figure = |column: usize| table.rows.iter().any(|row| row.fields[column] != NONE);
    let keep: Vec<bool> = (0..table.columns.len()).map(has_figure).collect();
    let mut kept = keep.iter();
    table.columns.retain(|_| kept.next() == Some(&true));
    for row in &mut table.rows {
        let mut kept = keep.iter();
        row.fields.retain(|_| kept.next() == Some(&true));
    }
    table
}

/// What each device is rated for, a line for each rating.
fn rated(study: &Study, judged: &Judged) -> Vec<String> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for config in study.configs.iter().filter(|one| !is_aa_run(study, one)) {
        let Some(rated) = judged.rated.get(&config.name) else { continue };
        let text = format!("rated for {} ({})", bytes(rated.bytes), endurance::how(&rated.by));
        match lines.iter_mut().find(|(one, _)| *one == text) {
            Some((_, configs)) => configs.push(named(&config.name)),
            None => lines.push((text, vec![named(&config.name)])),
        }
    }
    lines.into_iter().map(|(text, configs)| format!("{}: {text}", list(&configs))).collect()
}

/// Whether a row is of the most threads of its workload and of no A/A run; the table beside the page has all.
fn is_shown(study: &Study, groups: &[Group<'_>], group: &Group<'_>) -> bool {
    let same = groups.iter().filter(|one| one.workload == group.workload);
    let most = same.map(|one| one.threads).max();
    let is_aa_run = study.configs.get(group.config).is_some_and(|one| is_aa_run(study, one));
    most == Some(group.threads) && !is_aa_run
}

const ENDURANCE: [(&str, &str); 8] = [
    ("to device, kB/trx", "bytes written to the device per transaction"),
    ("to media, kB/trx", "bytes written to flash per transaction: GC adds, compression saves"),
    ("tested: to device a day", "by the full device, as fast as this load went"),
    ("tested: to media a day", "by the full device, as fast as this load went"),
    ("tested: drive writes a day", "capacities written per day (DWPD), as fast as this load went"),
    ("for writes a day of", "the host writes a day that the years are computed for"),
    ("life, years", "until the rated host writes are used up (JESD218)"),
    (
        "flash life, years",
        "until the flash's own rating is used up: its erase cycles, or endurance_media_bytes",
    ),
];

/// For what rate lives are told.
fn at_what(judged: &Judged) -> &'static str {
    let mut rates = judged.endurance.iter().filter_map(|one| Some(one.at_rate.as_ref()?.rate));
    match rates.next() {
        Some(Rate::Asked) => {
            "Years are computed for the bytes a day given with --writes-per-day, as the baseline writes them; for another configuration, for what the same transactions write there."
        }
        _ => {
            "Years are computed for one drive write a day; the test wrote as fast as it could, which no server does for years. Give your own with `assay report STUDY --writes-per-day 2T`: what your server writes to its device in a day."
        }
    }
}

fn row(study: &Study, group: &Group<'_>, fields: Vec<String>) -> Row {
    let workload = study.workloads.get(group.workload);
    Row {
        config: group.config,
        workload: workload.map(|one| one.name.clone()).unwrap_or_default(),
        threads: group.threads,
        warnings: warnings(group),
        fields,
    }
}

/// Each mark of its runs once.
fn warnings(group: &Group<'_>) -> Vec<String> {
    let mut warnings: Vec<String> = group.done().flat_map(words::warning::of_trial).collect();
    warnings.sort();
    warnings.dedup();
    warnings
}

/// What configurations cost; nothing where no prices were given, or too few for any configuration.
pub(super) fn cost(study: &Study, groups: &[Group<'_>], judged: &Judged) -> Option<Table> {
    let costs = judged.costs.as_ref()?;
    let group_of = |one: &OfGroup| {
        groups.iter().find(|group| {
            study.configs.get(group.config).is_some_and(|config| config.name == one.config)
                && study.workloads.get(group.workload).is_some_and(|load| load.name == one.workload)
                && group.threads == one.threads
        })
    };
    let rows: Vec<Row> = costs
        .iter()
        .filter_map(|one| {
            let fields = cost_fields(one, one.cost.as_ref()?);
            Some(row(study, group_of(one)?, fields))
        })
        .collect();
    let (currency, years) = costs.iter().find_map(|one| {
        let bill = &one.cost.as_ref()?.bill;
        Some((bill.currency.clone(), bill.years))
    })?;
    let mut notes = vec![format!(
        "All amounts in {currency}, over {years} years. Bounds follow from the 95 % confidence interval of the throughput. For scaled models, the throughput is that of the full device."
    )];
    notes.extend(costs.iter().any(|one| one.replaces.is_some()).then(|| REPLACED.to_owned()));
    notes.extend(judged.assumed());
    notes.extend(judged.lacking());
    let columns = COST.map(|(head, title)| (head.replace('¤', &currency), title)).into();
    Some(Table { columns, rows, notes })
}

/// What "replaces" rests on.
const REPLACED: &str = "Servers replaced are baseline servers, by the ratio in the verdict; common variation does not widen its interval. A/A runs are not listed.";

/// With the currency in place of `¤`.
const COST: [(&str, &str); 8] = [
    ("a server, ¤", "including drives, over all years"),
    ("TPS", "transactions per second of one server with the full device"),
    ("a transaction/s, ¤", "all replicas over all years, per transaction per second"),
    ("drives for a GB, ¤", "price of all replicas' drives per gigabyte of data, after compression"),
    ("servers", "for the target load and data, all replicas"),
    ("the target, ¤", "cost of those servers over all years"),
    ("replaces", "baseline servers that one of these replaces under the same load"),
    (
        "what matters",
        "prices with the largest effect on the cost of a transaction: their share, and the cost with the price 20 % lower and higher",
    ),
];

fn cost_fields(one: &OfGroup, cost: &Cost) -> Vec<String> {
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

/// What of the table is of a whole device and was measured on a part of it, a line for each scale.
fn scaled(judged: &Judged) -> Vec<String> {
    let mut lines: Vec<((f64, f64), Vec<String>)> = Vec::new();
    for (config, scale) in &judged.scales {
        match lines.iter_mut().find(|(one, _)| one == scale) {
            Some((_, configs)) => configs.push(named(config)),
            None => lines.push((*scale, vec![named(config)])),
        }
    }
    let line = |((capacity, parallel), configs): ((f64, f64), Vec<String>)| {
        format!(
            "{}: measured on a model with 1/{capacity} of the capacity and 1/{parallel} of the parallelism. Bytes per day and years are for the full device: the model's rate × {parallel}, against the full capacity and rating. Bytes per transaction are as measured.",
            list(&configs)
        )
    };
    lines.into_iter().map(line).collect()
}

/// Servers are whole: `12 (12–14)`.
fn whole(interval: Interval) -> String {
    let [low, mid, high] = [interval.low, interval.mid, interval.high].map(|one| match one {
        one if one.is_finite() && one.abs() < 1e15 => count(one.round() as usize),
        one => figure(one),
    });
    if low == high { mid } else { format!("{mid} ({low}–{high})") }
}

/// `5.00 (4.80–5.20)`, or the figure alone where its bounds are shown alike.
fn bounds(interval: Interval) -> String {
    let [low, mid, high] = [interval.low, interval.mid, interval.high].map(figure);
    if low == high { mid } else { format!("{mid} ({low}–{high})") }
}

/// What stands in the place of costs where there are none.
pub(super) fn no_cost(judged: &Judged) -> Vec<String> {
    match &judged.costs {
        None => vec![NO_PRICES.into()],
        Some(_) => judged.lacking(),
    }
}

/// `endurance.csv`: a row a run.
pub(super) fn write_endurance(file: &mut dyn Write, judged: &Judged) -> Result<()> {
    let head = [
        "config",
        "workload",
        "threads",
        "repeat",
        "host_bytes_per_transaction",
        "media_bytes_per_transaction",
        "host_bytes_per_day",
        "media_bytes_per_day",
        "drive_writes_per_day",
        "life_years_host",
        "life_years_media",
        "rate",
        "rate_host_bytes_per_day",
        "rate_life_years_host",
        "rate_life_years_media",
    ];
    write_row(file, head.map(String::from))?;
    for one in &judged.endurance {
        let (key, found, at) = (&one.key, &one.endurance, one.at_rate.as_ref());
        let row = [
            key.config.clone(),
            key.workload.clone(),
            key.threads.to_string(),
            key.repeat.to_string(),
            found.host_bytes_per_transaction.to_string(),
            optional(found.media_bytes_per_transaction),
            found.host_bytes_per_day.to_string(),
            optional(found.media_bytes_per_day),
            optional(found.drive_writes_per_day),
            optional(found.life.host_years),
            optional(found.life.media_years),
            optional(at.map(|at| at.rate.word())),
            optional(at.map(|at| at.host_bytes_per_day)),
            optional(at.and_then(|at| at.life.host_years)),
            optional(at.and_then(|at| at.life.media_years)),
        ];
        write_row(file, row)?;
    }
    Ok(())
}

/// `cost.csv`: a row a configuration × workload × threads, of each figure the lowest and the highest too.
pub(super) fn write_cost(file: &mut dyn Write, costs: &[OfGroup]) -> Result<()> {
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
