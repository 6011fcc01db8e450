use super::super::given::dashed;
use super::*;
use crate::generator::Generator;
use crate::keys::RandType;
use crate::schedule::{Arrivals, Pace, Warmup};
use crate::schema::SchemaKind;
use crate::workload::Mode;
use assay_mysql::{Address, Tls};

fn parsed(line: &str) -> CommandLine {
    try_parse(line).unwrap()
}

fn try_parse(line: &str) -> Result<CommandLine> {
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
    assert_eq!(line.command, Command::Run);
    assert_eq!((line.schema.tables, line.schema.table_size), (4, 100_000));
    assert_eq!((line.schedule.threads, line.schedule.seconds), (8, 60.0));
    assert_eq!(line.workload.rand_type, Some(RandType::Uniform));
    assert_eq!(line.endpoint.address, Address::Socket("/s".into()));
    assert_eq!((line.endpoint.user.as_str(), line.reporting.report_interval), ("root", 1));
}

#[test]
fn defaults_are_those_of_1_0_20() {
    let line = parsed("oltp_read_only run --mysql-port=3306");
    assert_eq!(
        line.workload,
        Workload { recipe: Recipe::OltpReadOnly, mode: Mode::Compat, ..Workload::default() }
    );
    assert_eq!(line.workload.distribution().rand_type, RandType::Special);
    assert_eq!(line.schema, Schema::default());
    let schedule = Schedule { seed: line.schedule.seed, ..Schedule::default() };
    assert_eq!(line.schedule, schedule);
    assert_eq!((line.reporting.percentile, line.reporting.report_interval), (95, 0));
    assert_eq!(line.endpoint.address, Address::Tcp { host: "localhost".into(), port: 3306 });
    assert_eq!(
        (line.endpoint.user.as_str(), line.endpoint.database.as_str()),
        ("sbtest", "sbtest")
    );
    assert!(line.preflight && !line.reporting.seed_given && line.schedule.seed > 0);
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
        assert_eq!((line.command, line.workload.recipe), (Command::Run, Recipe::OltpInsert));
        assert_eq!((line.schedule.threads, line.workload.skip_trx), (4, true));
    }
    for (word, command) in COMMANDS {
        assert_eq!(parsed(&format!("oltp_insert {word}")).command, command);
    }
}

#[test]
fn every_option_of_the_table_is_read() {
    for option in OPTIONS {
        let value = match option.default {
            _ if option.name == "rand_type" => "pareto",
            _ if option.name == "generator" => "sysbench-1.0",
            // It would be a second workload.
            _ if option.name == "test" => continue,
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
        "oltp_read_write run --mode=strict --warmup-time=steady:30 --rate=500 --arrivals=even --cpus=0-2,5 \
         --schema=text --text=/book --rand-type=zipf --rand-zipfian-exp=0.99 --rand-scatter --json=/o.json \
         --mysql-ignore-errors=all --forced-shutdown=3 --rand-seed=7 --db-ps-mode=disable --mysql-ssl=on --mysql-port=3306 \
         --create-table-options=COMPRESSION='zlib' --preflight=off --histogram --percentile=99",
    );
    assert_eq!(line.workload.mode, Mode::Strict);
    assert_eq!(line.schedule.warmup, Warmup::Steady { cap_seconds: 30.0 });
    assert_eq!(line.schedule.pace, Pace::Rate { per_second: 500.0, arrivals: Arrivals::Even });
    assert_eq!((line.schedule.cpus.as_slice(), line.schedule.seed), (&[0, 1, 2, 5][..], 7));
    assert_eq!((line.schema.kind, line.schema.text), (SchemaKind::Text, Some("/book".into())));
    assert_eq!((line.workload.rand_zipfian_exp, line.workload.rand_scatter), (0.99, true));
    assert!(line.workload.mysql_ignore_errors.covers(1) && line.reporting.seed_given);
    assert_eq!((line.schedule.forced_shutdown, line.endpoint.tls), (Some(3.0), Tls::Unverified));
    assert_eq!(line.schema.create_table_options, "COMPRESSION='zlib'");
    assert!(!line.preflight && line.reporting.histogram && line.reporting.percentile == 99);
}

#[test]
fn old_workloads_bring_their_tables_and_their_limits() {
    let line = parsed("oltp_complex --table-size=500 --num-threads=20 --user-delay-max=9 run");
    assert_eq!(line.schema.generator, Generator::V04);
    assert_eq!((line.schedule.events, line.schedule.seconds), (10_000, 0.0));
    assert_eq!((line.workload.user_delay_max, line.schedule.threads), (9, 20));
    let line = parsed("tests/db/oltp.lua --tables=4 --max-requests=0 --max-time=60 run");
    assert_eq!((line.workload.recipe, line.schema.tables), (Recipe::Oltp, 4));
    assert_eq!((line.schedule.events, line.schedule.seconds), (0, 60.0));
    assert_eq!(parsed("oltp_insert run").schedule.seconds, 10.0);
}

#[test]
fn errors_to_ignore_are_listed() {
    let listed =
        parsed("oltp_insert run --mysql-ignore-errors=1213,2013").workload.mysql_ignore_errors;
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
        assert_eq!((line.command, line.workload.recipe), (Command::Run, Recipe::OltpReadOnly));
        assert_eq!((line.schedule.threads, line.warning), (2, Some(TEST_IS_OLD)));
    }
    assert_eq!(parsed("oltp_read_only run").warning, None);
    assert!(complaint("--test=oltp_read_only oltp_insert run").contains("`oltp_insert`"));
    assert!(complaint("--test=oltp_raed_only run").contains("`oltp_read_only`"));
    assert!(complaint("--test=oltp_read_only").contains("no command is given"));
}

#[test]
fn encryption_is_of_tcp_and_off_is_off() {
    let tls = |words: &str| parsed(&format!("oltp_insert run --mysql-port=1 {words}")).endpoint.tls;
    assert_eq!(tls("--mysql-ssl-ca=/ca"), Tls::Verified { ca: "/ca".into() });
    assert_eq!(tls("--mysql-ssl --mysql-ssl-ca=/ca"), Tls::Verified { ca: "/ca".into() });
    assert_eq!(tls("--mysql-ssl=off --mysql-ssl-ca=/ca"), Tls::Off);
    for words in ["--mysql-ssl", "--mysql-ssl-ca=/ca"] {
        let told = complaint(&format!("oltp_insert run --mysql-socket=/s {words}"));
        assert!(told.contains("/s is a Unix socket"), "{told}");
    }
    assert_eq!(parsed("oltp_insert run --mysql-socket=/s --mysql-ssl=off").endpoint.tls, Tls::Off);
}

#[test]
fn slips_get_a_hint() {
    for (line, hint) in [
        ("oltp_insert run --threds=3", "`threads`"),
        ("oltp_insert run --table-sise=3", "`table_size`"),
        ("oltp_raed_write run", "`oltp_read_write`"),
        ("oltp_insert rnu", "`run`"),
        ("oltp_insert run --rand-type=unifrom", "`uniform`"),
    ] {
        assert!(complaint(line).contains(hint), "{line}: {}", complaint(line));
    }
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
fn help_needs_nothing_else() {
    assert_eq!(parsed("").command, Command::Help);
    assert_eq!(parsed("--help").command, Command::Help);
    assert_eq!(parsed("oltp_insert --help").command, Command::Help);
    assert_eq!(parsed("--version").command, Command::Version);
}
