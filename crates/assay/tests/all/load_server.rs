//! Tests loading, login, failures and checks of limits against a real server.
//!
//! One private server serves all tests; each has a database of its own.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{TestServer, root_at};
use assay_load::{
    Address, Endpoint, Error, Generator, LoadObserver, LoadSpec, Mode, PrepareOptions, Recipe,
    Schedule, Schema, SchemaKind, Second, ServerKey, Tls, Warmup, Workload, cleanup, preflight,
    prepare, prewarm, run,
};
use mysql::prelude::Queryable;

/// The server of all tests; it ends when this process ends, which closes its pipe.
fn server() -> Option<&'static TestServer> {
    static SERVER: OnceLock<Option<TestServer>> = OnceLock::new();
    SERVER.get_or_init(|| TestServer::start(&[])).as_ref()
}

/// A test's database on the server, dropped at its end.
struct Fixture {
    control: mysql::Conn,
    endpoint: Endpoint,
}

impl Fixture {
    fn open() -> Option<Fixture> {
        let socket = &server()?.socket;
        let mut control = root_at(socket);
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let database = format!("assay_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        control.query_drop(format!("DROP DATABASE IF EXISTS {database}")).unwrap();
        let endpoint = Endpoint {
            hides_user: false,
            address: Address::Socket(socket.clone()),
            user: "root".into(),
            password: String::new(),
            database,
            tls: Tls::Off,
            key: ServerKey::None,
        };
        Some(Fixture { control, endpoint })
    }

    fn number(&mut self, sql: &str) -> u64 {
        self.control.query_first::<u64, _>(sql).unwrap().unwrap()
    }

    fn prepare(&self, schema: &Schema, threads: u32) {
        let options = PrepareOptions { threads, seed: 5, workload: Workload::default() };
        prepare(&self.endpoint, schema, &options, &|_| {}, &AtomicBool::new(false)).unwrap();
    }

    fn go(
        &self,
        schema: &Schema,
        workload: &Workload,
        schedule: &Schedule,
    ) -> assay_load::Result<assay_load::LoadOutcome> {
        run(&self.load(schema, workload, schedule), None, &(), &AtomicBool::new(false))
    }

    fn load(&self, schema: &Schema, workload: &Workload, schedule: &Schedule) -> LoadSpec {
        load(&self.endpoint, schema, workload, schedule)
    }
}

fn load(
    endpoint: &Endpoint,
    schema: &Schema,
    workload: &Workload,
    schedule: &Schedule,
) -> LoadSpec {
    LoadSpec {
        endpoint: endpoint.clone(),
        schema: schema.clone(),
        workload: workload.clone(),
        schedule: schedule.clone(),
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ =
            self.control.query_drop(format!("DROP DATABASE IF EXISTS {}", self.endpoint.database));
    }
}

#[test]
fn loading_fills_every_row_the_same_whatever_the_threads() {
    let Some(mut f) = Fixture::open() else { return };
    let database = f.endpoint.database.clone();
    for kind in [SchemaKind::Default, SchemaKind::Text] {
        let schema = Schema { kind, tables: 2, table_size: 5003, ..Schema::default() };
        let mut checksums = Vec::new();
        for threads in [1, 3] {
            f.prepare(&schema, threads);
            let rows: Vec<(String, u64)> = f
                .control
                .query(format!("CHECKSUM TABLE {database}.sbtest1, {database}.sbtest2"))
                .unwrap();
            checksums.push(rows);
            let whole = "COUNT(*) = 5003 AND MIN(id) = 1 AND MAX(id) = 5003 AND MIN(k) >= 1 AND \
                MAX(k) <= 5003 \
                         AND MIN(LENGTH(c)) = 119 AND MIN(LENGTH(pad)) = 59 AND COUNT(DISTINCT c) \
                         = 5003";
            assert_eq!(f.number(&format!("SELECT {whole} FROM {database}.sbtest2")), 1);
            let indexes = "SELECT COUNT(*) FROM information_schema.statistics WHERE index_name = \
                'k_2' AND table_schema";
            assert_eq!(f.number(&format!("{indexes} = '{database}'")), 1);
            if kind == SchemaKind::Text {
                let mean = format!(
                    "SELECT ROUND(AVG(LENGTH(data1) + LENGTH(data2))) FROM {database}.sbtest1"
                );
                assert!((180..=230).contains(&f.number(&mean)), "{}", f.number(&mean));
            }
            cleanup(&f.endpoint, &schema).unwrap();
        }
        assert_eq!(checksums[0], checksums[1]);
        assert_ne!(checksums[0][0].1, checksums[0][1].1, "tables differ from each other");
    }
}

#[test]
fn a_second_prepare_is_refused() {
    let Some(f) = Fixture::open() else { return };
    let schema = Schema { table_size: 10, ..Schema::default() };
    f.prepare(&schema, 1);
    prewarm(&f.endpoint, &schema).unwrap();
    let options = PrepareOptions::default();
    let error =
        prepare(&f.endpoint, &schema, &options, &|_| {}, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, Error::Server { code: 1050, .. }), "{error}");
}

#[test]
fn every_recipe_runs_on_both_schemas_in_both_modes() {
    let Some(f) = Fixture::open() else { return };
    for kind in [SchemaKind::Default, SchemaKind::Text] {
        for (recipe, mode) in
            Recipe::ALL.into_iter().flat_map(|r| [(r, Mode::Compat), (r, Mode::Strict)])
        {
            let generator = recipe.generator();
            if kind == SchemaKind::Text && generator != Generator::V10 {
                continue;
            }
            // These need a mix, and a table without records.
            if [Recipe::Ycsb, Recipe::YcsbLoad].contains(&recipe) {
                continue;
            }
            let tables = if generator.has_one_table() { 1 } else { 2 };
            let schema = Schema { generator, kind, tables, table_size: 500, ..Schema::default() };
            f.prepare(&schema, 2);
            let workload = Workload { recipe, mode, rand_scatter: true, ..Workload::default() };
            let schedule = Schedule { threads: 2, seconds: 0.0, events: 20, ..Schedule::default() };
            let outcome = f.go(&schema, &workload, &schedule).unwrap();
            assert_eq!(outcome.events, 20, "{recipe:?}");
            let queries = assay_load::queries_per_event(&workload, &schema);
            let is_drawn = generator == Generator::Ycsb;
            if outcome.errors.is_empty() && recipe != Recipe::OltpDelete && !is_drawn {
                assert_eq!(outcome.queries.total(), 20 * queries.total(), "{recipe:?}");
                assert_eq!(outcome.queries.read, 20 * queries.read, "{recipe:?}");
            }
            cleanup(&f.endpoint, &schema).unwrap();
        }
    }
}

/// Kills every connection to `database` after a second of load.
struct Killer(Endpoint);

impl LoadObserver for Killer {
    fn second(&self, _: &Second) {
        let Address::Socket(socket) = &self.0.address else { return };
        let mut control = root_at(socket);
        let connections = "SELECT id FROM information_schema.processlist WHERE db";
        let ids: Vec<u64> =
            control.query(format!("{connections} = '{}'", self.0.database)).unwrap();
        for id in ids {
            let _ = control.query_drop(format!("KILL {id}"));
        }
    }
}

#[test]
fn lost_connections_end_the_run_at_once() {
    let Some(f) = Fixture::open() else { return };
    let schema = Schema { table_size: 100, ..Schema::default() };
    f.prepare(&schema, 1);
    let schedule = Schedule { threads: 8, seconds: 600.0, ..Schedule::default() };
    let began = Instant::now();
    let workload = Workload { recipe: Recipe::OltpReadOnly, ..Workload::default() };
    let stop = AtomicBool::new(false);
    let killer = Killer(f.endpoint.clone());
    let error = run(&f.load(&schema, &workload, &schedule), None, &killer, &stop).unwrap_err();
    assert!(matches!(error, Error::Lost(_)), "{error}");
    assert!(began.elapsed() < Duration::from_secs(300), "it waited for the end of its schedule");
}

#[test]
fn events_in_flight_are_cut_after_their_grace() {
    let Some(mut f) = Fixture::open() else { return };
    let schema = Schema { table_size: 100, ..Schema::default() };
    f.prepare(&schema, 1);
    f.control.query_drop(format!("LOCK TABLES {}.sbtest1 WRITE", f.endpoint.database)).unwrap();
    let workload = Workload { recipe: Recipe::OltpUpdateIndex, ..Workload::default() };
    let schedule = Schedule {
        seconds: 1.0,
        forced_shutdown: Some(0.5),
        warmup: Warmup::Seconds(0.0),
        ..Schedule::default()
    };
    let began = Instant::now();
    let outcome = f.go(&schema, &workload, &schedule).unwrap();
    assert_eq!((outcome.events, outcome.events_cut, outcome.unfinished.events), (0, 1, 1));
    assert!(outcome.is_forced());
    assert!(began.elapsed() < Duration::from_secs(60));
    f.control.query_drop("UNLOCK TABLES").unwrap();
}

#[test]
fn limits_are_named_before_the_run() {
    let Some(mut f) = Fixture::open() else { return };
    let schema = Schema { tables: 100, table_size: 10, ..Schema::default() };
    f.prepare(&schema, 4);
    let limit = f.number("SELECT @@GLOBAL.max_prepared_stmt_count");
    let threads = (limit / 902 + 1) as u32;
    let schedule = |threads| Schedule { threads, ..Schedule::default() };
    preflight(&f.load(&schema, &Workload::default(), &schedule(1))).unwrap();
    if threads <= assay_load::schedule::THREADS_MAX {
        let error =
            preflight(&f.load(&schema, &Workload::default(), &schedule(threads))).unwrap_err();
        assert!(error.to_string().contains("SET GLOBAL max_prepared_stmt_count="), "{error}");
    }
    let point = Workload { recipe: Recipe::OltpPointSelect, ..Workload::default() };
    let limit = f.number("SELECT @@GLOBAL.max_connections") as u32;
    let one = Schema { tables: 1, ..schema };
    if limit < assay_load::schedule::THREADS_MAX {
        let error = preflight(&f.load(&one, &point, &schedule(limit + 1))).unwrap_err();
        assert!(error.to_string().contains("SET GLOBAL max_connections="), "{error}");
    }
    cleanup(&f.endpoint, &Schema { tables: 100, ..one.clone() }).unwrap();
    let huge = Schema { tables: 100_000, table_size: 2_000_000_000, ..one };
    let error = preflight(&f.load(&huge, &point, &schedule(1))).unwrap_err();
    assert!(error.to_string().contains("space under"), "{error}");
}

#[test]
fn tables_that_are_not_whole_are_refused_by_name() {
    let Some(mut f) = Fixture::open() else { return };
    let schema = Schema { tables: 3, table_size: 300, ..Schema::default() };
    let database = f.endpoint.database.clone();
    let check = |schema: &Schema, recipe| {
        let workload = Workload { recipe, ..Workload::default() };
        preflight(&load(&f.endpoint, schema, &workload, &Schedule::default()))
            .map_err(|error| error.to_string())
    };
    // Stopped before the first commit: tables and perhaps rows exist, but no index.
    let options = PrepareOptions { threads: 3, ..PrepareOptions::default() };
    prepare(&f.endpoint, &schema, &options, &|_| {}, &AtomicBool::new(true)).unwrap_err();
    let refused = check(&schema, Recipe::OltpInsert).unwrap_err();
    assert_eq!(
        refused,
        "the number of fully loaded tables is too low: 3 needed, 0 available; sbtest1 is \
         incomplete: run `cleanup`, then `prepare`"
    );
    cleanup(&f.endpoint, &schema).unwrap();

    f.prepare(&schema, 3);
    for recipe in [Recipe::OltpReadWrite, Recipe::OltpInsert, Recipe::SelectRandomPoints] {
        check(&schema, recipe).unwrap();
    }
    let mut shown = |table: &str| -> String {
        let sql = format!("SHOW CREATE TABLE {database}.{table}");
        f.control.query_first::<(String, String), _>(sql).unwrap().unwrap().1
    };
    assert!(!shown("sbtest2").contains("COMMENT"), "{}", shown("sbtest2"));

    // Like tables of an interrupted sysbench, which have no mark of ours.
    f.control.query_drop(format!("DROP INDEX k_3 ON {database}.sbtest3")).unwrap();
    let refused = check(&schema, Recipe::OltpReadWrite).unwrap_err();
    assert!(
        refused.contains("an index on k is too low: 3 needed, 2 available; sbtest3 has none"),
        "{refused}"
    );
    check(&schema, Recipe::OltpReadOnly).unwrap();
    let without = Schema { create_secondary: false, ..schema.clone() };
    check(&without, Recipe::OltpReadWrite).unwrap();
    f.control.query_drop(format!("DELETE FROM {database}.sbtest2 WHERE id > 200")).unwrap();
    let refused = check(&schema, Recipe::OltpReadOnly).unwrap_err();
    assert!(
        refused.contains("the largest id in sbtest2 is too low: 300 needed, 200 available"),
        "{refused}"
    );
    f.control.query_drop(format!("DROP TABLE {database}.sbtest1")).unwrap();
    let refused = check(&schema, Recipe::OltpReadOnly).unwrap_err();
    assert!(
        refused.contains("3 needed, 2 available; sbtest1 is missing: run `prepare`"),
        "{refused}"
    );
    cleanup(&f.endpoint, &schema).unwrap();
    check(&schema, Recipe::OltpReadOnly).unwrap();
}

#[test]
fn users_log_in_by_password_over_socket_tcp_and_tls() {
    let Some(mut f) = Fixture::open() else { return };
    let schema = Schema { table_size: 10, ..Schema::default() };
    f.prepare(&schema, 1);
    let database = f.endpoint.database.clone();
    f.control.query_drop("DROP USER IF EXISTS assay_login@'%', assay_login@localhost").unwrap();
    for host in ["'%'", "localhost"] {
        f.control
            .query_drop(format!("CREATE USER assay_login@{host} IDENTIFIED BY 'se''cret'"))
            .unwrap();
        f.control.query_drop(format!("GRANT ALL ON {database}.* TO assay_login@{host}")).unwrap();
    }
    let schedule = Schedule { threads: 2, seconds: 0.0, events: 4, ..Schedule::default() };
    let socket =
        Endpoint { user: "assay_login".into(), password: "se'cret".into(), ..f.endpoint.clone() };
    let log_in = |endpoint: &Endpoint| {
        let workload = Workload { recipe: Recipe::OltpReadWrite, ..Workload::default() };
        run(&load(endpoint, &schema, &workload, &schedule), None, &(), &AtomicBool::new(false))
            .map(|o| o.events)
    };
    assert_eq!(log_in(&socket).unwrap(), 4);
    let wrong = Endpoint { password: "wrong".into(), ..socket.clone() };
    assert!(matches!(log_in(&wrong), Err(Error::Denied { .. })));
    let nobody = Endpoint { user: "assay_nobody".into(), ..socket.clone() };
    assert!(matches!(log_in(&nobody), Err(Error::Denied { .. })), "{:?}", log_in(&nobody));
    let nowhere = Endpoint { address: Address::Socket("/nonexistent".into()), ..socket.clone() };
    assert!(matches!(log_in(&nowhere), Err(Error::Connect { .. })));

    let port = f.number("SELECT IF(@@skip_networking, 0, @@port)") as u16;
    let tcp = Endpoint { address: Address::Tcp { host: "127.0.0.1".into(), port }, ..socket };
    // With an empty password cache the password itself is sent: by RSA, then by TLS.
    let datadir: String = f.control.query_first("SELECT @@datadir").unwrap().unwrap();
    let ca = Path::new(&datadir).join("ca.pem");
    let mut ways = vec![Tls::Off, Tls::Unverified];
    ways.extend(ca.exists().then(|| Tls::Verified { ca: ca.clone() }));
    f.control.query_drop("FLUSH PRIVILEGES").unwrap();
    let refused = log_in(&tcp);
    if ca.exists() {
        // MySQL: a key that arrives over the same connection is not trusted.
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Error::Encryption { .. }), "{refused}");
        assert!(refused.to_string().contains("get-server-public-key"), "{refused}");
    }
    for tls in ways {
        f.control.query_drop("FLUSH PRIVILEGES").unwrap();
        let endpoint = Endpoint { tls, key: ServerKey::Fetched, ..tcp.clone() };
        for time in ["first", "second"] {
            assert_eq!(log_in(&endpoint).unwrap(), 4, "{time} login by {:?}", endpoint.tls);
        }
        for (user, password) in
            [("assay_login", "wrong"), ("assay_nobody", "any"), ("assay_nobody", "")]
        {
            let (user, password) = (user.to_owned(), password.to_owned());
            let wrong = log_in(&Endpoint { user, password, ..endpoint.clone() });
            assert!(matches!(wrong, Err(Error::Denied { .. })), "{wrong:?}");
        }
    }
    let other = Path::new(&datadir).join("client-cert.pem");
    if other.exists() {
        let no_ca = Path::new(&datadir).join("auto.cnf");
        for (ca, says) in [
            (other, "the server's certificate is not valid for "),
            (no_ca, "cannot be used as a CA ("),
            ("/nonexistent/ca.pem".into(), "/nonexistent/ca.pem cannot be used as a CA ("),
        ] {
            let path = ca.display().to_string();
            let told = log_in(&Endpoint { tls: Tls::Verified { ca }, ..tcp.clone() }).unwrap_err();
            assert!(matches!(told, Error::Encryption { .. }), "{told}");
            let told = told.to_string();
            assert!(told.contains(says) && told.contains(&path), "{told}");
            assert!(told.contains("--mysql-ssl-ca") && !told.contains("listening there"), "{told}");
        }
    }
    f.control.query_drop("DROP USER assay_login@'%', assay_login@localhost").unwrap();
}

/// Waits until the server has returned a lock wait timeout.
fn wait_for_lock_timeout(control: &mut mysql::Conn) {
    let raised = "SELECT sum_error_raised FROM \
        performance_schema.events_errors_summary_global_by_error WHERE error_number=1205";
    let deadline = Instant::now() + Duration::from_secs(300);
    while control.query_first::<u64, _>(raised).unwrap() == Some(0) {
        assert!(Instant::now() < deadline, "no lock wait has timed out");
        thread::yield_now();
    }
}

#[test]
fn a_lock_wait_timeout_is_rolled_back_in_fixed_mode() {
    let Some(mut f) = Fixture::open() else { return };
    let schema = Schema { table_size: 1, ..Schema::default() };
    f.prepare(&schema, 1);
    let database = f.endpoint.database.clone();
    let timeout = f.number("SELECT @@GLOBAL.innodb_lock_wait_timeout");
    f.control.query_drop("SET GLOBAL innodb_lock_wait_timeout=1").unwrap();
    f.control.query_drop(format!("BEGIN; UPDATE {database}.sbtest1 SET k=0 WHERE id=1")).unwrap();
    let workload = Workload { recipe: Recipe::OltpWriteOnly, ..Workload::default() };
    let schedule = Schedule { seconds: 0.0, events: 1, ..Schedule::default() };
    let outcome = thread::scope(|scope| {
        let load = scope.spawn(|| {
            run(
                &load(&f.endpoint, &schema, &workload, &schedule),
                None,
                &(),
                &AtomicBool::new(false),
            )
        });
        wait_for_lock_timeout(&mut f.control);
        f.control.query_drop("COMMIT").unwrap();
        load.join().unwrap().unwrap()
    });
    f.control.query_drop(format!("SET GLOBAL innodb_lock_wait_timeout={timeout}")).unwrap();
    // Until this transaction commits, a second wait may time out as the first did.
    let timeouts = outcome.errors.get(&1205).copied().unwrap_or(0);
    assert!(outcome.events == 1 && timeouts >= 1, "{:?}", outcome.errors);
    let transaction = outcome.latency_of("transaction").unwrap();
    let of_attempts_before =
        transaction.response.latency_ms_max - transaction.service.latency_ms_max;
    assert!(of_attempts_before > 900.0, "{of_attempts_before}");
}
