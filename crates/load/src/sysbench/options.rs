//! The table of all options, which the parser, the hints and the help read.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::Value;

use super::old;
use crate::fileio::Fileio;
use crate::schedule::Schedule;
use crate::schema::Schema;
use crate::workload::Workload;

/// The form of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// `=on`, `=off`, or no value for on.
    Switch,
    /// The same, or another value, with its name in the help.
    SwitchOr(&'static str),
    /// A value, with its name in the help.
    Value(&'static str),
}

/// The origin of an option, and its effect here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// sysbench's, with the same effect.
    Sysbench,
    /// sysbench's, accepted without effect: it changes nothing that is measured.
    NoEffect,
    /// Assay's own.
    Own,
}

/// The value of an option that is not given.
#[derive(Debug, Clone, Copy)]
enum DefaultValue {
    Text(&'static str),
    /// The default of the field of this name in workload, tables, files or schedule.
    Field(&'static str),
}

/// Defaults of the fields, as the text of an option.
static FIELDS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let (workload, fileio) = (Workload::default(), Fileio::default());
    let mut fields = BTreeMap::new();
    add_fields(&mut fields, &workload);
    add_fields(&mut fields, &Schema::default());
    add_fields(&mut fields, &fileio);
    add_fields(&mut fields, &Schedule::default());
    // Their serialization leaves these out, or has another form.
    let more = [
        ("user_delay_min", workload.user_delay_min),
        ("user_delay_max", workload.user_delay_max),
        ("file_async_backlog", fileio.file_async_backlog.into()),
        ("file_block_size", fileio.file_block_size.0),
    ];
    fields.extend(more.map(|(name, number)| (name.to_owned(), number.to_string())));
    fields
});

fn add_fields(fields: &mut BTreeMap<String, String>, all: &impl Serialize) {
    if let Ok(Value::Object(all)) = serde_json::to_value(all) {
        fields.extend(all.iter().map(|(name, value)| (name.clone(), option_text(value))));
    }
}

/// A value as the command line gives it.
fn option_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(is_on) => if *is_on { "on" } else { "off" }.to_owned(),
        Value::Number(number) => match number.as_f64() {
            Some(number) => number.to_string(),
            None => number.to_string(),
        },
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(option_text).collect::<Vec<_>>().join(","),
        Value::Object(_) => value.to_string(),
    }
}

impl Opt {
    pub(super) fn default(&self) -> &'static str {
        match self.default {
            DefaultValue::Text(text) => text,
            DefaultValue::Field(name) => FIELDS.get(name).map_or("", String::as_str),
        }
    }
}

/// An option.
#[derive(Debug)]
pub(super) struct Opt {
    /// With underscores; dashes are read as such.
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    default: DefaultValue,
    pub(super) origin: Origin,
    pub(super) group: &'static str,
    pub(super) help: &'static str,
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

use Takes::{SwitchOr, Value as V};

/// Writes the table: a group, then a line for each option with its origin, name, value, default and
/// help. A default in brackets is that of the field of this name (see [`FIELDS`]).
macro_rules! options {
    ($($group:ident {
        $($origin:ident $name:ident, $takes:expr, $default:tt, $help:literal;)*
    })*) => {
        &[$($(Opt {
            name: stringify!($name),
            takes: $takes,
            default: default!($default),
            origin: origin!($origin),
            group: $group,
            help: $help,
        }),*),*]
    };
}

macro_rules! default {
    ([$field:ident]) => {
        DefaultValue::Field(stringify!($field))
    };
    ($text:literal) => {
        DefaultValue::Text($text)
    };
}

macro_rules! origin {
    (sysbench) => {
        Origin::Sysbench
    };
    (own) => {
        Origin::Own
    };
    (no_effect) => {
        Origin::NoEffect
    };
}

/// All options, in order of the help.
pub(super) const OPTIONS: &[Opt] = options! {
    RUN {
        own mode, V("compat|strict"), "compat",
            "like sysbench, or with its quirks fixed (docs/workloads.md)";
        sysbench threads, N, [threads], "connections; of fileio, threads";
        sysbench events, N, [events],
            "stop after this many events; 0 for no limit \
             (default 10000 with workloads of 0.4 or 0.5)";
        sysbench time, N, [seconds],
            "stop after this many seconds; 0 for no limit (default with workloads of 0.4 or 0.5)";
        own warmup_time, V("N|steady[:CAP]"), "0",
            "warm-up seconds, or until throughput is steady, at most CAP (300) seconds";
        sysbench rate, N, "0", "events per second (open loop); 0 for closed loop";
        own arrivals, V("poisson|even"), "poisson", "arrival process of the rate";
        sysbench forced_shutdown, N, "off",
            "seconds to wait for events in flight at the end, or off";
        own cpus, V("LIST"), "", "CPUs to run on, such as 0-3,8";
        own preflight, S, "on", "check the server's limits before a run";
    }
    HOSTS {
        own host, V("USER@HOST"), "",
            "run from this host, reached with ssh; \
             repeat it for several, which share threads and rate";
        own host_directory, V("DIR"), "",
            "directory for Assay on each host; default: the cache and state of the user there";
        own ssh_config, FILE, "", "configuration file of ssh; default: the user's";
    }
    CAPACITY {
        own objective_ms, V("MS"), "10",
            "the percentile of the response times must be at most this";
        own objective_percentile, V("P"), "99", "which percentile";
        own resolution, V("PERCENT"), "3",
            "half the width of the interval to end with; wider where runs vary by more";
        own capacity_runs, N, "60", "most runs";
    }
    RUN {
        sysbench test, V("WORKLOAD"), "", "old way to name the workload";
        sysbench tx_rate, N, "0", "old name of rate";
        sysbench max_requests, N, "0", "old name of events";
        sysbench max_time, N, "0", "old name of time";
        sysbench num_threads, N, "1", "old name of threads";
        no_effect thread_stack_size, SIZE, "64K", "";
        no_effect debug, S, "off", "";
        no_effect validate, S, [validate], "";
        sysbench help, S, "off", "this text";
        sysbench version, S, "off", "the version";
    }
    RANDOM {
        sysbench rand_type, V("uniform|gaussian|special|pareto|zipf|hotspot"),
            "special; uniform with --mode=strict", "distribution of keys";
        own rand_scatter, S, [rand_scatter], "scatter popular keys instead of clustering them";
        sysbench rand_seed, N, "0", "random seed; 0 for the current time";
        sysbench rand_spec_iter, N, [rand_spec_iter], "numbers averaged by gaussian and special";
        sysbench rand_spec_pct, N, [rand_spec_pct], "width of special's window, percent";
        sysbench rand_spec_res, N, [rand_spec_res],
            "share of special's draws in the window, percent";
        sysbench rand_pareto_h, N, [rand_pareto_h], "pareto's h";
        own rand_zipfian_exp, N, [rand_zipfian_exp], "zipf's exponent";
        own rand_hot_fraction, N, [rand_hot_fraction], "fraction of hot keys for hotspot";
        own rand_hot_share, N, [rand_hot_share], "share of draws for hot keys";
    }
    REPORT {
        sysbench report_interval, N, "0", "seconds between interval lines; 0 for none";
        sysbench percentile, N, "95", "percentile to print, 1 to 100; 0 for none";
        sysbench histogram, S, "off", "print the latency histogram";
        own json, FILE, "",
            "write all results to this file, with every second and histogram bucket";
        sysbench verbosity, N, "3", "0 to 5; below 3 only errors are printed";
        sysbench report_checkpoints, V("LIST"), "", "not supported: --json has every second";
        sysbench config_file, FILE, "", "not supported: write the options out";
    }
    SERVER {
        sysbench mysql_socket, FILE, "", "Unix socket";
        sysbench mysql_host, V("HOST"), "localhost",
            "host; localhost means the usual Unix sockets, if there is one and no port is given";
        sysbench mysql_port, N, "3306", "TCP port";
        sysbench mysql_user, TEXT, "sbtest", "user";
        sysbench mysql_password, TEXT, "",
            "password; prefer the environment variable MYSQL_PWD, which `ps` does not show";
        sysbench mysql_db, TEXT, "sbtest", "database";
        sysbench mysql_ssl, SwitchOr("MODE"), "off",
            "encrypt TCP connections, or a mode as MySQL's ssl-mode has it";
        own mysql_ssl_ca, FILE, "", "encrypt, and check the server's certificate against this one";
        own mysql_server_public_key_path, FILE, "",
            "without TLS: encrypt the password with this RSA key of the server";
        own mysql_get_server_public_key, S, "off",
            "without TLS: take whatever RSA key the server sends";
        sysbench mysql_ignore_errors, V("LIST"), [mysql_ignore_errors],
            "errors to retry an event on, or all";
        sysbench db_ps_mode, V("auto|disable"), [db_ps_mode], "use prepared statements";
        sysbench db_driver, V("mysql"), "mysql", "only mysql";
        sysbench mysql_ssl_cipher, TEXT, "", "refused";
        sysbench mysql_compression, S, "off", "refused";
        sysbench mysql_dry_run, S, "off", "refused";
        no_effect mysql_debug, S, "off", "";
        no_effect db_debug, S, "off", "";
        no_effect pgsql_host, TEXT, "", "";
        no_effect pgsql_port, N, "", "";
        no_effect pgsql_user, TEXT, "", "";
        no_effect pgsql_password, TEXT, "", "";
        no_effect pgsql_db, TEXT, "", "";
    }
    TABLES {
        sysbench tables, N, [tables], "number of tables";
        sysbench table_size, N, [table_size], "rows per table";
        sysbench auto_inc, S, [auto_inc], "use AUTO_INCREMENT";
        sysbench secondary, S, [secondary], "a plain index on id in place of the primary key";
        sysbench create_secondary, S, [create_secondary], "create the index on k after loading";
        sysbench mysql_storage_engine, TEXT, [mysql_storage_engine], "storage engine";
        own create_table_options, TEXT, [create_table_options], "further options of CREATE TABLE";
        own schema, V("default|text"), [schema], "text: with two more columns of English text";
        own generator, V("sysbench-0.4|sysbench-0.5|sysbench-1.0"), "the workload's",
            "sysbench version of the tables";
        own text, FILE, [text], "text file for those columns";
        no_effect pgsql_variant, TEXT, "", "";
    }
    STATEMENTS {
        sysbench point_selects, N, [point_selects], "point selects per transaction";
        sysbench simple_ranges, N, [simple_ranges], "range selects per transaction";
        sysbench sum_ranges, N, [sum_ranges], "SUM() ranges per transaction";
        sysbench order_ranges, N, [order_ranges], "ORDER BY ranges per transaction";
        sysbench distinct_ranges, N, [distinct_ranges], "DISTINCT ranges per transaction";
        sysbench range_size, N, [range_size], "rows per range";
        sysbench range_selects, S, [range_selects], "enable range selects";
        sysbench index_updates, N, [index_updates], "updates of the indexed column per transaction";
        sysbench non_index_updates, N, [non_index_updates],
            "updates of a non-indexed column per transaction";
        sysbench delete_inserts, N, [delete_inserts], "DELETE/INSERT pairs per transaction";
        sysbench skip_trx, S, [skip_trx], "no transactions: autocommit each statement";
        sysbench random_points, N, [random_points], "values in the list of select_random_points";
        sysbench number_of_ranges, N, [number_of_ranges], "ranges of select_random_ranges";
        sysbench delta, N, [delta], "width of such a range";
        own text_selects, N, [text_selects],
            "selects of the text columns per transaction (schema text)";
        own user_delay_min, N, [user_delay_min],
            "minimum delay before a statement, microseconds (sysbench 0.4)";
        own user_delay_max, N, [user_delay_max], "maximum delay before a statement, microseconds";
        own text_updates, N, [text_updates],
            "updates of a text column per transaction (schema text)";
    }
    FILES {
        sysbench file_num, N, [file_num], "number of files";
        sysbench file_block_size, SIZE, [file_block_size], "bytes of an operation";
        sysbench file_total_size, SIZE, [file_total_size], "bytes of all files together";
        sysbench file_test_mode, V("seqwr|seqrewr|seqrd|rndrd|rndwr|rndrw"), [file_test_mode],
            "sequential or random, reads or writes; for run";
        sysbench file_io_mode, V("sync"), [file_io_mode], "async and mmap are refused";
        no_effect file_async_backlog, N, [file_async_backlog], "";
        sysbench file_extra_flags, V("sync|dsync|direct,…"), [file_extra_flags],
            "flags to open files with";
        sysbench file_fsync_freq, N, [file_fsync_freq],
            "fsync all files after this many reads and writes; 0 for never";
        sysbench file_fsync_all, S, [file_fsync_all], "fsync after each write, in the same event";
        sysbench file_fsync_end, S, [file_fsync_end], "fsync all files at the end";
        sysbench file_fsync_mode, V("fsync|fdatasync"), [file_fsync_mode],
            "what makes a file durable";
        sysbench file_merged_requests, N, [file_merged_requests],
            "blocks in one operation of a sequential mode; 0 for one";
        sysbench file_rw_ratio, N, [file_rw_ratio], "reads per write with rndrw";
        own file_data_ratio, N, [file_data_ratio],
            "how far written data compress, e.g. 2 for 2:1; 0 for zeroes, as sysbench";
    }
    RANDOM {
        no_effect rand_init, S, "off", "";
    }
    OLD {
        own oltp_read_only, S, "off", "no updates, deletes and inserts";
        own oltp_write_only, S, "off", "no selects (legacy scripts)";
        no_effect oltp_reconnect, S, "off", "";
        own oltp_test_mode, V("complex|simple|nontrx"), "complex", "what an event is (0.4)";
        own oltp_nontrx_mode, V("select|update_key|update_nokey|insert|delete"), "select",
            "the one statement of test mode nontrx (0.4)";
        own table_name, TEXT, "sbtest", "name of the table (0.4)";
        no_effect oltp_reconnect_mode, V("session"), "session", "";
        no_effect oltp_connect_delay, N, "10000", "";
        no_effect mysql_engine_trx, V("auto|yes"), "auto", "";
        no_effect myisam_max_rows, N, "1000000", "";
    }
    RANDOM {
        no_effect init_rng, S, "off", "";
    }
};

/// Unsupported options of sysbench, by the beginning of their names, and where they belong.
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

/// The owner of an unsupported option.
pub(super) fn unbuilt(name: &str) -> Option<&'static str> {
    let name = name.replace('-', "_");
    UNBUILT.iter().find(|(start, _)| name.starts_with(start)).map(|(_, whose)| *whose)
}

/// The only repeatable option.
pub(super) const HOST: &str = "host";

/// Finds an option by name, today's or an old one, with dashes or underscores.
pub(super) fn find(name: &str) -> Option<&'static Opt> {
    let name = name.replace('-', "_");
    let old = old::NAMES.iter().find(|(old, _)| *old == name).map(|(_, today)| *today);
    OPTIONS.iter().find(|option| option.name == old.unwrap_or(&name))
}
