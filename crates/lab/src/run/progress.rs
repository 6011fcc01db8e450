//! What a person watching a run sees: a line for each step, one living line on a terminal, and the time left.
//!
//! All of it goes to standard error; standard output carries only what a program would want.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use assay_load::{PrepareProgress, PrepareStage, Second};

use crate::plan::{Plan, PlannedCell};
use crate::print;
use crate::store::{CellKey, Outcome};

/// What bringing a rig up and down takes on a small machine, in seconds, until cells have been timed.
const RIG_SECONDS_GUESS: f64 = 6.0;

/// Progress of one run.
#[derive(Debug)]
pub struct Progress {
    cell_seconds: f64,
    cells: usize,
    is_terminal: bool,
    state: Mutex<Counted>,
}

#[derive(Debug)]
struct Counted {
    began: Instant,
    done: usize,
    has_living_line: bool,
}

impl Progress {
    /// Of a run with so many cells to go.
    #[must_use]
    pub fn new(plan: &Plan, cells: usize) -> Progress {
        Progress {
            cell_seconds: cell_seconds(plan),
            cells,
            is_terminal: std::io::stderr().is_terminal(),
            state: Mutex::new(Counted { began: Instant::now(), done: 0, has_living_line: false }),
        }
    }

    /// A line that stays.
    pub fn say(&self, text: impl Display) {
        self.write(text, false);
    }

    /// A line that the next one replaces; without a terminal it is not written at all.
    pub fn live(&self, text: impl Display) {
        if self.is_terminal {
            self.write(text, true);
        }
    }

    /// Loading goes on.
    pub fn loading(&self, loading: &PrepareProgress) {
        let left =
            loading.seconds_left.map_or_else(String::new, |left| format!(", {} left", time(left)));
        let PrepareProgress { done, total, per_second, .. } = loading;
        match loading.stage {
            PrepareStage::Rows => {
                self.live(format_args!(
                    "  loading: {done} of {total} rows, {per_second:.0} rows/s{left}"
                ));
            }
            PrepareStage::Index => {
                self.live(format_args!("  loading: {done} of {total} indexes{left}"))
            }
        }
    }

    /// A second of a cell has passed.
    pub fn second(&self, key: &CellKey, second: &Second) {
        self.live(format_args!(
            "  {} {key}: second {:.0}, {:.0} tps, p99 {:.2} ms, {} left",
            self.counter(),
            second.end_s,
            second.tps,
            second.latency.latency_ms_p99,
            time(self.seconds_left()),
        ));
    }

    /// A cell has ended.
    pub fn cell_ended(&self, key: &CellKey, outcome: &Outcome) {
        if let Ok(mut state) = self.state.lock() {
            state.done += 1;
        }
        let figure = |name: &str| outcome.results.get(name).copied().unwrap_or(f64::NAN);
        let what = match &outcome.reason {
            Some(reason) => format!("FAILED: {reason}"),
            None => format!("{:.1} tps, p99 {:.2} ms", figure("tps"), figure("latency_ms_p99")),
        };
        let left = match self.state.lock().map_or(0, |state| state.done) < self.cells {
            true => format!(" ({} left)", time(self.seconds_left())),
            false => String::new(),
        };
        self.say(format_args!("{} {key}: {what}{left}", self.counter()));
    }

    fn counter(&self) -> String {
        let done = self.state.lock().map_or(0, |state| state.done);
        format!("[{}/{}]", done.max(1), self.cells)
    }

    /// From the cells timed so far, or from the plan before the first has ended.
    fn seconds_left(&self) -> f64 {
        let Ok(state) = self.state.lock() else { return 0.0 };
        let elapsed = state.began.elapsed().as_secs_f64();
        let per_cell = if state.done > 0 { elapsed / state.done as f64 } else { self.cell_seconds };
        (per_cell * self.cells as f64 - elapsed).max(0.0)
    }

    fn write(&self, text: impl Display, is_living: bool) {
        let Ok(mut state) = self.state.lock() else { return };
        let mut out = std::io::stderr().lock();
        let (before, after) = match (state.has_living_line, is_living) {
            (true, true) => ("\r\x1b[K", ""),
            (true, false) => ("\r\x1b[K", "\n"),
            (false, true) => ("", ""),
            (false, false) => ("", "\n"),
        };
        state.has_living_line = is_living;
        // Nobody reads progress that cannot be written.
        let _ = write!(out, "{before}{text}{after}");
        let _ = out.flush();
    }
}

/// Prints what would be run.
pub fn dry_run(plan: &Plan, cells: &[PlannedCell]) {
    for cell in cells {
        print::line(format_args!("{:4}. {}", cell.position, cell.key));
    }
    let seconds = cells.len() as f64 * cell_seconds(plan);
    print::line(format_args!(
        "{} cells, about {}, and loading the data before",
        cells.len(),
        time(seconds)
    ));
}

fn cell_seconds(plan: &Plan) -> f64 {
    plan.seconds + plan.warmup_seconds + RIG_SECONDS_GUESS
}

fn time(seconds: f64) -> String {
    let whole = Duration::try_from_secs_f64(seconds).unwrap_or_default().as_secs();
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m{s:02}s"),
        (h, m, _) => format!("{h}h{m:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short_and_rounded_down() {
        assert_eq!(
            [time(0.4), time(59.9), time(125.0), time(7_265.0)],
            ["0s", "59s", "2m05s", "2h01m"]
        );
    }
}
