//! What was printed and what was measured, as the rows that the terminal and the report show.

use serde::Serialize;

use super::study::Leveled;
use super::text;
use crate::print;
use crate::report::Compared;

/// What a gain's ratio is.
pub(crate) const RATIO: &str =
    "A gain's ratio is (100 + measured) ÷ (100 + printed): of what one arm is to the other.";

/// A printed figure and the measured one, in words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    /// Of what: the workload, and of one arm by itself the arm.
    pub(crate) what: String,
    /// The printed figure.
    pub(crate) printed: String,
    /// The measured one.
    pub(crate) measured: String,
    /// What measured is to printed.
    pub(crate) ratio: String,
    /// What else is to be said.
    pub(crate) notes: String,
}

/// One arm against another, a row a workload.
pub(crate) fn of_gain(gain: &Compared) -> Vec<Row> {
    let row = |row: &crate::report::ComparedRow| {
        let printed = row.printed_percent;
        let measured = row.measured.as_ref().map(|one| one.mean_percent);
        let ratio = printed.zip(measured);
        let ratio = ratio.map(|(printed, measured)| (100.0 + measured) / (100.0 + printed));
        let says = row.printed_says.iter().map(|says| format!("printed: {says}"));
        let notes: Vec<String> = says.chain(row.remarks.iter().cloned()).collect();
        Row {
            what: name(&row.workload, row.data_set.as_ref()),
            printed: percent(printed),
            measured: percent(measured),
            ratio: times(ratio),
            notes: notes.join("; "),
        }
    };
    gain.rows.iter().map(row).collect()
}

/// One arm by itself.
pub(crate) fn of_level(level: &Leveled) -> Row {
    let threads: Vec<String> = level.threads.iter().map(u32::to_string).collect();
    let printed_threads =
        level.printed_threads.map_or_else(String::new, |threads| format!(" for {threads}"));
    let mut notes =
        vec![format!("{} with threads {}{printed_threads}", level.metric, threads.join(", "))];
    match level.cells {
        (0, _) => notes = vec![format!("{} was not measured", level.metric)],
        (cells, marked) if marked > 0 => {
            notes.push(format!("{marked} of {} marked", print::counted(cells as u64, "cell")));
        }
        _ => {}
    }
    let shown = |value: f64| format!("{} {}", text::number(value), level.unit);
    Row {
        what: format!("{}, {}", level.arm, name(&level.workload, level.data_set.as_ref())),
        printed: shown(level.printed),
        measured: level.measured.map_or_else(|| "–".into(), shown),
        ratio: times(level.ratio),
        notes: notes.join("; "),
    }
}

fn name(workload: &str, data_set: Option<&String>) -> String {
    data_set.map_or_else(|| workload.to_owned(), |set| format!("{set}: {workload}"))
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:+.1} %").replace('-', "−"))
}

fn times(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:.2}"))
}
