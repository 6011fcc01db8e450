//! Tests YCSB's workloads against a real server, with YCSB's command line and in a plan.

use crate::common::{DIRECTORY, TestServer, World, has_server, root_at, small_plan, trials};
use mysql::prelude::Queryable;
use rusqlite::Connection;

const RECORDS: u64 = 2000;

struct Bench {
    control: mysql::Conn,
    world: World,
    common: Vec<String>,
    _server: TestServer,
}

impl Bench {
    fn open() -> Option<Bench> {
        let server = TestServer::start(&[])?;
        let properties = [
            format!("assay.socket={}", server.socket.display()),
            format!("recordcount={RECORDS}"),
            "fieldcount=4".into(),
            "fieldlength=50".into(),
            "assay.seed=5".into(),
        ];
        let common = properties.into_iter().flat_map(|it| ["-p".to_owned(), it]).collect();
        Some(Bench {
            control: root_at(&server.socket),
            world: World::new(),
            common,
            _server: server,
        })
    }

    fn words<'a>(&'a self, words: &[&'a str]) -> Vec<&'a str> {
        let published = ["load", "ycsb", words[0], "jdbc", "-P", "workloads/workloada"];
        published
            .into_iter()
            .chain(self.common.iter().map(String::as_str))
            .chain(words[1..].iter().copied())
            .collect()
    }

    /// Runs a command that succeeds; returns its lines and its standard error.
    fn done(&self, words: &[&str]) -> (String, String) {
        let output = self.world.run(&self.words(words));
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{told}");
        (String::from_utf8(output.stdout).unwrap(), told)
    }

    fn number(&mut self, sql: &str) -> u64 {
        self.control.query_first::<u64, _>(sql).unwrap().unwrap()
    }
}

fn figure(lines: &str, name: &str) -> f64 {
    let value = lines.lines().find_map(|line| {
        let rest = line.trim_start().strip_prefix(name)?;
        rest.strip_prefix(", ").or_else(|| rest.strip_prefix(": "))
    });
    value.unwrap_or_else(|| panic!("{name}: {lines}")).parse().unwrap()
}

#[test]
fn ycsbs_command_line_loads_runs_and_ends_with_ycsbs_lines() {
    let Some(mut bench) = Bench::open() else {
        return;
    };
    let refusal = bench.world.refused(&bench.words(&["run", "-p", "operationcount=10"]));
    assert!(refusal.contains("Unknown database"), "{refusal}");
    let (lines, told) = bench.done(&["load", "-threads", "3"]);
    assert!(told.contains("the published workloada is used"), "{told}");
    assert_eq!(figure(&lines, "[INSERT], Operations"), RECORDS as f64);
    assert_eq!(figure(&lines, "[INSERT], Return=OK"), RECORDS as f64);
    let whole = "COUNT(*) = 2000 AND MIN(LENGTH(FIELD0)) = 50 AND MAX(LENGTH(FIELD3)) = 50 \
                 AND COUNT(DISTINCT FIELD2) = 2000 AND SUM(YCSB_KEY = 'user6284781860667377211') = \
                 1";
    assert_eq!(bench.number(&format!("SELECT {whole} FROM ycsb.usertable")), 1);
    let again = bench.world.refused(&bench.words(&["load"]));
    assert!(again.contains("run `cleanup` first"), "{again}");

    let (lines, _) = bench.done(&[
        "run",
        "-p",
        "operationcount=3000",
        "-threads",
        "4",
        "-p",
        "hdrhistogram.percentiles=50,99.9",
        "-p",
        "readmodifywriteproportion=0.2",
        "-p",
        "assay.json=run.json",
    ]);
    let of = |name: &str| figure(&lines, &format!("[{name}], Operations"));
    assert_eq!(of("READ") + of("UPDATE") - of("READ-MODIFY-WRITE"), 3000.0);
    assert!(figure(&lines, "[OVERALL], Throughput(ops/sec)") > 0.0);
    assert!(
        figure(&lines, "[READ], 99.9PercentileLatency(us)")
            >= figure(&lines, "[READ], 50thPercentileLatency(us)")
    );
    assert!(lines.contains("\n    Seed: 5\n"), "{lines}");
    let json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(bench.world.path("run.json")).unwrap()).unwrap();
    assert_eq!(json["outcome"]["events"], 3000);
    let written = "SELECT COUNT(*) FROM ycsb.usertable";
    assert_eq!(bench.number(written), RECORDS, "a run without inserts adds nothing");

    // Like YCSB: the rate is divided among the threads, latencies are printed in both forms, the
    // state every second.
    let (lines, told) = bench.done(&[
        "run",
        "-p",
        "operationcount=400",
        "-target",
        "200",
        "-threads",
        "2",
        "-s",
        "-p",
        "status.interval=1",
        "-p",
        "measurement.interval=both",
    ]);
    let runtime_ms = figure(&lines, "[OVERALL], RunTime(ms)");
    assert!((1900.0..6000.0).contains(&runtime_ms), "{runtime_ms}");
    assert!(
        lines.contains("[Intended-UPDATE], Operations") && lines.contains("\n    Achieved(%): "),
        "{lines}"
    );
    assert!(told.contains("current ops/sec; est completion in"), "{told}");

    let beyond = ["run", "-p", "operationcount=500", "-target", "1000000"];
    let (lines, told) = bench.done(&beyond);
    assert!(
        told.contains("a rate of 1000000 per second is more than 1 connection can carry"),
        "{told}"
    );
    assert!(figure(&lines, "Achieved(%)") < 50.0, "{lines}");

    // Inserts continue at the table's end, and their keys exist the second time: counted, not
    // fatal.
    let inserts = [
        "run",
        "-p",
        "operationcount=300",
        "-p",
        "insertproportion=1",
        "-p",
        "readproportion=0",
        "-p",
        "updateproportion=0",
    ];
    bench.done(&inserts);
    assert_eq!(bench.number(written), RECORDS + 300);
    let (lines, _) = bench.done(&inserts);
    assert_eq!(figure(&lines, "[INSERT], Operations"), 0.0);
    assert_eq!(figure(&lines, "[INSERT], Return=ERROR"), 300.0);
    assert_eq!(figure(&lines, "[INSERT-FAILED], Operations"), 300.0);
    assert!(lines.contains("    Errors of the server (times): 1062 (300)\n"), "{lines}");
    assert!(!lines.contains("[FAILED]"), "{lines}");
    assert_eq!(bench.number(written), RECORDS + 300);

    // Records are missing: failed reads and updates are operations, and their share is printed.
    bench.control.query_drop("DELETE FROM ycsb.usertable WHERE YCSB_KEY LIKE 'user1%'").unwrap();
    let halves = ["run", "-p", "operationcount=2000", "-p", "requestdistribution=uniform"];
    let refusal = bench.world.refused(&bench.words(&halves));
    assert!(refusal.contains("sampled records found in usertable is too low"), "{refusal}");
    let halves = [&halves[..], &["-p", "assay.preflight=false"]].concat();
    let (lines, _) = bench.done(&halves);
    let of = |name: &str| figure(&lines, name);
    let missed = of("[READ], Return=NOT_FOUND") + of("[UPDATE], Return=UNEXPECTED_STATE");
    let found = of("[READ], Return=OK") + of("[UPDATE], Return=OK");
    assert_eq!(found + missed, 2000.0);
    assert_eq!(of("[READ], Operations"), of("[READ], Return=OK"));
    assert_eq!(of("[READ-FAILED], Operations"), of("[READ], Return=NOT_FOUND"));
    assert!(missed > 200.0, "a ninth and more of the keys begin with 1: {missed}");
    let apart = [&halves[..], &["-p", "latencytrackederrors=NOT_FOUND"]].concat();
    let (lines, _) = bench.done(&apart);
    assert!(figure(&lines, "[READ-NOT_FOUND], Operations") > 0.0);
    assert!(figure(&lines, "[UPDATE-FAILED], Operations") > 0.0);

    // Latency of every operation: a line each in the file, and means of intervals that contain them
    // all.
    let type_of = |name| format!("measurementtype={name}");
    let (raw, series) = (type_of("hdrhistogram+raw"), type_of("timeseries"));
    let file = ["-p", "measurement.raw.output_file=raw.csv"];
    let (lines, _) = bench.done(&[&halves[..], &["-p", &raw], &file].concat());
    let data = std::fs::read_to_string(bench.world.path("raw.csv")).unwrap();
    let reads = data.lines().filter(|line| line.starts_with("RawREAD,")).count();
    assert_eq!(reads as f64, figure(&lines, "[HdrREAD], Operations"));
    assert_eq!(reads as f64, figure(&lines, "[RawREAD], Total Operations"));
    assert_eq!(data.lines().filter(|line| line.contains(',') && !line.contains(' ')).count(), 2000);
    let (lines, _) = bench.done(&[&halves[..], &["-p", &series]].concat());
    assert!(figure(&lines, "[READ], 0") >= figure(&lines, "[READ], MinLatency(us)"), "{lines}");

    let other = ["run", "-p", "operationcount=10", "-p", "insertorder=ordered"];
    let refusal = bench.world.refused(&bench.words(&other));
    assert!(refusal.contains("order of keys that the table was loaded with"), "{refusal}");
    bench.done(&["cleanup"]);
    assert_eq!(
        bench.number(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'usertable'"
        ),
        0
    );
}

#[test]
#[ignore = "in --full: the same load as on the command line, in a plan"]
fn a_plan_measures_ycsb_with_percentiles_of_reads_and_updates() {
    if !has_server() {
        return;
    }
    let world = World::new();
    let text = small_plan(DIRECTORY)
        .replace("[data]", "[data]\ngenerator = \"ycsb\"\nfield_count = 4\nfield_length = 40")
        .replace("tables = 2\n", "")
        .replace("\"oltp_write_only\"", "\"ycsb_f\"");
    let text =
        format!("percentiles_by_statement = [\"read\", \"update\", \"read_modify_write\"]\n{text}");
    world.write("plan.toml", &text.replace("\"ycsb_f\"", "\"ycsb\""));
    let refusal = world.refused(&["run", "plan.toml", "--out", "study"]);
    assert!(refusal.contains("no operations"), "{refusal}");
    world.write("plan.toml", &text);
    let output = world.run(&["run", "plan.toml", "--out", "study"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(trials(&world.path("study")).iter().all(|(_, state, ..)| state == "done"));
    let db = Connection::open(world.path("study").join("study.sqlite")).unwrap();
    let sql = "SELECT MIN(value), MAX(value) FROM results WHERE name = 'queries_per_transaction'";
    let (least, most): (f64, f64) =
        db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert!(
        least > 1.4 && most < 1.6,
        "half of the operations are two statements: {least} to {most}"
    );
    let report = std::fs::read_to_string(world.path("study").join("results.json")).unwrap();
    assert!(report.contains("read_modify_write"), "each kind has percentiles");
}
