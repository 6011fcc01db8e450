use parking_lot::Mutex;

use super::*;
use crate::fake::{FakeServer, load, refusal};
use crate::mode::Mode;
use crate::outcome::{Second, SecondPhase};
use crate::recipe::Recipe;
use crate::schedule::{Arrivals, Pace, Warmup};
use crate::schema::Schema;
use crate::workload::IgnoreErrors;
use crate::workload::Workload;
use assay_mysql::{LOST_IN_QUERY, SessionError};

#[derive(Default)]
struct Seconds(Mutex<Vec<Second>>);

impl LoadObserver for Seconds {
    fn second(&self, second: &Second) {
        self.0.lock().push(second.clone());
    }
}

fn workload(recipe: Recipe, mode: Mode) -> Workload {
    Workload { recipe, mode, ..Workload::default() }
}

fn events(threads: u32, events: u64) -> Schedule {
    Schedule { threads, events, seconds: 0.0, ..Schedule::default() }
}

fn go(
    server: &FakeServer,
    workload: &Workload,
    schedule: &Schedule,
    seconds: &Seconds,
) -> Result<LoadOutcome> {
    let schema = Schema { tables: 3, ..Schema::default() };
    let stop = AtomicBool::new(false);
    run_on(server, &load(&schema, workload, schedule), Start::AtOnce, seconds, &stop)
}

fn run_quietly(
    server: &FakeServer,
    workload: &Workload,
    schedule: &Schedule,
) -> Result<LoadOutcome> {
    go(server, workload, schedule, &Seconds::default())
}

#[test]
fn events_are_counted_and_timed_by_kind() {
    let server = FakeServer::new(Duration::ZERO);
    let outcome =
        run_quietly(&server, &workload(Recipe::OltpReadWrite, Mode::Compat), &events(3, 90))
            .unwrap();
    assert_eq!(outcome.events, 90);
    let queries = outcome.queries;
    assert_eq!((queries.read, queries.write, queries.other), (90 * 14, 90 * 4, 90 * 2));
    assert_eq!(outcome.latency_of("point_select").unwrap().service.count, 900);
    assert_eq!(outcome.latency_of("transaction").unwrap().response.count, 90);
    assert_eq!(outcome.latency[0].kind, "transaction");
    assert_eq!(outcome.threads.iter().map(|t| t.events).sum::<u64>(), 90);
    let prepared = server.log().iter().filter(|text| text.starts_with("prepare ")).count();
    assert_eq!(prepared, 3 * (9 * 3 + 1), "nine per table and COMMIT; BEGIN travels as text");
}

#[test]
fn the_fixed_window_is_exact_and_seconds_add_up_to_it() {
    let server = FakeServer::new(Duration::from_micros(500));
    let schedule =
        Schedule { threads: 2, warmup: Warmup::Seconds(1.0), seconds: 2.0, ..Schedule::default() };
    let seconds = Seconds::default();
    let outcome =
        go(&server, &workload(Recipe::OltpPointSelect, Mode::Strict), &schedule, &seconds).unwrap();
    assert_eq!(
        (outcome.measure_start_s, outcome.measure_end_s, outcome.elapsed_s),
        (1.0, 3.0, 2.0)
    );
    let seconds = seconds.0.lock().clone();
    let sum = |phase| seconds.iter().filter(|s| s.phase == phase).map(|s| s.events).sum::<u64>();
    assert_eq!(seconds.iter().map(|s| s.end_s).collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
    // A thread that was put to sleep between the clock and its ledger may miss its second by one
    // event.
    assert!(
        sum(SecondPhase::Measure).abs_diff(outcome.events) <= 2,
        "{} {}",
        sum(SecondPhase::Measure),
        outcome.events
    );
    assert!(outcome.events_warmup > 0 && outcome.events > 100 && outcome.events_late <= 2);
    assert!(
        outcome.client_cpu_s.is_some_and(|cpu| cpu > 0.0 && cpu < 2.0),
        "{:?}",
        outcome.client_cpu_s
    );
}

#[test]
fn a_deadlock_is_retried_with_new_keys_and_rolled_back_only_in_fixed() {
    for (mode, rollbacks) in [(Mode::Compat, 0), (Mode::Strict, 1)] {
        let server = FakeServer::failing(|number, _| (number == 3).then(|| refusal(1213)));
        let outcome =
            run_quietly(&server, &workload(Recipe::OltpWriteOnly, mode), &events(1, 5)).unwrap();
        assert_eq!((outcome.events, outcome.errors.clone()), (5, [(1213, 1)].into()));
        let log = server.log();
        assert_eq!(log.iter().filter(|text| *text == "ROLLBACK").count(), rollbacks);
        assert_eq!(log.iter().filter(|text| *text == "BEGIN").count(), 6);
        let updates: Vec<_> = log
            .iter()
            .filter(|text| text.contains("k=k+1") && !text.starts_with("prepare"))
            .collect();
        assert_ne!(updates[0], updates[1]);
        // BEGIN and one update of the failed attempt stay counted; its failed statement does not.
        assert_eq!(outcome.queries.total(), 5 * 6 + 2);
        assert_eq!(outcome.latency_of("failed").unwrap().service.count, 1);
        let transaction = outcome.latency_of("transaction").unwrap();
        assert!(transaction.response.latency_ms_max >= transaction.service.latency_ms_max);
    }
}

#[test]
fn an_unlisted_error_ends_the_run_with_its_code() {
    let server = FakeServer::failing(|number, _| (number == 50).then(|| refusal(1146)));
    let error = run_quietly(&server, &workload(Recipe::OltpReadOnly, Mode::Strict), &events(4, 0))
        .unwrap_err();
    assert!(matches!(error, Error::Server { code: 1146, .. }), "{error}");
}

#[test]
fn a_lost_server_ends_all_threads() {
    let lost = || SessionError::Lost { code: LOST_IN_QUERY, message: "gone".into() };
    let server = FakeServer::failing(move |number, _| (number > 100).then(lost));
    let began = Instant::now();
    let error = run_quietly(&server, &workload(Recipe::OltpReadOnly, Mode::Strict), &events(8, 0))
        .unwrap_err();
    assert!(matches!(error, Error::Lost(_)), "{error}");
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_lost_connection_is_made_anew_if_listed() {
    let lost = || SessionError::Lost { code: LOST_IN_QUERY, message: "gone".into() };
    let server = FakeServer::failing(move |number, _| (number == 7).then(lost));
    let mysql_ignore_errors = IgnoreErrors::Listed(vec![LOST_IN_QUERY]);
    let workload = Workload { mysql_ignore_errors, ..workload(Recipe::OltpReadOnly, Mode::Compat) };
    let outcome = run_quietly(&server, &workload, &events(1, 4)).unwrap();
    assert_eq!((outcome.events, outcome.reconnects), (4, 1));
    assert_eq!(server.log().iter().filter(|text| *text == "connect").count(), 2);
}

#[test]
fn a_connection_that_cannot_be_made_anew_is_told_in_one_sentence() {
    let lost = || SessionError::Lost { code: LOST_IN_QUERY, message: "gone".into() };
    let server =
        FakeServer::failing(move |number, _| (number >= 7).then(lost)).that_turns_away_after(1);
    let mysql_ignore_errors = IgnoreErrors::Listed(vec![LOST_IN_QUERY]);
    let workload = Workload { mysql_ignore_errors, ..workload(Recipe::OltpReadOnly, Mode::Compat) };
    let error = run_quietly(&server, &workload, &events(1, 4)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "lost the server: a connection broke with error 2013, and reconnecting failed (nobody \
         listens); see the server's \
         own log for the reason"
    );
}

#[test]
fn overload_shows_in_response_and_queue_and_not_in_service() {
    let server = FakeServer::new(Duration::from_millis(4));
    let pace = Pace::Rate { per_second: 1000.0, arrivals: Arrivals::Even };
    let schedule = Schedule { pace, seconds: 2.0, ..Schedule::default() };
    let seconds = Seconds::default();
    let outcome =
        go(&server, &workload(Recipe::OltpPointSelect, Mode::Strict), &schedule, &seconds).unwrap();
    let transaction = outcome.latency_of("transaction").unwrap();
    assert!(transaction.service.latency_ms_p50 < 100.0, "{:?}", transaction.service.latency_ms_p50);
    assert!(
        transaction.response.latency_ms_p50 > 300.0,
        "{:?}",
        transaction.response.latency_ms_p50
    );
    assert!(seconds.0.lock()[0].queue_length > 500, "{:?}", seconds.0.lock()[0].queue_length);
    assert_eq!(outcome.rate_target, Some(1000.0));
    // Statements add up to their transactions, lateness included.
    let statement = outcome.latency_of("point_select").unwrap();
    let ratio = statement.response.latency_ms_mean / transaction.response.latency_ms_mean;
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
}

#[test]
fn a_rate_within_reach_is_kept() {
    let server = FakeServer::new(Duration::ZERO);
    let pace = Pace::Rate { per_second: 500.0, arrivals: Arrivals::Even };
    let schedule = Schedule { threads: 4, pace, seconds: 1.0, ..Schedule::default() };
    let outcome =
        run_quietly(&server, &workload(Recipe::OltpPointSelect, Mode::Strict), &schedule).unwrap();
    assert!((450..=500).contains(&outcome.events), "{}", outcome.events);
}

#[test]
fn one_seed_is_one_sequence_of_statements() {
    let statements = |seed| {
        let server = FakeServer::new(Duration::ZERO);
        let schedule = Schedule { seed, ..events(1, 20) };
        run_quietly(&server, &workload(Recipe::OltpReadWrite, Mode::Strict), &schedule).unwrap();
        server.log()
    };
    assert_eq!(statements(7), statements(7));
    assert_ne!(statements(7), statements(8));
}

#[test]
fn stopping_from_outside_gives_what_was_measured() {
    let server = FakeServer::new(Duration::from_millis(1));
    let (stop, seconds) = (AtomicBool::new(false), Seconds::default());
    let schedule = Schedule { seconds: 600.0, ..Schedule::default() };
    let workload = workload(Recipe::OltpPointSelect, Mode::Strict);
    let outcome = thread::scope(|scope| {
        let run = scope.spawn(|| {
            run_on(
                &server,
                &load(&Schema::default(), &workload, &schedule),
                Start::AtOnce,
                &seconds,
                &stop,
            )
        });
        while server.log().len() < 50 {
            thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
        run.join().unwrap().unwrap()
    });
    assert!(outcome.interrupted && outcome.events > 0 && outcome.elapsed_s < 60.0, "{outcome:?}");
    let events: u64 = seconds.0.lock().iter().map(|second| second.events).sum();
    assert!(events.abs_diff(outcome.events) <= 1, "the last, shorter second is told too");
}

#[test]
fn seconds_follow_the_callers_clock() {
    let server = FakeServer::new(Duration::from_millis(1));
    let origin = Instant::now().checked_sub(Duration::from_millis(41_300)).unwrap();
    let schedule = Schedule { seconds: 1.0, ..Schedule::default() };
    let workload = workload(Recipe::OltpPointSelect, Mode::Strict);
    let stop = AtomicBool::new(false);
    let outcome = run_on(
        &server,
        &load(&Schema::default(), &workload, &schedule),
        Start::OnClock(origin),
        &(),
        &stop,
    )
    .unwrap();
    assert_eq!((outcome.measure_start_s, outcome.measure_end_s), (42.0, 43.0));
}

/// A server that accepts connections and never answers.
struct Mute;

impl Connect for Mute {
    type Session = crate::fake::FakeSession;

    async fn connect_on(
        &self,
        _: &assay_event_loop::Handle,
    ) -> Result<Self::Session, SessionError> {
        std::future::pending().await
    }
}

#[test]
fn a_stop_is_seen_while_connections_are_made() {
    let (schema, stop) = (Schema::default(), AtomicBool::new(true));
    let workload = workload(Recipe::OltpPointSelect, Mode::Strict);
    let schedule = Schedule { threads: 3, seconds: 600.0, ..Schedule::default() };
    let outcome =
        run_on(&Mute, &load(&schema, &workload, &schedule), Start::AtOnce, &(), &stop).unwrap();
    assert!(outcome.interrupted && outcome.events == 0, "{outcome:?}");
}

#[test]
fn what_still_waits_after_the_grace_is_cut_and_told_as_unfinished() {
    let server = FakeServer::new(Duration::from_millis(1)).that_holds(|number| number > 20);
    let schedule =
        Schedule { threads: 3, seconds: 1.0, forced_shutdown: Some(0.01), ..Schedule::default() };
    let outcome =
        run_quietly(&server, &workload(Recipe::OltpPointSelect, Mode::Strict), &schedule).unwrap();
    assert_eq!((outcome.events, outcome.events_cut, outcome.unfinished.events), (20, 3, 3));
}
