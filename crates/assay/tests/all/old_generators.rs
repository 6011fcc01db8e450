//! Tests the generators of sysbench 0.4 and 0.5 against a real server: their tables, their
//! statements and the printed results.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use crate::common::{DIRECTORY, TestServer, World, has_server, root_at, small_plan, trials};
use assay_load::{
    Address, Endpoint, LoadOutcome, LoadSpec, Mode, PrepareOptions, Recipe, Schedule, Schema,
    ServerKey, Tls, Work, Workload, cleanup, preflight, prepare, prewarm, queries_per_event, run,
};
use mysql::prelude::Queryable;
use rusqlite::Connection;

const DATABASE: &str = "assay_old";
const EVENTS: u64 = 200;
const ROWS: u64 = 25_000;

struct Bench {
    control: mysql::Conn,
    endpoint: Endpoint,
}

impl Bench {
    fn open(server: &TestServer) -> Bench {
        let socket = &server.socket;
        let endpoint = Endpoint {
            hides_user: false,
            address: Address::Socket(socket.clone()),
            user: "root".into(),
            password: String::new(),
            database: DATABASE.into(),
            tls: Tls::Off,
            key: ServerKey::None,
        };
        let mut control = root_at(socket);
        control.query_drop("SET GLOBAL log_output='TABLE'").unwrap();
        Bench { control, endpoint }
    }

    fn is_true(&mut self, condition: &str, of: &str) -> bool {
        let sql = format!("SELECT {condition} FROM {DATABASE}.{of}");
        self.control.query_first::<Option<u64>, _>(sql).unwrap().flatten() == Some(1)
    }

    fn columns(&mut self, table: &str) -> BTreeMap<String, String> {
        let sql = format!(
            "SELECT column_name, column_type FROM information_schema.columns \
             WHERE table_schema = '{DATABASE}' AND table_name = '{table}'"
        );
        self.control.query::<(String, String), _>(sql).unwrap().into_iter().collect()
    }

    fn prepare(&self, workload: &Workload, schema: &Schema) {
        let options = PrepareOptions { threads: 4, seed: 5, workload: workload.clone() };
        let report =
            prepare(&self.endpoint, schema, &options, &|_| {}, &AtomicBool::new(false)).unwrap();
        assert_eq!(report.rows, u64::from(schema.tables) * schema.table_size);
        prewarm(&self.endpoint, schema).unwrap();
    }

    /// Runs the events; returns the statements of the server's general log.
    fn run(
        &mut self,
        workload: &Workload,
        schema: &Schema,
    ) -> (LoadOutcome, Vec<(String, String)>) {
        let (endpoint, schema, workload) =
            (self.endpoint.clone(), schema.clone(), workload.clone());
        let schedule = Schedule { seconds: 0.0, events: EVENTS, ..Schedule::default() };
        let load = LoadSpec { endpoint, schema, workload, schedule };
        preflight(&load).unwrap();
        self.control.query_drop("TRUNCATE TABLE mysql.general_log").unwrap();
        self.control.query_drop("SET GLOBAL general_log=ON").unwrap();
        let stop = AtomicBool::new(false);
        let outcome = run(&load, None, &(), &stop).unwrap();
        self.control.query_drop("SET GLOBAL general_log=OFF").unwrap();
        let query = format!(
            "SELECT command_type, CONVERT(argument USING utf8mb4) FROM mysql.general_log \
             WHERE thread_id <> {} AND command_type IN ('Execute', 'Query')",
            self.control.connection_id()
        );
        (outcome, self.control.query(query).unwrap())
    }
}

/// Whether queries ÷ transactions is the recipe's, by this program's count and by the server's.
fn reconciles(outcome: &LoadOutcome, log: &[(String, String)], per_event: u64) -> bool {
    let Work::Server { workload, schema } = &outcome.work else { panic!("it loads a server") };
    let expected = queries_per_event(workload, schema).total();
    let queries = outcome.queries;
    expected == per_event
        && outcome.events == EVENTS
        && queries.total() == EVENTS * per_event
        && log.len() as u64 == EVENTS * per_event
}

fn old(recipe: Recipe, mode: Mode, tables: u32) -> (Workload, Schema) {
    let generator = recipe.generator();
    let schema = Schema { generator, tables, table_size: ROWS, ..Schema::default() };
    (Workload { recipe, mode, ..Workload::default() }, schema)
}

#[test]
fn old_generators_load_and_run_and_reconcile() {
    let settings = ["skip_log_bin=ON", "innodb_flush_log_at_trx_commit=0"];
    let Some(server) = TestServer::start(&settings) else { return };
    let mut bench = Bench::open(&server);
    sysbench_0_4(&mut bench);
    sysbench_0_5(&mut bench);
    the_command_line(&server);
}

fn sysbench_0_4(bench: &mut Bench) {
    for mode in [Mode::Compat, Mode::Strict] {
        let (workload, schema) = old(Recipe::OltpComplex, mode, 1);
        bench.prepare(&workload, &schema);
        let columns = bench.columns("sbtest");
        assert!(columns["id"].ends_with("unsigned") && columns["k"].ends_with("unsigned"));
        let equal = format!(
            "COUNT(*) = {ROWS} AND MIN(id) = 1 AND MAX(id) = {ROWS} AND MAX(k) = 0 AND \
             COUNT(DISTINCT c, pad) = 1 \
             AND MIN(pad) = 'qqqqqqqqqqwwwwwwwwwweeeeeeeeeerrrrrrrrrrtttttttttt'"
        );
        assert!(bench.is_true(&equal, "sbtest"), "every row is the same");
        let key = bench.control.query_first::<String, _>(format!(
            "SELECT column_name FROM information_schema.statistics \
             WHERE table_schema = '{DATABASE}' AND index_name = 'k'"
        ));
        assert_eq!(key.unwrap().as_deref(), Some("k"));
        let (outcome, log) = bench.run(&workload, &schema);
        assert!(reconciles(&outcome, &log, 21), "{:?} {}", outcome.queries, log.len());
        assert!(!reconciles(&outcome, &log[1..], 21), "a statement less is found out");
        let queries = outcome.queries;
        assert_eq!((queries.read, queries.write, queries.other), (14 * 200, 5 * 200, 2 * 200));
        let executed = log.iter().filter(|(command, _)| command == "Execute").count();
        assert!(executed as u64 >= EVENTS * 19, "statements are prepared: {executed}");
        let swapped = "SUM(pad LIKE 'aaaaaaaaaaffffffffff%') > 1 AND SUM(c LIKE \
            '%-%-%-%-%-%-%-%-%-%') > 1 \
                       AND MAX(k) > 0";
        assert!(bench.is_true(swapped, "sbtest"), "rows are written as 0.4 writes them");
        assert!(bench.is_true(&format!("COUNT(*) = {ROWS}"), "sbtest"), "and none is lost");
        cleanup(&bench.endpoint, &schema).unwrap();
    }
}

fn sysbench_0_5(bench: &mut Bench) {
    let (workload, schema) = old(Recipe::Oltp, Mode::Compat, 3);
    bench.prepare(&workload, &schema);
    assert!(bench.columns("sbtest3")["id"].ends_with("unsigned"));
    let drawn =
        format!("COUNT(*) = {ROWS} AND COUNT(DISTINCT c) = {ROWS} AND MIN(LENGTH(pad)) = 59");
    assert!(bench.is_true(&drawn, "sbtest3"));
    let (outcome, log) = bench.run(&workload, &schema);
    assert!(reconciles(&outcome, &log, 20), "{:?} {}", outcome.queries, log.len());
    assert!(log.iter().all(|(command, _)| command == "Query"), "all is text");
    for event in log.chunks(20) {
        let table = |text: &str| text.split("sbtest").nth(1).map(|rest| rest[..1].to_owned());
        let first = table(&event[1].1);
        assert!(event[1..19].iter().all(|(_, text)| table(text) == first), "one table: {event:?}");
        assert!(event[11].1.contains(" AND ") && event[11].1.ends_with("+99"), "{}", event[11].1);
    }
    cleanup(&bench.endpoint, &schema).unwrap();
}

/// `assay load` recognizes the tables by the workload, and counts as 0.4 does.
fn the_command_line(server: &TestServer) {
    let world = World::new();
    let socket = format!("--mysql-socket={}", server.socket.display());
    let database = format!("--mysql-db={DATABASE}");
    let load = |words: &[&str]| {
        let common = ["load", "oltp_complex", "--table-size=1000", "--mysql-user=root", &database];
        let words: Vec<&str> = common.into_iter().chain([&*socket]).chain(words.to_vec()).collect();
        let output = world.run(&words);
        let (out, error) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{words:?}\n{out}\n{error}");
        out
    };
    assert!(load(&["prepare"]).contains("1 tables with 1000 rows"));
    let said = load(&["--num-threads=1", "--max-requests=50", "run"]);
    for line in [
        "read/write requests:                 950 ",
        "other operations:                    100 ",
        "deadlocks:                           0 ",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    load(&["cleanup"]);
    // The command line of STEC's white paper of 2013, from its first word on; and empty tables, as
    // sysbench makes them.
    let detached = |words: &str| {
        let server = format!("-- mysql-socket={} -- mysql-db={DATABASE}", server.socket.display());
        let line = format!("load -- debug=off -- test=oltp -- mysql-user=root {server} {words}");
        let output = world.run(&line.split_whitespace().collect::<Vec<_>>());
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let stest = "-- oltp-table-size=700 -- oltp-table-name=stest -- mysql-engine=trx=yes";
    assert!(detached(&format!("{stest} prepare")).contains("1 tables with 700 rows"));
    let said = detached(&format!("{stest} -- num-threads=2 -- max-requests=30 -- debug run"));
    // A deadlock would add requests, since the transaction is tried again.
    assert!(said.contains("transactions:                        30 "), "{said}");
    detached(&format!("{stest} cleanup"));
    assert!(detached("-- oltp-table-size=0 prepare").contains("1 tables with 0 rows"));
    assert!(load(&["--oltp-table-size=0", "prewarm"]).is_empty());
    detached("-- oltp-table-size=0 cleanup");
    let mismatch = world.refused(&["load", "oltp", "--generator=sysbench-0.4", "run"]);
    assert!(mismatch.contains("is a recipe of sysbench-0.5"), "{mismatch}");
}

#[test]
fn a_plan_of_sysbench_0_4_ends_by_its_requests() {
    if !has_server() {
        return;
    }
    let world = World::new();
    let text = small_plan(DIRECTORY)
        .replace("threads = [1, 2]", "threads = [1]\nevents = 300")
        .replace("seconds = 2", "seconds = 300")
        .replace("[data]", "[data]\ngenerator = \"sysbench-0.4\"")
        .replace("oltp_write_only\"", "oltp_complex\"\nmode = \"compat\"");
    world.write("plan.toml", &text);
    let output = world.run(&["run", "plan.toml", "--out", "study"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(trials(&world.path("study")).iter().all(|(_, state, ..)| state == "done"));
    let db = Connection::open(world.path("study").join("study.sqlite")).unwrap();
    let figure = |name: &str| {
        let sql = "SELECT MIN(value), MAX(value) FROM results WHERE name = ?1";
        db.query_row(sql, [name], |row| Ok((row.get::<_, f64>(0)?, row.get::<_, f64>(1)?))).unwrap()
    };
    assert_eq!(figure("transactions"), (300.0, 300.0));
    assert_eq!(figure("queries_per_transaction"), (21.0, 21.0));
    let report = std::fs::read_to_string(world.path("study").join("results.json")).unwrap();
    assert!(report.contains("300 events after "), "how the runs ended is told");
}
