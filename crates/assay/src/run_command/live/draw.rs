//! Draws the live view: at most eleven rows; a small terminal gets the most important ones.

use super::line::{Color, Line, Style};
use super::seen::{Ending, Seen};
use assay_base::text::{size, time};
use unicode_width::UnicodeWidthStr;

/// Columns for a row's name.
const NAME_COLUMNS: usize = 7;
/// Columns for a row's figures; without a sparkline, all columns.
const FIGURE_COLUMNS: usize = 34;
/// Smallest width at which a sparkline is drawn.
const SPARK_COLUMNS_MIN: usize = 8;
/// Characters of a sparkline, from zero to its highest value.
const SPARKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

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

/// An operation of the device, with indices into `DISK_SERIES`.
#[derive(Debug, PartialEq, Eq)]
struct Operation {
    name: &'static str,
    /// Series of the sparkline.
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

/// All rows from top to bottom, each with its rank: a terminal with *n* rows gets those ranked
/// below *n*. The cursor rests at the first blank row.
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

/// Number of rows for the view on a terminal with `terminal_rows`; one row is reserved for the last
/// message.
pub(crate) fn rows_on(terminal_rows: u16) -> usize {
    usize::from(terminal_rows.saturating_sub(1)).clamp(1, ROWS.len())
}

/// Draws at most `rows` lines of at most `columns`.
pub(crate) fn draw(seen: &Seen, columns: usize, rows: usize) -> Vec<Line> {
    let fitting = ROWS.iter().filter(|(rank, _)| *rank < rows);
    fitting.map(|(_, row)| draw_row(*row, seen, Line::new(columns))).collect()
}

fn draw_row(row: Row, seen: &Seen, line: Line) -> Line {
    match row {
        Row::Blank => line,
        Row::Trial => {
            let trial = seen.trial.as_ref().unwrap_or(&seen.title);
            write(std::slice::from_ref(trial), Style::Bold, line)
        }
        Row::Gauge => gauge(seen, line),
        Row::Step => write(std::slice::from_ref(&seen.step), Style::Plain, line),
        Row::Tps => {
            let values = seen.load.iter().map(|second| Some(second.tps));
            let now = seen.load.back().map(|second| format!("{:.1} /s", second.tps));
            series(("tps", Color::Cyan), now, values, line)
        }
        Row::P99 => {
            let values = seen.load.iter().map(|second| Some(second.latency_ms_p99));
            let now = seen.load.back().map(|second| format!("{:.2} ms", second.latency_ms_p99));
            series(("p99", Color::Red), now, values, line)
        }
        Row::Operation(operation) => {
            let values = seen.disk.iter().map(|second| second[operation.drawn]);
            series((operation.name, operation.color), operation.figures(seen), values, line)
        }
        Row::Keys => {
            let style = match seen.ending {
                Ending::None => Style::Dim,
                Ending::AfterTrial | Ending::Now => Style::Bold,
            };
            write(keys(seen.ending), style, line)
        }
    }
}

impl Operation {
    /// Figures of the last second.
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

/// Descriptions of the keys, from long to short.
fn keys(ending: Ending) -> &'static [&'static str] {
    match ending {
        Ending::None => &[
            "q: stop after this run    Ctrl-C: stop now",
            "q: stop after this run  ^C: now",
            "q ^C",
        ],
        Ending::AfterTrial => &[
            "stopping after this run    q: stop now and repeat this run next time    any other \
             key: do not stop",
            "stopping after this run  q: stop now  other key: do not stop",
            "q: stop now; other key: do not",
            "stopping",
        ],
        Ending::Now => &[
            "stopping; finished runs are kept    q or Ctrl-C: end at once, then `assay clean` \
             removes what is left",
            "stopping; finished runs are kept    q: end at once",
            "stopping; finished runs are kept",
            "stopping",
        ],
    }
}

/// Appends the first text that fits, or as many words of the last one as fit.
fn write(texts: &[impl AsRef<str>], style: Style, mut line: Line) -> Line {
    let fits = |text: &&str| text.width() <= line.columns_left();
    match (texts.iter().map(AsRef::as_ref).find(fits), texts.last()) {
        (Some(text), _) => line.put(text, style),
        (None, Some(text)) => line.put(&cut(text.as_ref(), line.columns_left()), style),
        (None, None) => {}
    }
    line
}

/// Cuts a text to `columns`, at a word if possible, and adds an ellipsis.
fn cut(text: &str, columns: usize) -> String {
    let ends = text.match_indices(' ').map(|(end, _)| &text[..end]);
    let fitting = ends.take_while(|words| words.width() < columns).last();
    fitting
        .map_or_else(|| text.to_owned(), |words| format!("{}…", words.trim_end_matches([' ', ','])))
}

fn gauge(seen: &Seen, line: Line) -> Line {
    let share = seen.count.share(seen.trial_s);
    let label = format!("{:3.0} %  {} left ", share * 100.0, time(seen.count.seconds_left()));
    let mut line = write(&[label], Style::Plain, line);
    let columns = line.columns_left();
    if columns >= SPARK_COLUMNS_MIN {
        let done = (columns as f64 * share) as usize;
        line.put(&"━".repeat(done), Style::Colored(Color::Cyan));
        line.put(&"─".repeat(columns.saturating_sub(done)), Style::Dim);
    }
    line
}

/// A row with a name, a sparkline of the last seconds, and the current figures.
fn series(
    (name, color): (&str, Color),
    now: Option<String>,
    values: impl DoubleEndedIterator<Item = Option<f64>>,
    line: Line,
) -> Line {
    let mut line = write(&[name], Style::Dim, line);
    line.skip_to(NAME_COLUMNS);
    let spark_columns = line.columns_left().saturating_sub(FIGURE_COLUMNS);
    if spark_columns >= SPARK_COLUMNS_MIN {
        line.put(&sparkline(values, spark_columns), Style::Colored(color));
        line.skip_to(NAME_COLUMNS + spark_columns + 2);
    }
    write(&[now.unwrap_or_else(|| "–".into())], Style::Plain, line)
}

/// The last values, one a column, each as a share of the highest; a gap where the value is unknown.
fn sparkline(values: impl DoubleEndedIterator<Item = Option<f64>>, columns: usize) -> String {
    let known = values.map(|value| value.filter(|value| value.is_finite()));
    let mut last: Vec<Option<f64>> = known.rev().take(columns).collect();
    last.reverse();
    let highest = last.iter().copied().flatten().fold(0.0, f64::max);
    let level = |value: f64| (value / highest * (SPARKS.len() - 1) as f64) as usize;
    let spark = |value: Option<f64>| SPARKS.get(value.map_or(0, level)).copied().unwrap_or(' ');
    last.into_iter().map(spark).collect()
}
