//! Life of drives: the page's table of endurance, and `tables/endurance.csv`.

use std::borrow::Cow;
use std::io::Write;

use anyhow::Result;

use assay_judge::baseline_of;
use assay_judge::summary::{RepeatGroup, RepeatStatistics};
use assay_judge::worth::interval::Interval;
use assay_study::{Study, Trial};

use super::{NONE, Table, bounds, shown};
use crate::analysis::Analysis;
use crate::comparisons::questions::{is_aa_run, named};
use crate::figures::format::{bytes, figure, list};
use crate::tables::csv::{optional, write_row};
use crate::words::endurance::how;
use assay_judge::worth::{AtRate, DriveLife, RateOrigin};

/// Endurance; nothing where no writes were counted.
pub(crate) fn table(
    study: &Study,
    groups: &[RepeatGroup<'_>],
    analysis: &Analysis,
) -> Option<Table> {
    let rows: Vec<(&RepeatGroup<'_>, Vec<String>)> = shown(study, groups)
        .filter_map(|group| Some((group, fields(&Found::of(group, analysis)?))))
        .collect();
    let notes = notes(study, &rows, analysis);
    let columns = COLUMNS.map(|(head, title)| super::column(study.events(), head, title)).into();
    Table::of(study, columns, rows, notes).map(Table::without_empty_columns)
}

/// Drive lives of the runs of a group.
struct Found<'a>(Vec<&'a DriveLife>);

impl Found<'_> {
    /// Nothing where its writes were counted in no run.
    fn of<'a>(group: &RepeatGroup<'_>, analysis: &'a Analysis) -> Option<Found<'a>> {
        let of_run =
            |trial: &Trial| analysis.appraisal.endurance.iter().find(|one| one.key == trial.key);
        let found: Vec<&DriveLife> = group.done().filter_map(of_run).collect();
        (!found.is_empty()).then_some(Found(found))
    }

    fn figure(&self, read: impl Fn(&DriveLife) -> Option<f64>) -> Option<RepeatStatistics> {
        RepeatStatistics::of(self.0.iter().filter_map(|one| read(one)).collect())
    }

    fn mean(&self, text: fn(f64) -> String, read: impl Fn(&DriveLife) -> Option<f64>) -> String {
        self.figure(read).map_or_else(|| NONE.to_owned(), |found| text(found.mean))
    }

    fn at_rate(&self, text: fn(f64) -> String, read: fn(&AtRate) -> Option<f64>) -> String {
        self.mean(text, |one| read(one.at_rate.as_ref()?))
    }

    /// With its lowest and highest repeat.
    fn on_equal_flash(&self) -> String {
        let found = self.figure(|one| one.on_equal_flash);
        let span = |one: RepeatStatistics| Interval { low: one.low, mid: one.mean, high: one.high };
        found.map_or_else(|| NONE.to_owned(), |one| bounds(span(one)))
    }
}

fn fields(found: &Found<'_>) -> Vec<String> {
    let kb: fn(f64) -> String = |bytes| figure(bytes / 1e3);
    vec![
        found.mean(kb, |one| Some(one.endurance.host_bytes_per_transaction)),
        found.mean(kb, |one| one.endurance.media_bytes_per_transaction),
        found.on_equal_flash(),
        found.mean(bytes, |one| Some(one.endurance.host_bytes_per_day)),
        found.mean(bytes, |one| one.endurance.media_bytes_per_day),
        found.mean(figure, |one| one.endurance.drive_writes_per_day),
        found.at_rate(bytes, |one| Some(one.host_bytes_per_day)),
        found.at_rate(figure, |one| one.life.host_years),
        found.at_rate(figure, |one| one.life.media_years),
    ]
}

const COLUMNS: [(&str, &str); 9] = [
    ("to device, kB/{trx}", "bytes written to the device per {event}"),
    ("to media, kB/{trx}", "bytes written to flash per {event}: GC adds, compression saves"),
    (
        "life on equal flash, × baseline",
        "times as long as with the baseline, under the same {events}: the baseline's bytes to \
        media per {event} ÷ its own",
    ),
    ("tested: to device a day", "by the full device, as fast as this load went"),
    ("tested: to media a day", "by the full device, as fast as this load went"),
    ("tested: DWPD", "drive writes per day: capacities written, as fast as this load went"),
    ("for writes a day of", "the host writes a day that the years are computed for"),
    ("life, years", "until the rated host writes are used up (JESD218)"),
    (
        "flash life, years",
        "until the flash's own rating is used up: its erase cycles, or endurance_media_bytes",
    ),
];

/// Notes below the table.
fn notes(
    study: &Study,
    rows: &[(&RepeatGroup<'_>, Vec<String>)],
    analysis: &Analysis,
) -> Vec<String> {
    let mut notes: Vec<String> = vec![at_what(analysis).into()];
    notes.extend(scaled(study, analysis));
    notes.extend(rated(study, analysis));
    let on_equal_flash = on_equal_flash(study, analysis);
    let is_rated =
        |config: usize| analysis.appraisal.rated.contains_key(&study.configs[config].name);
    let unrated = rows.iter().any(|(group, _)| !is_rated(group.config));
    let unrated = unrated.then(|| self::unrated(on_equal_flash.is_some()));
    let last: Vec<String> = [on_equal_flash, unrated].into_iter().flatten().collect();
    notes.extend((!last.is_empty()).then(|| last.join(" ")));
    notes
}

/// The baseline of lives on equal flash; `None` if there are none.
fn on_equal_flash(study: &Study, analysis: &Analysis) -> Option<String> {
    let is_any = analysis.appraisal.endurance.iter().any(|one| one.on_equal_flash.is_some());
    let baseline = baseline_of(study).filter(|_| is_any)?;
    Some(format!(
        "Life on equal flash: how many times as long the same flash lasts under the same {} as \
        with {} (lowest to highest repeat). It needs no rating.",
        study.events().many(),
        named(&baseline)
    ))
}

/// Note about a device without a rating.
fn unrated(is_compared: bool) -> String {
    let only = match is_compared {
        true => ", so only their life on equal flash is known; for years, give",
        false => ": give",
    };
    format!(
        "Configurations without endurance figures have no rating{only} endurance_bytes, or \
        drive_writes_per_day, warranty_years and capacity_bytes, with --prices FILE or in the \
        plan's [prices]; see docs/cost.md."
    )
}

/// Ratings of devices, a line each.
fn rated(study: &Study, analysis: &Analysis) -> Vec<String> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for config in study.configs.iter().filter(|one| !is_aa_run(study, one)) {
        let Some(rated) = analysis.appraisal.rated.get(&config.name) else { continue };
        let text = format!("rated for {} ({})", bytes(rated.bytes), how(&rated.by));
        match lines.iter_mut().find(|(one, _)| *one == text) {
            Some((_, configs)) => configs.push(named(&config.name)),
            None => lines.push((text, vec![named(&config.name)])),
        }
    }
    lines.into_iter().map(|(text, configs)| format!("{}: {text}", list(&configs))).collect()
}

/// For what rate lives are told.
fn at_what(analysis: &Analysis) -> Cow<'static, str> {
    let events = analysis.study.events();
    let mut rates =
        analysis.appraisal.endurance.iter().filter_map(|one| Some(one.at_rate.as_ref()?.rate));
    events.fill(match rates.next() {
        Some(RateOrigin::Asked) => {
            "Years are computed for the bytes per day given with --writes-per-day, taken as the \
            baseline's; for other configurations, for the bytes that the same {events} write there."
        }
        _ => {
            "Years are computed for one drive write per day; the test wrote as fast as it could, \
            which no server does for years. Give your own rate with `assay report STUDY \
            --writes-per-day 2T`: the bytes that your server writes to its device per day."
        }
    })
}

/// Parts of the table that were measured on a part of the device, a line for each scale.
fn scaled(study: &Study, analysis: &Analysis) -> Vec<String> {
    let mut lines: Vec<((f64, f64), Vec<String>)> = Vec::new();
    for (config, scale) in &analysis.appraisal.scales {
        match lines.iter_mut().find(|(one, _)| one == scale) {
            Some((_, configs)) => configs.push(named(config)),
            None => lines.push((*scale, vec![named(config)])),
        }
    }
    let line = |((capacity, parallel), configs): ((f64, f64), Vec<String>)| {
        let all = configs.len() == study.configs.len();
        let configs = if all { "All configurations".to_owned() } else { list(&configs) };
        format!(
            "{configs}: measured on a model with 1/{capacity} of the capacity and 1/{parallel} \
            of the parallelism. Bytes per day and years are for the full device: the model's \
            rate × {parallel}, against the full capacity and rating. Bytes per {} are as measured.",
            study.events().noun()
        )
    };
    lines.into_iter().map(line).collect()
}

/// `endurance.csv`: a row a run.
pub(crate) fn write(file: &mut dyn Write, lives: &[DriveLife]) -> Result<()> {
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
        "life_on_equal_flash",
    ];
    write_row(file, head.map(String::from))?;
    for one in lives {
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
            optional(one.on_equal_flash),
        ];
        write_row(file, row)?;
    }
    Ok(())
}
