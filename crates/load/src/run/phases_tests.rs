//! Loads with phases, and loads that tolerate restarts, on a fake server.

use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;

use super::*;
use crate::fake::{FakeServer, load, refusal};
use crate::outcome::Second;
use crate::phases::{LoadPhase, LoadPhases, PhasePace};
use crate::recipe::Recipe;
use crate::schedule::{Arrivals, RidesOut, Warmup};
use crate::schema::Schema;
use crate::workload::Workload;
use assay_mysql::{LOST_IN_QUERY, SessionError};
use assay_testing::count;

#[derive(Default)]
struct Seen {
    seconds: Mutex<Vec<Second>>,
    window: Mutex<Option<(f64, f64)>>,
}

impl LoadObserver for Seen {
    fn second(&self, second: &Second) {
        self.seconds.lock().push(second.clone());
    }

    fn window(&self, from_s: f64, to_s: f64) {
        *self.window.lock() = Some((from_s, to_s));
    }
}

fn of(recipe: Recipe) -> Workload {
    Workload { recipe, ..Workload::default() }
}

fn phase(pace: PhasePace, workload: Option<Workload>) -> LoadPhase {
    LoadPhase { seconds: 1, pace, workload }
}

fn schedule(threads: u32, each: Vec<LoadPhase>) -> Schedule {
    let phases = LoadPhases { arrivals: Arrivals::Even, each };
    Schedule {
        threads,
        seconds: phases.seconds() as f64,
        phases: Some(phases),
        ..Schedule::default()
    }
}

fn go(server: &FakeServer, schedule: &Schedule, seen: &Seen) -> Result<LoadOutcome> {
    let schema = Schema { tables: 1, ..Schema::default() };
    let workload = of(Recipe::OltpPointSelect);
    run_on(
        server,
        &load(&schema, &workload, schedule),
        Start::AtOnce,
        seen,
        &AtomicBool::new(false),
    )
}

#[test]
fn each_phase_has_its_pace_and_its_mix_and_connections_stay() {
    let server = FakeServer::new(Duration::from_micros(200));
    let rate = |per_s| PhasePace::Rate { from_per_s: per_s, to_per_s: per_s };
    let each = vec![
        phase(rate(50.0), None),
        phase(PhasePace::Paused, None),
        phase(rate(80.0), Some(of(Recipe::OltpUpdateIndex))),
        phase(PhasePace::Closed, None),
    ];
    let schedule = Schedule { warmup: Warmup::Seconds(1.0), ..schedule(2, each) };
    let seen = Seen::default();
    let outcome = go(&server, &schedule, &seen).unwrap();
    assert_eq!(*seen.window.lock(), Some((1.0, 5.0)));
    let events: Vec<u64> = seen.seconds.lock().iter().map(|second| second.events).collect();
    // The warm-up, then the phases; an event that ends at the edge of a second may count in the
    // next.
    assert_eq!(events.len(), 5);
    assert!(events[0] > 200, "a closed loop: {events:?}");
    assert!(events[1].abs_diff(50) <= 3 && events[2] <= 3, "{events:?}");
    assert!(events[3].abs_diff(80) <= 3 && events[4] > 200, "{events:?}");
    let log = server.log();
    assert_eq!(log.iter().filter(|text| *text == "connect").count(), 2);
    let updates = log.iter().filter(|text| text.starts_with("UPDATE")).count();
    assert_eq!(updates, 80, "the mix is the phase's");
    assert_eq!(outcome.rate_target, None);
}

#[test]
fn what_a_burst_leaves_is_done_in_the_pause_behind_it() {
    let server = FakeServer::new(Duration::from_millis(10));
    let burst = PhasePace::Rate { from_per_s: 150.0, to_per_s: 150.0 };
    let each = vec![phase(burst, None), phase(PhasePace::Paused, None)];
    let seen = Seen::default();
    let outcome = go(&server, &schedule(1, each), &seen).unwrap();
    let seconds = seen.seconds.lock();
    assert!(seconds[0].queue_length >= 40, "{}", seconds[0].queue_length);
    assert!(seconds[1].events >= 40, "{}", seconds[1].events);
    assert_eq!(seconds[1].queue_length, 0);
    assert_eq!(outcome.events, 150);
    let response = &outcome.latency_of("transaction").unwrap().response;
    assert!(response.latency_ms_max > 300.0, "the wait is in the response time");
}

fn lost() -> SessionError {
    SessionError::Lost { code: LOST_IN_QUERY, message: "gone".into() }
}

/// A server that goes away at the 50th statement and refuses ten connections.
fn restarting(first: SessionError) -> FakeServer {
    let fail = move |number: usize, _: &str| (number == 50).then(|| first.clone());
    FakeServer::failing(fail).that_is_away_for(2..12)
}

fn with(rides_out: RidesOut) -> Schedule {
    let each = (0..4).map(|_| phase(PhasePace::Closed, None)).collect();
    Schedule { rides_out, ..schedule(2, each) }
}

#[test]
fn a_restart_is_ridden_out_where_it_is_meant_to_happen_and_ends_the_load_elsewhere() {
    let restarts = RidesOut { restarts: true, ..RidesOut::default() };
    let errors = [lost(), refusal(1053), refusal(1317)];
    for error in errors.into_iter().take(count(1, 3)) {
        let server = restarting(error.clone());
        let outcome = go(&server, &with(restarts), &Seen::default()).unwrap();
        assert_eq!((outcome.reconnects, outcome.errors.values().sum::<u64>()), (1, 1));
        let connects = server.log().iter().filter(|text| *text == "connect").count();
        assert_eq!(connects, 2 + 10 + 1, "it knocks until it is let in");
        let longest = outcome.latency_of("transaction").unwrap().response.latency_ms_max;
        assert!(longest > 400.0, "who waited for the server waited so long: {longest}");
        assert!(go(&restarting(error), &with(RidesOut::default()), &Seen::default()).is_err());
    }
}

#[test]
fn a_load_whose_server_does_not_come_back_ends_with_its_window() {
    let fail = |number: usize, _: &str| (number >= 50).then(lost);
    let server = FakeServer::failing(fail).that_is_away_for(2..usize::MAX);
    let restarts = RidesOut { restarts: true, ..RidesOut::default() };
    let began = Instant::now();
    let outcome = go(&server, &with(restarts), &Seen::default()).unwrap();
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!((outcome.elapsed_s, outcome.unfinished.events), (4.0, 2));
}

#[test]
fn a_table_that_was_changed_is_met_again_where_that_is_meant_to_happen() {
    let failing = || {
        let left = AtomicU64::new(5);
        FakeServer::failing(move |number, _| {
            let is_due = number.is_multiple_of(10)
                && left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                    .is_ok();
            is_due.then(|| refusal(1412))
        })
    };
    let changed = RidesOut { changed_tables: true, ..RidesOut::default() };
    let outcome = go(&failing(), &with(changed), &Seen::default()).unwrap();
    assert_eq!(outcome.errors.get(&1412), Some(&5));
    assert!(go(&failing(), &with(RidesOut::default()), &Seen::default()).is_err());
}

#[test]
fn ids_of_new_rows_are_distinct_over_all_mixes() {
    let server = FakeServer::new(Duration::from_micros(100));
    let schema = Schema { auto_inc: false, ..Schema::default() };
    let insert = of(Recipe::OltpInsert);
    let other = Workload { skip_trx: true, ..insert.clone() };
    let each = vec![phase(PhasePace::Closed, None), phase(PhasePace::Closed, Some(other))];
    let schedule = schedule(2, each);
    let stop = AtomicBool::new(false);
    run_on(&server, &load(&schema, &insert, &schedule), Start::AtOnce, &(), &stop).unwrap();
    let mut ids: Vec<String> = server
        .log()
        .iter()
        .filter(|text| text.starts_with("INSERT"))
        .filter_map(|text| {
            Some(text.split_once('(')?.1.split_once("VALUES")?.1.split_once(',')?.0.to_owned())
        })
        .collect();
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert!(all > 1000 && ids.len() == all, "{} of {all}", ids.len());
}
