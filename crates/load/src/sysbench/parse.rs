//! From words to configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use super::options::{OPTIONS, Takes, find};
use crate::endpoint::{Address, Endpoint, Tls};
use crate::error::{Error, Result};
use crate::keys::RandType;
use crate::oltp::Recipe;
use crate::schedule::{Arrivals, Pace, Schedule, Warmup};
use crate::schema::{Schema, SchemaKind};
use crate::suggest;
use crate::workload::{AllWord, IgnoreErrors, Mode, PsMode, Workload};

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Create tables and fill them.
    Prepare,
    /// Read all tables once.
    Prewarm,
    /// Load.
    Run,
    /// Drop the tables.
    Cleanup,
    /// Explain.
    Help,
    /// Tell the version.
    Version,
}

const COMMANDS: [(&str, Command); 5] = [
    ("prepare", Command::Prepare),
    ("prewarm", Command::Prewarm),
    ("run", Command::Run),
    ("cleanup", Command::Cleanup),
    ("help", Command::Help),
];

/// What to print and write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reporting {
    /// Seconds between interval lines; 0 for none.
    pub report_interval: u64,
    /// Percentile to print; 0 for none.
    pub percentile: u32,
    /// Whether to print the histogram.
    pub histogram: bool,
    /// Below 3, only errors are printed.
    pub verbosity: u32,
    /// Where to write everything.
    pub json: Option<PathBuf>,
    /// Whether the seed was given, or taken from the time of day.
    pub seed_given: bool,
}

/// A sysbench command line, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandLine {
    /// What to do.
    pub command: Command,
    /// Where.
    pub endpoint: Endpoint,
    /// On which tables.
    pub schema: Schema,
    /// What to run.
    pub workload: Workload,
    /// How.
    pub schedule: Schedule,
    /// What to print and write.
    pub reporting: Reporting,
    /// Whether to check limits before a run.
    pub preflight: bool,
}

/// Reads the words after the program's name: options as `--name=value` or `--name value`, with dashes or underscores,
/// and a workload and a command in either order.
///
/// # Errors
/// [`Error::Config`] for anything unknown, with the nearest known name, or for a value that makes no sense.
pub fn parse(words: &[String]) -> Result<CommandLine> {
    let (given, positional) = split(words)?;
    let given = Given(given);
    if given.switch("help")? || words.is_empty() {
        return assemble(Command::Help, None, &given);
    }
    if given.switch("version")? {
        return assemble(Command::Version, None, &given);
    }
    let (mut command, mut recipe) = (None, None);
    for word in &positional {
        let known = COMMANDS.iter().find(|(name, _)| name == word).map(|(_, command)| *command);
        match (known, command, recipe) {
            (Some(known), None, _) => command = Some(known),
            (None, _, None) => recipe = Some(recipe_or_command(word)?),
            _ => {
                let message = "give one workload and one command";
                let unexpected = || format!("unexpected word `{word}`; {message}");
                let slip = command.is_none().then(|| command_hint(word)).flatten();
                return refuse(slip.unwrap_or_else(unexpected));
            }
        }
    }
    match (command, recipe) {
        (Some(Command::Help), _) => assemble(Command::Help, None, &given),
        (Some(command), Some(_)) => assemble(command, recipe, &given),
        (Some(_), None) => {
            let names = Recipe::ALL.map(Recipe::name).join(", ");
            refuse(format!("no workload is given; known are {names}"))
        }
        (None, _) => {
            refuse("no command is given; known are prepare, prewarm, run, cleanup, help".into())
        }
    }
}

/// The workload of that name. A slip may have meant a command as well.
fn recipe_or_command(word: &str) -> Result<Recipe> {
    Recipe::from_name(word).map_err(|error| command_hint(word).map_or(error, Error::Config))
}

fn command_hint(word: &str) -> Option<String> {
    let near = suggest::nearest(word, COMMANDS.map(|(name, _)| name))?;
    Some(format!("unknown command `{word}`, did you mean `{near}`?"))
}

fn refuse<T>(message: String) -> Result<T> {
    Err(Error::Config(message))
}

type Options = BTreeMap<&'static str, String>;

fn split(words: &[String]) -> Result<(Options, Vec<String>)> {
    let (mut given, mut positional) = (Options::new(), Vec::new());
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let Some(body) = word.strip_prefix("--") else {
            match word.as_str() {
                "-h" => drop(given.insert("help", "on".into())),
                _ if word.starts_with('-') => {
                    return refuse(format!("unknown option `{word}`; options begin with --"));
                }
                _ => positional.push(word.clone()),
            }
            continue;
        };
        let (name, value) =
            body.split_once('=').map_or((body, None), |(n, v)| (n, Some(v.to_owned())));
        let Some(option) = find(name) else {
            let hint = suggest::hint(name, OPTIONS.iter().map(|option| option.name));
            return refuse(format!("unknown option `--{name}`{hint}; see --help"));
        };
        let value = match (value, option.takes) {
            (Some(value), _) => value,
            (None, Takes::Switch) => match words.peek() {
                Some(next) if read_switch(next).is_some() => {
                    words.next().cloned().unwrap_or_default()
                }
                _ => "on".into(),
            },
            (None, Takes::Value(what)) => match words.next() {
                Some(value) if !value.starts_with("--") => value.clone(),
                _ => return refuse(format!("option `--{name}` needs a value: --{name}={what}")),
            },
        };
        given.insert(option.name, value);
    }
    Ok((given, positional))
}

fn read_switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "1" | "yes" => Some(true),
        "off" | "false" | "0" | "no" => Some(false),
        _ => None,
    }
}

/// Options as given, read by type; what was not given has the default of the table.
struct Given(Options);

impl Given {
    fn is_given(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn text(&self, name: &'static str) -> &str {
        let default = || find(name).map_or("", |option| option.default);
        self.0.get(name).map_or_else(default, String::as_str)
    }

    fn path(&self, name: &'static str) -> Option<PathBuf> {
        let text = self.text(name);
        (!text.is_empty()).then(|| PathBuf::from(text))
    }

    fn number<T: FromStr>(&self, name: &'static str) -> Result<T> {
        let text = self.text(name);
        text.parse().map_err(|_| {
            Error::Config(format!(
                "`--{}={text}` is not a number it can take; see --help",
                dashed(name)
            ))
        })
    }

    fn switch(&self, name: &'static str) -> Result<bool> {
        let text = self.text(name);
        read_switch(text).ok_or_else(|| {
            Error::Config(format!("`--{}={text}` is neither on nor off", dashed(name)))
        })
    }

    /// One of some words, each with its meaning.
    fn choice<T: Copy, const M: usize>(
        &self,
        name: &'static str,
        words: [(&str, T); M],
    ) -> Result<T> {
        let text = self.text(name);
        words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning).ok_or_else(|| {
            let names = words.map(|(word, _)| word);
            let hint = suggest::hint(text, names);
            Error::Config(format!(
                "`--{}={text}` is none of {}{hint}",
                dashed(name),
                names.join(", ")
            ))
        })
    }

    /// The value of an option that has an old name too.
    fn renamed<T: FromStr>(&self, name: &'static str, old: &'static str) -> Result<T> {
        self.number(if self.is_given(old) && !self.is_given(name) { old } else { name })
    }
}

fn dashed(name: &str) -> String {
    name.replace('_', "-")
}

fn assemble(command: Command, recipe: Option<Recipe>, given: &Given) -> Result<CommandLine> {
    refuse_unsupported(given)?;
    let seed: u64 = given.number("rand_seed")?;
    let line = CommandLine {
        command,
        endpoint: endpoint(given)?,
        schema: schema(given)?,
        workload: workload(given, recipe)?,
        schedule: schedule(given, if seed == 0 { time_of_day() } else { seed })?,
        reporting: Reporting {
            report_interval: given.number("report_interval")?,
            percentile: given.number("percentile")?,
            histogram: given.switch("histogram")?,
            verbosity: given.number("verbosity")?,
            json: given.path("json"),
            seed_given: seed != 0,
        },
        preflight: given.switch("preflight")?,
    };
    if line.reporting.percentile > 100 {
        return refuse("`--percentile` is above 100; give 1 to 100, or 0 for none".into());
    }
    line.schema.check()?;
    line.workload.check()?;
    line.schedule.check()?;
    Ok(line)
}

fn time_of_day() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs())
}

fn refuse_unsupported(given: &Given) -> Result<()> {
    let remedies = [
        ("report_checkpoints", "use --json, which has every second"),
        ("config_file", "write its options on the command line"),
        ("mysql_ssl_cipher", "leave it out: the strongest common cipher is taken"),
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
    given.choice("db_driver", [("mysql", ())])
}

fn endpoint(given: &Given) -> Result<Endpoint> {
    for name in ["mysql_host", "mysql_port", "mysql_socket"] {
        if given.text(name).contains(',') {
            let name = dashed(name);
            return refuse(format!(
                "`--{name}` is a list; one server only is loaded: give a single {name}"
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
        (host == "localhost" && !given.is_given("mysql_port"))
            .then(usual)
            .flatten()
            .map(PathBuf::from)
    });
    let address = match by_socket {
        Some(path) => Address::Socket(path),
        None => Address::Tcp { host: host.into(), port: given.number("mysql_port")? },
    };
    let tls = match (given.path("mysql_ssl_ca"), given.switch("mysql_ssl")?) {
        (Some(ca), _) => Tls::Verified { ca },
        (None, true) => Tls::Unverified,
        (None, false) => Tls::Off,
    };
    let password = match given.is_given("mysql_password") {
        true => given.text("mysql_password").into(),
        false => std::env::var("MYSQL_PWD").unwrap_or_default(),
    };
    Ok(Endpoint {
        address,
        user: given.text("mysql_user").into(),
        password,
        database: given.text("mysql_db").into(),
        tls,
    })
}

fn schema(given: &Given) -> Result<Schema> {
    Ok(Schema {
        kind: given
            .choice("schema", [("default", SchemaKind::Default), ("text", SchemaKind::Text)])?,
        tables: given.number("tables")?,
        table_size: given.number("table_size")?,
        auto_inc: given.switch("auto_inc")?,
        secondary: given.switch("secondary")?,
        create_secondary: given.switch("create_secondary")?,
        mysql_storage_engine: given.text("mysql_storage_engine").into(),
        create_table_options: given.text("create_table_options").into(),
        text: given.path("text"),
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
    let rand_type = given.is_given("rand_type").then(|| given.choice("rand_type", rand_types));
    Ok(Workload {
        recipe: recipe.unwrap_or(Recipe::OltpReadWrite),
        mode: given.choice("mode", [("compat", Mode::Compat), ("fixed", Mode::Fixed)])?,
        range_size: given.number("range_size")?,
        point_selects: given.number("point_selects")?,
        simple_ranges: given.number("simple_ranges")?,
        sum_ranges: given.number("sum_ranges")?,
        order_ranges: given.number("order_ranges")?,
        distinct_ranges: given.number("distinct_ranges")?,
        index_updates: given.number("index_updates")?,
        non_index_updates: given.number("non_index_updates")?,
        delete_inserts: given.number("delete_inserts")?,
        range_selects: given.switch("range_selects")?,
        skip_trx: given.switch("skip_trx")?,
        random_points: given.number("random_points")?,
        number_of_ranges: given.number("number_of_ranges")?,
        delta: given.number("delta")?,
        text_selects: given.number("text_selects")?,
        text_updates: given.number("text_updates")?,
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
            .choice("db_ps_mode", [("auto", PsMode::Auto), ("disable", PsMode::Disable)])?,
        mysql_ignore_errors: ignore_errors(given.text("mysql_ignore_errors"))?,
    })
}

fn ignore_errors(text: &str) -> Result<IgnoreErrors> {
    if text == "all" {
        return Ok(IgnoreErrors::Every(AllWord::All));
    }
    let code = |part: &str| {
        part.trim().parse().map_err(|_| {
            Error::Config(format!(
                "`{part}` in --mysql-ignore-errors is no error number; give numbers or all"
            ))
        })
    };
    text.split(',')
        .filter(|part| !part.trim().is_empty())
        .map(code)
        .collect::<Result<_>>()
        .map(IgnoreErrors::Listed)
}

fn schedule(given: &Given, seed: u64) -> Result<Schedule> {
    let rate: u64 = given.renamed("rate", "tx_rate")?;
    let arrivals =
        given.choice("arrivals", [("poisson", Arrivals::Poisson), ("even", Arrivals::Even)])?;
    Ok(Schedule {
        threads: given.renamed("threads", "num_threads")?,
        warmup: warmup(given.text("warmup_time"))?,
        seconds: given.renamed::<u64>("time", "max_time")? as f64,
        events: given.renamed("events", "max_requests")?,
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
        let bad = || {
            Error::Config(format!("`{part}` in --cpus is no processor and no range such as 0-3"))
        };
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

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
