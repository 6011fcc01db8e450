//! Charts over the whole study: a figure against threads, and space. Traces and layouts are built here; the
//! page's script adds the theme's colours and draws.

use serde::Serialize;
use serde_json::{Value, json};

use assay_study::Study;

use super::configs::look;
use super::format::GROUP;
use super::metrics::Metric;
use super::stored::of_database;
use assay_judge::summary::{self, Figure, Group};

/// One chart: what the script hands to Plotly, and which configuration each trace belongs to.
///
/// Traces and layouts are in the words of Plotly's reference (plotly.com/javascript/reference).
#[derive(Serialize)]
pub(super) struct Plot {
    data: Vec<Value>,
    layout: Value,
    configs: Vec<usize>,
}

impl Plot {
    /// An empty chart with the axes and manners of all of them.
    pub(super) fn new(x_axis: Value, y_axis: Value) -> Plot {
        let layout = json!({
            "autosize": true,
            "showlegend": false,
            "margin": { "l": 46, "r": 10, "t": 22, "b": 38 },
            "separators": format!(".{GROUP}"),
            "hovermode": "x unified",
            "dragmode": "zoom",
            "xaxis": { "automargin": true },
            "yaxis": {
                "rangemode": "tozero", "exponentformat": "SI", "separatethousands": true, "automargin": true,
            },
        });
        let mut plot = Plot { data: Vec::new(), layout, configs: Vec::new() };
        plot.adjust("xaxis", x_axis);
        plot.adjust("yaxis", y_axis);
        plot
    }

    /// Changes the layout: an object's members one by one, anything else as a whole.
    pub(super) fn adjust(&mut self, key: &str, value: Value) {
        let there = &mut self.layout[key];
        match (there.as_object_mut(), value) {
            (Some(members), Value::Object(new)) => members.extend(new),
            (_, value) => *there = value,
        }
    }

    /// Puts something else in place of a part of the layout.
    pub(super) fn replace(&mut self, key: &str, value: Value) {
        self.layout[key] = value;
    }

    /// Adds a trace of the configuration at `place`.
    pub(super) fn push(&mut self, place: usize, trace: Value) {
        self.data.push(trace);
        self.configs.push(place);
    }
}

/// How Plotly behaves in every chart: no links out, no buttons of its own, for the page has a menu.
pub(super) fn configuration() -> Value {
    json!({
        "displayModeBar": false,
        "displaylogo": false,
        "showLink": false,
        "showSendToCloud": false,
        "plotlyServerURL": "",
        "topojsonURL": "",
        "responsive": true,
    })
}

/// The title of an axis.
pub(super) fn title(text: &str) -> Value {
    json!({ "text": text })
}

/// A study's own words in a label of Plotly, which reads a little HTML: shown as they are.
pub(super) fn label(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(['\n', '\r'], " ")
}

/// What a pointer sees of a value; Plotly puts the trace's name in front.
pub(super) fn hover(unit: &str) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(" {}", label(unit)) };
    format!("%{{y:,.4~r}}{unit}")
}

/// `metric` against threads under one workload, a line for each configuration; bars where there is one thread count only.
/// Nothing if no run has it.
pub(super) fn against_threads(
    study: &Study,
    groups: &[Group<'_>],
    workload: usize,
    metric: &Metric<'_>,
) -> Option<Plot> {
    let of_workload = || groups.iter().filter(|group| group.workload == workload);
    let threads = summary::threads(study);
    let ticks: Vec<String> = threads.iter().map(ToString::to_string).collect();
    let x_axis =
        json!({ "type": "category", "categoryarray": ticks.clone(), "title": title("threads") });
    let mut plot = Plot::new(x_axis, json!({ "title": title(&label(metric.unit)) }));
    for (place, config) in study.configs.iter().enumerate() {
        let figure_at = |threads: &u32| {
            let group = of_workload().find(|one| one.config == place && one.threads == *threads);
            group.and_then(|group| metric.over(group))
        };
        let figures: Vec<Option<Figure>> = threads.iter().map(figure_at).collect();
        if figures.iter().any(Option::is_some) {
            plot.push(place, over_threads(place, &config.name, metric, ticks.clone(), &figures));
        }
    }
    (!plot.data.is_empty()).then_some(plot)
}

fn over_threads(
    place: usize,
    name: &str,
    metric: &Metric<'_>,
    threads: Vec<String>,
    figures: &[Option<Figure>],
) -> Value {
    // A thread count without a figure is a gap: a line across it would invent one.
    let means: Vec<_> = figures.iter().map(|figure| figure.as_ref().map(|one| one.mean)).collect();
    if threads.len() == 1 {
        return bars(place, name, (threads, means), figures, metric.unit);
    }
    let Style { line, marker } = Style::of(place);
    json!({
        "type": "scatter",
        "x": threads,
        "y": means,
        "name": label(name),
        "mode": "lines+markers",
        "connectgaps": false,
        "line": line,
        "marker": marker,
        "error_y": spread(figures),
        "hovertemplate": hover(metric.unit),
    })
}

fn bars(
    place: usize,
    name: &str,
    (x, y): (Vec<String>, Vec<Option<f64>>),
    figures: &[Option<Figure>],
    unit: &str,
) -> Value {
    json!({
        "type": "bar",
        "x": x,
        "y": y,
        "name": label(name),
        "marker": { "color": look(place).light, "pattern": pattern(place) },
        "error_y": spread(figures),
        "hovertemplate": hover(unit),
    })
}

/// How a configuration is drawn.
pub(super) struct Style {
    pub(super) line: Value,
    pub(super) marker: Value,
}

impl Style {
    pub(super) fn of(place: usize) -> Style {
        let look = look(place);
        Style {
            line: json!({ "width": 2.0, "dash": look.dash, "color": look.light }),
            marker: json!({ "symbol": look.symbol, "size": 8, "color": look.light }),
        }
    }
}

/// From the mean to the highest and to the lowest repeat; nothing to see where there was one.
fn spread(figures: &[Option<Figure>]) -> Value {
    let reach = |of: fn(&Figure) -> f64| -> Vec<f64> {
        figures.iter().map(|figure| figure.as_ref().map_or(0.0, of)).collect()
    };
    let (above, below) = (reach(|one| one.high - one.mean), reach(|one| one.mean - one.low));
    let is_any = figures.iter().flatten().any(|figure| figure.values.len() > 1);
    whiskers(&above, &below, is_any)
}

/// So far above and below each point.
pub(super) fn whiskers(above: &[f64], below: &[f64], is_visible: bool) -> Value {
    json!({
        "type": "data",
        "symmetric": false,
        "array": above,
        "arrayminus": below,
        "visible": is_visible,
        "thickness": 1.2,
        "width": 3,
    })
}

/// Bars of different configurations differ by more than colour.
fn pattern(place: usize) -> Value {
    let shape = match place % 5 {
        0 => "",
        1 => "/",
        2 => ".",
        3 => "\\",
        _ => "-",
    };
    json!({ "shape": shape, "fillmode": "overlay", "size": 7.0, "solidity": 0.2 })
}

/// What the data take, from the files down to the media, for each workload. Nothing if no run has them.
pub(super) fn space(study: &Study, kinds: &[Metric<'_>], groups: &[Group<'_>]) -> Option<Plot> {
    let unit = kinds.first().map_or("", |kind| kind.unit);
    let mut plot = Plot::new(json!({ "type": "category" }), json!({ "title": title(unit) }));
    plot.adjust("barmode", json!("group"));
    plot.adjust("bargap", json!(0.3));
    for (place, config) in study.configs.iter().enumerate() {
        let (bars_of, figures): (Vec<String>, Vec<Option<Figure>>) = study
            .workloads
            .iter()
            .enumerate()
            .flat_map(|at| kinds.iter().map(move |kind| (at, kind)))
            .filter_map(|((workload, name), kind)| {
                let bar = format!("{}<br>{}", label(&name.name), kind.head);
                Some((bar, Some(of_database(groups, place, workload, kind)?)))
            })
            .unzip();
        if figures.is_empty() {
            continue;
        }
        let means = figures.iter().flatten().map(|figure| Some(figure.mean)).collect();
        let bar = bars(place, &config.name, (bars_of, means), &figures, unit);
        plot.push(place, bar);
    }
    (!plot.data.is_empty()).then_some(plot)
}
