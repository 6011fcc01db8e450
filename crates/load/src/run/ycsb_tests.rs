//! YCSB's operations on a fake server.

use std::collections::BTreeMap;

use super::*;
use crate::fake::{FakeServer, load, refusal};
use crate::generator::Generator;
use crate::mode::Mode;
use crate::recipe::Recipe;
use crate::schema::Schema;
use crate::workload::Workload;
use crate::ycsb::{Mix, YcsbOptions};

const RECORDS: u64 = 1000;

fn go(server: &FakeServer, workload: &Workload, threads: u32, events: u64) -> Result<LoadOutcome> {
    let schema = Schema {
        generator: Generator::Ycsb,
        table_size: RECORDS,
        field_count: 3,
        field_length: 10,
        ..Schema::default()
    };
    let schedule = Schedule { threads, events, seconds: 0.0, ..Schedule::default() };
    run_on(server, &load(&schema, workload, &schedule), Start::AtOnce, &(), &AtomicBool::new(false))
}

fn of(recipe: Recipe, mode: Mode) -> Workload {
    Workload { recipe, mode, ..Workload::default() }
}

fn counts(outcome: &LoadOutcome) -> BTreeMap<&str, u64> {
    outcome.latency.iter().map(|latency| (latency.kind.as_str(), latency.service.count)).collect()
}

/// Statements by their first word.
fn sent(server: &FakeServer, word: &str) -> Vec<String> {
    server.log().into_iter().filter(|text| text.starts_with(word)).collect()
}

#[test]
fn operations_come_in_the_shares_of_the_letter() {
    for mode in [Mode::Compat, Mode::Strict] {
        let server = FakeServer::new(Duration::ZERO);
        let outcome = go(&server, &of(Recipe::YcsbB, mode), 4, 20_000).unwrap();
        let counts = counts(&outcome);
        assert_eq!(counts["transaction"], 20_000);
        assert_eq!(counts["read"] + counts["update"], 20_000);
        assert!((900..1100).contains(&counts["update"]), "{counts:?}");
        assert_eq!(outcome.queries.total(), 20_000);
    }
}

#[test]
fn compat_sends_text_as_the_jdbc_driver_does_and_strict_prepares() {
    let server = FakeServer::new(Duration::ZERO);
    go(&server, &of(Recipe::YcsbA, Mode::Compat), 1, 200).unwrap();
    assert!(sent(&server, "prepare ").is_empty());
    let update = sent(&server, "UPDATE").remove(0);
    assert!(update.starts_with("UPDATE usertable SET FIELD"), "{update}");
    assert!(update.contains(" WHERE YCSB_KEY = 'user"), "{update}");
    let fields: std::collections::BTreeSet<char> =
        sent(&server, "UPDATE").iter().filter_map(|text| text.chars().nth(26)).collect();
    assert_eq!(fields.into_iter().collect::<String>(), "012", "any of the three fields");

    let server = FakeServer::new(Duration::ZERO);
    go(&server, &of(Recipe::YcsbA, Mode::Strict), 2, 200).unwrap();
    assert_eq!(sent(&server, "prepare ").len(), 2 * (1 + 3), "a read, and an update per field");
}

#[test]
fn a_read_modify_write_is_a_read_an_update_and_both_together() {
    let server = FakeServer::new(Duration::from_micros(200));
    let outcome = go(&server, &of(Recipe::YcsbF, Mode::Compat), 1, 300).unwrap();
    let counts = counts(&outcome);
    let both = counts["read_modify_write"];
    assert_eq!(counts["update"], both);
    assert_eq!(counts["read"], 300, "every operation reads");
    assert_eq!(outcome.queries.total(), 300 + both);
    let mean = |kind: &str| outcome.latency_of(kind).unwrap().service.latency_ms_mean;
    assert!(mean("read_modify_write") > 1.5 * mean("read"));
    // The update concerns the record that was read before it.
    let key = |text: &str| text.split('\'').rev().nth(1).map(str::to_owned);
    let log = server.log();
    let pairs = log.windows(2).filter(|pair| pair[1].starts_with("UPDATE"));
    assert!(pairs.clone().all(|pair| key(&pair[0]) == key(&pair[1])));
    assert_eq!(pairs.count() as u64, both);
}

/// Half reads, of the latest records, and half inserts.
fn latest_and_inserts() -> Workload {
    let ycsb = YcsbOptions {
        mix: Some(Mix { read: 0.5, insert: 0.5, ..Mix::default() }),
        request_distribution: Some(crate::ycsb::RequestDistribution::Latest),
        ..YcsbOptions::default()
    };
    Workload { ycsb, ..of(Recipe::Ycsb, Mode::Compat) }
}

fn hashed_name(number: u64) -> String {
    let mut key = Vec::new();
    crate::ycsb::key_name(number, crate::schema::InsertOrder::Hashed, 1, &mut key);
    String::from_utf8(key).unwrap()
}

#[test]
fn inserted_records_continue_the_table_each_once() {
    let server = FakeServer::new(Duration::ZERO);
    go(&server, &latest_and_inserts(), 4, 4000).unwrap();
    let inserts = sent(&server, "INSERT");
    for number in RECORDS..RECORDS + inserts.len() as u64 {
        let key = format!("('{}',", hashed_name(number));
        assert_eq!(inserts.iter().filter(|text| text.contains(&key)).count(), 1, "{number}");
    }
}

/// With one thread: with several, one may wait for its answer indefinitely, and later inserts are
/// not requested before that.
#[test]
fn inserted_records_are_asked_for() {
    let server = FakeServer::new(Duration::ZERO);
    go(&server, &latest_and_inserts(), 1, 4000).unwrap();
    let newest: Vec<String> = (RECORDS + 100..RECORDS + 1000).map(hashed_name).collect();
    let reads = sent(&server, "SELECT");
    let of_new = reads.iter().filter(|text| newest.iter().any(|key| text.contains(key.as_str())));
    assert!(of_new.count() > 500, "latest asks for what was inserted");
}

#[test]
fn the_load_phase_inserts_every_record_once() {
    let server = FakeServer::new(Duration::ZERO);
    let outcome = go(&server, &of(Recipe::YcsbLoad, Mode::Compat), 4, RECORDS).unwrap();
    assert_eq!(counts(&outcome)["insert"], RECORDS);
    let mut inserts = sent(&server, "INSERT");
    inserts.sort();
    inserts.dedup_by_key(|text| text.split('\'').nth(1).map(str::to_owned));
    assert_eq!(inserts.len() as u64, RECORDS);
}

#[test]
fn scans_are_as_long_as_the_workload_says() {
    let server = FakeServer::new(Duration::ZERO);
    go(&server, &of(Recipe::YcsbE, Mode::Compat), 1, 5000).unwrap();
    let lengths: Vec<u64> = sent(&server, "SELECT")
        .iter()
        .filter_map(|text| text.rsplit(' ').next()?.parse().ok())
        .collect();
    assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&1), Some(&100)));
    let mean = lengths.iter().sum::<u64>() as f64 / lengths.len() as f64;
    assert!((mean - 50.5).abs() < 2.0, "{mean}");
}

fn going_on(workload: Workload) -> Workload {
    let every = crate::workload::IgnoreErrors::Every(crate::workload::AllWord::All);
    Workload { mysql_ignore_errors: every, ..workload }
}

/// The third statement is refused.
fn refusing(code: u16) -> FakeServer {
    FakeServer::failing(move |number: usize, _: &str| (number == 3).then(|| refusal(code)))
}

/// Keys of the inserts that were sent.
fn inserted(server: &FakeServer) -> Vec<String> {
    let inserts = sent(server, "INSERT");
    inserts.iter().filter_map(|text| text.split('\'').nth(1).map(str::to_owned)).collect()
}

#[test]
fn what_fails_is_an_operation_with_its_status_and_is_not_tried_again() {
    for code in [1062, 1213, 1114] {
        let server = refusing(code);
        let inserts = YcsbOptions {
            mix: Some(Mix { insert: 1.0, ..Mix::default() }),
            ..YcsbOptions::default()
        };
        let workload = Workload { ycsb: inserts, ..of(Recipe::Ycsb, Mode::Compat) };
        let outcome = go(&server, &going_on(workload), 1, 10).unwrap();
        let counts = counts(&outcome);
        assert_eq!((outcome.events, inserted(&server).len()), (10, 10), "{code}");
        assert_eq!((counts["insert"], counts["insert_error"]), (9, 1), "{code}");
        assert_eq!((counts["transaction"], outcome.errors.get(&code)), (10, Some(&1)), "{code}");
        assert!(!counts.contains_key("failed"), "{counts:?}");
    }
}

#[test]
fn what_is_not_found_has_a_status_of_its_own_and_an_update_follows_it() {
    let server = FakeServer::new(Duration::ZERO).that_finds_nothing();
    let outcome = go(&server, &of(Recipe::YcsbF, Mode::Compat), 1, 100).unwrap();
    let counts = counts(&outcome);
    let both = counts["read_modify_write"];
    assert_eq!(counts["read_not_found"], 100);
    assert_eq!(counts["update_unexpected_state"], both);
    assert!(!counts.contains_key("read") && !counts.contains_key("update"), "{counts:?}");
    assert_eq!((outcome.events, outcome.queries.read, outcome.queries.other), (100, 100, both));
}

#[test]
fn strict_tries_again_what_a_deadlock_took_with_the_next_record() {
    let server = refusing(1213);
    let workload = going_on(of(Recipe::YcsbLoad, Mode::Strict));
    let outcome = go(&server, &workload, 1, 10).unwrap();
    assert_eq!((outcome.events, outcome.errors.get(&1213)), (10, Some(&1)));
    let keys = inserted(&server);
    let distinct: std::collections::BTreeSet<&String> = keys.iter().collect();
    assert_eq!((keys.len(), distinct.len()), (11, 11));
}

#[test]
fn a_load_ends_the_thread_whose_insert_fails_and_nobody_does_its_share() {
    let server = refusing(1062);
    let outcome = go(&server, &going_on(of(Recipe::YcsbLoad, Mode::Compat)), 2, 20).unwrap();
    let done = outcome.events;
    assert!((10..=12).contains(&done), "one thread's ten, and up to two before the third: {done}");
    assert_eq!(inserted(&server).len() as u64, done + 1);
    assert!(outcome.threads.iter().any(|thread| thread.events == 10), "{:?}", outcome.threads);
}

#[test]
fn a_load_tries_the_same_record_again_up_to_the_limit() {
    let server = refusing(1062);
    let ycsb = YcsbOptions {
        insertion_retry_limit: 1,
        insertion_retry_interval: 0.0,
        ..YcsbOptions::default()
    };
    let workload = Workload { ycsb, ..of(Recipe::YcsbLoad, Mode::Compat) };
    let outcome = go(&server, &going_on(workload), 1, 10).unwrap();
    assert_eq!((outcome.events, counts(&outcome)["insert_error"]), (10, 1));
    let texts = sent(&server, "INSERT");
    assert_eq!((texts.len(), &texts[2]), (11, &texts[3]));
}

#[test]
fn a_thread_does_its_own_share_where_ycsb_is_followed_and_any_where_it_is_not() {
    // The first statement takes long: meanwhile the other thread could do more than its share.
    let slow = || {
        let begun = std::time::Instant::now();
        let held = move |number| number == 1 && begun.elapsed() < Duration::from_millis(300);
        FakeServer::new(Duration::ZERO).that_holds(held)
    };
    let events = |mode| {
        let outcome = go(&slow(), &of(Recipe::YcsbC, mode), 2, 101).unwrap();
        let mut each: Vec<u64> = outcome.threads.iter().map(|thread| thread.events).collect();
        each.sort_unstable();
        each
    };
    assert_eq!(events(Mode::Compat), [50, 51]);
    let shared = events(Mode::Strict);
    assert!(shared[0] < 50 && shared[0] + shared[1] == 101, "{shared:?}");
}
