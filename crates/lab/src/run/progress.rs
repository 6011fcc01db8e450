//! What a person watching a run sees: a line for each step, one living line on a terminal, and the time left.
//!
//! All of it goes to standard error; standard output carries only what a program would want.

use std::fmt::Display;
use std::sync::Mutex;
use std::time::Instant;

use assay_load::{PrepareProgress, PrepareStage, Second};

use crate::plan::{Plan, PlannedCell};
use crate::print::{self, Living, time};
use crate::store::{CellKey, Outcome};

/// What bringing a rig up and down takes on a small machine, in seconds, until cells have been timed.
const RIG_SECONDS_GUESS: f64 = 6.0;

/// Progress of one run.
#[derive(Debug)]
pub struct Progress {
    cell_seconds: f64,
    cells: usize,
    line: Living,
    state: Mutex<Counted>,
}

#[derive(Debug)]
struct Counted {
    began: Instant,
    done: usize,
}

impl Progress {
    /// Of a run with so many cells to go.
    #[must_use]
    pub fn new(plan: &Plan, cells: usize) -> Progress {
        Progress {
            cell_seconds: cell_seconds(plan),
            cells,
            line: Living::new(),
            state: Mutex::new(Counted { began: Instant::now(), done: 0 }),
        }
    }

    /// A line that stays.
    pub fn say(&self, text: impl Display) {
        self.line.say(text);
    }

    /// A line that the next one replaces; without a terminal it is not written at all.
    pub fn live(&self, text: impl Display) {
        self.line.live(text);
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
}

/// Prints what would be run of a plan of so many cells.
pub fn dry_run(plan: &Plan, planned: usize, missing: &[&PlannedCell]) {
    if missing.is_empty() {
        print::line(format_args!("nothing is missing: 0 of {planned} cells would be run"));
        return;
    }
    for cell in missing {
        print::line(format_args!("{:4}. {}", cell.position, cell.key));
    }
    let of = if missing.len() < planned { format!(" of {planned}") } else { String::new() };
    let seconds = missing.len() as f64 * cell_seconds(plan);
    print::line(format_args!(
        "{}{of} cells, {} {}, and loading the data before",
        missing.len(),
        if plan.requests.is_some() { "at most" } else { "about" },
        time(seconds)
    ));
}

fn cell_seconds(plan: &Plan) -> f64 {
    plan.seconds + plan.warmup_seconds + RIG_SECONDS_GUESS
}
