use super::super::given::dashed;
use super::*;
use crate::generator::Generator;
use crate::keys::RandType;
use crate::mode::Mode;
use crate::schedule::{Arrivals, Pace, Schedule, Warmup};
use crate::schema::{Schema, SchemaKind};
use crate::workload::Workload;
use assay_mysql::{Address, Tls};

fn parsed(line: &str) -> SysbenchLine {
    try_parse(line).unwrap()
}

fn try_parse(line: &str) -> Result<SysbenchLine> {
    parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
}

fn complaint(line: &str) -> String {
    try_parse(line).unwrap_err().to_string()
}

#[test]
fn a_usual_command_line() {
    let line = parsed(
        "oltp_read_write --tables=4 --table-size=100000 --threads=8 --time=60 --report-interval=1 \
         --rand-type=uniform --mysql-socket=/s --mysql-user=root run",
    );
    assert_eq!(line.command, SysbenchCommand::Run);
    assert_eq!((line.load.schema.tables, line.load.schema.table_size), (4, 100_000));
    assert_eq!((line.load.schedule.threads, line.load.schedule.seconds), (8, 60.0));
    assert_eq!(line.load.workload.rand_type, Some(RandType::Uniform));
    assert_eq!(line.load.endpoint.address, Address::Socket("/s".into()));
    assert_eq!((line.load.endpoint.user.as_str(), line.reporting.report_interval), ("root", 1));
}

#[test]
fn defaults_are_those_of_1_0_20() {
    let line = parsed("oltp_read_only run --mysql-port=3306");
    assert_eq!(
        line.load.workload,
        Workload { recipe: Recipe::OltpReadOnly, mode: Mode::Compat, ..Workload::default() }
    );
    assert_eq!(line.load.workload.distribution().rand_type, RandType::Special);
    assert_eq!(line.load.schema, Schema::default());
    let schedule = Schedule { seed: line.load.schedule.seed, ..Schedule::default() };
    assert_eq!(line.load.schedule, schedule);
    assert_eq!((line.reporting.percentile, line.reporting.report_interval), (95, 0));
    assert_eq!(line.load.endpoint.address, Address::Tcp { host: "localhost".into(), port: 3306 });
    assert_eq!(
        (line.load.endpoint.user.as_str(), line.load.endpoint.database.as_str()),
        ("sbtest", "sbtest")
    );
    assert!(line.preflight && !line.reporting.seed_given && line.load.schedule.seed > 0);
}

#[test]
fn words_and_options_come_in_any_order_and_spelling() {
    let same = [
        "oltp_insert --threads=4 --skip-trx run",
        "--threads 4 --skip_trx=on oltp_insert run",
        "run --skip-trx on oltp_insert --threads 4",
        "run oltp_insert --num-threads=4 --skip-trx=1",
        "insert run --skip-trx=true --threads=4",
        "/usr/share/sysbench/oltp_insert.lua run --threads=4 --skip_trx",
    ];
    for line in same {
        let line = parsed(line);
        assert_eq!(
            (line.command, line.load.workload.recipe),
            (SysbenchCommand::Run, Recipe::OltpInsert)
        );
        assert_eq!((line.load.schedule.threads, line.load.workload.skip_trx), (4, true));
    }
    for (word, command) in COMMANDS {
        assert_eq!(parsed(&format!("oltp_insert {word}")).command, command);
    }
}

#[test]
fn every_option_of_the_table_is_read() {
    for option in OPTIONS {
        let value = match option.default() {
            _ if option.name == "rand_type" => "pareto",
            _ if option.name == "generator" => "sysbench-1.0",
            // `test` would be a second workload; the workload has tables of another name.
            _ if option.name == "test" || option.name == "table_name" => continue,
            "" if option.takes == Takes::Value("N") => "1",
            default => default,
        };
        parsed(&format!("oltp_insert help --{}={value}", option.name));
        parsed(&format!("oltp_insert help --{}={value}", dashed(option.name)));
    }
}

#[test]
fn our_own_options_are_read() {
    let line = parsed(
        "oltp_read_write run --mode=strict --warmup-time=steady:30 --rate=500 --arrivals=even \
         --cpus=0-2,5 \
         --schema=text --text=/book --rand-type=zipf --rand-zipfian-exp=0.99 --rand-scatter \
         --json=/o.json \
         --mysql-ignore-errors=all --forced-shutdown=3 --rand-seed=7 --db-ps-mode=disable \
         --mysql-ssl=on --mysql-port=3306 \
         --create-table-options=COMPRESSION='zlib' --preflight=off --histogram --percentile=99",
    );
    assert_eq!(line.load.workload.mode, Mode::Strict);
    assert_eq!(line.load.schedule.warmup, Warmup::Steady { cap_seconds: 30.0 });
    assert_eq!(line.load.schedule.pace, Pace::Rate { per_second: 500.0, arrivals: Arrivals::Even });
    assert_eq!(
        (line.load.schedule.cpus.as_slice(), line.load.schedule.seed),
        (&[0, 1, 2, 5][..], 7)
    );
    assert_eq!(
        (line.load.schema.kind, line.load.schema.text),
        (SchemaKind::Text, Some("/book".into()))
    );
    assert_eq!(
        (line.load.workload.rand_zipfian_exp, line.load.workload.rand_scatter),
        (0.99, true)
    );
    assert!(line.load.workload.mysql_ignore_errors.covers(1) && line.reporting.seed_given);
    assert_eq!(
        (line.load.schedule.forced_shutdown, line.load.endpoint.tls),
        (Some(3.0), Tls::Unverified)
    );
    assert_eq!(line.load.schema.create_table_options, "COMPRESSION='zlib'");
    assert!(!line.preflight && line.reporting.histogram && line.reporting.percentile == 99);
}

#[test]
fn old_workloads_bring_their_tables_and_their_limits() {
    let line = parsed("oltp_complex --table-size=500 --num-threads=20 --user-delay-max=9 run");
    assert_eq!(line.load.schema.generator, Generator::V04);
    assert_eq!((line.load.schedule.events, line.load.schedule.seconds), (10_000, 0.0));
    assert_eq!((line.load.workload.user_delay_max, line.load.schedule.threads), (9, 20));
    let line = parsed("tests/db/oltp.lua --tables=4 --max-requests=0 --max-time=60 run");
    assert_eq!((line.load.workload.recipe, line.load.schema.tables), (Recipe::Oltp, 4));
    assert_eq!((line.load.schedule.events, line.load.schedule.seconds), (0, 60.0));
    assert_eq!(parsed("oltp_insert run").load.schedule.seconds, 10.0);
}

/// From STEC's white paper of 2013, "Test method for disk drives", with separate dashes and `=` for
/// the third dash.
const STEC: &str = "-- debug=off -- test=oltp -- mysql-user=mysql -- oltp-table-size=800000000 -- \
                    mysql-db=test -- \
                    oltp-table-name=stest -- num-threads=20 -- max-requests=1000000 -- \
                    oltp-auto-inc=off -- \
                    mysql-engine=trx=yes run";

#[test]
fn the_command_line_that_stec_prints_is_taken_as_it_stands() {
    for line in [
        STEC,
        &STEC.replace("debug=off", "debug"),
        &STEC.replace(" run", " -- run"),
        &STEC.replace("-- ", "--"),
        &STEC.replace("-- ", "--").replace("engine=t", "engine-t"),
    ] {
        let line = parsed(line);
        assert_eq!(
            (line.command, line.load.workload.recipe),
            (SysbenchCommand::Run, Recipe::OltpComplex)
        );
        let schema = &line.load.schema;
        assert_eq!((schema.generator, schema.table_size), (Generator::V04, 800_000_000));
        assert_eq!((schema.table_name.as_deref(), schema.auto_inc), (Some("stest"), false));
        let schedule = &line.load.schedule;
        assert_eq!((schedule.threads, schedule.events, schedule.seconds), (20, 1_000_000, 0.0));
        assert_eq!(
            (line.load.endpoint.user.as_str(), line.load.endpoint.database.as_str()),
            ("mysql", "test")
        );
        assert!(line.warnings.is_empty(), "0.4 warns of none: {:?}", line.warnings);
    }
}

#[test]
fn options_of_old_tests_choose_what_is_run() {
    let recipe = |words: &str| parsed(&format!("--test=oltp {words} run")).load.workload.recipe;
    assert_eq!(recipe(""), Recipe::OltpComplex);
    assert_eq!(recipe("--oltp-test-mode=simple"), Recipe::OltpSimple);
    assert_eq!(recipe("--oltp-test-mode=nontrx"), Recipe::OltpNontrxSelect);
    let insert = "--oltp-test-mode=nontrx --oltp-nontrx-mode=insert";
    assert_eq!(recipe(insert), Recipe::OltpNontrxInsert);
    let line = parsed(
        "--test=tests/db/oltp.lua --oltp-tables-count=8 --oltp-table-size=500 --oltp-read-only=on \
         --oltp-dist-type=uniform --mysql-table-engine=innodb --oltp-range-size=7 --max-time=9 run",
    );
    assert_eq!((line.load.workload.recipe, line.load.schema.tables), (Recipe::Oltp, 8));
    let workload = &line.load.workload;
    assert_eq!((workload.rand_type, workload.range_size), (Some(RandType::Uniform), 7));
    let writes = [workload.index_updates, workload.non_index_updates, workload.delete_inserts];
    assert_eq!((writes, line.load.schedule.seconds), ([0, 0, 0], 9.0));
    assert_eq!(
        parsed("--test=oltp --max-time=0 run").load.schedule.seconds,
        0.0,
        "no limit in 0.4"
    );
    for (line, says) in [
        ("--test=oltp --oltp-tables-count=8 run", "give --test=oltp.lua"),
        ("--test=oltp --oltp-test-mode=sp run", "none of complex, simple, nontrx"),
        ("--test=oltp --oltp-reconnect-mode=query run", "none of session"),
        ("oltp_insert --oltp-table-name=a run", "`--oltp-table-name` is of sysbench 0.4's"),
        ("oltp_read_write --oltp-read-only run", "give the workload oltp_read_only"),
        ("--test=oltp --oltp-tabel-size=5 run", "did you mean `oltp_table_size`?"),
    ] {
        assert!(complaint(line).contains(says), "{line}: {}", complaint(line));
    }
}

/// As observed with sysbench 1.0.20: `--threads=2 --num-threads=3` has three threads, in either
/// order.
#[test]
fn of_an_old_name_and_a_new_one_the_old_counts_and_is_warned_of() {
    let old = "--num-threads=3 --max-time=4 --max-requests=5 --tx-rate=6";
    let new = "--threads=2 --time=2 --events=2 --rate=2";
    for words in [format!("{old} {new}"), format!("{new} {old}")] {
        let line = parsed(&format!("oltp_insert {words} run"));
        let schedule = &line.load.schedule;
        assert_eq!((schedule.threads, schedule.seconds, schedule.events), (3, 4.0, 5));
        assert_eq!(schedule.pace, Pace::Rate { per_second: 6.0, arrivals: Arrivals::Poisson });
        assert_eq!(line.warnings.len(), 4);
        assert_eq!(line.warnings[0], "WARNING: --num-threads is deprecated, use --threads instead");
    }
    let line = parsed("oltp_insert --num-threads=1 --max-time=0 --threads=2 run");
    assert_eq!(
        (line.load.schedule.threads, line.load.schedule.seconds),
        (2, 10.0),
        "defaults do not count"
    );
    assert!(line.warnings.is_empty());
}

#[test]
fn errors_to_ignore_are_listed() {
    let listed =
        parsed("oltp_insert run --mysql-ignore-errors=1213,2013").load.workload.mysql_ignore_errors;
    assert!(listed.covers(2013) && listed.covers(1213) && !listed.covers(1205));
    assert!(complaint("oltp_insert run --mysql-ignore-errors=x").contains("`x`"));
}

#[test]
fn the_old_option_names_the_workload_and_is_warned_of() {
    for line in [
        "--test=oltp_read_only --threads=2 run",
        "run --threads=2 --test=/usr/share/sysbench/oltp_read_only.lua",
        "--test oltp_read_only run --threads=2",
    ] {
        let line = parsed(line);
        assert_eq!(
            (line.command, line.load.workload.recipe),
            (SysbenchCommand::Run, Recipe::OltpReadOnly)
        );
        assert_eq!((line.load.schedule.threads, line.warnings.len()), (2, 1));
        assert!(line.warnings[0].contains("the --test option is deprecated"));
    }
    assert!(parsed("oltp_read_only run").warnings.is_empty());
    assert!(complaint("--test=oltp_read_only oltp_insert run").contains("`oltp_insert`"));
    assert!(complaint("--test=oltp_raed_only run").contains("`oltp_read_only`"));
    assert!(complaint("--test=oltp_read_only").contains("no command is given"));
}

#[test]
fn encryption_is_of_tcp_and_off_is_off() {
    let tls =
        |words: &str| parsed(&format!("oltp_insert run --mysql-port=1 {words}")).load.endpoint.tls;
    assert_eq!(tls("--mysql-ssl-ca=/ca"), Tls::Verified { ca: "/ca".into() });
    assert_eq!(tls("--mysql-ssl --mysql-ssl-ca=/ca"), Tls::Verified { ca: "/ca".into() });
    assert_eq!(tls("--mysql-ssl=off --mysql-ssl-ca=/ca"), Tls::Off);
    for words in ["--mysql-ssl", "--mysql-ssl-ca=/ca"] {
        let told = complaint(&format!("oltp_insert run --mysql-socket=/s {words}"));
        assert!(told.contains("/s is a Unix socket"), "{told}");
    }
    assert_eq!(
        parsed("oltp_insert run --mysql-socket=/s --mysql-ssl=off").load.endpoint.tls,
        Tls::Off
    );
}

#[test]
fn slips_get_a_hint() {
    for (line, hint) in [
        ("oltp_insert run --threds=3", "`threads`"),
        ("oltp_insert run --table-sise=3", "`table_size`"),
        (
            "oltp_raed_write run",
            "unknown workload `oltp_raed_write`; did you mean `oltp_read_write`?",
        ),
        ("bulk_insert run", "`bulk_insert` is not built: it inserts many rows"),
        ("oltp_insert run --file-num=3", "`--file-num` is an option of fileio; leave it out"),
        ("cpu run", "`cpu` is not built: it loads no server"),
        ("--test=cpu --cpu-max-prime=20000 run", "`cpu` is not built: it loads no server"),
        ("memory --memory-total-size=1G run", "`memory` is not built: it loads no server"),
        ("oltp_insert run --cpu-max-prime=3", "is of sysbench's test cpu; leave it out"),
        ("oltp_insert run --reconnect=5", "is of sysbench's unreleased 1.1; leave it out"),
        ("./tpcc.lua --scale=100 --use_fk=0 prepare", "`./tpcc.lua` is a script, and"),
        ("/usr/share/sysbench/oltp_common.lua run", "has no event to run"),
        ("oltp_legacy/common.lua run", "has no event to run"),
        ("oltp_legacy/parallel_prepare.lua run", "use `oltp.lua prepare`"),
        ("oltp_insert run --db-driver=pgsql", "`--db-driver=pgsql` is not built"),
        ("oltp_insert run --table-size=0", "a run needs rows to draw from"),
        ("oltp_insert run --histogram --percentile=0", "`--histogram` cannot be used"),
        ("oltp_insert run --verbosity=6", "give 0 to 5"),
        ("tpcc run", "unknown workload `tpcc`; known are oltp_read_only, "),
        ("oltp_insert rnu", "`run`"),
        ("oltp_insert run --rand-type=unifrom", "`uniform`"),
    ] {
        assert!(complaint(line).contains(hint), "{line}: {}", complaint(line));
    }
}

#[test]
fn what_sysbench_takes_for_no_limit_and_for_no_rows_is_taken() {
    for command in ["prepare", "cleanup", "prewarm"] {
        let line = parsed(&format!("oltp_common.lua {command} --table-size=0 --tables=3"));
        assert_eq!((line.load.schema.table_size, line.load.schema.tables), (0, 3));
    }
    let line = parsed("oltp_insert run --time=-1 --events=-1");
    assert_eq!((line.load.schedule.seconds, line.load.schedule.events), (0.0, 0));
    assert!(line.warnings[0].contains("running an endless test"), "{:?}", line.warnings);
    assert!(parsed("oltp_insert run --time=0 --events=9").warnings.is_empty());
    assert!(parsed("oltp_insert prepare --time=0").warnings.is_empty());
    let line = parsed("--test=oltp --max-requests=-1 --max-time=60 run");
    assert_eq!((line.load.schedule.events, line.load.schedule.seconds), (0, 60.0));
}

#[test]
fn a_script_of_ones_own_by_the_name_of_sysbenchs_is_said_not_to_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("oltp_read_write.lua");
    let line = |path: &std::path::Path| parsed(&format!("{} run", path.display()));
    assert!(line(&own).warnings.is_empty(), "there is no such file");
    std::fs::write(&own, "").unwrap();
    let told = line(&own).warnings;
    assert!(told[0].contains("is not read") && told[0].contains("oltp_read_write"), "{told:?}");
    let bundled = directory.path().join("share/sysbench");
    std::fs::create_dir_all(&bundled).unwrap();
    let bundled = bundled.join("oltp_read_write.lua");
    std::fs::write(&bundled, "").unwrap();
    assert!(line(&bundled).warnings.is_empty());
}

#[test]
fn nonsense_is_refused_in_one_line() {
    for line in [
        "oltp_insert run --bogus=3",
        "oltp_insert run extra",
        "oltp_insert",
        "run",
        "oltp_insert run --threads=0",
        "oltp_insert run --threads=x",
        "oltp_insert run --threads",
        "oltp_insert run --table-size=1k",
        "oltp_insert run --time=1.5",
        "oltp_insert run --percentile=101",
        "oltp_insert run --percentile=99.9",
        "oltp_insert run --range-selects=maybe",
        "oltp_insert run --rand-pareto-h=1",
        "oltp_insert run --tables=0",
        "oltp_insert run --table-size=3000000000",
        "oltp_insert run --db-driver=pgsql",
        "oltp_insert run --mysql-host=a,b",
        "oltp_insert run --report-checkpoints=2",
        "oltp_insert run --config-file=f",
        "oltp_insert run --text=/book",
        "oltp_insert run --cpus=3-1",
        "oltp_insert run --warmup-time=steadily",
        "oltp_insert run -t",
        "oltp_complex run --tables=2",
        "oltp_complex run --generator=sysbench-0.5",
        "oltp_insert run --generator=sysbench-0.4",
        "oltp_insert run --generator=sysbench-0.6",
        "oltp run --schema=text",
    ] {
        let complaint = complaint(line);
        assert!(!complaint.contains('\n') && !complaint.ends_with('.'), "{complaint}");
    }
}

#[test]
fn load_hosts_are_named_one_by_one_and_what_they_cannot_do_is_refused() {
    let line = parsed(
        "oltp_insert --host=ann@a --host b --host-directory=/d --ssh-config=/c --threads=4 \
         --mysql-host=db1 run",
    );
    assert_eq!(line.hosts.hosts, ["ann@a", "b"]);
    assert_eq!(line.hosts.host_directory, Some("/d".into()));
    assert_eq!(line.hosts.ssh_config, Some("/c".into()));
    assert_eq!(parsed("oltp_insert run").hosts, HostOptions::default());
    // The socket is one on the single host.
    let one = parsed("oltp_insert --host=db1 --mysql-socket=/run/s run");
    assert_eq!(one.load.endpoint.address, Address::Socket("/run/s".into()));
    for (line, says) in [
        ("--host=a --host=b --threads=2 run", "give --mysql-host with an address"),
        ("--host=a --host=b --mysql-host=db1 run", "1 threads are fewer than 2 hosts"),
        (
            "--host=a --host=b --threads=2 --mysql-host=db1 --warmup-time=steady run",
            "a warm-up of a fixed length",
        ),
        ("--host=a --mysql-host=db1 prepare", "`--host` is for the command run"),
        ("--host=a --mysql-host=db1 capacity", "`--host` is for the command run"),
        ("--ssh-config=/c run", "give --host too"),
        ("--host-directory=/d run", "give --host too"),
    ] {
        let complaint = complaint(&format!("oltp_insert {line}"));
        assert!(complaint.contains(says), "{line}: {complaint}");
    }
}

#[test]
fn help_needs_nothing_else() {
    assert_eq!(parsed("").command, SysbenchCommand::Help);
    assert_eq!(parsed("--help").command, SysbenchCommand::Help);
    assert_eq!(parsed("oltp_insert --help").command, SysbenchCommand::Help);
    assert_eq!(parsed("--version").command, SysbenchCommand::Version);
}

const LEGACY: &str = "/usr/share/sysbench/tests/include/oltp_legacy";

#[test]
fn legacy_scripts_are_told_by_their_directory_and_by_names_that_1_0_has_not() {
    let recipe = |line: &str| parsed(line).load.workload.recipe;
    for (script, wanted) in [
        ("select", Recipe::LegacySelect),
        ("oltp_simple", Recipe::LegacySimple),
        ("insert", Recipe::LegacyInsert),
        ("delete", Recipe::LegacyDelete),
        ("update_index", Recipe::LegacyUpdateIndex),
        ("update_non_index", Recipe::LegacyUpdateNonIndex),
    ] {
        for directory in [LEGACY, "."] {
            let line = format!("{directory}/{script}.lua --oltp-tables-count=2 run");
            assert_eq!(recipe(&line), wanted, "{line}");
        }
        let refused = complaint(&format!("tests/db/{script}.lua run"));
        assert!(refused.contains(&format!("1.0 has it as oltp_legacy/{script}.lua")), "{refused}");
    }
    assert_eq!(recipe(&format!("{LEGACY}/oltp.lua run")), Recipe::LegacyOltp);
    assert_eq!(recipe(&format!("{LEGACY}/common.lua cleanup")), Recipe::LegacyOltp);
    assert_eq!(recipe("tests/db/oltp.lua --num-threads=4 run"), Recipe::Oltp);
    assert_eq!(recipe("tests/db/oltp.lua --threads=4 run"), Recipe::LegacyOltp);
    // The names of 1.0.
    assert_eq!(recipe("oltp_insert.lua run"), Recipe::OltpInsert);
    assert_eq!(recipe("insert run"), Recipe::OltpInsert);
    assert_eq!(recipe("select_random_points.lua run"), Recipe::SelectRandomPoints);
    assert_eq!(recipe("/usr/share/sysbench/oltp_common.lua cleanup"), Recipe::OltpReadWrite);
    let refused = complaint(&format!("{LEGACY}/select_random_points.lua run"));
    assert!(refused.contains("is not built"), "{refused}");
}

#[test]
fn a_legacy_script_ends_as_the_sysbench_that_runs_it() {
    let ends = |line: &str| {
        let schedule = parsed(line).load.schedule;
        (schedule.seconds, schedule.events)
    };
    assert_eq!(ends("--test=tests/db/oltp.lua --num-threads=4 run"), (0.0, 10_000));
    assert_eq!(ends("--test=tests/db/oltp.lua --max-time=6 --max-requests=0 run"), (6.0, 0));
    assert_eq!(ends(&format!("{LEGACY}/oltp.lua run")), (10.0, 0));
    assert_eq!(ends(&format!("{LEGACY}/oltp.lua --time=6 run")), (6.0, 0));
    assert_eq!(ends("tests/db/oltp.lua --threads=4 run"), (10.0, 0), "an option of 1.0");
}

#[test]
fn options_of_the_legacy_scripts_have_their_effect_or_none() {
    let of = |options: &str| parsed(&format!("{LEGACY}/oltp.lua {options} run"));
    let line = of("--oltp-write-only=on --oltp-create-secondary=off --oltp-delete-inserts=3");
    let w = &line.load.workload;
    assert_eq!([w.point_selects, w.simple_ranges, w.distinct_ranges], [0; 3]);
    assert_eq!(
        (w.index_updates, w.delete_inserts, line.load.schema.create_secondary),
        (1, 3, false)
    );
    assert!(!of("--oltp-range-selects=off").load.workload.range_selects);
    let usual = of("").load.workload;
    for none in ["--oltp-reconnect=on", "--oltp-reconnect", "--oltp-test-mode=simple"] {
        assert_eq!(of(none).load.workload, usual, "{none}");
    }
    let both =
        complaint(&format!("{LEGACY}/oltp.lua --oltp-read-only=on --oltp-write-only=on run"));
    assert!(both.contains("exclude each other"), "{both}");
    let new = complaint("oltp_read_write --oltp-write-only=on run");
    assert!(new.contains("give the workload oltp_write_only"), "{new}");
}

#[test]
fn a_script_that_is_not_run_is_named_before_its_options() {
    let refused = complaint("./tpcc.lua --threads=8 --tables=1 --scale=100 --use_fk=0 prepare");
    assert!(refused.contains("`./tpcc.lua` is a script, and scripts are not run"), "{refused}");
    let refused = complaint(&format!("{LEGACY}/parallel_prepare.lua --oltp-tables-count=2 run"));
    assert!(refused.contains("use `oltp.lua prepare`"), "{refused}");
    assert!(complaint("oltp_read_write --scale=100 run").contains("unknown option `--scale`"));
}
