//! Warnings of a run: figures that do not agree with each other, and disturbances.
//!
//! Guarantees: a warning has the deviating value; an unknown figure causes no warning.

use assay_load::{LoadOutcome as Ran, Schedule, Work, statements_per_event};

use super::figures::Results;
use super::{cpu_taken, ending, file_figures};
use crate::monitor::Gap;
use assay_judge::reconcile;
use assay_serve::{ADDED_SHARE_MAX, MISSED_DEADLINE_SHARE_MAX, STALLED_MS_MAX};
use assay_study::Warning;
use assay_study::metrics::{Window, metric};

/// Half a percent above the deviation that rounding, the window's edges and the monitor's clock
/// cause.
const RECIPE_TOLERANCE: f64 = 0.02;

/// A generator that uses more of its CPUs limits the load itself.
const LOAD_BUSY_PERCENT: f64 = 85.0;

/// All warnings about a load and its results.
pub(crate) fn of(ran: &Ran, results: &Results, cpus: usize) -> Vec<Warning> {
    let schedule = &ran.schedule;
    [
        recipe(ran),
        unexplained(file_figures::device_bytes(ran, results)),
        stall(results),
        late(results, cpus),
        added(results, cpus),
        cpu_taken::warning(results, cpus),
        load(results, schedule, cpus),
        (ran.steady == Some(false)).then_some(Warning::NotSettled),
        unfinished(ran),
        ending::warning(ran),
        distortion(ran),
    ]
    .into_iter()
    .flatten()
    .chain(unreconciled(results, schedule))
    .collect()
}

/// Figures that do not agree with each other.
fn unreconciled(results: &Results, schedule: &Schedule) -> impl Iterator<Item = Warning> {
    let checks = reconcile::of_results(results, schedule.threads);
    // Little's law holds for a closed loop, and a run with phases need not be one.
    let has_phases = schedule.phases.is_some();
    let is_due = move |check: &reconcile::CrossCheck| {
        !(has_phases && matches!(check.sides, assay_study::Sides::Little { .. }))
    };
    checks.into_iter().filter(is_due).filter(|check| !check.holds).map(disagreement)
}

fn disagreement(check: reconcile::CrossCheck) -> Warning {
    Warning::Disagreement(check.sides)
}

/// Queries ÷ transactions is the recipe's, except for events cut by the window's edges and for
/// repeats.
fn recipe(ran: &Ran) -> Option<Warning> {
    let mut phases = ran.schedule.phases.iter().flat_map(|phases| &phases.each);
    if phases.any(|phase| phase.workload.is_some()) {
        return None;
    }
    let Work::Server { workload, schema } = &ran.work else { return None };
    let expected = statements_per_event(workload, schema);
    let found = ran.queries.total() as f64 / ran.events as f64;
    let edges = f64::from(ran.schedule.threads) / ran.events as f64;
    let repeats = ran.errors.values().sum::<u64>() as f64 / ran.events as f64;
    unexplained(reconcile::recipe(found, expected, RECIPE_TOLERANCE + edges + repeats))
}

fn unexplained(check: Option<reconcile::CrossCheck>) -> Option<Warning> {
    check.filter(|check| !check.holds).map(disagreement)
}

fn distortion(ran: &Ran) -> Option<Warning> {
    let Work::Server { workload, schema } = &ran.work else { return None };
    workload.distortion(schema).map(Warning::DistortedKeys)
}

/// Commands of a model that missed their deadline because this machine's CPUs were busy.
fn late(results: &Results, cpus: usize) -> Option<Warning> {
    let late = *results.get(metric!("model_missed_deadlines_percent").name)?;
    (late > MISSED_DEADLINE_SHARE_MAX * 100.0)
        .then(|| Warning::MissedDeadlines { percent: late, cpu: cpu_taken::of(results, cpus) })
}

/// A model whose commands took longer than modelled does not represent the device: the CPUs were
/// busy, or it is too fast for the port.
fn added(results: &Results, cpus: usize) -> Option<Warning> {
    let added = *results.get(metric!("model_added_percent").name)?;
    (added > ADDED_SHARE_MAX * 100.0)
        .then(|| Warning::AddedLatency { percent: added, cpu: cpu_taken::of(results, cpus) })
}

/// Commands that wait in the kernel for a stalled process are not late by the model's clock.
fn stall(results: &Results) -> Option<Warning> {
    let stalled_ms = *results.get(metric!("model_stalled_ms").name)?;
    let length_s = stalled_ms / 1e3;
    (stalled_ms > STALLED_MS_MAX).then_some(Warning::ModelStall { length_s })
}

/// While this process is stopped nothing loads the server, which goes on: the seconds of the window
/// are not those of the load.
pub(crate) fn stopped(gaps: &[Gap], window: Window) -> Option<Warning> {
    let inside = gaps.iter().filter(|gap| gap.from_s < window.to_s && gap.to_s > window.from_s);
    let length_s: f64 = inside.map(|gap| gap.length_s).sum();
    (length_s > 0.0).then_some(Warning::Stopped { length_s })
}

fn load(results: &Results, schedule: &Schedule, cpus: usize) -> Option<Warning> {
    let cpus = match schedule.cpus.len() {
        0 => cpus,
        count => count,
    };
    let cpu_percent = (results.get(metric!("load_cpu_user_percent").name)?
        + results.get(metric!("load_cpu_system_percent").name)?)
        / cpus as f64;
    (cpu_percent > LOAD_BUSY_PERCENT).then_some(Warning::LoadSaturated { cpu_percent })
}

/// A stall that lasts beyond the window's end: events are timed when they end, and these had not
/// ended.
fn unfinished(ran: &Ran) -> Option<Warning> {
    let unfinished = ran.hidden_wait()?;
    Some(Warning::Unfinished {
        transactions: unfinished.events,
        percent: ran.unfinished_percent(),
        wait_ms_max: unfinished.wait_ms_max,
    })
}

#[cfg(test)]
mod tests {
    use assay_load::{KindLatency, LatencyStats};

    use super::super::figures::derived;
    use super::*;
    use assay_study::{CpuUse, Sides};

    #[test]
    fn a_model_that_is_kept_from_its_time_is_not_comparable() {
        let results =
            |late: f64| -> Results { [("model_missed_deadlines_percent".to_owned(), late)].into() };
        assert_eq!(late(&results(0.9), 2), None);
        let found = late(&results(1.1), 2).unwrap();
        assert_eq!(found, Warning::MissedDeadlines { percent: 1.1, cpu: CpuUse::default() });
        assert!(!found.forbids_comparing(), "as long as all together took little longer");
        assert!(late(&results(26.0), 2).is_some_and(|warning| warning.forbids_comparing()));
        assert_eq!((late(&Results::new(), 2), added(&Results::new(), 2)), (None, None));
        let with = |achieved_ms: f64| -> Results {
            let figures = [
                ("model_missed_deadlines_per_s", 0.0),
                ("model_commands_per_s", 100.0),
                ("model_reads_per_s", 50.0),
                ("model_read_latency_ms", 1.0),
                ("model_read_achieved_latency_ms", 1.0),
                ("model_writes_per_s", 50.0),
                ("model_write_latency_ms", 0.2),
                ("model_write_achieved_latency_ms", achieved_ms),
            ];
            let mut results: Results = figures.map(|(name, value)| (name.to_owned(), value)).into();
            results.extend(derived(&results));
            results
        };
        assert_eq!(added(&with(0.25), 2), None, "4 % of the time of all");
        let found = added(&with(0.3), 2).unwrap();
        assert!(found.forbids_comparing(), "8.3 % longer");
        let Warning::AddedLatency { percent, .. } = found else { panic!("{found:?}") };
        assert!((percent - 8.333).abs() < 0.01, "{percent}");
    }

    #[test]
    fn a_model_whose_server_stalled_is_not_comparable() {
        let found = |ms: f64| stall(&[("model_stalled_ms".to_owned(), ms)].into());
        assert_eq!((found(0.0), found(200.0)), (None, None));
        let found = found(4012.0).unwrap();
        assert_eq!(found, Warning::ModelStall { length_s: 4.012 });
        assert!(found.forbids_comparing());
    }

    #[test]
    fn a_trial_in_which_we_were_stopped_is_not_comparable() {
        let gap = |from_s: f64, to_s: f64| Gap { from_s, to_s, length_s: 12.0 };
        let found = |gaps: &[Gap]| stopped(gaps, Window { from_s: 3.0, to_s: 13.0 });
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[gap(1.0, 2.5), gap(13.0, 26.0)]), None, "before and after the window");
        for one in [gap(5.0, 18.0), gap(2.0, 3.5), gap(12.0, 25.0), gap(1.0, 99.0)] {
            let found = found(&[one]).unwrap();
            assert_eq!(found, Warning::Stopped { length_s: 12.0 });
            assert!(found.forbids_comparing());
        }
        let both = found(&[gap(4.0, 5.0), gap(6.0, 7.0)]).unwrap();
        assert_eq!(both, Warning::Stopped { length_s: 24.0 });
    }

    #[test]
    fn what_was_still_waiting_is_told_where_no_percentile_shows_it() {
        let ran = |wait_ms_max: f64| -> Ran {
            let unfinished = assay_load::Unfinished { events: 18, wait_ms_max };
            let times = |latency_ms_max| LatencyStats { latency_ms_max, ..LatencyStats::default() };
            let kind = "transaction".into();
            Ran {
                events: 982,
                latency: vec![KindLatency { kind, service: times(30.0), response: times(140.0) }],
                unfinished,
                ..Ran::default()
            }
        };
        let Some(Warning::Unfinished { transactions, percent, wait_ms_max }) =
            unfinished(&ran(351.4))
        else {
            panic!("18 were waiting");
        };
        assert_eq!((transactions, wait_ms_max), (18, 351.4));
        assert!((percent - 1.8).abs() < 0.01, "{percent}");
        assert_eq!(unfinished(&ran(139.0)), None, "others had waited longer");
    }

    #[test]
    fn figures_that_do_not_agree_are_told_and_those_that_do_are_not() {
        let results = |tps: f64| -> Results {
            [("tps", tps), ("latency_ms_mean", 10.0), ("transactions", tps * 10.0)]
                .map(|(name, value)| (name.to_owned(), value))
                .into()
        };
        let schedule = Schedule { threads: 8, ..Schedule::default() };
        assert_eq!(unreconciled(&results(790.0), &schedule).next(), None);
        let found: Vec<Warning> = unreconciled(&results(700.0), &schedule).collect();
        assert_eq!(found, [Warning::Disagreement(Sides::Little { busy: 7.0, threads: 8.0 })]);
    }
}
