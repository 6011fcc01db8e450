//! The chart of the first screen: how far each configuration's throughput is from the baseline's, with its interval,
//! workload by workload.
//!
//! What is drawn are the judge's comparisons and nothing else: a point is the geometric mean over repeats and thread
//! counts, the whisker its interval; the band is what does not matter.

use serde_json::{Value, json};

use crate::words::verdict::word;
use assay_judge::{Comparison, Judgement, Metric};
use assay_study::Study;

use super::charts::{Plot, label};
use super::configs::look;
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
    /// Comparisons that are not drawn: too many, or without a figure.
    pub(super) left_out: usize,
}

/// Of the comparisons that have a difference; nothing where none has.
pub(super) fn forest(study: &Study, judged: &Judgement) -> Option<Forest> {
    let all = leading::whole(judged, Metric::Throughput);
    let told: Vec<&Comparison> =
        all.iter().copied().filter(|one| one.difference.is_some()).take(MOST_ROWS).collect();
    let names: Vec<String> = told.iter().map(|one| name(one, &told)).collect();
    let (low, high) = reach(&told)?;
    let room = (high - low) * 0.12;
    let x_axis =
        json!({ "range": [low - room, high + room], "ticksuffix": " %", "zeroline": true });
    let mut plot = Plot::new(x_axis, json!({}));
    arrange(&mut plot, &names, judged.margin_percent);
    for (place, config) in study.configs.iter().enumerate() {
        let its: Vec<(&String, &Comparison)> = names
            .iter()
            .zip(told.iter().copied())
            .filter(|(_, one)| one.config == config.name)
            .collect();
        if !its.is_empty() {
            plot.push(place, points(judged, (place, &config.name), &its, (low, high)));
        }
    }
    Some(Forest { plot, rows: names.len(), left_out: all.len() - names.len() })
}

/// No more words than tell the rows apart.
fn name(one: &Comparison, all: &[&Comparison]) -> String {
    let is_same =
        |read: fn(&Comparison) -> &String| all.iter().all(|other| read(other) == read(one));
    let has_room = all.len() <= ROOMY_ROWS;
    let (config, workload) = (broken(&one.config, has_room), label(&one.workload));
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
fn reach(told: &[&Comparison]) -> Option<(f64, f64)> {
    let found = || told.iter().filter_map(|one| one.difference.as_ref());
    let furthest = found().map(|one| percent(one.ratio).abs()).fold(f64::NAN, f64::max);
    if furthest.is_nan() {
        return None;
    }
    let limit = 3.0 * furthest + 20.0;
    let low = found().map(|one| percent(one.ratio_interval.0)).fold(0.0, f64::min);
    let high = found().map(|one| percent(one.ratio_interval.1)).fold(0.0, f64::max);
    Some((low.max(-100.0), high.min(limit)))
}

fn points(
    judged: &Judgement,
    (place, name): (usize, &str),
    its: &[(&String, &Comparison)],
    (low, high): (f64, f64),
) -> Value {
    let found = || its.iter().filter_map(|(_, one)| one.difference.as_ref());
    let of = |read: fn(&assay_judge::Difference) -> f64| found().map(read).collect::<Vec<f64>>();
    let values = of(|one| percent(one.ratio));
    let text = |(value, (_, one)): (&f64, &(&String, &Comparison))| {
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
