//! `assay load WORKLOAD capacity`: the rate at which 95 % of windows meet a latency objective.

use std::io::{Write, stdout};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use assay_load::capacity::{
    Capacity, CapacityFound, CapacityRun, Objective, Purpose, SearchStep, find,
};
use assay_load::sysbench::SysbenchLine;
use assay_load::{Schedule, preflight};
use serde::Serialize;

use super::write_json;
use crate::print;

/// The content of the file of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    endpoint: String,
    capacity: &'a Capacity,
}

/// Searches, and prints each run. Exits with 1 if no rate was found.
pub(super) fn run(line: &SysbenchLine, stop: &Arc<AtomicBool>) -> Result<ExitCode> {
    if line.preflight {
        preflight(&line.load)?;
    }
    let run =
        |schedule: &Schedule| assay_load::run(&line.load.on(schedule.clone()), None, &(), stop);
    let on = CapacityRun { run: &run, schedule: &line.load.schedule, stop };
    let options = line.capacity;
    let percentile = options.objective.percentile;
    // A closed pipe stops the output but not the search.
    let show = |step: &SearchStep| drop(writeln!(stdout(), "{}", told(step, percentile)));
    let searched = find(&on, options.objective, options.resolution, options.runs_max, &show)?;
    let capacity = searched.capacity;
    let (text, is_found) = result(&capacity, options.objective, line.load.schedule.seconds);
    match is_found {
        true => writeln!(stdout(), "{text}")?,
        false => print::note(format_args!("{text}")),
    }
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        endpoint: line.load.endpoint.to_string(),
        capacity: &capacity,
    };
    line.reporting.json.as_deref().map_or(Ok(()), |path| write_json(path, &report))?;
    Ok(if is_found { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// A line about a run of a search, with the expected number of remaining runs.
pub(crate) fn told(step: &SearchStep, percentile: f64) -> String {
    let tried = &step.tried;
    let purpose = match tried.purpose {
        Purpose::Probe => "probe",
        Purpose::Rest => "rest",
        Purpose::Hold => "hold",
    };
    let verdict = if tried.is_met { "met" } else { "missed" };
    let left = match step.runs_left {
        0 => String::new(),
        1 => " (about 1 run left)".into(),
        runs => format!(" (about {runs} runs left)"),
    };
    format!(
        "{purpose}: {:.1}/s asked, {:.1}/s done, p{percentile} {:.2} ms: {verdict}{left}",
        tried.rate, tried.achieved, tried.latency_ms
    )
}

/// How much windows varied, if it was estimated.
fn varied(spread: Option<f64>) -> String {
    spread.map_or_else(String::new, |spread| {
        format!("; windows varied with a standard deviation of {:.1} %", spread * 100.0)
    })
}

/// A line about the result, and whether a rate was found; windows measured for `seconds`.
fn result(capacity: &Capacity, objective: Objective, seconds: f64) -> (String, bool) {
    let Objective { percentile, ms } = objective;
    let runs = capacity.runs.len();
    let restarts = match capacity.restarts {
        0 => String::new(),
        1 => ", restarted once because the state of server or drive had changed".into(),
        many => {
            format!(", restarted {many} times because the state of server or drive had changed")
        }
    };
    match capacity.found {
        CapacityFound::Rate { rate, low, high, met_share, spread } => (
            format!(
                "{:.0} % of {seconds} s windows have p{percentile} of at most {ms} ms at \
                 {rate:.0}/s (90 % interval of this search {low:.0} to {high:.0}{}), after {runs} \
                 runs{restarts}",
                met_share * 100.0,
                varied(spread)
            ),
            true,
        ),
        CapacityFound::AllMeet { highest } => (
            format!(
                "every rate up to {highest:.0}/s, twice the throughput of a closed loop, kept \
                 p{percentile} at {ms} ms or below; use more threads to try higher ones"
            ),
            true,
        ),
        CapacityFound::NoneMeets { lowest, latency_ms } => (
            format!(
                "no rate met p{percentile} of at most {ms} ms: the lowest, {lowest:.1}/s, had \
                 {latency_ms:.2} ms; give a higher --objective-ms, or a longer --time to try lower \
                 rates"
            ),
            false,
        ),
        CapacityFound::Unsettled { low, high } => (
            format!(
                "not settled after {runs} runs{restarts}: the interval is from {low:.0} to \
                 {high:.0}/s; give more --capacity-runs, or a longer --time"
            ),
            false,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_load::capacity::Tried;

    #[test]
    fn a_run_is_told_with_those_to_come() {
        let tried = Tried {
            purpose: Purpose::Rest,
            rate: 120.0,
            achieved: 119.5,
            latency_ms: 3.25,
            is_met: true,
        };
        let told = |runs_left| told(&SearchStep { tried, runs: 4, runs_left }, 99.0);
        let text = "rest: 120.0/s asked, 119.5/s done, p99 3.25 ms: met";
        assert_eq!(told(12), format!("{text} (about 12 runs left)"));
        assert_eq!(told(1), format!("{text} (about 1 run left)"));
        assert_eq!(told(0), text);
    }

    #[test]
    fn every_end_is_told_in_a_line() {
        let objective = Objective { percentile: 99.0, ms: 10.0 };
        let of = |found| Capacity { objective, found, restarts: 1, runs: Vec::new() };
        let told = |found| result(&of(found), objective, 10.0);
        let (text, is_found) = told(CapacityFound::Rate {
            rate: 3811.0,
            low: 3760.2,
            high: 3859.9,
            met_share: 0.95,
            spread: Some(0.013),
        });
        let expected = "95 % of 10 s windows have p99 of at most 10 ms at 3811/s (90 % interval \
                        of this search 3760 to 3860; windows varied with a standard deviation of \
                        1.3 %), after";
        assert!(text.contains(expected), "{text}");
        assert!(is_found && text.contains("restarted once"), "{text}");
        let (text, is_found) = told(CapacityFound::NoneMeets { lowest: 100.0, latency_ms: 14.2 });
        assert!(text.contains("the lowest, 100.0/s, had 14.20 ms") && !is_found, "{text}");
        let (_, is_found) = told(CapacityFound::Unsettled { low: 1.0, high: 2.0 });
        assert!(!is_found);
        assert!(told(CapacityFound::AllMeet { highest: 9000.0 }).1);
    }
}
