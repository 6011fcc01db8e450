//! Requests as YCSB's `BasicDB` prints them, and as the fake server logs them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::*;
use crate::fake::{FakeServer, load};
use crate::mode::Mode;
use crate::workload::Workload;
use crate::ycsb_client::parse;
use assay_testing::skip;

/// One request of either program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) operation: &'static str,
    pub(super) key: String,
    pub(super) field: Option<usize>,
    pub(super) scan_length: Option<usize>,
    pub(super) value: Option<String>,
}

impl Request {
    /// Parses a line of `BasicDB`: `UPDATE usertable user123 [ field1=… ]`.
    fn of_basic_db(line: &str) -> Option<Request> {
        let mut words = line.splitn(4, ' ');
        let operation = ["READ", "UPDATE", "INSERT", "SCAN"]
            .into_iter()
            .find(|operation| line.starts_with(&format!("{operation} usertable ")))?;
        let key = words.nth(2)?.to_owned();
        let rest = words.next()?;
        let is_update = operation == "UPDATE";
        let written = rest
            .strip_prefix("[ field")
            .and_then(|rest| rest.split_once('='))
            .filter(|_| is_update);
        Some(Request {
            operation,
            key,
            field: written.and_then(|(field, _)| field.parse().ok()),
            scan_length: (operation == "SCAN")
                .then(|| rest.split(' ').next()?.parse().ok())
                .flatten(),
            value: written.map(|(_, value)| value.trim_end_matches([' ', ']']).to_owned()),
        })
    }

    /// Parses a statement.
    fn of_statement(sql: &str) -> Option<Request> {
        let operation = match sql.split(' ').next()? {
            "SELECT" if sql.contains("LIMIT") => "SCAN",
            "SELECT" => "READ",
            "UPDATE" => "UPDATE",
            "INSERT" => "INSERT",
            _ => return None,
        };
        let first = sql.find("'user");
        let from = sql.rfind("'user").filter(|_| operation != "INSERT").or(first)? + 1;
        let key = sql[from..].split('\'').next()?.to_owned();
        let set =
            sql.strip_prefix("UPDATE usertable SET FIELD").and_then(|rest| rest.split_once("='"));
        let value = set.and_then(|(_, rest)| rest.rsplit_once("' WHERE")).map(|(value, _)| value);
        Some(Request {
            operation,
            key,
            field: set.and_then(|(field, _)| field.parse().ok()),
            scan_length: (operation == "SCAN")
                .then(|| sql.rsplit(' ').next()?.parse().ok())
                .flatten(),
            value: value.map(|value| value.replace("''", "'").replace("\\\\", "\\")),
        })
    }
}

/// The directory of YCSB's jars; `None` without Java or Maven.
pub(super) fn jars() -> Option<&'static Path> {
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
        let output = String::from_utf8_lossy(&fetched.stdout).into_owned();
        assert!(fetched.status.success(), "Maven could not fetch YCSB's core: {output}");
    }
    jars
}

/// Runs YCSB's core and returns its requests.
pub(super) fn of_ycsb(jars: &Path, command: &str, properties: &[String]) -> Vec<Request> {
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
    String::from_utf8_lossy(&out.stdout).lines().filter_map(Request::of_basic_db).collect()
}

/// Runs this crate's load against a fake server and returns its requests.
pub(super) fn of_assay(
    command: &str,
    properties: &[String],
    mode: Mode,
    seed: u64,
) -> Vec<Request> {
    let mut words = vec![command.to_owned()];
    for property in properties.iter().chain(&[format!("assay.seed={seed}")]) {
        words.extend(["-p".to_owned(), property.clone()]);
    }
    let line = parse(&words).unwrap();
    let server = FakeServer::new(Duration::ZERO);
    let workload =
        Workload { mode, db_ps_mode: crate::workload::PsMode::Disable, ..line.load.workload };
    let stop = AtomicBool::new(false);
    run_on(
        &server,
        &load(&line.load.schema, &workload, &line.load.schedule),
        Start::AtOnce,
        &(),
        &stop,
    )
    .unwrap();
    server.log().iter().filter_map(|sql| Request::of_statement(sql)).collect()
}
