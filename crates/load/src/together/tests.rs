use proptest::prelude::*;

use super::*;
use crate::outcome::{Second, SecondPhase, ThreadOutcome};
use crate::phases::{LoadPhase, LoadPhases, PhasePace};
use crate::record::latency_of;
use crate::schedule::{Arrivals, Pace, Schedule};

/// Times from 1 ns to beyond the longest one distinguished, so that every width of bucket occurs.
fn times() -> impl Strategy<Value = Vec<u64>> {
    let time = (0u32..43, any::<u64>()).prop_map(|(bits, any)| 1 + any % (1 << bits));
    prop::collection::vec(time, 0..300)
}

fn transactions(times: &[u64]) -> Vec<KindLatency> {
    let all = latency_of(times);
    match times.is_empty() {
        true => Vec::new(),
        false => {
            vec![KindLatency { kind: "transaction".into(), service: all.clone(), response: all }]
        }
    }
}

/// The outcome of a load from second 3 to 13 with these times, by one thread.
fn outcome(times: &[u64]) -> LoadOutcome {
    let events = times.len() as u64;
    let sum_ns: u64 = times.iter().sum();
    LoadOutcome {
        measure_start_s: 3.0,
        measure_end_s: 13.0,
        elapsed_s: 10.0,
        events,
        tps: events as f64 / 10.0,
        queries: Queries { read: 14 * events, write: 4 * events, other: 2 * events },
        qps: 2.0 * events as f64,
        latency: transactions(times),
        latency_ms_sum: sum_ns as f64 / 1e6,
        threads: vec![ThreadOutcome { events, busy_s: sum_ns as f64 / 1e9 }],
        schedule: Schedule { threads: 1, ..Schedule::default() },
        ..LoadOutcome::default()
    }
}

/// Clears the fields that no sum determines.
fn without_threads_and_sums(outcome: LoadOutcome) -> LoadOutcome {
    let threads = outcome.schedule.threads.min(1);
    let schedule = Schedule { threads, ..outcome.schedule };
    LoadOutcome { threads: Vec::new(), latency_ms_sum: 0.0, schedule, ..outcome }
}

proptest! {
    #[test]
    fn parts_of_a_set_of_times_are_together_what_all_of_it_is(
        all in times(),
        cut in prop::collection::vec(0usize..3, 300),
    ) {
        let part = |number: usize| -> Vec<u64> {
            let own = all.iter().zip(&cut).filter(|(_, part)| **part == number);
            own.map(|(time, _)| *time).collect()
        };
        let parts = [0, 1, 2].map(|number| outcome(&part(number)));
        let sum = together(&parts).unwrap();
        let whole = outcome(&all);
        prop_assert_eq!((sum.threads.len(), sum.schedule.threads), (3, 3));
        let difference_ms = (sum.latency_ms_sum - whole.latency_ms_sum).abs();
        prop_assert!(difference_ms <= 1e-9 * whole.latency_ms_sum);
        let busy = |outcome: &LoadOutcome| {
            outcome.threads.iter().map(|thread| thread.busy_s).sum::<f64>()
        };
        prop_assert!((busy(&sum) - busy(&whole)).abs() <= 1e-9 * busy(&whole));
        prop_assert_eq!(without_threads_and_sums(sum), without_threads_and_sums(whole));
    }

    #[test]
    fn a_sum_of_sums_is_the_sum(a in times(), b in times(), c in times()) {
        let [a, b, c] = [a, b, c].map(|times| outcome(&times));
        let two = together(&[a.clone(), b.clone()]).unwrap();
        let in_steps = together(&[two, c.clone()]).unwrap();
        let at_once = together(&[a, b, c]).unwrap();
        prop_assert_eq!(in_steps.latency, at_once.latency);
        prop_assert_eq!(in_steps.events, at_once.events);
    }
}

/// Negative control: averaging percentiles gives another result.
#[test]
fn percentiles_are_not_averaged() {
    let (fast, slow) = ([1_000_000; 990], [100_000_000; 10]);
    let parts = [outcome(&fast), outcome(&slow)];
    let all: Vec<u64> = fast.into_iter().chain(slow).collect();
    let p95 =
        |outcome: &LoadOutcome| outcome.latency_of("transaction").unwrap().response.latency_ms_p95;
    let truth = p95(&outcome(&all));
    let averaged = (p95(&parts[0]) + p95(&parts[1])) / 2.0;
    assert!((truth - 1.0).abs() < 0.001 && averaged > 50.0, "{truth} {averaged}");
    assert_eq!(p95(&together(&parts).unwrap()), truth);
}

#[test]
fn what_is_counted_is_summed_and_what_waited_longest_is_kept() {
    let one = |events: u64, wait_ms_max: f64, codes: &[(u16, u64)]| LoadOutcome {
        events_warmup: events,
        events_late: events + 1,
        events_cut: events + 2,
        unfinished: Unfinished { events, wait_ms_max },
        errors: codes.iter().copied().collect(),
        reconnects: events,
        rate_target: Some(events as f64),
        client_cpu_s: Some(0.5),
        ..outcome(&[5; 10])
    };
    let parts = [one(1, 20.0, &[(1213, 4)]), one(2, 7.0, &[(1213, 1), (1205, 9)])];
    let sum = together(&parts).unwrap();
    assert_eq!((sum.events_warmup, sum.events_late, sum.events_cut), (3, 5, 7));
    assert_eq!(sum.unfinished, Unfinished { events: 3, wait_ms_max: 20.0 });
    assert_eq!(sum.errors, [(1205, 9), (1213, 5)].into());
    assert_eq!((sum.reconnects, sum.rate_target, sum.client_cpu_s), (3, Some(3.0), Some(1.0)));
    assert_eq!((sum.tps, sum.qps, sum.steady), (2.0, 40.0, None));
    let untold = LoadOutcome { client_cpu_s: None, rate_target: None, ..parts[0].clone() };
    let sum = together(&[parts[1].clone(), untold]).unwrap();
    assert_eq!((sum.client_cpu_s, sum.rate_target), (None, None), "half a figure would lie");
    assert_eq!(together(&[]), None);
}

#[test]
fn rates_are_over_the_window_from_the_first_start_to_the_last_end() {
    let early = LoadOutcome { measure_end_s: 8.0, elapsed_s: 5.0, tps: 2.0, ..outcome(&[7; 10]) };
    let sum = together(&[early, outcome(&[7; 10])]).unwrap();
    assert_eq!((sum.measure_start_s, sum.measure_end_s, sum.elapsed_s), (3.0, 13.0, 10.0));
    assert_eq!((sum.events, sum.tps), (20, 2.0), "not 2 and 1 a second added up");
    let steady = |steady| LoadOutcome { steady: Some(steady), ..outcome(&[7]) };
    assert_eq!(together(&[steady(true), steady(true)]).unwrap().steady, Some(true));
    assert_eq!(together(&[steady(true), steady(false)]).unwrap().steady, Some(false));
}

#[test]
fn kinds_that_one_load_alone_met_are_kept_and_whole_events_come_first() {
    let kind = |kind: &str, times: &[u64]| KindLatency {
        kind: kind.into(),
        service: latency_of(times),
        response: latency_of(times),
    };
    let with = |latency| LoadOutcome { latency, ..LoadOutcome::default() };
    let failed = with(vec![kind("failed", &[9])]);
    let usual = with(vec![kind("transaction", &[5, 6]), kind("failed", &[1, 2])]);
    let sum = together(&[failed, usual]).unwrap();
    let counts: Vec<_> =
        sum.latency.iter().map(|latency| (latency.kind.as_str(), latency.service.count)).collect();
    assert_eq!(counts, [("transaction", 2), ("failed", 3)]);
}

#[test]
fn what_was_asked_for_is_summed_where_it_is_of_one_kind() {
    let asked = |pace, cpus: &[usize], each| LoadOutcome {
        schedule: Schedule {
            threads: 4,
            events: 100,
            pace,
            cpus: cpus.to_vec(),
            phases: Some(LoadPhases { arrivals: Arrivals::Even, each }),
            ..Schedule::default()
        },
        ..LoadOutcome::default()
    };
    let phase = |pace| LoadPhase { seconds: 5, pace, workload: None };
    let ramp = |from_per_s, to_per_s| phase(PhasePace::Rate { from_per_s, to_per_s });
    let rate = |per_second| Pace::Rate { per_second, arrivals: Arrivals::Poisson };
    let closed = || phase(PhasePace::Closed);
    let a = asked(rate(100.0), &[0], vec![ramp(1.0, 2.0), closed()]);
    let b = asked(rate(50.0), &[1], vec![ramp(10.0, 20.0), closed()]);
    let Schedule { threads, events, pace, cpus, phases, .. } =
        together(&[a.clone(), b]).unwrap().schedule;
    assert_eq!((threads, events, pace, cpus), (8, 200, rate(150.0), Vec::new()));
    assert_eq!(phases.unwrap().each, [ramp(11.0, 22.0), closed()]);
    let other = asked(Pace::Closed, &[0], vec![closed()]);
    let schedule = together(&[a.clone(), other]).unwrap().schedule;
    assert_eq!((schedule.pace, &schedule.phases), (a.schedule.pace, &a.schedule.phases));
    assert_eq!((schedule.threads, schedule.cpus), (8, vec![0]));
}

#[test]
fn a_second_of_all_is_the_sum_of_theirs() {
    let second = |end_s: f64, length_s: f64, times: &[u64]| Second {
        end_s,
        length_s,
        phase: SecondPhase::Measure,
        threads: 2,
        events: times.len() as u64,
        tps: times.len() as f64 / length_s,
        qps: 2.0 * times.len() as f64 / length_s,
        queries: Queries { read: 2 * times.len() as u64, ..Queries::default() },
        latency: latency_of(times),
        errors: 1,
        reconnects: 0,
        queue_length: 3,
        concurrency: 2,
    };
    let sum = seconds_together(&[second(4.0, 1.0, &[5, 900]), second(4.0, 1.0, &[7])]).unwrap();
    assert_eq!(sum.latency, latency_of(&[5, 900, 7]));
    assert_eq!((sum.events, sum.tps, sum.qps, sum.threads), (3, 3.0, 6.0, 4));
    assert_eq!((sum.errors, sum.queue_length, sum.concurrency), (2, 6, 4));
    // The last second of a run, which one load ended sooner.
    let sum = seconds_together(&[second(4.25, 0.25, &[5]), second(4.5, 0.5, &[7])]).unwrap();
    assert_eq!((sum.end_s, sum.length_s, sum.tps), (4.5, 0.5, 4.0));
    let warming = Second { phase: SecondPhase::Warmup, ..second(4.0, 1.0, &[5]) };
    let sum = seconds_together(&[second(4.0, 1.0, &[5]), warming]).unwrap();
    assert_eq!(sum.phase, SecondPhase::Warmup);
    assert_eq!(seconds_together(&[]), None);
}

#[test]
fn figures_near_the_end_of_numbers_are_not_added() {
    let good = outcome(&[5, 6, 7]);
    assert!(is_plausible(&good) && is_plausible(&LoadOutcome::default()));
    let many = |count| {
        vec![KindLatency {
            kind: "transaction".into(),
            service: LatencyStats::default(),
            response: LatencyStats { buckets_ns: vec![(5, count)], ..LatencyStats::default() },
        }]
    };
    for wrong in [
        LoadOutcome { events: u64::MAX, ..good.clone() },
        LoadOutcome { errors: [(1213, u64::MAX)].into(), ..good.clone() },
        LoadOutcome { queries: Queries { read: u64::MAX, ..good.queries }, ..good.clone() },
        LoadOutcome { latency: many(u64::MAX), ..good.clone() },
        LoadOutcome {
            threads: vec![ThreadOutcome { events: u64::MAX, busy_s: 1.0 }],
            ..good.clone()
        },
        LoadOutcome { measure_end_s: 1e300, ..good.clone() },
        LoadOutcome { latency_ms_sum: f64::MAX, ..good.clone() },
        LoadOutcome {
            schedule: Schedule { threads: u32::MAX, ..Schedule::default() },
            ..good.clone()
        },
    ] {
        assert!(!is_plausible(&wrong), "{wrong:?}");
    }
    assert!(is_plausible(&LoadOutcome { latency: many(7), ..good }));
}
