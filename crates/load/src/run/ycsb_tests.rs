//! YCSB's operations on a fake server.

use std::collections::BTreeMap;

use super::*;
use crate::fake::{FakeServer, refusal};
use crate::generator::Generator;
use crate::mode::Mode;
use crate::recipe::Recipe;
use crate::ycsb::{Mix, YcsbOptions};

const RECORDS: u64 = 1000;

fn go(server: &FakeServer, workload: &Workload, threads: u32, events: u64) -> Result<Outcome> {
    let schema = Schema {
        generator: Generator::Ycsb,
        table_size: RECORDS,
        field_count: 3,
        field_length: 10,
        ..Schema::default()
    };
    let schedule = Schedule { threads, events, seconds: 0.0, ..Schedule::default() };
    run_on(
        server,
        "fake",
        &schema,
        workload,
        &schedule,
        Start::AtOnce,
        &(),
        &AtomicBool::new(false),
    )
}

fn of(recipe: Recipe, mode: Mode) -> Workload {
    Workload { recipe, mode, ..Workload::default() }
}

fn counts(outcome: &Outcome) -> BTreeMap<&str, u64> {
    outcome.latency.iter().map(|one| (one.kind.as_str(), one.service.count)).collect()
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
    // The update is of the record that was read before it.
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

/// By one thread: of several one may wait for its answer as long as the machine likes, and what others inserted since is not
/// asked for before that.
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

#[test]
fn an_insert_that_is_tried_again_takes_the_next_record() {
    let once = |number: usize, _: &str| (number == 3).then(|| refusal(1062));
    let server = FakeServer::failing(once);
    let workload = Workload {
        mysql_ignore_errors: crate::workload::IgnoreErrors::Listed(vec![1062]),
        ..of(Recipe::YcsbLoad, Mode::Compat)
    };
    let outcome = go(&server, &workload, 1, 10).unwrap();
    assert_eq!((outcome.events, outcome.errors.get(&1062)), (10, Some(&1)));
    let keys: Vec<String> = sent(&server, "INSERT")
        .iter()
        .filter_map(|text| text.split('\'').nth(1).map(str::to_owned))
        .collect();
    let distinct: std::collections::BTreeSet<&String> = keys.iter().collect();
    assert_eq!((keys.len(), distinct.len()), (11, 11));
}
