//! What is found wrong with a cell: figures that do not agree with each other, or that something stood in the way of.
//!
//! Promises: a mark says what is off and by how much; a figure that is not known marks nothing.

use assay_load::{Outcome as Ran, Schedule, queries_per_event};

use super::ending;
use super::results::Results;
use crate::drive::{ADDED_SHARE_MAX, LATE_SHARE_MAX, STOOD_STILL_MS_MAX};
use crate::judge::reconcile;
use crate::watch::{Gap, STOOD_STILL_MS};
use crate::words;

/// Half a percent more than what rounding, the window's edges and the watch's clock were seen to make.
const RECIPE_TOLERANCE: f64 = 0.02;

/// A generator that uses more of its processors than this is measured along with the server.
const LOAD_BUSY_PERCENT: f64 = 85.0;

/// All that is wrong with what `ran`, whose results these are.
pub fn marks(ran: &Ran, results: &Results) -> Vec<String> {
    let schedule = &ran.schedule;
    [
        recipe_mark(ran),
        standstill_mark(results),
        model_mark(results),
        load_mark(results, schedule),
        steady_mark(ran),
        unfinished_mark(ran),
        ending::mark(ran),
        ran.workload.distortion(&ran.schema).map(|distortion| distortion.to_string()),
    ]
    .into_iter()
    .flatten()
    .chain(unreconciled(results, schedule))
    .collect()
}

/// Figures that do not agree with each other.
fn unreconciled(results: &Results, schedule: &Schedule) -> impl Iterator<Item = String> {
    let checks = reconcile::of_results(results, schedule.threads);
    let failing = checks.into_iter().filter(|check| !check.holds);
    failing.map(|check| words::reconcile::arithmetic(&check))
}

/// Queries ÷ transactions is the recipe's, but for events cut by the window's edges and for repeats.
fn recipe_mark(ran: &Ran) -> Option<String> {
    let expected = queries_per_event(&ran.workload, &ran.schema).total() as f64;
    let found = ran.queries.total() as f64 / ran.events as f64;
    let edges = f64::from(ran.schedule.threads) / ran.events as f64;
    let repeats = ran.errors.values().sum::<u64>() as f64 / ran.events as f64;
    let check = reconcile::recipe(found, expected, RECIPE_TOLERANCE + edges + repeats)?;
    (!check.holds).then(|| words::reconcile::arithmetic(&check))
}

/// A model that our own processors kept from its time does not show the device, nor does one that is too fast for the port.
fn model_mark(results: &Results) -> Option<String> {
    let late = *results.get("model_late_percent")?;
    if late > LATE_SHARE_MAX * 100.0 {
        return Some(format!(
            "not comparable: our own processors made {late:.1} % of the model's commands late; use fewer threads, a \
             larger parallel_scale, or a faster machine"
        ));
    }
    let added = *results.get("model_added_percent")?;
    (added > ADDED_SHARE_MAX * 100.0).then(|| {
        format!(
            "not comparable: the model's commands took {added:.1} % longer than the device's would, most of them being \
             faster than can be shown here; use more threads, a larger parallel_scale, or a faster machine"
        )
    })
}

/// Commands that wait in the kernel while nobody answers are not late by the model's clock.
fn standstill_mark(results: &Results) -> Option<String> {
    let stood_still_ms = *results.get(STOOD_STILL_MS)?;
    (stood_still_ms > STOOD_STILL_MS_MAX).then(|| {
        format!(
            "not comparable: the model's server stood still for {:.1} s in all; give it processors of its own (drive_cpus), \
             or a machine that does nothing else",
            stood_still_ms / 1e3
        )
    })
}

/// While we do not run nothing loads the server, which goes on: the seconds of the window are not those of the load.
pub fn gap_mark(gaps: &[Gap], window_s: (f64, f64)) -> Option<String> {
    let inside = gaps.iter().filter(|gap| gap.from_s < window_s.1 && gap.to_s > window_s.0);
    let length_s: f64 = inside.map(|gap| gap.length_s).sum();
    (length_s > 0.0).then(|| {
        format!(
            "not comparable: Assay was stopped for at least {length_s:.1} s while it measured (Ctrl-Z, or a machine that slept or had no \
             processor for it); nothing loaded the server meanwhile"
        )
    })
}

fn load_mark(results: &Results, schedule: &Schedule) -> Option<String> {
    let cpus = match schedule.cpus.len() {
        0 => assay_ports::cpu::available().map_or(1, |cpus| cpus.len()),
        count => count,
    };
    let busy = (results.get("load_cpu_user_percent")? + results.get("load_cpu_system_percent")?)
        / cpus as f64;
    (busy > LOAD_BUSY_PERCENT).then(|| {
        format!("the load generator used {busy:.0} % of its processors: it may be the limit")
    })
}

fn steady_mark(ran: &Ran) -> Option<String> {
    (ran.steady == Some(false))
        .then(|| "throughput had not settled when measuring began".to_owned())
}

/// A stall that reaches past the window's end: events are timed when they end, and these had not.
fn unfinished_mark(ran: &Ran) -> Option<String> {
    let unfinished = ran.hidden_wait()?;
    let (events, percent) = (unfinished.events, ran.unfinished_percent());
    Some(format!(
        "percentiles are too low: {events} transactions ({percent:.1} %) planned before the window's end had not ended by then, \
         the oldest had waited {:.0} ms",
        unfinished.wait_ms_max
    ))
}

#[cfg(test)]
mod tests {
    use assay_load::{KindLatency, Latency};

    use super::super::results::derived;
    use super::*;

    #[test]
    fn a_model_that_is_kept_from_its_time_is_marked() {
        let results = |late: f64| -> Results { [("model_late_percent".to_owned(), late)].into() };
        assert_eq!(model_mark(&results(0.9)), None);
        assert!(model_mark(&results(1.1)).unwrap().starts_with("not comparable: "));
        assert_eq!(model_mark(&Results::new()), None);
        let added = |shown_ms: f64| -> Results {
            let figures = [
                ("model_late_per_s", 0.0),
                ("model_commands_per_s", 100.0),
                ("model_reads_per_s", 50.0),
                ("model_read_latency_ms", 1.0),
                ("model_read_shown_latency_ms", 1.0),
                ("model_writes_per_s", 50.0),
                ("model_write_latency_ms", 0.2),
                ("model_write_shown_latency_ms", shown_ms),
            ];
            let mut results: Results = figures.map(|(name, value)| (name.to_owned(), value)).into();
            results.extend(derived(&results));
            results
        };
        assert_eq!(model_mark(&added(0.25)), None, "4 % of the time of all");
        let mark = model_mark(&added(0.3)).unwrap();
        assert!(mark.contains("took 8.3 % longer"), "{mark}");
    }

    #[test]
    fn a_model_whose_server_stood_still_is_marked() {
        let mark = |ms: f64| standstill_mark(&[(STOOD_STILL_MS.to_owned(), ms)].into());
        assert_eq!((mark(0.0), mark(200.0)), (None, None));
        let told = mark(4012.0).unwrap();
        assert!(told.starts_with("not comparable: the model's server stood still for 4.0 s"));
    }

    #[test]
    fn a_cell_in_which_we_were_stopped_is_marked() {
        let gap = |from_s: f64, to_s: f64| Gap { from_s, to_s, length_s: 12.0 };
        let mark = |gaps: &[Gap]| gap_mark(gaps, (3.0, 13.0));
        assert_eq!(mark(&[]), None);
        assert_eq!(mark(&[gap(1.0, 2.5), gap(13.0, 26.0)]), None, "before and after the window");
        for one in [gap(5.0, 18.0), gap(2.0, 3.5), gap(12.0, 25.0), gap(1.0, 99.0)] {
            let told = mark(&[one]).unwrap();
            assert!(
                told.starts_with("not comparable: Assay was stopped for at least 12.0 s"),
                "{told}"
            );
        }
        assert!(mark(&[gap(4.0, 5.0), gap(6.0, 7.0)]).unwrap().contains("at least 24.0 s"));
    }

    #[test]
    fn what_was_still_waiting_is_marked_where_no_percentile_shows_it() {
        let ran = |wait_ms_max: f64| -> Ran {
            let unfinished = assay_load::Unfinished { events: 18, wait_ms_max };
            let times = |latency_ms_max| Latency { latency_ms_max, ..Latency::default() };
            let kind = "transaction".into();
            Ran {
                events: 982,
                latency: vec![KindLatency { kind, service: times(30.0), response: times(140.0) }],
                unfinished,
                ..Ran::default()
            }
        };
        assert_eq!(
            unfinished_mark(&ran(351.4)).unwrap(),
            "percentiles are too low: 18 transactions (1.8 %) planned before the window's end had not ended by then, the oldest \
             had waited 351 ms"
        );
        assert_eq!(unfinished_mark(&ran(139.0)), None, "others had waited longer");
    }

    #[test]
    fn figures_that_do_not_agree_are_marked_and_those_that_do_are_not() {
        let results = |tps: f64| -> Results {
            [("tps", tps), ("latency_ms_mean", 10.0), ("transactions", tps * 10.0)]
                .map(|(name, value)| (name.to_owned(), value))
                .into()
        };
        let schedule = Schedule { threads: 8, ..Schedule::default() };
        assert_eq!(unreconciled(&results(790.0), &schedule).next(), None);
        let marks: Vec<String> = unreconciled(&results(700.0), &schedule).collect();
        assert_eq!(marks, ["TPS × mean latency is 7.00, there were 8 threads"]);
    }
}
