//! The configuration of a run from its options.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::given::{Given, dashed};
use super::old;
use super::options::HOST;
use super::parse::{
    CapacityOptions, HostOptions, SysbenchCommand, SysbenchLine, SysbenchReporting,
};
use crate::capacity::Objective;
use crate::error::{Error, Result};
use crate::generator::Generator;
use crate::keys::RandType;
use crate::mode::Mode;
use crate::option_value::SYSBENCH;
use crate::part::LoadPart;
use crate::recipe::Recipe;
use crate::schedule::{Arrivals, Pace, Schedule, Warmup};
use crate::schema::{Schema, SchemaKind};
use crate::spec::LoadSpec;
use crate::workload::{AllWord, IgnoreErrors, PsMode, Workload};
use crate::ycsb::YcsbOptions;
use assay_mysql::{Address, Endpoint, ServerKey, SslMode, Tls};

fn refuse<T>(message: String) -> Result<T> {
    Err(Error::Config(message))
}

/// Builds the configuration; options not given have the table's defaults.
pub(super) fn assemble(
    command: SysbenchCommand,
    recipe: Option<Recipe>,
    given: &Given,
) -> Result<SysbenchLine> {
    refuse_unsupported(given)?;
    let workload = workload(given, recipe)?;
    let generator = workload.recipe.generator();
    let mut line = SysbenchLine {
        command,
        load: LoadSpec {
            endpoint: endpoint(given)?,
            schema: schema(given, generator)?,
            workload,
            schedule: schedule(given, seed(given)?, generator)?,
        },
        reporting: reporting(given)?,
        capacity: capacity(given)?,
        hosts: hosts(given),
        preflight: given.switch("preflight")?,
        warnings: old::warnings(given, recipe).into_iter().map(str::to_owned).collect(),
    };
    match command {
        SysbenchCommand::Run | SysbenchCommand::Capacity => check_rows(&line.load.schema)?,
        _ => {}
    }
    line.load.check_but_rows()?;
    if command == SysbenchCommand::Run {
        line.warnings.extend(endless(&line.load.schedule).map(str::to_owned));
    }
    line.warnings.extend(unverified(&line.load.endpoint).map(str::to_owned));
    check_hosts(&line)?;
    Ok(line)
}

/// sysbench's warning about a run that only a signal ends.
pub(super) fn endless(schedule: &Schedule) -> Option<&'static str> {
    let is_endless = schedule.events == 0 && schedule.seconds == 0.0;
    is_endless
        .then_some("WARNING: Both event and time limits are disabled, running an endless test")
}

/// Refuses empty tables: sysbench would draw keys that do not fit their columns.
fn check_rows(schema: &Schema) -> Result<()> {
    if schema.table_size == 0 {
        return refuse(
            "`--table-size=0` makes empty tables with prepare; a run needs rows to draw from: give \
             1 or more".into(),
        );
    }
    schema.check()
}

fn hosts(given: &Given) -> HostOptions {
    let names = given.text(HOST).split(',').map(str::trim).filter(|name| !name.is_empty());
    HostOptions {
        hosts: names.map(str::to_owned).collect(),
        host_directory: given.path("host_directory"),
        ssh_config: given.path("ssh_config"),
    }
}

/// Checks the options of load hosts.
fn check_hosts(line: &SysbenchLine) -> Result<()> {
    let HostOptions { hosts, host_directory, ssh_config } = &line.hosts;
    let of = hosts.len() as u32;
    match line.command {
        SysbenchCommand::Help | SysbenchCommand::Version => Ok(()),
        _ if hosts.is_empty() && host_directory.is_some() => refuse(
            "`--host-directory` applies only to load hosts; give --host too, or leave it out"
                .into(),
        ),
        _ if hosts.is_empty() && ssh_config.is_some() => refuse(
            "`--ssh-config` applies only to load hosts; give --host too, or leave it out".into(),
        ),
        _ if hosts.is_empty() => Ok(()),
        SysbenchCommand::Run if of > 1 && line.load.endpoint.address.is_local() => refuse(format!(
            "with {} each host would load a server of its own; give --mysql-host with an address \
             that all hosts reach",
            line.load.endpoint.address
        )),
        SysbenchCommand::Run => {
            Schedule { part: LoadPart { number: 0, of }, ..line.load.schedule.clone() }.check()
        }
        _ => refuse("`--host` is for the command run; leave it out for the others".into()),
    }
}

/// The options of output.
pub(super) fn reporting(given: &Given) -> Result<SysbenchReporting> {
    let percentile = given.number("percentile")?;
    if percentile > 100 {
        return refuse("`--percentile` is above 100; give 1 to 100, or 0 for none".into());
    }
    let verbosity = given.number("verbosity")?;
    if verbosity > 5 {
        return refuse(format!("`--verbosity={verbosity}` is above 5; give 0 to 5"));
    }
    let histogram = given.switch("histogram")?;
    if histogram && percentile == 0 {
        return refuse("`--histogram` cannot be used with `--percentile=0`; leave one out".into());
    }
    Ok(SysbenchReporting {
        report_interval: given.number("report_interval")?,
        percentile,
        histogram,
        verbosity,
        json: given.path("json"),
        seed_given: given.number::<u64>("rand_seed")? != 0,
    })
}

/// The given seed, or the time of day.
pub(super) fn seed(given: &Given) -> Result<u64> {
    let seed = given.number("rand_seed")?;
    Ok(if seed == 0 { time_of_day() } else { seed })
}

fn capacity(given: &Given) -> Result<CapacityOptions> {
    let percent: f64 = given.number("resolution")?;
    if !(0.1..=50.0).contains(&percent) {
        return refuse(format!("`--resolution={percent}` is not from 0.1 to 50 per cent"));
    }
    let objective = Objective {
        percentile: given.number("objective_percentile")?,
        ms: given.number("objective_ms")?,
    };
    let runs_max = given.number("capacity_runs")?;
    Ok(CapacityOptions { objective, resolution: percent / 100.0, runs_max })
}

fn time_of_day() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs())
}

pub(super) fn refuse_unsupported(given: &Given) -> Result<()> {
    let remedies = [
        ("report_checkpoints", "use --json, which has every second"),
        ("config_file", "write its options on the command line"),
        ("mysql_ssl_cipher", "omit it: the strongest common cipher is used"),
    ];
    for (name, remedy) in remedies {
        if !given.text(name).is_empty() {
            return refuse(format!("`--{}` is not supported; {remedy}", dashed(name)));
        }
    }
    for name in ["mysql_compression", "mysql_dry_run"] {
        if given.switch(name)? {
            return refuse(format!("`--{}` is not supported; leave it out", dashed(name)));
        }
    }
    match given.text("db_driver") {
        "mysql" => Ok(()),
        other => refuse(format!("`--db-driver={other}` is not built; there is mysql alone")),
    }
}

fn endpoint(given: &Given) -> Result<Endpoint> {
    for name in ["mysql_host", "mysql_port", "mysql_socket"] {
        if given.text(name).contains(',') {
            let name = dashed(name);
            return refuse(format!(
                "`--{name}` is a list; only one server is supported: give a single {name}"
            ));
        }
    }
    let (host, socket) = (given.text("mysql_host"), given.path("mysql_socket"));
    let usual = || {
        ["/run/mysqld/mysqld.sock", "/tmp/mysql.sock"]
            .map(Path::new)
            .into_iter()
            .find(|p| p.exists())
    };
    let by_socket = socket.or_else(|| {
        // Other hosts cannot use a socket of this machine.
        (host == "localhost" && !given.is_given("mysql_port") && !given.is_given(HOST))
            .then(usual)
            .flatten()
            .map(PathBuf::from)
    });
    let address = match by_socket {
        Some(path) => Address::Socket(path),
        None => Address::Tcp { host: host.into(), port: given.number("mysql_port")? },
    };
    let tls = tls(given)?;
    if let (Address::Socket(path), true) = (&address, tls != Tls::Off) {
        return refuse(format!(
            "`--mysql-ssl` and `--mysql-ssl-ca` encrypt TCP connections, and {} is a Unix socket; \
             give --mysql-host and \
             --mysql-port, or leave them out",
            path.display()
        ));
    }
    let password = match given.is_given("mysql_password") {
        true => given.text("mysql_password").into(),
        false => std::env::var("MYSQL_PWD").unwrap_or_default(),
    };
    Ok(Endpoint {
        hides_user: false,
        address,
        user: given.text("mysql_user").into(),
        password,
        database: given.text("mysql_db").into(),
        tls,
        key: key(given)?,
    })
}

/// Encryption as by sysbench's `--mysql-ssl`: on or off in 1.0, a mode of MySQL's in 1.1. A given
/// CA is checked unless nothing is encrypted.
fn tls(given: &Given) -> Result<Tls> {
    let text = given.text("mysql_ssl");
    let mode = match (SslMode::parse(text), SYSBENCH.switch(text)) {
        (Some(mode), _) => mode,
        (None, Some(true)) => SslMode::Required,
        (None, Some(false)) if given.is_given("mysql_ssl") => SslMode::Disabled,
        // A CA implies encryption.
        (None, Some(false)) => match given.path("mysql_ssl_ca") {
            Some(ca) => return Ok(Tls::Verified { ca }),
            None => SslMode::Disabled,
        },
        (None, None) => {
            let modes = SslMode::NAMES.join(", ");
            return refuse(format!("`--mysql-ssl={text}` is neither on, off nor one of {modes}"));
        }
    };
    mode.with_ca(given.path("mysql_ssl_ca")).ok_or_else(|| {
        Error::Config(format!(
            "`--mysql-ssl={text}` needs the server's CA; give --mysql-ssl-ca FILE"
        ))
    })
}

/// The key that encrypts the password on a connection without TLS, by MySQL's own options.
fn key(given: &Given) -> Result<ServerKey> {
    if let Some(path) = given.path("mysql_server_public_key_path") {
        let unread = |error| Error::system(format!("cannot read {}", path.display()), error);
        return std::fs::read_to_string(&path).map(ServerKey::Known).map_err(unread);
    }
    let is_fetched = given.switch("mysql_get_server_public_key")?;
    Ok(if is_fetched { ServerKey::Fetched } else { ServerKey::None })
}

/// A warning about the protection of `--mysql-ssl`.
fn unverified(endpoint: &Endpoint) -> Option<&'static str> {
    (endpoint.tls == Tls::Unverified).then_some(
        "WARNING: the server's certificate is not checked; give --mysql-ssl-ca FILE to check it",
    )
}

/// The tables: those of the workload's sysbench unless another is given.
fn schema(given: &Given, generator: Generator) -> Result<Schema> {
    let words = Generator::ALL.map(|generator| (generator.name(), generator));
    Ok(Schema {
        generator: match given.is_given("generator") {
            true => given.choice("generator", &words)?,
            false => generator,
        },
        kind: given
            .choice("schema", &[("default", SchemaKind::Default), ("text", SchemaKind::Text)])?,
        table_name: given.is_given("table_name").then(|| given.text("table_name").to_owned()),
        tables: given.number("tables")?,
        table_size: given.number("table_size")?,
        auto_inc: given.switch("auto_inc")?,
        secondary: given.switch("secondary")?,
        create_secondary: given.switch("create_secondary")?,
        mysql_storage_engine: given.text("mysql_storage_engine").into(),
        create_table_options: given.text("create_table_options").into(),
        text: given.path("text"),
        ..Schema::default()
    })
}

fn workload(given: &Given, recipe: Option<Recipe>) -> Result<Workload> {
    let rand_types = [
        ("uniform", RandType::Uniform),
        ("gaussian", RandType::Gaussian),
        ("special", RandType::Special),
        ("pareto", RandType::Pareto),
        ("zipf", RandType::Zipf),
        ("zipfian", RandType::Zipf),
        ("hotspot", RandType::Hotspot),
    ];
    let is_read_only = given.switch("oltp_read_only")?;
    let writes = |name| if is_read_only { Ok(0) } else { given.number(name) };
    let is_write_only = given.switch("oltp_write_only")?;
    let reads = |name| if is_write_only { Ok(0) } else { given.number(name) };
    let rand_type = given.is_given("rand_type").then(|| given.choice("rand_type", &rand_types));
    Ok(Workload {
        recipe: recipe.unwrap_or(Recipe::OltpReadWrite),
        mode: given.choice("mode", &[("compat", Mode::Compat), ("strict", Mode::Strict)])?,
        range_size: given.number("range_size")?,
        point_selects: reads("point_selects")?,
        simple_ranges: reads("simple_ranges")?,
        sum_ranges: reads("sum_ranges")?,
        order_ranges: reads("order_ranges")?,
        distinct_ranges: reads("distinct_ranges")?,
        index_updates: writes("index_updates")?,
        non_index_updates: writes("non_index_updates")?,
        delete_inserts: writes("delete_inserts")?,
        range_selects: given.switch("range_selects")?,
        skip_trx: given.switch("skip_trx")?,
        random_points: given.number("random_points")?,
        number_of_ranges: given.number("number_of_ranges")?,
        delta: given.number("delta")?,
        text_selects: given.number("text_selects")?,
        text_updates: given.number("text_updates")?,
        user_delay_min: given.number("user_delay_min")?,
        user_delay_max: given.number("user_delay_max")?,
        rand_type: rand_type.transpose()?,
        rand_spec_iter: given.number("rand_spec_iter")?,
        rand_spec_pct: given.number("rand_spec_pct")?,
        rand_spec_res: given.number("rand_spec_res")?,
        rand_pareto_h: given.number("rand_pareto_h")?,
        rand_zipfian_exp: given.number("rand_zipfian_exp")?,
        rand_hot_fraction: given.number("rand_hot_fraction")?,
        rand_hot_share: given.number("rand_hot_share")?,
        rand_scatter: given.switch("rand_scatter")?,
        db_ps_mode: given
            .choice("db_ps_mode", &[("auto", PsMode::Auto), ("disable", PsMode::Disable)])?,
        mysql_ignore_errors: ignore_errors(given.text("mysql_ignore_errors"))?,
        ycsb: YcsbOptions::default(),
    })
}

fn ignore_errors(text: &str) -> Result<IgnoreErrors> {
    if text == "all" {
        return Ok(IgnoreErrors::Every(AllWord::All));
    }
    let code = |part: &str| {
        part.trim().parse().map_err(|_| {
            Error::Config(format!(
                "`{part}` in --mysql-ignore-errors is not an error number; give numbers or all"
            ))
        })
    };
    text.split(',')
        .filter(|part| !part.trim().is_empty())
        .map(code)
        .collect::<Result<_>>()
        .map(IgnoreErrors::Listed)
}

/// Default number of events before sysbench 1.0, which has no time limit then.
const OLD_EVENTS: i64 = 10_000;

pub(super) fn schedule(given: &Given, seed: u64, generator: Generator) -> Result<Schedule> {
    let limit = |name: &'static str, old: &'static str, default: i64| {
        let limit: i64 = match generator {
            Generator::V04 | Generator::V05 => given.old_or(name, old, default)?,
            Generator::Legacy | Generator::V10 | Generator::Ycsb => given.renamed(name, old)?,
        };
        // In sysbench a negative limit is no limit.
        Ok::<u64, Error>(limit.max(0).cast_unsigned())
    };
    let rate: u64 = given.renamed("rate", "tx_rate")?;
    let arrivals =
        given.choice("arrivals", &[("poisson", Arrivals::Poisson), ("even", Arrivals::Even)])?;
    Ok(Schedule {
        threads: given.renamed("threads", "num_threads")?,
        warmup: warmup(given.text("warmup_time"))?,
        seconds: limit("time", "max_time", 0)? as f64,
        events: limit("events", "max_requests", OLD_EVENTS)?,
        pace: match rate {
            0 => Pace::Closed,
            rate => Pace::Rate { per_second: rate as f64, arrivals },
        },
        seed,
        cpus: cpus(given.text("cpus"))?,
        forced_shutdown: match given.text("forced_shutdown") {
            "off" => None,
            _ => Some(given.number("forced_shutdown")?),
        },
        ..Schedule::default()
    })
}

fn warmup(text: &str) -> Result<Warmup> {
    let bad =
        || Error::Config(format!("`--warmup-time={text}` is neither seconds nor steady[:CAP]"));
    match text.strip_prefix("steady") {
        None => text.parse().map(Warmup::Seconds).map_err(|_| bad()),
        Some("") => Ok(Warmup::Steady { cap_seconds: 300.0 }),
        Some(cap) => {
            let cap = cap.strip_prefix(':').ok_or_else(bad)?;
            Ok(Warmup::Steady { cap_seconds: cap.parse().map_err(|_| bad())? })
        }
    }
}

fn cpus(text: &str) -> Result<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let bad =
            || Error::Config(format!("`{part}` in --cpus is not a CPU or a range such as 0-3"));
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) =
            (first.parse().map_err(|_| bad())?, last.parse().map_err(|_| bad())?);
        if first > last || last > 1 << 16 {
            return Err(bad());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}
