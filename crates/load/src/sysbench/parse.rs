//! Parses sysbench's command line.

use std::path::PathBuf;

use super::assemble::assemble;
use super::given::{Given, Options};
use super::old;
use super::options::{FILES, HOST, OPTIONS, Takes, find, unbuilt};
use crate::capacity::Objective;
use crate::error::{Error, Result};
use crate::option_value::SYSBENCH;
use crate::recipe::{Recipe, is_no_database_test};
use crate::spec::LoadSpec;
use assay_base::suggest;

/// The command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SysbenchCommand {
    /// Create tables and fill them.
    Prepare,
    /// Read all tables once.
    Prewarm,
    /// Load.
    Run,
    /// Find the rate at which 95 % of windows meet an objective.
    Capacity,
    /// Drop the tables.
    Cleanup,
    /// Explain.
    Help,
    /// Tell the version.
    Version,
}

const COMMANDS: [(&str, SysbenchCommand); 6] = [
    ("prepare", SysbenchCommand::Prepare),
    ("prewarm", SysbenchCommand::Prewarm),
    ("run", SysbenchCommand::Run),
    ("capacity", SysbenchCommand::Capacity),
    ("cleanup", SysbenchCommand::Cleanup),
    ("help", SysbenchCommand::Help),
];

/// The options of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysbenchReporting {
    /// Seconds between interval lines; 0 for none.
    pub report_interval: u64,
    /// Percentile to print; 0 for none.
    pub percentile: u32,
    /// True to print the histogram.
    pub histogram: bool,
    /// Below 3, only errors are printed.
    pub verbosity: u32,
    /// The file for all results.
    pub json: Option<PathBuf>,
    /// True if the seed was given, and not taken from the time of day.
    pub seed_given: bool,
}

/// The load hosts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostOptions {
    /// Names of the hosts for `ssh`; empty for this machine.
    pub hosts: Vec<String>,
    /// The directory for Assay on each host.
    pub host_directory: Option<PathBuf>,
    /// A configuration file of `ssh`.
    pub ssh_config: Option<PathBuf>,
}

/// The options of the command `capacity`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapacityOptions {
    /// The latency objective.
    pub objective: Objective,
    /// Half the width of the final interval, as a share.
    pub resolution: f64,
    pub runs_max: u32,
}

/// A parsed sysbench command line.
#[derive(Debug, Clone, PartialEq)]
pub struct SysbenchLine {
    pub command: SysbenchCommand,
    /// The load that the command makes.
    pub load: LoadSpec,
    pub reporting: SysbenchReporting,
    pub capacity: CapacityOptions,
    /// The load hosts.
    pub hosts: HostOptions,
    /// True to check limits before a run.
    pub preflight: bool,
    /// Warnings for standard error before anything is done.
    pub warnings: Vec<String>,
}

/// Parses the arguments: options as `--name=value` or `--name value`, with dashes or underscores,
/// and a workload and a command in either order.
///
/// # Errors
/// [`Error::Config`] for unknown options, with the nearest known name, and for invalid values.
pub fn parse(words: &[String]) -> Result<SysbenchLine> {
    let (given, positional) = split(words)?;
    let given = Given(given);
    if given.switch("help")? || words.is_empty() {
        return assemble(SysbenchCommand::Help, None, &given);
    }
    if given.switch("version")? {
        return assemble(SysbenchCommand::Version, None, &given);
    }
    // The old option replaces the first word.
    let named = Some(given.text("test")).filter(|name| !name.is_empty());
    let (mut command, mut recipe) =
        (None, named.map(|name| old::of_test(name, &given)).transpose()?);
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
        (Some(SysbenchCommand::Help), _) => assemble(SysbenchCommand::Help, None, &given),
        (Some(command), Some(chosen)) => {
            refuse_files(&given)?;
            refuse_included(command, &positional, &given)?;
            let chosen = old::run_by(chosen, &given);
            old::check(&given, chosen)?;
            let mut line = assemble(command, Some(chosen), &given)?;
            let names = positional.iter().map(String::as_str).chain([given.text("test")]);
            line.warnings.extend(names.filter_map(|name| not_read(name, chosen)));
            Ok(line)
        }
        (Some(_), None) => {
            let names = Recipe::ALL.map(Recipe::name).join(", ");
            refuse(format!("no workload is given; known are {names}"))
        }
        (None, _) => refuse(
            "no command is given; known are prepare, prewarm, run, capacity, cleanup, help".into(),
        ),
    }
}

/// The reason why a script or a test cannot run, if the word names an unsupported one.
fn foreign_test(word: &str) -> Option<Error> {
    let name = word.strip_prefix("--test=").unwrap_or(word);
    let is_test = !name.starts_with('-') && (name.ends_with(".lua") || is_no_database_test(name));
    is_test.then(|| Recipe::from_name(name).err()).flatten()
}

/// Scripts included by others: they prepare and clean up by themselves, and have no event.
const INCLUDED: [&str; 2] = ["oltp_common", "common"];

fn refuse_included(command: SysbenchCommand, words: &[String], given: &Given) -> Result<()> {
    let script = |word: &&str| {
        let file = word.rsplit('/').next().unwrap_or(word);
        INCLUDED.contains(&file.strip_suffix(".lua").unwrap_or(file))
    };
    let named = words.iter().map(String::as_str).chain([given.text("test")]);
    match (command, named.into_iter().find(script)) {
        (SysbenchCommand::Run | SysbenchCommand::Capacity, Some(name)) => refuse(format!(
            "`{name}` has no event to run: other scripts include it; give one of them, e.g. \
             oltp_read_write"
        )),
        _ => Ok(()),
    }
}

/// Directories of sysbench's own scripts, by the ends of their paths.
const OWN_DIRECTORIES: [&str; 4] = ["share/sysbench", "oltp_legacy", "tests/db", "src/lua"];

/// A warning if a user's own script has the name of one of sysbench's, which is run in its place.
fn not_read(name: &str, recipe: Recipe) -> Option<String> {
    let (directory, _) = name.rsplit_once('/').unwrap_or((".", name));
    let is_own = OWN_DIRECTORIES.iter().any(|own| directory.ends_with(own));
    let is_script = name.ends_with(".lua") && std::path::Path::new(name).is_file();
    (is_script && !is_own).then(|| {
        format!("`{name}` is not read: what runs is sysbench's own script, as {}", recipe.name())
    })
}

/// Refuses options of fileio, which have no effect on tables.
fn refuse_files(given: &Given) -> Result<()> {
    let is_of_files = |name: &&&str| find(name).is_some_and(|option| option.group == FILES);
    match given.0.keys().find(is_of_files) {
        Some(name) => {
            refuse(format!("`--{}` is an option of fileio; leave it out", name.replace('_', "-")))
        }
        None => Ok(()),
    }
}

/// The workload of that name. A typo may have meant a command as well.
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

/// Returns true if the word would be an option with dashes before it.
fn names_option(word: &str) -> bool {
    word.contains('=') || find(word).is_some()
}

pub(super) fn split(all: &[String]) -> Result<(Options, Vec<String>)> {
    let (mut given, mut positional) = (Options::new(), Vec::new());
    let mut words = all.iter().peekable();
    while let Some(word) = words.next() {
        // Papers print dashes separately: `-- num-threads=20`. Before anything else they end a
        // shell user's options.
        let word = match words.peek() {
            Some(next) if word == "--" && names_option(next) => {
                format!("--{}", words.next().cloned().unwrap_or_default())
            }
            _ if word == "--" => continue,
            _ => word.clone(),
        };
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
            // Options of a user's own script, or of another test, are no typos.
            if let Some(error) = all.iter().find_map(|word| foreign_test(word)) {
                return Err(error);
            }
            if let Some(whose) = unbuilt(name) {
                return refuse(format!("`--{name}` is not built: it is {whose}; leave it out"));
            }
            let names = OPTIONS.iter().map(|option| option.name);
            let hint = suggest::hint(name, names.chain(old::NAMES.iter().map(|(old, _)| *old)));
            return refuse(format!("unknown option `--{name}`{hint}; see --help"));
        };
        let value = match (value, option.takes) {
            (Some(value), _) => value,
            (None, Takes::Switch | Takes::SwitchOr(_)) => match words.peek() {
                Some(next) if SYSBENCH.switch(next).is_some() => {
                    words.next().cloned().unwrap_or_default()
                }
                _ => "on".into(),
            },
            (None, Takes::Value(what)) => match words.next() {
                Some(value) if !value.starts_with("--") => value.clone(),
                _ => return refuse(format!("option `--{name}` needs a value: --{name}={what}")),
            },
        };
        match given.get_mut(option.name) {
            Some(hosts) if option.name == HOST => {
                hosts.push(',');
                hosts.push_str(&value);
            }
            _ => drop(given.insert(option.name, value)),
        }
    }
    Ok((given, positional))
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
