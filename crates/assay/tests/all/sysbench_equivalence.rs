//! In mode `compat` a server cannot tell us from sysbench 1.0.20: the same statements in the same order, grouped on
//! tables alike, with the same counts and the same distribution of ids, for every recipe.
//!
//! Needs the real `sysbench` and a server. Both tools run 1 000 events at one thread under the server's general log.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use crate::common::TestServer;
use assay_load::Recipe;
use assay_load::workload::PsMode;
use assay_load::{
    Address, Endpoint, Generator, Mode, Outcome, PrepareOptions, Schedule, Schema, Tls, Workload,
};
use assay_testing::skip;
use mysql::prelude::Queryable;

const EVENTS: u64 = 1000;
const DATABASE: &str = "assay_equivalence";

/// One statement of the log, taken apart.
#[derive(Debug, Clone, PartialEq)]
struct Statement {
    /// How it came: `Query`, `Execute` or `Prepare`.
    command: String,
    /// Its text with `#` for each number, `'len'` for each string and `sbtest@` for the table.
    shape: String,
    table: Option<u64>,
    numbers: Vec<i64>,
}

fn take_apart(command: &str, text: &str) -> Statement {
    let (mut shape, mut table, mut numbers) = (String::new(), None, Vec::new());
    let mut rest = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    rest.push(' ');
    let mut chars = rest.trim_end().chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\'' {
            let length = chars.by_ref().take_while(|c| *c != '\'').count();
            shape.push_str(&format!("'{length}'"));
        } else if c.is_ascii_digit() {
            let mut digits = c.to_string();
            while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            let number: i64 = digits.parse().unwrap();
            if shape.ends_with("sbtest") {
                shape.push('@');
                table = Some(number as u64);
            } else {
                shape.push('#');
                numbers.push(number);
            }
        } else {
            shape.push(c);
        }
    }
    Statement { command: command.into(), shape, table, numbers }
}

/// What a tool did to the server.
struct Trace {
    prepared: BTreeMap<String, usize>,
    statements: Vec<Statement>,
    /// Reads, writes and others as the tool itself counted them.
    counted: (u64, u64, u64),
}

impl Trace {
    fn shapes(&self) -> Vec<(&str, &str)> {
        self.statements.iter().map(|s| (s.command.as_str(), s.shape.as_str())).collect()
    }

    /// Places in an event where the table was ever seen to change.
    fn table_changes(&self, per_event: usize) -> BTreeSet<usize> {
        let events = self.statements.chunks(per_event);
        events
            .flat_map(|event| {
                let tables: Vec<_> =
                    event.iter().enumerate().filter_map(|(i, s)| Some((i, s.table?))).collect();
                let changes = |pair: &[(usize, u64)]| (pair[0].1 != pair[1].1).then_some(pair[1].0);
                tables.windows(2).filter_map(changes).collect::<Vec<_>>()
            })
            .collect()
    }

    /// The first number of every statement, by place in the event; the last place is for tables.
    fn draws(&self, per_event: usize) -> Vec<Vec<i64>> {
        let mut draws = vec![Vec::new(); per_event + 1];
        for (i, statement) in self.statements.iter().enumerate() {
            draws[i % per_event].extend(statement.numbers.first());
            draws[per_event].extend(statement.table.map(|table| table as i64));
        }
        draws
    }
}

/// What differs between two traces; nothing if they are alike.
fn differences(theirs: &Trace, ours: &Trace) -> Vec<String> {
    let mut found = Vec::new();
    if theirs.prepared != ours.prepared {
        found.push(format!("prepared: {:?} and {:?}", theirs.prepared, ours.prepared));
    }
    if theirs.shapes() != ours.shapes() {
        let (a, b) = (theirs.shapes(), ours.shapes());
        let at = a.iter().zip(&b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
        found.push(format!(
            "statement {at} of {} and {}: {:?} and {:?}",
            a.len(),
            b.len(),
            a.get(at),
            b.get(at)
        ));
        return found;
    }
    let per_event = theirs.statements.len() / EVENTS as usize;
    if theirs.table_changes(per_event) != ours.table_changes(per_event) {
        let (a, b) = (theirs.table_changes(per_event), ours.table_changes(per_event));
        found.push(format!("tables change at {a:?} and {b:?}"));
    }
    for (place, (a, b)) in theirs.draws(per_event).iter().zip(ours.draws(per_event)).enumerate() {
        let distance = kolmogorov_smirnov(a, &b);
        if distance > 1.0 {
            found.push(format!("numbers at place {place} are {distance:.2} times as far apart as chance would have it"));
        }
    }
    if theirs.counted != ours.counted {
        found.push(format!("counted {:?} and {:?}", theirs.counted, ours.counted));
    }
    found
}

/// The largest distance between two empirical distributions, as a multiple of what is exceeded once in 10 000 times by
/// samples of one distribution (Kolmogorov and Smirnov; c(α) = √(−ln(α÷2)÷2)).
fn kolmogorov_smirnov(a: &[i64], b: &[i64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return if a.len() == b.len() { 0.0 } else { f64::INFINITY };
    }
    let sorted = |sample: &[i64]| {
        let mut sample = sample.to_vec();
        sample.sort_unstable();
        sample
    };
    let (a, b) = (sorted(a), sorted(b));
    let share =
        |sample: &[i64], x: i64| sample.partition_point(|v| *v <= x) as f64 / sample.len() as f64;
    let distance =
        a.iter().chain(&b).map(|x| (share(&a, *x) - share(&b, *x)).abs()).fold(0.0, f64::max);
    let (n, m) = (a.len() as f64, b.len() as f64);
    distance / ((-(1e-4f64 / 2.0).ln() / 2.0).sqrt() * ((n + m) / (n * m)).sqrt())
}

/// A server under its general log.
struct Bench {
    control: mysql::Conn,
    socket: String,
}

impl Bench {
    fn open(socket: String) -> Bench {
        let options =
            mysql::OptsBuilder::new().user(Some("root")).socket(Some(&socket)).prefer_socket(false);
        let mut control = mysql::Conn::new(options).unwrap();
        control.query_drop(format!("CREATE DATABASE IF NOT EXISTS {DATABASE}")).unwrap();
        control.query_drop("SET GLOBAL log_output='TABLE'").unwrap();
        Bench { control, socket }
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint {
            hides_user: false,
            address: Address::Socket(self.socket.clone().into()),
            user: "root".into(),
            password: String::new(),
            database: DATABASE.into(),
            tls: Tls::Off,
        }
    }

    /// Fills the tables, then traces what `act` does; it says how its tool counted.
    fn trace(&mut self, case: &Case, act: impl FnOnce(&Bench) -> (u64, u64, u64)) -> Trace {
        let endpoint = self.endpoint();
        let options = PrepareOptions { threads: 1, seed: 1, workload: case.workload.clone() };
        assay_load::cleanup(&endpoint, &case.schema).unwrap();
        assay_load::prepare(&endpoint, &case.schema, &options, &|_| {}, &AtomicBool::new(false))
            .unwrap();
        self.control.query_drop("TRUNCATE TABLE mysql.general_log").unwrap();
        self.control.query_drop("SET GLOBAL general_log=ON").unwrap();
        let counted = act(self);
        self.control.query_drop("SET GLOBAL general_log=OFF").unwrap();
        let query = format!(
            "SELECT command_type, CONVERT(argument USING utf8mb4) FROM mysql.general_log \
             WHERE thread_id <> {} AND command_type IN ('Prepare', 'Execute', 'Query')",
            self.control.connection_id()
        );
        let rows: Vec<(String, String)> = self.control.query(query).unwrap();
        let mut trace = Trace { prepared: BTreeMap::new(), statements: Vec::new(), counted };
        for (command, text) in rows {
            match command.as_str() {
                "Prepare" => *trace.prepared.entry(take_apart("", &text).shape).or_default() += 1,
                _ => trace.statements.push(take_apart(&command, &text)),
            }
        }
        trace
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.control.query_drop("SET GLOBAL general_log=OFF");
        let _ = self.control.query_drop("SET GLOBAL log_output='FILE'");
        let _ = self.control.query_drop(format!("DROP DATABASE {DATABASE}"));
    }
}

/// A workload, and the same for sysbench.
struct Case {
    workload: Workload,
    schema: Schema,
    options: Vec<&'static str>,
}

impl Case {
    fn new(recipe: Recipe) -> Case {
        let workload = Workload { recipe, mode: Mode::Compat, ..Workload::default() };
        let schema = Schema { tables: 4, table_size: 2000, ..Schema::default() };
        Case { workload, schema, options: Vec::new() }
    }

    fn sysbench(&self, bench: &Bench) -> (u64, u64, u64) {
        let output = Command::new("sysbench")
            .arg(self.workload.recipe.name())
            .args([
                "--tables=4",
                "--table-size=2000",
                "--time=0",
                "--rand-seed=42",
                "--mysql-user=root",
            ])
            .arg(format!("--events={EVENTS}"))
            .arg(format!("--mysql-socket={}", bench.socket))
            .arg(format!("--mysql-db={DATABASE}"))
            .args(&self.options)
            .arg("run")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}");
        let count = |label: &str| {
            let line = text.lines().find_map(|line| line.trim().strip_prefix(label)).unwrap();
            line.trim().parse().unwrap()
        };
        (count("read:"), count("write:"), count("other:"))
    }

    fn run(&self, bench: &Bench, workload: &Workload) -> (u64, u64, u64) {
        let schedule = Schedule { seconds: 0.0, events: EVENTS, seed: 42, ..Schedule::default() };
        let stop = AtomicBool::new(false);
        let outcome: Outcome =
            assay_load::run(&bench.endpoint(), &self.schema, workload, &schedule, None, &(), &stop)
                .unwrap();
        assert_eq!(outcome.events, EVENTS);
        (outcome.queries.read, outcome.queries.write, outcome.queries.other)
    }
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Recipe::of(Generator::V10).map(Case::new).collect();
    let mut plain = Case::new(Recipe::OltpReadWrite);
    plain.workload.skip_trx = true;
    plain.workload.db_ps_mode = PsMode::Disable;
    plain.workload.index_updates = 2;
    plain.workload.delete_inserts = 2;
    plain.workload.sum_ranges = 0;
    plain.options = vec![
        "--skip-trx=on",
        "--db-ps-mode=disable",
        "--index-updates=2",
        "--delete-inserts=2",
        "--sum-ranges=0",
    ];
    cases.push(plain);
    let mut pareto = Case::new(Recipe::OltpWriteOnly);
    pareto.workload.rand_type = Some(assay_load::keys::RandType::Pareto);
    pareto.options = vec!["--rand-type=pareto"];
    cases.push(pareto);
    cases
}

#[test]
fn every_recipe_looks_like_sysbench_to_the_server() {
    if Command::new("sysbench").arg("--version").output().is_err() {
        return skip("sysbench 1.0");
    }
    let settings = ["skip_log_bin=ON", "innodb_flush_log_at_trx_commit=0"];
    let Some(server) = TestServer::start(&settings) else { return };
    let mut bench = Bench::open(server.socket.to_str().unwrap().to_owned());
    let mut failures = Vec::new();
    for case in cases() {
        let name = format!("{} {:?}", case.workload.recipe.name(), case.options);
        let mut theirs = bench.trace(&case, |bench| case.sysbench(bench));
        let mut ours = bench.trace(&case, |bench| case.run(bench, &case.workload));
        if case.workload.recipe == Recipe::OltpDelete {
            // How many deletes hit a row is chance; that is settled by the ids alone.
            theirs.counted = (0, 0, theirs.counted.1 + theirs.counted.2);
            ours.counted = (0, 0, ours.counted.1 + ours.counted.2);
        }
        assert!(theirs.statements.len() >= EVENTS as usize, "{name}: sysbench left no trace");
        failures
            .extend(differences(&theirs, &ours).into_iter().map(|text| format!("{name}: {text}")));
        if case.workload.recipe == Recipe::OltpReadWrite && case.options.is_empty() {
            // The comparison can tell: keys drawn evenly, or one statement more, are found out.
            let uniform = Workload {
                rand_type: Some(assay_load::keys::RandType::Uniform),
                ..case.workload.clone()
            };
            let other = bench.trace(&case, |bench| case.run(bench, &uniform));
            assert!(!differences(&theirs, &other).is_empty());
            let longer = Workload { sum_ranges: 2, ..case.workload.clone() };
            let other = bench.trace(&case, |bench| case.run(bench, &longer));
            assert!(!differences(&theirs, &other).is_empty());
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn statements_are_taken_apart() {
    let statement = take_apart("Query", "INSERT INTO sbtest3 (id, k)\n VALUES (7, 'ab-1')");
    assert_eq!(statement.shape, "INSERT INTO sbtest@ (id, k) VALUES (#, '4')");
    assert_eq!((statement.table, statement.numbers), (Some(3), vec![7]));
}

#[test]
fn samples_of_one_distribution_are_near_and_others_far() {
    let even: Vec<i64> = (0..1000).map(|i| i * 7919 % 1000).collect();
    let other: Vec<i64> = (0..1000).map(|i| i * 104_729 % 1000).collect();
    let skewed: Vec<i64> = even.iter().map(|x| x * x / 1000).collect();
    assert!(kolmogorov_smirnov(&even, &other) < 1.0);
    assert!(kolmogorov_smirnov(&even, &skewed) > 2.0);
}
