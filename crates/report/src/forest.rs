//! The chart of the first screen: how far each configuration's throughput is from the baseline's, with its interval,
//! workload by workload.
//!
//! What is drawn are the judge's comparisons and nothing else: a point is the geometric mean over repeats and thread
//! counts, the whisker its interval; the band is what does not matter.

use serde_json::{Value, json};

use crate::words::reason::reason_in_short;
use crate::words::spoilt;
use crate::words::verdict::word;
use assay_judge::{Comparison, Judgement, Metric};
use assay_study::Study;

use super::charts::{Plot, label};
use super::configs::look;
use super::flagged;
use super::format::plural;
use super::leading;

/// More rows than this are not a first look; the others stand under Verdicts.
pub(super) const MOST_ROWS: usize = 12;

/// Up to so many rows have room for three lines of names.
pub(super) const ROOMY_ROWS: usize = 8;

/// The chart with what it needs around it.
pub(super) struct Forest {
    pub(super) plot: Plot,
    /// Rows drawn, for the chart's height.
    pub(super) rows: usize,
    /// Comparisons that are not drawn, as they are too many.
    pub(super) left_out: usize,
    /// Whether a row has no valid comparison, and what would help.
    pub(super) hollow: Option<&'static str>,
}

/// Of all comparisons there are: hollow where there is no difference; nothing where nothing can be compared.
pub(super) fn forest(study: &Study, judged: &Judgement) -> Option<Forest> {
    let all = leading::rows(judged, Metric::Throughput);
    let told: Vec<&Comparison> = all.iter().copied().take(MOST_ROWS).collect();
    if told.is_empty() {
        return None;
    }
    let names: Vec<String> = told.iter().map(|one| name(one, &told)).collect();
    let (low, high) = reach(&told);
    let room = (high - low) * 0.12;
    let x_axis =
        json!({ "range": [low - room, high + room], "ticksuffix": " %", "zeroline": true });
    let mut plot = Plot::new(x_axis, json!({}));
    arrange(&mut plot, &names, judged.margin_percent);
    for (place, config) in study.configs.iter().enumerate() {
        let (made, unmade): (Vec<Named<'_>>, Vec<Named<'_>>) = names
            .iter()
            .zip(told.iter().copied())
            .filter(|(_, one)| one.config == config.name)
            .partition(|(_, one)| one.difference.is_some());
        if !made.is_empty() {
            plot.push(place, points(judged, (place, &config.name), &made, (low, high)));
        }
        if !unmade.is_empty() {
            plot.push(place, hollow(study, (place, &config.name), &unmade, (low, high)));
        }
    }
    Some(Forest {
        plot,
        rows: names.len(),
        left_out: all.len() - names.len(),
        hollow: told.iter().find(|one| one.difference.is_none()).map(|one| {
            flagged::of_comparison(study, one).map_or("", |(_, kind)| spoilt::remedy(kind))
        }),
    })
}

/// A comparison with its row's name.
type Named<'a> = (&'a String, &'a Comparison);

/// Points that stand for no difference, with the cause beside them, where there is more room.
fn hollow(
    study: &Study,
    (place, name): (usize, &str),
    its: &[Named<'_>],
    (low, high): (f64, f64),
) -> Value {
    let look = look(place);
    let names: Vec<&String> = its.iter().map(|(name, _)| *name).collect();
    let causes: Vec<String> = its.iter().map(|(_, one)| cause(study, one)).collect();
    json!({
        "type": "scatter",
        "x": vec![0.0; its.len()],
        "y": names,
        "name": label(name),
        "mode": "markers+text",
        "marker": { "symbol": format!("{}-open", look.symbol), "size": 12, "color": look.light },
        "text": causes.iter().map(|text| wrapped(text)).collect::<Vec<_>>(),
        "textposition": if high >= -low { "middle right" } else { "middle left" },
        "textfont": { "size": 11 },
        "hovertext": causes.iter().map(|text| label(text)).collect::<Vec<_>>(),
        "hovertemplate": "%{y}: %{hovertext}<extra></extra>",
    })
}

/// Why a comparison could not be made: what spoilt its runs, else what the judge says.
fn cause(study: &Study, one: &Comparison) -> String {
    let because = || reason_in_short(one).unwrap_or_else(|| "nothing was measured".into());
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
fn name(one: &Comparison, all: &[&Comparison]) -> String {
    let whole = of_whole(one, all);
    match one.threads.filter(|threads| all.iter().any(|other| other.threads != Some(*threads))) {
        Some(threads) => format!("{whole}, {}", plural(threads as usize, "thread")),
        None => whole,
    }
}

fn of_whole(one: &Comparison, all: &[&Comparison]) -> String {
    let is_same =
        |read: fn(&Comparison) -> &String| all.iter().all(|other| read(other) == read(one));
    let has_room = all.len() <= ROOMY_ROWS;
    let [judged, against] = leading::sides(one);
    let config = match is_same(|one| &one.baseline) {
        true => broken(&one.config, has_room),
        false => format!("{}<br>against {}", label(&judged), label(&against)),
    };
    let workload = label(&one.workload);
    match (is_same(|one| &one.config), is_same(|one| &one.workload)) {
        (_, true) => config,
        (true, false) => workload,
        (false, false) => format!("{config}<br>{workload}"),
    }
}

/// A long name in two lines, where rows stand far enough apart: beside it the chart needs its width on a telephone too.
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

/// From the lowest end to the highest, zero included. An end that no one would write down is cut off, so that it does
/// not hide the others: the whisker then leaves the chart.
fn reach(told: &[&Comparison]) -> (f64, f64) {
    let found = || told.iter().filter_map(|one| one.difference.as_ref());
    let furthest = found().map(|one| percent(one.ratio).abs()).fold(0.0, f64::max);
    let limit = 3.0 * furthest + 20.0;
    let low = found().map(|one| percent(one.ratio_interval.0)).fold(0.0, f64::min);
    let high = found().map(|one| percent(one.ratio_interval.1)).fold(0.0, f64::max);
    let least = if furthest > 0.0 { 0.0 } else { 10.0 };
    (low.max(-100.0).min(-least), high.min(limit).max(least))
}

fn points(
    judged: &Judgement,
    (place, name): (usize, &str),
    its: &[Named<'_>],
    (low, high): (f64, f64),
) -> Value {
    let found = || its.iter().filter_map(|(_, one)| one.difference.as_ref());
    let of = |read: fn(&assay_judge::Difference) -> f64| found().map(read).collect::<Vec<f64>>();
    let values = of(|one| percent(one.ratio));
    let text = |(value, (_, one)): (&f64, &Named<'_>)| {
        let word = match leading::is_mixed(judged, one) {
            true => leading::BY_THREADS,
            false => word(one.verdict.word),
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
    let names: Vec<&String> = its.iter().map(|(name, _)| *name).collect();
    json!({
        "type": "scatter",
        "x": values,
        "y": names,
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
fn arrange(plot: &mut Plot, rows: &[String], margin: f64) {
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
        "categoryarray": rows,
        "range": [rows.len() as f64 - 0.5, -0.65],
        "showgrid": false,
    });
    plot.replace("yaxis", y_axis);
}
