//! Printed and measured figures, as rows of the terminal and the report, and as JSON.

use serde::Serialize;

use crate::published::{Beside, Crossed, Leveled, SharesOfMean};
use crate::words::paper::{self, ComparedView, remarks};
use assay_base::text::counted;
use assay_claims::text;
use assay_judge::paper::{Compared, ComparedRow};

/// Explanation of a gain's ratio.
pub const RATIO: &str = "The ratio of a gain is (100 + measured) ÷ (100 + printed).";

/// Heading of a table of crossovers.
pub const CROSSOVERS: &str = "Ahead from how many threads on";

/// A paper beside a study as JSON has it.
#[derive(Debug, Serialize)]
pub struct BesideView<'a> {
    claims: &'a str,
    paper: &'a str,
    study: &'a str,
    gains: Vec<ComparedView<'a>>,
    levels: &'a [Leveled],
    crossovers: &'a [Crossed],
    differs: &'a [String],
}

impl<'a> BesideView<'a> {
    /// The rows of a paper beside a study.
    pub fn of(beside: &'a Beside) -> BesideView<'a> {
        BesideView {
            claims: &beside.claims,
            paper: &beside.paper,
            study: &beside.study,
            gains: paper::view(&beside.gains),
            levels: &beside.levels,
            crossovers: &beside.crossovers,
            differs: &beside.differs,
        }
    }
}

/// A printed figure and the measured one, in words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedRow {
    /// The workload and, for a configuration by itself, the configuration.
    pub what: String,
    /// The printed figure.
    pub printed: String,
    /// The measured one.
    pub measured: String,
    /// Measured ÷ printed.
    pub ratio: String,
    pub notes: String,
}

/// One configuration against another, a row a workload.
pub fn of_gain(gain: &Compared) -> Vec<PublishedRow> {
    let row = |row: &ComparedRow| {
        let printed = row.printed_percent;
        let measured = row.measured.as_ref().map(|one| one.mean_percent);
        let ratio = printed.zip(measured);
        let ratio = ratio.map(|(printed, measured)| (100.0 + measured) / (100.0 + printed));
        let says = row.printed_says.iter().map(|says| format!("printed: {says}"));
        let notes: Vec<String> = says.chain(remarks(row)).collect();
        PublishedRow {
            what: name(&row.workload, row.data_profile.as_ref()),
            printed: percent(printed),
            measured: percent(measured),
            ratio: times(ratio),
            notes: notes.join("; "),
        }
    };
    gain.rows.iter().map(row).collect()
}

/// Single configurations.
pub fn of_level(level: &Leveled) -> PublishedRow {
    let mut notes = vec![conditions(level)];
    match level.trials {
        (0, _) => notes = vec![format!("{} was not measured", level.metric)],
        (trials, flagged) if flagged > 0 => {
            notes.push(format!("{flagged} of {} flagged", counted(trials as u64, "run")));
        }
        _ => {}
    }
    notes.extend(level.shares_of_mean.map(shares_of_mean));
    let shown = |value: f64| format!("{} {}", text::number(value), level.unit);
    PublishedRow {
        what: format!("{}, {}", level.config, name(&level.workload, level.data_profile.as_ref())),
        printed: shown(level.printed),
        measured: match (level.measured, level.whole_device) {
            (Some(measured), Some(whole)) if whole != measured => {
                let scale = text::number(whole / measured);
                format!("{} × {scale} = {}", text::number(measured), shown(whole))
            }
            (measured, _) => measured.map_or_else(|| "–".into(), shown),
        },
        ratio: times(level.ratio),
        notes: notes.join("; "),
    }
}

/// `11.9 % of the mean printed, 4.1 % measured`.
fn shares_of_mean(shares: SharesOfMean) -> String {
    let measured = shares
        .measured_percent
        .map_or_else(String::new, |percent| format!(", {} % measured", text::number(percent)));
    format!("{} % of the mean printed{measured}", text::number(shares.printed_percent))
}

/// From how many threads on one is above another. There is no ratio: thread counts are those that
/// were chosen.
pub fn of_crossover(one: &Crossed) -> PublishedRow {
    let scale = one.parallel_scale.filter(|scale| *scale != 1.0);
    let times = |threads: u32| match scale {
        Some(scale) => format!(
            "{threads} × {} = {}",
            text::number(scale),
            text::number(f64::from(threads) * scale)
        ),
        None => threads.to_string(),
    };
    let highest = one.percent_by_threads.last().map(|(threads, _)| *threads);
    let measured = match (one.threads, highest) {
        (Some(threads), _) => format!("from {}", times(threads)),
        (None, Some(highest)) => format!("not up to {}", times(highest)),
        (None, None) => "–".into(),
    };
    let by_threads =
        |(threads, above): &(u32, f64)| format!("{threads}: {}", percent(Some(*above)));
    let all: Vec<String> = one.percent_by_threads.iter().map(by_threads).collect();
    let all = if all.is_empty() { "not measured".into() } else { all.join(", ") };
    let on = one.against_data_profile.iter().map(|profile| format!(" on {profile}"));
    let against = one.against.clone() + &on.collect::<String>();
    PublishedRow {
        what: format!(
            "{}: {} above {}, {}",
            name(&one.workload, one.data_profile.as_ref()),
            one.config,
            against,
            one.metric
        ),
        printed: text::number(one.printed_threads),
        measured,
        ratio: String::new(),
        notes: format!("printed: {}; by threads {all}", one.what),
    }
}

/// `tps with threads 4 × 32 for 128`, or why there is no ratio.
fn conditions(level: &Leveled) -> String {
    let threads: Vec<String> = level.threads.iter().map(u32::to_string).collect();
    let scale = level.parallel_scale.map(text::number);
    let times = match &scale {
        Some(scale) if scale != "1" => format!(" × {scale}"),
        _ => String::new(),
    };
    let printed =
        level.printed_threads.map_or_else(String::new, |threads| format!(" for {threads}"));
    let with = format!("{} with threads {}{times}{printed}", level.metric, threads.join(", "));
    match (level.measured, level.whole_device, scale) {
        (Some(_), None, Some(scale)) => {
            format!("{with}; of a model with 1/{scale} of the parallelism, not of the full device")
        }
        (Some(_), None, None) => {
            format!("{with}; of a model of unknown scale, not of the full device")
        }
        _ => with,
    }
}

fn name(workload: &str, data_profile: Option<&String>) -> String {
    data_profile.map_or_else(|| workload.to_owned(), |set| format!("{set}: {workload}"))
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:+.1} %").replace('-', "−"))
}

fn times(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:.2}"))
}
