//! Outcomes of made-up observations.

use std::time::Instant;

use assay_load::{KindLatency, LatencyStats, Schema, Workload};
use assay_study::metrics::find;
use assay_study::{Happened, Happening, SecondLatency, Unmonitored};

use super::super::observation::{Circumstances, LoadSeconds, RunClock, TakeDown};
use super::super::phase_events::PhaseEvents;
use super::*;
use crate::monitor::{Gap, Monitored};

const CONDITIONS: Conditions<'_> =
    Conditions { phases: &[], paces: None, device: None, disks: Disks::Own, cpus: 2 };

fn load(events: u64) -> LoadResult {
    let latency = KindLatency {
        kind: "transaction".into(),
        service: LatencyStats::default(),
        response: LatencyStats::default(),
    };
    let outcome = Ran {
        measure_start_s: 1.0,
        measure_end_s: 3.0,
        elapsed_s: 2.0,
        events,
        tps: events as f64 / 2.0,
        latency: vec![latency],
        work: Work::Server { workload: Workload::default(), schema: Schema::default() },
        ..Ran::default()
    };
    LoadResult { outcome, ..LoadResult::default() }
}

fn seconds(tps: f64) -> LoadSeconds {
    let points = vec![(1, tps), (2, tps), (3, tps)];
    let series = Series { points, ..Series::of(find("tps").unwrap()) };
    let mut latencies = LoadSeconds::default().latencies;
    latencies.push(&SecondLatency::of(1, &[(1000, tps as u64)]));
    LoadSeconds { series: vec![series], latencies }
}

fn unmonitored(error: &str) -> Warning {
    Warning::Unmonitored(Unmonitored::Server { error: error.into() })
}

/// A server that did `tps` transactions a second for two seconds.
fn server(tps: f64) -> Observation {
    Observation {
        circumstances: Circumstances {
            facts: [("server".to_owned(), "9.7".to_owned())].into(),
            warnings: vec![Warning::NotSettled],
            ..Circumstances::default()
        },
        seconds: seconds(tps),
        load: Some(load((tps * 2.0) as u64)),
        monitored: Monitored { warnings: vec![unmonitored("gone")], ..Monitored::default() },
        ..Observation::default()
    }
}

fn observations(servers: Vec<Observation>) -> Observations {
    let several = servers.len() > 1;
    Observations {
        servers,
        together: several.then(|| seconds(30.0)),
        clock: Some(RunClock { origin: Instant::now(), began: "2026-11-28T00:00:00.000Z".into() }),
        take_down: TakeDown {
            facts: [("trace".to_owned(), "001.trace".to_owned())].into(),
            ..TakeDown::default()
        },
    }
}

fn points<'a>(outcome: &'a Outcome, name: &str) -> &'a [(u32, f64)] {
    &outcome.series.iter().find(|series| series.name == name).unwrap().points
}

#[test]
fn one_server_is_the_run() {
    let outcome = conclude(&observations(vec![server(10.0)]), &CONDITIONS);
    assert_eq!(outcome.reason, None);
    assert_eq!(outcome.window, Some(Window { from_s: 1.0, to_s: 3.0 }));
    assert_eq!(outcome.results["tps"], 10.0);
    assert_eq!(points(&outcome, "tps").len(), 3);
    let names: Vec<&str> = outcome.facts.keys().map(String::as_str).collect();
    assert_eq!(names, [CLOCK_BEGAN, "seed", "server", "trace"]);
    assert_eq!(outcome.warnings[..2], [Warning::NotSettled, unmonitored("gone")]);
    assert!(outcome.servers.is_empty());
}

#[test]
fn a_neighbour_is_kept_apart_from_the_servers_under_the_runs_load() {
    let mut noisy = Observation { neighbour: Some("noise".into()), ..server(500.0) };
    noisy.monitored.warnings = vec![unmonitored("refused"), unmonitored("gone")];
    let observed = observations(vec![server(10.0), server(20.0), noisy]);
    let outcome = conclude(&observed, &CONDITIONS);
    assert_eq!(outcome.reason, None);
    assert_eq!(outcome.results["tps"], 30.0);
    assert_eq!((outcome.results["servers"], outcome.results["tps_of_server3"]), (2.0, 500.0));
    assert_eq!(points(&outcome, "tps"), [(1, 30.0), (2, 30.0), (3, 30.0)]);
    assert_eq!(points(&outcome, "tps_of_server2"), [(1, 20.0), (2, 20.0), (3, 20.0)]);
    let neighbours: Vec<_> =
        outcome.servers.iter().map(|server| server.neighbour.as_deref()).collect();
    assert_eq!(neighbours, [None, None, Some("noise")]);
    let of = |warning: &Warning| outcome.warnings.iter().filter(|other| *other == warning).count();
    let told = [Warning::NotSettled, unmonitored("gone"), unmonitored("refused")];
    assert_eq!(told.each_ref().map(of), [1, 1, 1]);
}

#[test]
fn records_before_a_failure_of_one_of_several_are_kept() {
    let mut broken = server(20.0);
    broken.load = None;
    broken.failure = Some(anyhow::anyhow!("connection lost"));
    broken.after.ended = Some("signal 9".into());
    let outcome = conclude(&observations(vec![server(10.0), broken, server(30.0)]), &CONDITIONS);
    let reason = outcome.reason.as_deref();
    assert_eq!(reason, Some("the server ended with signal 9: connection lost"));
    assert_eq!(points(&outcome, "tps"), [(1, 30.0), (2, 30.0), (3, 30.0)]);
    assert_eq!(points(&outcome, "tps_of_server2").len(), 3);
    assert_eq!(outcome.second_latencies, seconds(30.0).latencies);
    assert_eq!((outcome.window, outcome.results.len()), (None, 0));
    assert_eq!(outcome.warnings, [Warning::NotSettled, unmonitored("gone")]);
    assert!(outcome.facts.contains_key(CLOCK_BEGAN) && !outcome.facts.contains_key("trace"));
}

#[test]
fn a_run_that_never_began_has_a_reason_alone() {
    let failed = Observations::failed(anyhow::anyhow!("no space").context("cannot build the rig"));
    let reason = Some("cannot build the rig: no space".to_owned());
    assert_eq!(conclude(&failed, &CONDITIONS), Outcome { reason, ..Outcome::default() });
}

#[test]
fn a_load_that_outlived_its_drive_fails_with_its_figures() {
    let mut observed = observations(vec![server(10.0)]);
    observed.servers[0].after.rig.trouble = Some("the drive is full".into());
    let outcome = conclude(&observed, &CONDITIONS);
    assert_eq!(outcome.reason.as_deref(), Some("the drive is full"));
    assert_eq!(outcome.results["tps"], 10.0);
}

#[test]
fn a_window_without_transactions_fails_and_says_why() {
    let idle = |gaps: Vec<Gap>| {
        let mut observed = observations(vec![server(0.0)]);
        observed.servers[0].monitored.gaps = gaps;
        conclude(&observed, &CONDITIONS).reason.unwrap()
    };
    assert_eq!(idle(vec![]), "no transaction ended in the measuring window; make seconds longer");
    let stopped = Gap { from_s: 1.0, to_s: 3.0, length_s: 2.0 };
    assert!(idle(vec![stopped]).ends_with("Assay was stopped while it measured"));
}

#[test]
fn a_server_that_did_not_come_back_fails_the_run_before_its_figures() {
    let restart = Happened {
        happening: Happening::Restart,
        began_s: 2.0,
        ended_s: None,
        error: None,
        done: None,
    };
    let mut observed = observations(vec![server(10.0)]);
    observed.servers[0].phase_events =
        PhaseEvents { in_phases: vec![Some(restart)], repeated: None };
    let outcome = conclude(&observed, &CONDITIONS);
    assert!(outcome.reason.unwrap().contains("had not come back"));
    assert!(outcome.results.is_empty() && !outcome.series.is_empty());
}
