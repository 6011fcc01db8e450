//! Charts over the whole study: a figure against threads, and space. Traces and layouts are built here; the
//! page's script adds the theme's colours and draws.

use plotly::common::{
    DashType, ErrorData, ErrorType, ExponentFormat, Line, Marker, Mode, Pattern, PatternFillMode,
    PatternShape, Title,
};
use plotly::configuration::DisplayModeBar;
use plotly::layout::{Axis, AxisType, BarMode, DragMode, HoverMode, Margin, RangeMode};
use plotly::{Bar, Configuration, Layout, Scatter, Trace, Traces};
use serde::Serialize;

use assay_study::Study;

use super::configs::look;
use super::format::GROUP;
use super::metrics::Metric;
use super::stored::of_database;
use assay_judge::summary::{self, Figure, Group};

/// One chart: what the script hands to Plotly, and which configuration each trace belongs to.
#[derive(Serialize)]
pub(super) struct Plot {
    data: Traces,
    layout: Layout,
    configs: Vec<usize>,
}

impl Plot {
    /// An empty chart with the axes and manners of all of them.
    pub(super) fn new(x_axis: Axis, y_axis: Axis) -> Plot {
        let y_axis = y_axis
            .range_mode(RangeMode::ToZero)
            .exponent_format(ExponentFormat::SI)
            .separate_thousands(true)
            .auto_margin(true);
        let layout = Layout::new()
            .auto_size(true)
            .show_legend(false)
            .margin(Margin::new().left(46).right(10).top(22).bottom(38))
            .separators(format!(".{GROUP}"))
            .hover_mode(HoverMode::XUnified)
            .drag_mode(DragMode::Zoom)
            .x_axis(x_axis.auto_margin(true))
            .y_axis(y_axis);
        Plot { data: Traces::new(), layout, configs: Vec::new() }
    }

    /// Changes the layout.
    pub(super) fn adjust(&mut self, change: impl FnOnce(Layout) -> Layout) {
        self.layout = change(std::mem::take(&mut self.layout));
    }

    /// Adds a trace of the configuration at `place`.
    pub(super) fn push(&mut self, place: usize, trace: Box<dyn Trace>) {
        self.data.push(trace);
        self.configs.push(place);
    }
}

/// How Plotly behaves in every chart: no links out, no buttons of its own, for the page has a menu.
pub(super) fn configuration() -> Configuration {
    Configuration::new()
        .display_mode_bar(DisplayModeBar::False)
        .display_logo(false)
        .show_link(false)
        .show_send_to_cloud(false)
        .plotly_server_url("")
        .topojson_url("")
        .responsive(true)
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
    let x_axis = Axis::new()
        .type_(AxisType::Category)
        .category_array(ticks.clone())
        .title(Title::with_text("threads"));
    let mut plot = Plot::new(x_axis, Axis::new().title(Title::with_text(label(metric.unit))));
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
) -> Box<dyn Trace> {
    // A thread count without a figure is a gap: a line across it would invent one.
    let means = figures.iter().map(|figure| figure.as_ref().map(|one| one.mean)).collect();
    if threads.len() == 1 {
        return Bar::new(threads, means)
            .name(label(name))
            .marker(Marker::new().color(look(place).light).pattern(pattern(place)))
            .error_y(spread(figures))
            .hover_template(hover(metric.unit));
    }
    let Style { dash, marker, colour } = Style::of(place);
    Scatter::new(threads, means)
        .name(label(name))
        .mode(Mode::LinesMarkers)
        .connect_gaps(false)
        .line(Line::new().width(2.0).dash(dash).color(colour))
        .marker(marker)
        .error_y(spread(figures))
        .hover_template(hover(metric.unit))
}

/// How a configuration is drawn.
pub(super) struct Style {
    pub(super) dash: DashType,
    pub(super) marker: Marker,
    pub(super) colour: &'static str,
}

impl Style {
    pub(super) fn of(place: usize) -> Style {
        let look = look(place);
        let marker = Marker::new().symbol(look.symbol).size(8).color(look.light);
        Style { dash: look.dash, marker, colour: look.light }
    }
}

/// From the mean to the highest and to the lowest repeat; nothing to see where there was one.
fn spread(figures: &[Option<Figure>]) -> ErrorData {
    let reach = |of: fn(&Figure) -> f64| -> Vec<f64> {
        figures.iter().map(|figure| figure.as_ref().map_or(0.0, of)).collect()
    };
    ErrorData::new(ErrorType::Data)
        .symmetric(false)
        .array(reach(|figure| figure.high - figure.mean))
        .array_minus(reach(|figure| figure.mean - figure.low))
        .visible(figures.iter().flatten().any(|figure| figure.values.len() > 1))
        .thickness(1.2)
        .width(3)
}

/// Bars of different configurations differ by more than colour.
fn pattern(place: usize) -> Pattern {
    let shape = match place % 5 {
        0 => PatternShape::None,
        1 => PatternShape::RightDiagonalLine,
        2 => PatternShape::Dot,
        3 => PatternShape::LeftDiagonalLine,
        _ => PatternShape::HorizontalLine,
    };
    Pattern::new().shape(shape).fill_mode(PatternFillMode::Overlay).size(7.0).solidity(0.2)
}

/// What the data take, from the files down to the media, for each workload. Nothing if no run has them.
pub(super) fn space(study: &Study, kinds: &[Metric<'_>], groups: &[Group<'_>]) -> Option<Plot> {
    let unit = kinds.first().map_or("", |kind| kind.unit);
    let mut plot =
        Plot::new(Axis::new().type_(AxisType::Category), Axis::new().title(Title::with_text(unit)));
    plot.layout = plot.layout.bar_mode(BarMode::Group).bar_gap(0.3);
    for (place, config) in study.configs.iter().enumerate() {
        let (bars, figures): (Vec<String>, Vec<Option<Figure>>) = study
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
        let means = figures.iter().flatten().map(|figure| figure.mean).collect();
        let bar = Bar::new(bars, means)
            .name(label(&config.name))
            .marker(Marker::new().color(look(place).light).pattern(pattern(place)))
            .error_y(spread(&figures))
            .hover_template(hover(unit));
        plot.push(place, bar);
    }
    (!plot.data.is_empty()).then_some(plot)
}
