//! Every option: name, default, and what it means. The parser, the hints and the help all read this table.

use super::old;

/// What follows an option's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// `=on`, `=off`, or nothing, which means on.
    Switch,
    /// The same, or `=` and something else, called so in the help.
    SwitchOr(&'static str),
    /// A value, called so in the help.
    Value(&'static str),
}

/// Whose option it is, and what becomes of it here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// sysbench's, with the same effect.
    Sysbench,
    /// sysbench's, accepted without effect: it changes nothing that is measured.
    NoEffect,
    /// Our own.
    Own,
}

/// An option.
#[derive(Debug)]
pub(super) struct Opt {
    /// With underscores; dashes are read as such.
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    pub(super) default: &'static str,
    pub(super) origin: Origin,
    pub(super) group: &'static str,
    pub(super) help: &'static str,
}

const fn opt(
    group: &'static str,
    origin: Origin,
    name: &'static str,
    takes: Takes,
    default: &'static str,
    help: &'static str,
) -> Opt {
    Opt { name, takes, default, origin, group, help }
}

pub(super) const RUN: &str = "Run";
pub(super) const RANDOM: &str = "Random numbers";
pub(super) const REPORT: &str = "Report";
pub(super) const SERVER: &str = "Server";
const TABLES: &str = "Tables";
const STATEMENTS: &str = "Statements";
/// The group of the options of load hosts.
pub(super) const HOSTS: &str = "Load hosts (the command run)";
const CAPACITY: &str = "Capacity (the command capacity; each of its runs takes --time)";
const OLD: &str = "The oltp tests of sysbench 0.4 (--test=oltp) and 0.5 (--test=oltp.lua)";
/// The group of fileio's options.
pub(super) const FILES: &str = "Files (fileio)";
const N: Takes = Takes::Value("N");
const TEXT: Takes = Takes::Value("TEXT");
const FILE: Takes = Takes::Value("FILE");
const SIZE: Takes = Takes::Value("SIZE");
const S: Takes = Takes::Switch;

use Origin::{NoEffect, Own, Sysbench};

/// All options, in order of the help.
pub(super) const OPTIONS: &[Opt] = &[
    opt(
        RUN,
        Own,
        "mode",
        Takes::Value("compat|strict"),
        "compat",
        "like sysbench, or with its quirks fixed (docs/workloads.md)",
    ),
    opt(RUN, Sysbench, "threads", N, "1", "connections; of fileio, threads"),
    opt(
        RUN,
        Sysbench,
        "events",
        N,
        "0",
        "stop after this many events; 0 for no limit (default 10000 with workloads of 0.4 or 0.5)",
    ),
    opt(
        RUN,
        Sysbench,
        "time",
        N,
        "10",
        "stop after this many seconds; 0 for no limit (default with workloads of 0.4 or 0.5)",
    ),
    opt(
        RUN,
        Own,
        "warmup_time",
        Takes::Value("N|steady[:CAP]"),
        "0",
        "warm-up seconds, or until throughput is steady, at most CAP (300) seconds",
    ),
    opt(RUN, Sysbench, "rate", N, "0", "events per second (open loop); 0 for closed loop"),
    opt(
        RUN,
        Own,
        "arrivals",
        Takes::Value("poisson|even"),
        "poisson",
        "arrival process of the rate",
    ),
    opt(
        RUN,
        Sysbench,
        "forced_shutdown",
        N,
        "off",
        "seconds to wait for events in flight at the end, or off",
    ),
    opt(RUN, Own, "cpus", Takes::Value("LIST"), "", "CPUs to run on, such as 0-3,8"),
    opt(RUN, Own, "preflight", S, "on", "check the server's limits before a run"),
    opt(
        HOSTS,
        Own,
        HOST,
        Takes::Value("USER@HOST"),
        "",
        "run from this host, reached with ssh; repeat it for several, which share threads and rate",
    ),
    opt(
        HOSTS,
        Own,
        "host_directory",
        Takes::Value("DIR"),
        "",
        "directory for Assay on each host; default: the cache and state of the user there",
    ),
    opt(HOSTS, Own, "ssh_config", FILE, "", "configuration file of ssh; default: the user's"),
    opt(
        CAPACITY,
        Own,
        "objective_ms",
        Takes::Value("MS"),
        "10",
        "the percentile of the response times must be at most this",
    ),
    opt(CAPACITY, Own, "objective_percentile", Takes::Value("P"), "99", "which percentile"),
    opt(
        CAPACITY,
        Own,
        "resolution",
        Takes::Value("PERCENT"),
        "3",
        "half the width of the interval to end with",
    ),
    opt(CAPACITY, Own, "capacity_runs", N, "60", "most runs"),
    opt(RUN, Sysbench, "test", Takes::Value("WORKLOAD"), "", "old way to name the workload"),
    opt(RUN, Sysbench, "tx_rate", N, "0", "old name of rate"),
    opt(RUN, Sysbench, "max_requests", N, "0", "old name of events"),
    opt(RUN, Sysbench, "max_time", N, "0", "old name of time"),
    opt(RUN, Sysbench, "num_threads", N, "1", "old name of threads"),
    opt(RUN, NoEffect, "thread_stack_size", Takes::Value("SIZE"), "64K", ""),
    opt(RUN, NoEffect, "debug", S, "off", ""),
    opt(RUN, NoEffect, "validate", S, "off", ""),
    opt(RUN, Sysbench, "help", S, "off", "this text"),
    opt(RUN, Sysbench, "version", S, "off", "the version"),
    opt(
        RANDOM,
        Sysbench,
        "rand_type",
        Takes::Value("uniform|gaussian|special|pareto|zipf|hotspot"),
        "special; uniform with --mode=strict",
        "distribution of keys",
    ),
    opt(RANDOM, Own, "rand_scatter", S, "off", "scatter popular keys instead of clustering them"),
    opt(RANDOM, Sysbench, "rand_seed", N, "0", "random seed; 0 for the current time"),
    opt(RANDOM, Sysbench, "rand_spec_iter", N, "12", "numbers averaged by gaussian and special"),
    opt(RANDOM, Sysbench, "rand_spec_pct", N, "1", "width of special's window, percent"),
    opt(
        RANDOM,
        Sysbench,
        "rand_spec_res",
        N,
        "75",
        "share of special's draws in the window, percent",
    ),
    opt(RANDOM, Sysbench, "rand_pareto_h", N, "0.2", "pareto's h"),
    opt(RANDOM, Own, "rand_zipfian_exp", N, "0.8", "zipf's exponent"),
    opt(RANDOM, Own, "rand_hot_fraction", N, "0.2", "fraction of hot keys for hotspot"),
    opt(RANDOM, Own, "rand_hot_share", N, "0.8", "share of draws for hot keys"),
    opt(REPORT, Sysbench, "report_interval", N, "0", "seconds between interval lines; 0 for none"),
    opt(REPORT, Sysbench, "percentile", N, "95", "percentile to print, 1 to 100; 0 for none"),
    opt(REPORT, Sysbench, "histogram", S, "off", "print the latency histogram"),
    opt(
        REPORT,
        Own,
        "json",
        FILE,
        "",
        "write all results to this file, with every second and histogram bucket",
    ),
    opt(REPORT, Sysbench, "verbosity", N, "3", "0 to 5; below 3 only errors are printed"),
    opt(
        REPORT,
        Sysbench,
        "report_checkpoints",
        Takes::Value("LIST"),
        "",
        "not supported: --json has every second",
    ),
    opt(REPORT, Sysbench, "config_file", FILE, "", "not supported: write the options out"),
    opt(SERVER, Sysbench, "mysql_socket", FILE, "", "Unix socket"),
    opt(
        SERVER,
        Sysbench,
        "mysql_host",
        Takes::Value("HOST"),
        "localhost",
        "host; localhost means the usual Unix sockets, if there is one and no port is given",
    ),
    opt(SERVER, Sysbench, "mysql_port", N, "3306", "TCP port"),
    opt(SERVER, Sysbench, "mysql_user", TEXT, "sbtest", "user"),
    opt(
        SERVER,
        Sysbench,
        "mysql_password",
        TEXT,
        "",
        "password; prefer the environment variable MYSQL_PWD, which `ps` does not show",
    ),
    opt(SERVER, Sysbench, "mysql_db", TEXT, "sbtest", "database"),
    opt(
        SERVER,
        Sysbench,
        "mysql_ssl",
        Takes::SwitchOr("MODE"),
        "off",
        "encrypt TCP connections, or a mode as MySQL's ssl-mode has it",
    ),
    opt(
        SERVER,
        Own,
        "mysql_ssl_ca",
        FILE,
        "",
        "encrypt, and check the server's certificate against this one",
    ),
    opt(
        SERVER,
        Own,
        "mysql_server_public_key_path",
        FILE,
        "",
        "without TLS: encrypt the password with this RSA key of the server",
    ),
    opt(
        SERVER,
        Own,
        "mysql_get_server_public_key",
        S,
        "off",
        "without TLS: take whatever RSA key the server sends",
    ),
    opt(
        SERVER,
        Sysbench,
        "mysql_ignore_errors",
        Takes::Value("LIST"),
        "1213,1020,1205",
        "errors to retry an event on, or all",
    ),
    opt(
        SERVER,
        Sysbench,
        "db_ps_mode",
        Takes::Value("auto|disable"),
        "auto",
        "use prepared statements",
    ),
    opt(SERVER, Sysbench, "db_driver", Takes::Value("mysql"), "mysql", "only mysql"),
    opt(SERVER, Sysbench, "mysql_ssl_cipher", TEXT, "", "refused"),
    opt(SERVER, Sysbench, "mysql_compression", S, "off", "refused"),
    opt(SERVER, Sysbench, "mysql_dry_run", S, "off", "refused"),
    opt(SERVER, NoEffect, "mysql_debug", S, "off", ""),
    opt(SERVER, NoEffect, "db_debug", S, "off", ""),
    opt(SERVER, NoEffect, "pgsql_host", TEXT, "", ""),
    opt(SERVER, NoEffect, "pgsql_port", N, "", ""),
    opt(SERVER, NoEffect, "pgsql_user", TEXT, "", ""),
    opt(SERVER, NoEffect, "pgsql_password", TEXT, "", ""),
    opt(SERVER, NoEffect, "pgsql_db", TEXT, "", ""),
    opt(TABLES, Sysbench, "tables", N, "1", "number of tables"),
    opt(TABLES, Sysbench, "table_size", N, "10000", "rows per table"),
    opt(TABLES, Sysbench, "auto_inc", S, "on", "use AUTO_INCREMENT"),
    opt(TABLES, Sysbench, "secondary", S, "off", "a plain index on id in place of the primary key"),
    opt(TABLES, Sysbench, "create_secondary", S, "on", "create the index on k after loading"),
    opt(TABLES, Sysbench, "mysql_storage_engine", TEXT, "innodb", "storage engine"),
    opt(TABLES, Own, "create_table_options", TEXT, "", "further options of CREATE TABLE"),
    opt(
        TABLES,
        Own,
        "schema",
        Takes::Value("default|text"),
        "default",
        "text: with two more columns of English text",
    ),
    opt(
        TABLES,
        Own,
        "generator",
        Takes::Value("sysbench-0.4|sysbench-0.5|sysbench-1.0"),
        "the workload's",
        "sysbench version of the tables",
    ),
    opt(TABLES, Own, "text", FILE, "", "text file for those columns"),
    opt(TABLES, NoEffect, "pgsql_variant", TEXT, "", ""),
    opt(STATEMENTS, Sysbench, "point_selects", N, "10", "point selects per transaction"),
    opt(STATEMENTS, Sysbench, "simple_ranges", N, "1", "range selects per transaction"),
    opt(STATEMENTS, Sysbench, "sum_ranges", N, "1", "SUM() ranges per transaction"),
    opt(STATEMENTS, Sysbench, "order_ranges", N, "1", "ORDER BY ranges per transaction"),
    opt(STATEMENTS, Sysbench, "distinct_ranges", N, "1", "DISTINCT ranges per transaction"),
    opt(STATEMENTS, Sysbench, "range_size", N, "100", "rows per range"),
    opt(STATEMENTS, Sysbench, "range_selects", S, "on", "enable range selects"),
    opt(
        STATEMENTS,
        Sysbench,
        "index_updates",
        N,
        "1",
        "updates of the indexed column per transaction",
    ),
    opt(
        STATEMENTS,
        Sysbench,
        "non_index_updates",
        N,
        "1",
        "updates of a non-indexed column per transaction",
    ),
    opt(STATEMENTS, Sysbench, "delete_inserts", N, "1", "DELETE/INSERT pairs per transaction"),
    opt(STATEMENTS, Sysbench, "skip_trx", S, "off", "no transactions: autocommit each statement"),
    opt(
        STATEMENTS,
        Sysbench,
        "random_points",
        N,
        "10",
        "values in the list of select_random_points",
    ),
    opt(STATEMENTS, Sysbench, "number_of_ranges", N, "10", "ranges of select_random_ranges"),
    opt(STATEMENTS, Sysbench, "delta", N, "5", "width of such a range"),
    opt(
        STATEMENTS,
        Own,
        "text_selects",
        N,
        "1",
        "selects of the text columns per transaction (schema text)",
    ),
    opt(
        STATEMENTS,
        Own,
        "user_delay_min",
        N,
        "0",
        "minimum delay before a statement, microseconds (sysbench 0.4)",
    ),
    opt(
        STATEMENTS,
        Own,
        "user_delay_max",
        N,
        "0",
        "maximum delay before a statement, microseconds",
    ),
    opt(
        STATEMENTS,
        Own,
        "text_updates",
        N,
        "1",
        "updates of a text column per transaction (schema text)",
    ),
    opt(FILES, Sysbench, "file_num", N, "128", "number of files"),
    opt(FILES, Sysbench, "file_block_size", SIZE, "16384", "bytes of an operation"),
    opt(FILES, Sysbench, "file_total_size", SIZE, "2G", "bytes of all files together"),
    opt(
        FILES,
        Sysbench,
        "file_test_mode",
        Takes::Value("seqwr|seqrewr|seqrd|rndrd|rndwr|rndrw"),
        "",
        "sequential or random, reads or writes; for run",
    ),
    opt(
        FILES,
        Sysbench,
        "file_io_mode",
        Takes::Value("sync"),
        "sync",
        "async and mmap are refused",
    ),
    opt(FILES, NoEffect, "file_async_backlog", N, "128", ""),
    opt(
        FILES,
        Sysbench,
        "file_extra_flags",
        Takes::Value("sync|dsync|direct,…"),
        "",
        "flags to open files with",
    ),
    opt(
        FILES,
        Sysbench,
        "file_fsync_freq",
        N,
        "100",
        "fsync all files after this many reads and writes; 0 for never",
    ),
    opt(FILES, Sysbench, "file_fsync_all", S, "off", "fsync after each write, in the same event"),
    opt(FILES, Sysbench, "file_fsync_end", S, "on", "fsync all files at the end"),
    opt(
        FILES,
        Sysbench,
        "file_fsync_mode",
        Takes::Value("fsync|fdatasync"),
        "fsync",
        "what makes a file durable",
    ),
    opt(
        FILES,
        Sysbench,
        "file_merged_requests",
        N,
        "0",
        "blocks in one operation of a sequential mode; 0 for one",
    ),
    opt(FILES, Sysbench, "file_rw_ratio", N, "1.5", "reads per write with rndrw"),
    opt(
        FILES,
        Own,
        "file_data_ratio",
        N,
        "0",
        "how far written data compress, e.g. 2 for 2:1; 0 for zeroes, as sysbench",
    ),
    opt(RANDOM, NoEffect, "rand_init", S, "off", ""),
    opt(OLD, Own, "oltp_read_only", S, "off", "no updates, deletes and inserts"),
    opt(OLD, Own, "oltp_write_only", S, "off", "no selects (legacy scripts)"),
    opt(OLD, NoEffect, "oltp_reconnect", S, "off", ""),
    opt(
        OLD,
        Own,
        "oltp_test_mode",
        Takes::Value("complex|simple|nontrx"),
        "complex",
        "what an event is (0.4)",
    ),
    opt(
        OLD,
        Own,
        "oltp_nontrx_mode",
        Takes::Value("select|update_key|update_nokey|insert|delete"),
        "select",
        "the one statement of test mode nontrx (0.4)",
    ),
    opt(OLD, Own, "table_name", TEXT, "sbtest", "name of the table (0.4)"),
    opt(OLD, NoEffect, "oltp_reconnect_mode", Takes::Value("session"), "session", ""),
    opt(OLD, NoEffect, "oltp_connect_delay", N, "10000", ""),
    opt(OLD, NoEffect, "mysql_engine_trx", Takes::Value("auto|yes"), "auto", ""),
    opt(OLD, NoEffect, "myisam_max_rows", N, "1000000", ""),
    opt(RANDOM, NoEffect, "init_rng", S, "off", ""),
];

/// Options of sysbench that are not built, by how their names begin, and whose they are.
const UNBUILT: [(&str, &str); 10] = [
    ("cpu_", "of sysbench's test cpu"),
    ("memory_", "of sysbench's test memory"),
    ("thread_yields", "of sysbench's test threads"),
    ("thread_locks", "of sysbench's test threads"),
    ("mutex_", "of sysbench's test mutex"),
    ("luajit_cmd", "for sysbench's interpreter"),
    ("thread_init_timeout", "of sysbench's unreleased 1.1"),
    ("reconnect", "of sysbench's unreleased 1.1"),
    ("mysql_ssl_", "of sysbench's unreleased 1.1"),
    ("oltp_sp_name", "of test mode sp of sysbench 0.4"),
];

/// Whose option it is, if it is one that is not built.
pub(super) fn unbuilt(name: &str) -> Option<&'static str> {
    let name = name.replace('-', "_");
    UNBUILT.iter().find(|(start, _)| name.starts_with(start)).map(|(_, whose)| *whose)
}

/// The one option that may be given several times.
pub(super) const HOST: &str = "host";

/// The option of that name, of today or of old, with dashes or underscores.
pub(super) fn find(name: &str) -> Option<&'static Opt> {
    let name = name.replace('-', "_");
    let old = old::NAMES.iter().find(|(old, _)| *old == name).map(|(_, today)| *today);
    OPTIONS.iter().find(|option| option.name == old.unwrap_or(&name))
}
