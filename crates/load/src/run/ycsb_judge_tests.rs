//! In mode `compat` we do what YCSB's own core 0.17.0 does: the same keys in the same order where there is an order, and the
//! same distributions of operations, keys, fields, scan lengths and bytes.
//!
//! Needs Java and Maven, which fetches the core. Its `BasicDB` prints every operation; ours are those that a fake server was
//! sent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::*;
use crate::fake::FakeServer;
use crate::mode::Mode;
use crate::ycsb::key_name;
use crate::ycsb_client::parse;
use assay_testing::skip;

const RECORDS: u64 = 1000;
const OPERATIONS: u64 = 40_000;

/// The directory of YCSB's jars; nothing where Java or Maven is missing.
fn jars() -> Option<&'static Path> {
    static JARS: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = JARS.get_or_init(|| {
        let is_there = |program: &str| {
            Command::new(program).arg("-version").output().is_ok_and(|out| out.status.success())
        };
        (is_there("java") && is_there("mvn")).then(fetch)
    });
    if found.is_none() {
        skip("java and mvn (packages default-jre-headless and maven)");
    }
    found.as_deref()
}

fn fetch() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or(here.join("../../target"), PathBuf::from);
    let jars = target.join("ycsb-0.17.0");
    if !jars.join("core-0.17.0.jar").exists() {
        let fetched = Command::new("mvn")
            .args(["-q", "-B", "-f"])
            .arg(here.join("judge/pom.xml"))
            .arg("dependency:copy-dependencies")
            .arg(format!("-DoutputDirectory={}", jars.display()))
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&fetched.stdout).into_owned();
        assert!(fetched.status.success(), "Maven could not fetch YCSB's core: {words}");
    }
    jars
}

/// One operation, as both sides tell it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Told {
    operation: &'static str,
    key: String,
    field: Option<usize>,
    scan_length: Option<u64>,
    value: Option<String>,
}

/// A line of `BasicDB`: `UPDATE usertable user123 [ field1=… ]`.
fn theirs(line: &str) -> Option<Told> {
    let mut words = line.splitn(4, ' ');
    let operation = ["READ", "UPDATE", "INSERT", "SCAN"]
        .into_iter()
        .find(|one| line.starts_with(&format!("{one} usertable ")))?;
    let key = words.nth(2)?.to_owned();
    let rest = words.next()?;
    let written = rest.strip_prefix("[ field").and_then(|rest| rest.split_once('='));
    let is_update = operation == "UPDATE";
    Some(Told {
        operation,
        key,
        field: written.filter(|_| is_update).and_then(|(field, _)| field.parse().ok()),
        scan_length: (operation == "SCAN").then(|| rest.split(' ').next()?.parse().ok()).flatten(),
        value: written
            .filter(|_| is_update)
            .map(|(_, value)| value.trim_end_matches([' ', ']']).to_owned()),
    })
}

/// A statement of ours.
fn ours(sql: &str) -> Option<Told> {
    let operation = match sql.split(' ').next()? {
        "SELECT" if sql.contains("LIMIT") => "SCAN",
        "SELECT" => "READ",
        "UPDATE" => "UPDATE",
        "INSERT" => "INSERT",
        _ => return None,
    };
    let from = sql.rfind("'user").filter(|_| operation != "INSERT").or(sql.find("'user"))? + 1;
    let key = sql[from..].split('\'').next()?.to_owned();
    let set = sql.strip_prefix("UPDATE usertable SET FIELD").and_then(|rest| rest.split_once("='"));
    let value = set.and_then(|(_, rest)| rest.rsplit_once("' WHERE")).map(|(value, _)| value);
    Some(Told {
        operation,
        key,
        field: set.and_then(|(field, _)| field.parse().ok()),
        scan_length: (operation == "SCAN").then(|| sql.rsplit(' ').next()?.parse().ok()).flatten(),
        value: value.map(|value| value.replace("''", "'").replace("\\\\", "\\")),
    })
}

fn of_ycsb(jars: &Path, command: &str, properties: &[&str]) -> Vec<Told> {
    let mut java = Command::new("java");
    java.arg("-cp").arg(format!("{}/*", jars.display())).arg("site.ycsb.Client");
    java.arg(if command == "load" { "-load" } else { "-t" });
    java.args(["-db", "site.ycsb.BasicDB", "-p", "basicdb.verbose=true"]);
    java.args(["-p", "workload=site.ycsb.workloads.CoreWorkload"]);
    for property in properties {
        java.args(["-p", property]);
    }
    let out = java.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).lines().filter_map(theirs).collect()
}

fn of_assay(command: &str, properties: &[&str], mode: Mode) -> Vec<Told> {
    let mut words = vec![command.to_owned()];
    for property in properties.iter().chain(&["assay.seed=3"]) {
        words.extend(["-p".to_owned(), (*property).to_owned()]);
    }
    let line = parse(&words).unwrap();
    let server = FakeServer::new(Duration::ZERO);
    let workload = Workload { mode, db_ps_mode: crate::workload::PsMode::Disable, ..line.workload };
    let stop = AtomicBool::new(false);
    run_on(&server, "fake", &line.schema, &workload, &line.schedule, Start::AtOnce, &(), &stop)
        .unwrap();
    server.log().iter().filter_map(|sql| ours(sql)).collect()
}

/// By how many standard deviations two samples of categories differ more than chance makes them: the two-sample χ² test, rare
/// categories put together.
fn excess<K: Ord + Clone>(one: &BTreeMap<K, f64>, other: &BTreeMap<K, f64>) -> f64 {
    let (total, total_other): (f64, f64) = (one.values().sum(), other.values().sum());
    let mut pairs = Vec::new();
    let mut rare = (0.0, 0.0);
    let keys: std::collections::BTreeSet<&K> = one.keys().chain(other.keys()).collect();
    for key in keys {
        let of = |sample: &BTreeMap<K, f64>| sample.get(key).copied().unwrap_or(0.0);
        match (of(one), of(other)) {
            (a, b) if a + b >= 10.0 => pairs.push((a, b)),
            (a, b) => rare = (rare.0 + a, rare.1 + b),
        }
    }
    if rare.0 + rare.1 >= 10.0 {
        pairs.push(rare);
    }
    let weight = (total_other / total).sqrt();
    let chi: f64 = pairs.iter().map(|(a, b)| (a * weight - b / weight).powi(2) / (a + b)).sum();
    let degrees = (pairs.len().max(2) - 1) as f64;
    // As a normal variable, whose tails hold for one degree too (Wilson and Hilferty, 1931).
    let variance = 2.0 / (9.0 * degrees);
    ((chi / degrees).cbrt() - (1.0 - variance)) / variance.sqrt()
}

fn counted<K: Ord>(all: impl Iterator<Item = K>) -> BTreeMap<K, f64> {
    let mut counts = BTreeMap::new();
    all.for_each(|key| *counts.entry(key).or_insert(0.0) += 1.0);
    counts
}

/// How far each record that was asked for was from the newest. Where the newest are popular, how often a key was asked for
/// hangs on how long it was the newest, which chance decides.
fn ages(all: &[Told]) -> BTreeMap<u64, f64> {
    let name = |number| {
        let mut key = Vec::new();
        key_name(number, crate::schema::InsertOrder::Hashed, 1, &mut key);
        (String::from_utf8(key).unwrap(), number)
    };
    let numbers: BTreeMap<String, u64> = (0..RECORDS + OPERATIONS).map(name).collect();
    let mut newest = RECORDS - 1;
    counted(all.iter().filter_map(|told| {
        let number = numbers[&told.key];
        if told.operation == "INSERT" {
            newest = number;
            return None;
        }
        Some(newest - number)
    }))
}

/// What differs beyond chance.
fn differences(theirs: &[Told], ours: &[Told], is_newest_first: bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: &str, excess: f64| {
        if excess > 5.0 || excess.is_nan() {
            found.push(format!("{what}: {excess:.1} standard deviations"));
        }
    };
    let each = |all: &[Told]| counted(all.iter().map(|told| told.operation));
    compare("operations", excess(&each(theirs), &each(ours)));
    // A record that is read and then written was drawn once.
    let keys = |all: &[Told]| {
        let mut last: Option<&Told> = None;
        counted(all.iter().filter_map(|told| {
            let before = last.replace(told);
            let is_again = told.operation == "UPDATE"
                && before
                    .is_some_and(|before| before.operation == "READ" && before.key == told.key);
            (told.operation != "INSERT" && !is_again).then(|| told.key.clone())
        }))
    };
    match is_newest_first {
        true => compare("ages", excess(&ages(theirs), &ages(ours))),
        false => compare("keys", excess(&keys(theirs), &keys(ours))),
    }
    let fields = |all: &[Told]| counted(all.iter().filter_map(|told| told.field));
    compare("fields", excess(&fields(theirs), &fields(ours)));
    let lengths = |all: &[Told]| counted(all.iter().filter_map(|told| told.scan_length));
    compare("scan lengths", excess(&lengths(theirs), &lengths(ours)));
    // The last bytes may have been trimmed with the brackets around them.
    let bytes = |all: &[Told]| {
        let values = all.iter().filter_map(|told| told.value.as_ref());
        counted(values.flat_map(|value| value.bytes().take(12).enumerate().collect::<Vec<_>>()))
    };
    compare("bytes", excess(&bytes(theirs), &bytes(ours)));
    let inserted = |all: &[Told]| -> Vec<String> {
        all.iter().filter(|told| told.operation == "INSERT").map(|told| told.key.clone()).collect()
    };
    let (a, b) = (inserted(theirs), inserted(ours));
    if a.iter().zip(&b).any(|(a, b)| a != b) || a.is_empty() != b.is_empty() {
        found.push(format!("inserted keys: {:?} and {:?}", a.first(), b.first()));
    }
    found
}

const NO_UPDATES: &str = "updateproportion=0";
const SCANS: [&str; 4] =
    [NO_UPDATES, "readproportion=0", "scanproportion=0.95", "insertproportion=0.05"];

fn with(more: &[&'static str]) -> Vec<String> {
    let mut all: Vec<String> = [
        format!("recordcount={RECORDS}"),
        format!("operationcount={OPERATIONS}"),
        "fieldcount=3".into(),
        "fieldlength=16".into(),
    ]
    .into();
    all.extend(more.iter().map(|one| (*one).to_owned()));
    all
}

#[test]
fn operations_keys_and_bytes_are_those_of_ycsbs_own_core() {
    let Some(jars) = jars() else { return };
    let scans = |more: &[&'static str]| with(&[&SCANS[..], more].concat());
    let cases = [
        ("a", with(&["readproportion=0.5", "updateproportion=0.5", "requestdistribution=zipfian"])),
        ("b", with(&["requestdistribution=zipfian"])),
        (
            "c",
            with(&[
                NO_UPDATES,
                "readproportion=1",
                "requestdistribution=zipfian",
                "insertorder=ordered",
                "zeropadding=8",
            ]),
        ),
        ("d", with(&[NO_UPDATES, "insertproportion=0.05", "requestdistribution=latest"])),
        ("e", scans(&["requestdistribution=zipfian", "maxscanlength=100"])),
        ("e, zipfian lengths", scans(&["maxscanlength=50", "scanlengthdistribution=zipfian"])),
        (
            "f",
            with(&[
                NO_UPDATES,
                "readproportion=0.5",
                "readmodifywriteproportion=0.5",
                "requestdistribution=zipfian",
            ]),
        ),
        (
            "zipfian with inserts",
            with(&[
                NO_UPDATES,
                "readproportion=0.9",
                "insertproportion=0.1",
                "requestdistribution=zipfian",
            ]),
        ),
        ("uniform with inserts", with(&["readproportion=0.5", "insertproportion=0.1"])),
        (
            "hotspot",
            with(&[
                "requestdistribution=hotspot",
                "hotspotdatafraction=0.1",
                "hotspotopnfraction=0.7",
            ]),
        ),
        ("exponential", with(&["requestdistribution=exponential"])),
    ];
    for (name, properties) in cases {
        let properties: Vec<&str> = properties.iter().map(String::as_str).collect();
        let theirs = of_ycsb(jars, "run", &properties);
        assert!(theirs.len() as u64 >= OPERATIONS, "{name}: {} lines", theirs.len());
        let is_newest_first = ["d", "exponential"].contains(&name);
        let ours = of_assay("run", &properties, Mode::Compat);
        let found = differences(&theirs, &ours, is_newest_first);
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

#[test]
fn the_load_phase_inserts_the_same_keys_in_the_same_order() {
    let Some(jars) = jars() else { return };
    let properties = [format!("recordcount={RECORDS}")];
    let properties: Vec<&str> = properties.iter().map(String::as_str).collect();
    let keys =
        |all: Vec<Told>| all.into_iter().map(|told| (told.operation, told.key)).collect::<Vec<_>>();
    let theirs = keys(of_ycsb(jars, "load", &properties));
    assert_eq!(theirs.len() as u64, RECORDS);
    assert_eq!(theirs, keys(of_assay("load", &properties, Mode::Compat)));
    let mut last = Vec::new();
    key_name(RECORDS - 1, crate::schema::InsertOrder::Hashed, 1, &mut last);
    assert_eq!(theirs.last().unwrap().1.as_bytes(), last);
}

/// The negative control: what is another workload is found to be one.
#[test]
fn the_comparison_finds_what_differs() {
    let Some(jars) = jars() else { return };
    let properties =
        with(&["readproportion=0.5", "updateproportion=0.5", "requestdistribution=zipfian"]);
    let given =
        |all: &[String]| of_ycsb(jars, "run", &all.iter().map(String::as_str).collect::<Vec<_>>());
    let theirs = given(&properties);
    let own = |all: &[String], mode| {
        of_assay("run", &all.iter().map(String::as_str).collect::<Vec<_>>(), mode)
    };
    let told = |found: &[String]| {
        found.iter().map(|one| one.split(':').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        told(&differences(&theirs, &own(&properties, Mode::Strict), false)),
        ["keys"],
        "an exact zipfian is another"
    );
    let others =
        with(&["readproportion=0.53", "updateproportion=0.47", "requestdistribution=zipfian"]);
    assert_eq!(told(&differences(&theirs, &own(&others, Mode::Compat), false)), ["operations"]);
    let wider = with(&[
        "readproportion=0.5",
        "updateproportion=0.5",
        "requestdistribution=zipfian",
        "fieldcount=4",
    ]);
    assert_eq!(told(&differences(&theirs, &own(&wider, Mode::Compat), false)), ["fields"]);
}
