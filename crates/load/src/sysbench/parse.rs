//! From words to configuration.

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

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SysbenchCommand {
    /// Create tables and fill them.
    Prepare,
    /// Read all tables once.
    Prewarm,
    /// Load.
    Run,
    /// Find the highest rate that meets an objective.
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

/// What to print and write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysbenchReporting {
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

/// From which hosts to load.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostOptions {
    /// As `ssh` takes them; empty for this machine.
    pub hosts: Vec<String>,
    /// Where Assay may write on each.
    pub host_directory: Option<PathBuf>,
    /// A configuration file of `ssh`.
    pub ssh_config: Option<PathBuf>,
}

/// How the command `capacity` searches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapacityOptions {
    /// What a rate must keep to.
    pub objective: Objective,
    /// Half the width that the interval is to have, as a share.
    pub resolution: f64,
    /// The most runs.
    pub runs_max: u32,
}

/// A sysbench command line, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct SysbenchLine {
    /// What to do.
    pub command: SysbenchCommand,
    /// The load that the command makes.
    pub load: LoadSpec,
    /// What to print and write.
    pub reporting: SysbenchReporting,
    /// How to search for the capacity.
    pub capacity: CapacityOptions,
    /// From where.
    pub hosts: HostOptions,
    /// Whether to check limits before a run.
    pub preflight: bool,
    /// What to say on standard error before anything is done.
    pub warnings: Vec<String>,
}

/// Reads the words after the program's name: options as `--name=value` or `--name value`, with dashes or underscores,
/// and a workload and a command in either order.
///
/// # Errors
/// [`Error::Config`] for anything unknown, with the nearest known name, or for a value that makes no sense.
pub fn parse(words: &[String]) -> Result<SysbenchLine> {
    let (given, positional) = split(words)?;
    let given = Given(given);
    if given.switch("help")? || words.is_empty() {
        return assemble(SysbenchCommand::Help, None, &given);
    }
    if given.switch("version")? {
        return assemble(SysbenchCommand::Version, None, &given);
    }
    // The old option stands for the first word.
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

/// Why a script or a test cannot be run, if the word names one that is not built.
fn foreign_test(word: &str) -> Option<Error> {
    let name = word.strip_prefix("--test=").unwrap_or(word);
    let is_test = !name.starts_with('-') && (name.ends_with(".lua") || is_no_database_test(name));
    is_test.then(|| Recipe::from_name(name).err()).flatten()
}

/// Scripts that others include: they prepare and clean up by themselves, and have no event.
const INCLUDED: [&str; 2] = ["oltp_common", "common"];

fn refuse_included(command: SysbenchCommand, words: &[String], given: &Given) -> Result<()> {
    let script = |word: &&str| {
        let file = word.rsplit('/').next().unwrap_or(word);
        INCLUDED.contains(&file.strip_suffix(".lua").unwrap_or(file))
    };
    let named = words.iter().map(String::as_str).chain([given.text("test")]);
    match (command, named.into_iter().find(script)) {
        (SysbenchCommand::Run | SysbenchCommand::Capacity, Some(name)) => refuse(format!(
            "`{name}` has no event to run: other scripts include it; give one of them, e.g. oltp_read_write"
        )),
        _ => Ok(()),
    }
}

/// Directories in which sysbench's own scripts are, by how their paths end.
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

/// Options of fileio do nothing to tables.
fn refuse_files(given: &Given) -> Result<()> {
    let is_of_files = |name: &&&str| find(name).is_some_and(|option| option.group == FILES);
    match given.0.keys().find(is_of_files) {
        Some(name) => {
            refuse(format!("`--{}` is an option of fileio; leave it out", name.replace('_', "-")))
        }
        None => Ok(()),
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

/// Whether the word would be an option if dashes stood before it.
fn names_option(word: &str) -> bool {
    word.contains('=') || find(word).is_some()
}

pub(super) fn split(all: &[String]) -> Result<(Options, Vec<String>)> {
    let (mut given, mut positional) = (Options::new(), Vec::new());
    let mut words = all.iter().peekable();
    while let Some(word) = words.next() {
        // Papers set dashes apart: `-- num-threads=20`. Before anything else they are a shell user's end of options.
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
            // Options of a script of somebody's own, or of another test, are no slips.
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
