//! Charts over the whole study: a figure against threads, and space. Traces and layouts are built
//! here; the page's script adds the theme's colours and draws.

use serde::Serialize;
use serde_json::{Value, json};

use assay_study::Study;

use crate::charts::looks::look;
use crate::comparisons::flagged;
use crate::figures::columns::Metric;
use crate::figures::format::{GROUP, plural};
use assay_judge::summary::{self, RepeatGroup, RepeatStatistics};

/// One chart: what the script hands to Plotly, and which configuration each trace belongs to.
///
/// Traces and layouts are in the words of Plotly's reference (plotly.com/javascript/reference).
#[derive(Serialize)]
pub(crate) struct Plot {
    data: Vec<Value>,
    layout: Value,
    configs: Vec<usize>,
}

impl Plot {
    /// An empty chart with the axes and manners of all of them.
    pub(crate) fn new(x_axis: Value, y_axis: Value) -> Plot {
        let layout = json!({
            "autosize": true,
            "showlegend": false,
            "margin": { "l": 46, "r": 10, "t": 22, "b": 38 },
            "separators": format!(".{GROUP}"),
            "hovermode": "x unified",
            "dragmode": "zoom",
            "xaxis": { "automargin": true },
            "yaxis": {
                "rangemode": "tozero", "exponentformat": "SI",
                "separatethousands": true, "automargin": true,
            },
        });
        let mut plot = Plot { data: Vec::new(), layout, configs: Vec::new() };
        plot.adjust("xaxis", x_axis);
        plot.adjust("yaxis", y_axis);
        plot
    }

    /// Changes the layout: an object's members one by one, anything else as a whole.
    pub(crate) fn adjust(&mut self, key: &str, value: Value) {
        let there = &mut self.layout[key];
        match (there.as_object_mut(), value) {
            (Some(members), Value::Object(new)) => members.extend(new),
            (_, value) => *there = value,
        }
    }

    /// Puts something else in place of a part of the layout.
    pub(crate) fn replace(&mut self, key: &str, value: Value) {
        self.layout[key] = value;
    }

    /// Adds a trace of the configuration at `place`.
    pub(crate) fn push(&mut self, place: usize, trace: Value) {
        self.data.push(trace);
        self.configs.push(place);
    }
}

/// How Plotly behaves in every chart: no links out, no buttons of its own, for the page has a menu.
pub(crate) fn configuration() -> Value {
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
pub(crate) fn title(text: &str) -> Value {
    json!({ "text": text })
}

/// A study's own words in a label of Plotly, which reads a little HTML: shown as they are.
pub(crate) fn label(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(['\n', '\r'], " ")
}

/// Text at the pointer; Plotly puts the trace's name in front.
pub(crate) fn hover(unit: &str) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(" {}", label(unit)) };
    format!("%{{y:,.4~r}}{unit}")
}

/// Lines need this many thread counts; of fewer there are bars.
const LINE_FROM: usize = 3;

/// `metric` against threads under one workload, a line for each configuration; bars where there are
/// one or two thread counts. What holds a run that may not be compared is drawn hollow or pale.
/// Nothing if no run has it.
pub(crate) fn against_threads(
    study: &Study,
    groups: &[RepeatGroup<'_>],
    workload: usize,
    metric: &Metric<'_>,
) -> Option<Plot> {
    let of_workload = || groups.iter().filter(|group| group.workload == workload);
    let threads = summary::threads_of(of_workload());
    let ticks: Vec<String> = match threads.len() {
        0..LINE_FROM => threads.iter().map(|one| plural(*one as usize, "thread")).collect(),
        _ => threads.iter().map(ToString::to_string).collect(),
    };
    let unit = metric.unit(study.events());
    let x_title = if threads.len() < LINE_FROM { "" } else { "threads" };
    let x_axis =
        json!({ "type": "category", "categoryarray": ticks.clone(), "title": title(x_title) });
    let mut plot = Plot::new(x_axis, json!({ "title": title(&label(&unit)) }));
    plot.adjust("bargap", json!(0.25));
    for (place, config) in study.configs.iter().enumerate() {
        let point_at = |threads: &u32| {
            let group = of_workload().find(|one| one.config == place && one.threads == *threads)?;
            Some(Point {
                figure: metric.over(group)?,
                flag: flagged::reason(group.done().collect::<Vec<_>>().into_iter()),
            })
        };
        let points: Vec<Option<Point>> = threads.iter().map(point_at).collect();
        if points.iter().any(Option::is_some) {
            plot.push(place, over_threads(place, &config.name, &unit, ticks.clone(), &points));
        }
    }
    (!plot.data.is_empty()).then_some(plot)
}

/// A figure, and why it may not be compared.
struct Point {
    figure: RepeatStatistics,
    flag: Option<String>,
}

fn over_threads(
    place: usize,
    name: &str,
    unit: &str,
    threads: Vec<String>,
    points: &[Option<Point>],
) -> Value {
    // A thread count without a figure is a gap: a line across it would invent one.
    let figure = |point: &Option<Point>| point.as_ref().map(|one| one.figure.clone());
    let figures: Vec<Option<RepeatStatistics>> = points.iter().map(figure).collect();
    let means: Vec<_> = figures.iter().map(|figure| figure.as_ref().map(|one| one.mean)).collect();
    let flag = |point: &Option<Point>| point.as_ref().and_then(|one| one.flag.clone());
    let flags: Vec<Option<String>> = points.iter().map(flag).collect();
    let hovers: Vec<String> = flags.iter().map(|flag| hover_flagged(unit, flag)).collect();
    if threads.len() < LINE_FROM {
        let mut bars = bars(place, name, (threads, means), &figures, unit);
        bars["hovertemplate"] = json!(hovers);
        bars["marker"]["opacity"] = json!(flags.iter().map(opacity).collect::<Vec<f64>>());
        return bars;
    }
    let Style { line, mut marker } = Style::of(place);
    marker["symbol"] = json!(flags.iter().map(|flag| symbol(place, flag)).collect::<Vec<String>>());
    json!({
        "type": "scatter",
        "x": threads,
        "y": means,
        "name": label(name),
        "mode": "lines+markers",
        "connectgaps": false,
        "line": line,
        "marker": marker,
        "error_y": spread(&figures),
        "hovertemplate": hovers,
    })
}

/// Text at the pointer for a value that may not be compared.
pub(crate) fn hover_flagged(unit: &str, flag: &Option<String>) -> String {
    match flag {
        Some(reason) => format!("{}<br>not comparable: {}", hover(unit), label(reason)),
        None => hover(unit),
    }
}

/// The marker of a point, hollow of one that may not be compared.
pub(crate) fn symbol(place: usize, flag: &Option<String>) -> String {
    let symbol = look(place).symbol;
    if flag.is_some() { format!("{symbol}-open") } else { symbol.to_owned() }
}

/// Bars of what may not be compared are pale.
fn opacity(flag: &Option<String>) -> f64 {
    if flag.is_some() { 0.35 } else { 1.0 }
}

fn bars(
    place: usize,
    name: &str,
    (x, y): (Vec<String>, Vec<Option<f64>>),
    figures: &[Option<RepeatStatistics>],
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
pub(crate) struct Style {
    pub(crate) line: Value,
    pub(crate) marker: Value,
}

impl Style {
    pub(crate) fn of(place: usize) -> Style {
        let look = look(place);
        Style {
            line: json!({ "width": 2.0, "color": look.light }),
            marker: json!({ "symbol": look.symbol, "size": 8, "color": look.light }),
        }
    }
}

/// From the mean to the highest and to the lowest repeat; nothing to see where there was one.
fn spread(figures: &[Option<RepeatStatistics>]) -> Value {
    let reach = |of: fn(&RepeatStatistics) -> f64| -> Vec<f64> {
        figures.iter().map(|figure| figure.as_ref().map_or(0.0, of)).collect()
    };
    let (above, below) = (reach(|one| one.high - one.mean), reach(|one| one.mean - one.low));
    let is_any = figures.iter().flatten().any(|figure| figure.values.len() > 1);
    whiskers(&above, &below, is_any)
}

/// So far above and below each point.
pub(crate) fn whiskers(above: &[f64], below: &[f64], is_visible: bool) -> Value {
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

/// A stage of what the data take: what it is called, and of each configuration how much.
pub(crate) type Stage = (String, Vec<Option<RepeatStatistics>>);

/// Space of the data, from the files down to the media, stage by stage. `None` if no run has it.
pub(crate) fn space(study: &Study, unit: &str, stages: &[Stage]) -> Option<Plot> {
    let mut plot = Plot::new(json!({ "type": "category" }), json!({ "title": title(unit) }));
    plot.adjust("barmode", json!("group"));
    plot.adjust("bargap", json!(0.3));
    for (place, config) in study.configs.iter().enumerate() {
        let its = stages.iter().filter_map(|(name, all)| Some((name, all.get(place)?.clone()?)));
        let (names, figures): (Vec<String>, Vec<Option<RepeatStatistics>>) =
            its.map(|(name, figure)| (label(name), Some(figure))).unzip();
        if figures.is_empty() {
            continue;
        }
        let means = figures.iter().flatten().map(|figure| Some(figure.mean)).collect();
        plot.push(place, bars(place, &config.name, (names, means), &figures, unit));
    }
    (!plot.data.is_empty()).then_some(plot)
}
