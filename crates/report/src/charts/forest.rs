//! The chart of the first screen: how far each configuration's throughput, or its p99 at a fixed
//! rate, is from the baseline's, with its interval, workload by workload.
//!
//! What is drawn are the judge's comparisons and nothing else: a point is the geometric mean over
//! repeats and thread counts, the whisker its interval; the band is what does not matter.

use serde_json::{Value, json};

use crate::words::disturbed;
use crate::words::reason::reason_in_short;
use crate::words::verdict::word;
use assay_judge::{JudgedComparison, Judgement};
use assay_study::Study;

use crate::charts::looks::look;
use crate::charts::plots::{Plot, label};
use crate::comparisons::flagged;
use crate::comparisons::questions;
use crate::figures::format::plural;

/// More rows than this are not a first look; the others stand under Verdicts.
pub(crate) const MOST_ROWS: usize = 12;

/// Up to so many rows have room for three lines of names.
pub(crate) const ROOMY_ROWS: usize = 8;

/// The chart with what it needs around it.
pub(crate) struct Forest {
    pub(crate) plot: Plot,
    /// Rows drawn, for the chart's height.
    pub(crate) rows: usize,
    /// Lines of names that the rows have at most.
    pub(crate) lines: usize,
    /// Comparisons that are not drawn, as they are too many.
    pub(crate) left_out: usize,
    /// Whether a row has no valid comparison, and what would help.
    pub(crate) uncompared: Option<&'static str>,
}

/// Forest of all comparisons, with words in place of a point where there is no figure. `None` if no
/// comparison has a figure: rows of words on an axis look as if all were equal.
pub(crate) fn forest(study: &Study, judgement: &Judgement) -> Option<Forest> {
    let all = questions::rows(judgement, questions::metric(study, judgement));
    let told: Vec<&JudgedComparison> = all.iter().copied().take(MOST_ROWS).collect();
    told.iter().find(|one| one.difference.is_some())?;
    let rows: Vec<Row<'_>> = told.iter().map(|one| row(one, &told)).collect();
    let (low, high) = reach(&told);
    let room = (high - low) * 0.12;
    let x_axis =
        json!({ "range": [low - room, high + room], "ticksuffix": " %", "zeroline": true });
    let mut plot = Plot::new(x_axis, json!({}));
    arrange(&mut plot, &rows, judgement.margin_percent);
    for (place, config) in study.configs.iter().enumerate() {
        let (made, unmade): (Vec<&Row<'_>>, Vec<&Row<'_>>) = rows
            .iter()
            .filter(|row| row.of.config == config.name)
            .partition(|row| row.of.difference.is_some());
        if !made.is_empty() {
            plot.push(place, points(judgement, (place, &config.name), &made, (low, high)));
        }
        if !unmade.is_empty() {
            plot.push(place, words(study, &config.name, &unmade, low - 0.85 * room));
        }
    }
    Some(Forest {
        plot,
        rows: rows.len(),
        lines: rows.iter().map(|row| row.lines.matches("<br>").count() + 1).max().unwrap_or(1),
        left_out: all.len() - rows.len(),
        uncompared: told.iter().find(|one| one.difference.is_none()).map(|one| {
            flagged::of_comparison(study, one).map_or("", |(_, kind)| disturbed::remedy(kind))
        }),
    })
}

/// A comparison and how its row is called: beside the chart in lines, above the point (on a
/// telephone) in one.
struct Row<'a> {
    lines: String,
    line: String,
    of: &'a JudgedComparison,
}

/// Why rows have no point, from the chart's left edge on: a mark anywhere on the axis would be
/// taken for a difference.
fn words(study: &Study, name: &str, its: &[&Row<'_>], edge: f64) -> Value {
    let causes: Vec<String> =
        its.iter().map(|row| format!("not compared: {}", cause(study, row.of))).collect();
    json!({
        "type": "scatter",
        "x": vec![edge; its.len()],
        "y": its.iter().map(|row| &row.lines).collect::<Vec<_>>(),
        "customdata": its.iter().map(|row| &row.line).collect::<Vec<_>>(),
        "name": label(name),
        "mode": "text",
        "text": causes.iter().map(|text| wrapped(text)).collect::<Vec<_>>(),
        "textposition": "middle right",
        "textfont": { "size": 11 },
        "hoverinfo": "skip",
    })
}

/// Why a comparison could not be made: what disturbed its runs, else what the judge says.
fn cause(study: &Study, one: &JudgedComparison) -> String {
    let because =
        || reason_in_short(study.events(), one).unwrap_or_else(|| "nothing was measured".into());
    flagged::of_comparison(study, one).map_or_else(because, |(cause, _)| cause)
}

/// In lines that have room beside the point.
fn wrapped(text: &str) -> String {
    const LINE: usize = 40;
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let is_full = lines.last().is_some_and(|line| line.chars().count() + word.len() > LINE);
        if is_full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.iter().map(|line| label(line)).collect::<Vec<_>>().join("<br>")
}

/// No more words than tell the rows apart.
fn row<'a>(one: &'a JudgedComparison, all: &[&JudgedComparison]) -> Row<'a> {
    let has_others = |threads: &u32| all.iter().any(|other| other.threads != Some(*threads));
    let threads = one.threads.filter(has_others).map(|count| plural(count as usize, "thread"));
    let end = threads.map_or(String::new(), |threads| format!(", {threads}"));
    let parts = parts(one, all);
    let has_room = all.len() <= ROOMY_ROWS && parts.len() <= 2;
    let lines: Vec<String> = parts.iter().map(|part| broken(part, has_room)).collect();
    Row { lines: lines.join("<br>") + &end, line: label(&parts.join(", ")) + &end, of: one }
}

/// The names of what differs between the rows: configuration, what it is compared with, workload.
fn parts(one: &JudgedComparison, all: &[&JudgedComparison]) -> Vec<String> {
    let is_same =
        |read: fn(&JudgedComparison) -> &String| all.iter().all(|other| read(other) == read(one));
    let [judgement, against] = questions::sides(one);
    let configs = match is_same(|one| &one.baseline) {
        true => vec![one.config.clone()],
        false => vec![judgement, format!("against {against}")],
    };
    let workload = || vec![one.workload.clone()];
    match (is_same(|one| &one.config), is_same(|one| &one.workload)) {
        (_, true) => configs,
        (true, false) => workload(),
        (false, false) => [configs, workload()].concat(),
    }
}

/// A long name in two lines, where rows stand far enough apart: beside it the chart needs its width
/// on a telephone too.
fn broken(name: &str, has_room: bool) -> String {
    const LONG: usize = 20;
    let middle = name.chars().count() / 2;
    let places = name.match_indices(' ').map(|(place, _)| place);
    let near = places.min_by_key(|place| name[..*place].chars().count().abs_diff(middle));
    match near.filter(|_| has_room && 2 * middle >= LONG) {
        Some(place) => format!("{}<br>{}", label(&name[..place]), label(&name[place + 1..])),
        None => label(name),
    }
}

fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

/// From the lowest end to the highest, zero included. An end that no one would write down is cut
/// off, so that it does not hide the others: the whisker then leaves the chart.
fn reach(told: &[&JudgedComparison]) -> (f64, f64) {
    let found = || told.iter().filter_map(|one| one.difference.as_ref());
    let furthest = found().map(|one| percent(one.ratio).abs()).fold(0.0, f64::max);
    let limit = 3.0 * furthest + 20.0;
    let low = found().map(|one| percent(one.ratio_interval.0)).fold(0.0, f64::min);
    let high = found().map(|one| percent(one.ratio_interval.1)).fold(0.0, f64::max);
    let least = if furthest > 0.0 { 0.0 } else { 10.0 };
    (low.max(-100.0).min(-least), high.min(limit).max(least))
}

fn points(
    judgement: &Judgement,
    (place, name): (usize, &str),
    its: &[&Row<'_>],
    (low, high): (f64, f64),
) -> Value {
    let found = || its.iter().filter_map(|row| row.of.difference.as_ref());
    let of = |read: fn(&assay_judge::Difference) -> f64| found().map(read).collect::<Vec<f64>>();
    let values = of(|one| percent(one.ratio));
    let text = |(value, row): (&f64, &&Row<'_>)| {
        let word = match questions::is_mixed(judgement, row.of) {
            true => questions::BY_THREADS,
            false => word(row.of.verdict.conclusion),
        };
        format!("{value:+.0} % {word}").replace('-', "−")
    };
    let texts: Vec<String> = values.iter().zip(its).map(text).collect();
    // The words of a point near an edge would leave the chart.
    let position = |value: &f64| match (value - low) / (high - low) {
        0.75.. => "top left",
        ..0.25 => "top right",
        _ => "top center",
    };
    let positions: Vec<&str> = values.iter().map(position).collect();
    let look = look(place);
    json!({
        "type": "scatter",
        "x": values,
        "y": its.iter().map(|row| &row.lines).collect::<Vec<_>>(),
        "customdata": its.iter().map(|row| &row.line).collect::<Vec<_>>(),
        "name": label(name),
        "mode": "markers+text",
        "marker": { "symbol": look.symbol, "size": 11, "color": look.light },
        "text": texts,
        "textposition": positions,
        "textfont": { "size": 13 },
        "error_x": {
            "type": "data",
            "symmetric": false,
            "array": of(|one| (one.ratio_interval.1 - one.ratio) * 100.0),
            "arrayminus": of(|one| (one.ratio - one.ratio_interval.0) * 100.0),
            "thickness": 2.0,
            "width": 6,
        },
        "hovertemplate": "%{y}: %{x:+.1f} %<extra></extra>",
    })
}

/// Rows from the top down, and the band of what does not matter behind them.
fn arrange(plot: &mut Plot, rows: &[Row<'_>], margin: f64) {
    let band = json!({
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": -margin,
        "x1": margin,
        "y0": 0.0,
        "y1": 1.0,
        "layer": "below",
        "fillcolor": "rgba(128, 128, 128, 0.16)",
        "line": { "width": 0.0 },
    });
    plot.adjust("hovermode", json!("closest"));
    plot.adjust("margin", json!({ "l": 10, "r": 14, "t": 8, "b": 40 }));
    plot.adjust("shapes", json!([band]));
    let y_axis = json!({
        "type": "category",
        "automargin": true,
        "categoryarray": rows.iter().map(|row| &row.lines).collect::<Vec<_>>(),
        "range": [rows.len() as f64 - 0.5, -0.65],
        "showgrid": false,
    });
    plot.replace("yaxis", y_axis);
}
