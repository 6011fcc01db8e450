//! Draws the live view: at most eleven rows, of which a small terminal gets the ones that matter most.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::widgets::{LineGauge, Sparkline, SparklineBar, Widget};

use super::seen::{Ending, Seen};
use assay_base::text::{size, time};

/// Columns of a row's name.
const NAME_COLUMNS: u16 = 7;
/// Columns of a row's figures, without a sparkline as many as there are.
const FIGURE_COLUMNS: u16 = 34;
/// A sparkline with fewer columns says nothing.
const SPARK_COLUMNS_MIN: u16 = 8;
/// Sparklines are drawn from whole numbers; these are the steps to their highest value.
const STEPS: f64 = 1000.0;

/// A row of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    Blank,
    Trial,
    Gauge,
    Step,
    Tps,
    P99,
    Operation(&'static Operation),
    Keys,
}

/// What a device does, and where its figures are in `DISK_SERIES`.
#[derive(Debug, PartialEq, Eq)]
struct Operation {
    name: &'static str,
    /// Which series is drawn.
    drawn: usize,
    bytes: Option<usize>,
    count: usize,
    latency_ms: usize,
    color: Color,
}

const READ: Operation = Operation {
    name: "read",
    drawn: 0,
    bytes: Some(0),
    count: 1,
    latency_ms: 2,
    color: Color::Green,
};
const WRITE: Operation = Operation {
    name: "write",
    drawn: 3,
    bytes: Some(3),
    count: 4,
    latency_ms: 5,
    color: Color::Yellow,
};
const FLUSH: Operation = Operation {
    name: "flush",
    drawn: 6,
    bytes: None,
    count: 6,
    latency_ms: 7,
    color: Color::Magenta,
};

/// All rows from top to bottom, each with its rank: a terminal of *n* rows gets those ranked below *n*. The first blank row
/// is where the cursor rests.
const ROWS: [(usize, Row); 11] = [
    (9, Row::Blank),
    (0, Row::Trial),
    (4, Row::Gauge),
    (2, Row::Step),
    (3, Row::Tps),
    (5, Row::P99),
    (7, Row::Operation(&READ)),
    (6, Row::Operation(&WRITE)),
    (8, Row::Operation(&FLUSH)),
    (10, Row::Blank),
    (1, Row::Keys),
];

/// Rows of a view on a terminal of so many: one stays for what was said before.
pub fn rows_on(terminal_rows: u16) -> u16 {
    terminal_rows.saturating_sub(1).clamp(1, ROWS.len() as u16)
}

/// Draws what was seen into `area`, of any size.
pub fn draw(seen: &Seen, area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    let fitting = ROWS.iter().filter(|(rank, _)| *rank < usize::from(area.height));
    for ((_, row), y) in fitting.zip(area.y..) {
        draw_row(*row, seen, Rect { y, height: 1, ..area }, buffer);
    }
}

fn draw_row(row: Row, seen: &Seen, area: Rect, buffer: &mut Buffer) {
    match row {
        Row::Blank => {}
        Row::Trial => {
            let trial = seen.trial.as_ref().unwrap_or(&seen.title);
            write(std::slice::from_ref(trial), area, Style::new().bold(), buffer);
        }
        Row::Gauge => gauge(seen, area, buffer),
        Row::Step => write(std::slice::from_ref(&seen.step), area, Style::new(), buffer),
        Row::Tps => {
            let values = seen.load.iter().map(|second| Some(second.tps));
            let now = seen.load.back().map(|second| format!("{:.1} /s", second.tps));
            series(("tps", Color::Cyan), now, values, area, buffer);
        }
        Row::P99 => {
            let values = seen.load.iter().map(|second| Some(second.latency_ms_p99));
            let now = seen.load.back().map(|second| format!("{:.2} ms", second.latency_ms_p99));
            series(("p99", Color::Red), now, values, area, buffer);
        }
        Row::Operation(operation) => {
            let values = seen.disk.iter().map(|second| second[operation.drawn]);
            let now = operation.figures(seen);
            series((operation.name, operation.color), now, values, area, buffer);
        }
        Row::Keys => {
            let style = match seen.ending {
                Ending::None => Style::new().dim(),
                Ending::AfterTrial | Ending::Now => Style::new().bold(),
            };
            write(keys(seen.ending), area, style, buffer);
        }
    }
}

impl Operation {
    /// Those of the last second.
    fn figures(&self, seen: &Seen) -> Option<String> {
        if seen.is_disk_counted == Some(false) {
            return Some("not counted on this machine".into());
        }
        let now = seen.disk.last()?;
        let bytes = self.bytes.and_then(|place| now[place]);
        let bytes = bytes.map_or_else(String::new, |bytes| format!("{}/s  ", size(bytes)));
        let latency = now[self.latency_ms].map(|ms| format!("  {ms:.2} ms")).unwrap_or_default();
        Some(format!("{bytes}{:.0} /s{latency}", now[self.count]?))
    }
}

/// What the keys do now, in full and shorter.
fn keys(ending: Ending) -> &'static [&'static str] {
    match ending {
        Ending::None => &[
            "q: stop after this run    Ctrl-C: stop now",
            "q: stop after this run  ^C: now",
            "q ^C",
        ],
        Ending::AfterTrial => &[
            "stopping after this run    q: stop now and repeat this run next time    any other key: do not stop",
            "stopping after this run  q: stop now  other key: do not stop",
            "q: stop now; other key: do not",
            "stopping",
        ],
        Ending::Now => &[
            "stopping; finished runs are kept    Ctrl-C: kill at once, then `assay clean` removes what is left",
            "stopping; finished runs are kept",
            "stopping",
        ],
    }
}

/// Writes the first of these texts that fits, else what fits of the last.
fn write(texts: &[impl AsRef<str>], area: Rect, style: Style, buffer: &mut Buffer) {
    let fits = |text: &&str| text.chars().count() <= usize::from(area.width);
    let mut all = texts.iter().map(AsRef::as_ref);
    let last = texts.last().map(AsRef::as_ref);
    if let Some(text) = all.find(fits).or(last) {
        buffer.set_stringn(area.x, area.y, text, area.width.into(), style);
    }
}

fn gauge(seen: &Seen, area: Rect, buffer: &mut Buffer) {
    let share = seen.count.share(seen.trial_s);
    let label = format!("{:3.0} %  {} left", share * 100.0, time(seen.count.seconds_left()));
    if usize::from(area.width) < label.len() + usize::from(SPARK_COLUMNS_MIN) {
        return write(&[label], area, Style::new(), buffer);
    }
    LineGauge::default()
        .ratio(share)
        .label(label)
        .filled_symbol("━")
        .unfilled_symbol("─")
        .filled_style(Style::new().fg(Color::Cyan))
        .unfilled_style(Style::new().dim())
        .render(area, buffer);
}

/// A name, the last seconds of something, and how it is now.
fn series(
    (name, color): (&str, Color),
    now: Option<String>,
    values: impl DoubleEndedIterator<Item = Option<f64>>,
    area: Rect,
    buffer: &mut Buffer,
) {
    write(&[name], area, Style::new().dim(), buffer);
    let columns = area.columns_from(NAME_COLUMNS);
    let now = now.unwrap_or_else(|| "–".into());
    let spark_columns = columns.width.saturating_sub(FIGURE_COLUMNS);
    if spark_columns < SPARK_COLUMNS_MIN {
        return write(&[now], columns, Style::new(), buffer);
    }
    sparkline(values, color, Rect { width: spark_columns, ..columns }, buffer);
    write(&[now], columns.columns_from(spark_columns + 2), Style::new(), buffer);
}

fn sparkline(
    values: impl DoubleEndedIterator<Item = Option<f64>>,
    color: Color,
    area: Rect,
    buffer: &mut Buffer,
) {
    let mut last: Vec<Option<f64>> = values.rev().take(area.width.into()).collect();
    last.reverse();
    let known = |value: &&Option<f64>| value.is_some_and(f64::is_finite);
    let highest = last.iter().filter(known).copied().flatten().fold(0.0, f64::max);
    let bar = |value: Option<f64>| {
        let share = value.filter(|value| value.is_finite()).map(|value| value / highest);
        SparklineBar::from(
            share.filter(|share| share.is_finite()).map(|share| (share * STEPS) as u64),
        )
    };
    Sparkline::default()
        .data(last.into_iter().map(bar).collect::<Vec<_>>())
        .max(STEPS as u64)
        .style(Style::new().fg(color))
        .render(area, buffer);
}

/// Cutting columns off a row.
trait Columns {
    /// What is left without the first ones.
    fn columns_from(self, first: u16) -> Rect;
}

impl Columns for Rect {
    fn columns_from(self, first: u16) -> Rect {
        let first = first.min(self.width);
        Rect { x: self.x + first, width: self.width - first, ..self }
    }
}
