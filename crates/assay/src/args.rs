//! Parses the command line.

use std::ffi::OsString;

use anyhow::{Result, anyhow};
use assay_base::text::on_one_line;
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::audit_command::AuditArgs;
use crate::claims_command::ClaimsArgs;
use crate::clean_command::CleanArgs;
use crate::compare_command::CompareArgs;
use crate::completions_command::CompletionsArgs;
use crate::drive_command::DriveArgs;
use crate::estimate_command::EstimateArgs;
use crate::host_command::HostArgs;
use crate::man_command::ManArgs;
use crate::models_command::ModelsArgs;
use crate::plans_command::PlansArgs;
use crate::pool_command::PoolArgs;
use crate::powercut_command::PowercutArgs;
use crate::replay_command::ReplayArgs;
use crate::report_command::ReportArgs;
use crate::run_command::{DemoArgs, RunArgs};
use crate::server_command::ServerArgs;

/// Find out what a storage device is really worth under MySQL
#[derive(Debug, Parser)]
#[command(name = "assay", version = env!("ASSAY_VERSION"), arg_required_else_help = true)]
#[command(after_help = "\
Start here:
  assay demo                              a first report in six minutes
  assay run disk --location /mnt/new-disk test your own disk, in eight minutes
  docs/tutorial.md teaches a first comparison, from question to decision

Then:
  assay run plan.toml --out study         run a plan, or resume it
  assay report study                      rewrite report.html
  assay estimate /var/lib/mysql           how well its tables would compress
  assay load oltp_read_write --mysql-socket=/run/mysqld/mysqld.sock run

Environment:
  ASSAY_SERVER  server program, or mysql, percona, mariadb [default: found]
  ASSAY_CACHE   downloads and preconditioned devices [default: ~/.cache/assay]
  ASSAY_STATE   what is made on this machine, and logs of drives
                [default: ~/.local/state/assay]
  ASSAY_LOG     what is printed: warn, info or debug [default: warn]

Exit codes: 0 success, 1 negative verdict, 2 error.")]
pub(crate) struct Arguments {
    /// Command to run
    #[command(subcommand)]
    pub command: Command,
}

/// Parses the arguments. Help and version are printed, then the process ends.
///
/// # Errors
/// The argument that clap refuses, in one line.
pub(crate) fn parse() -> Result<Arguments> {
    let words: Vec<OsString> = std::env::args_os().collect();
    if let Some(command) = load(&words) {
        return Ok(Arguments { command });
    }
    Arguments::try_parse_from(words).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => anyhow!(refusal(&error)),
    })
}

/// Recognizes `load` without clap, because its arguments are in the syntax of sysbench or YCSB:
/// clap would remove a `--` that published command lines print before an option.
fn load(words: &[OsString]) -> Option<Command> {
    let (_program, words) = words.split_first()?;
    let (first, words) = words.split_first()?;
    (first == "load").then(|| Command::Load { words: words.to_vec() })
}

/// Shortens clap's error to one line: the refused argument and the suggestion, without the usage.
fn refusal(error: &clap::Error) -> String {
    let message = error.render().to_string();
    let end =
        |line: &&str| !line.starts_with("Usage:") && !line.starts_with("For more information");
    // The tip is wrong here: no command takes a value that begins with a dash.
    let misleads = |line: &&str| line.trim_start().starts_with("tip: to pass '-");
    let lines = message.lines().take_while(end).filter(|line| !misleads(line));
    let lines: Vec<&str> = lines.collect();
    let line = on_one_line(&lines.join("\n"));
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    let line = line.replace("invalid digit found in string", "not a whole number from 0");
    format!("{line}; see --help")
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare an emulated drive that compresses with a plain one, in minutes
    Demo(DemoArgs),
    /// Run a plan, or resume it
    Run(RunArgs),
    /// List the plans that come with Assay
    Plans(PlansArgs),
    /// Rewrite report.html, results.json and the tables of a study
    Report(ReportArgs),
    /// Give a verdict on two configurations or two studies
    Compare(CompareArgs),
    /// Estimate how well existing data would compress, without changing them
    Estimate(EstimateArgs),
    /// Check whether the doublewrite buffer may be off on a data directory
    Audit(AuditArgs),
    /// Cut the power under load, recover, and check every page and committed row
    Powercut(PowercutArgs),
    /// Put load on a MySQL server; takes sysbench command lines
    #[command(disable_help_flag = true)]
    Load {
        /// A sysbench command line
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Check that other machines, reached over ssh, can put load on a server
    Host(HostArgs),
    /// List, download or run MySQL and MariaDB servers
    Server(ServerArgs),
    /// Use the software drive on its own, as a block device
    Drive(DriveArgs),
    /// Start a private Ceph cluster, make pools and images, attach images
    Pool(PoolArgs),
    /// List device presets, and attach emulated devices
    Models(ModelsArgs),
    /// Check published figures for consistency, and compare them with measurements
    Claims(ClaimsArgs),
    /// Replay a recorded I/O trace against a device model in virtual time
    Replay(ReplayArgs),
    /// Remove what interrupted runs left behind
    Clean(CleanArgs),
    /// Print a shell's completions
    Completions(CompletionsArgs),
    /// Write the manual pages
    #[command(hide = true)]
    Man(ManArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Lines of all help epilogues that are wider than 80 columns or wrap a sentence.
    fn broken(command: &clap::Command) -> Vec<String> {
        let words = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines: Vec<&str> = words.lines().collect();
        let too_long =
            lines.iter().filter(|line| line.starts_with("  ") && line.chars().count() > 80);
        let in_a_sentence = lines.windows(2).filter(|pair| {
            let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
            is_prose(pair[0]) && is_prose(pair[1]) && !pair[0].ends_with(':')
        });
        let mut broken: Vec<_> = too_long.map(ToString::to_string).collect();
        broken.extend(in_a_sentence.map(|pair| pair[1].to_owned()));
        broken.extend(command.get_subcommands().flat_map(self::broken));
        broken
    }

    #[test]
    fn what_is_not_understood_is_said_in_a_line() {
        let refused = |words: &[&str]| {
            let words = [&["assay"], words].concat();
            refusal(&Arguments::try_parse_from(words).unwrap_err())
        };
        for (words, says) in [
            (
                &["estimate", "--threads", "x", "/"][..],
                "invalid value 'x' for '--threads <THREADS>': not a whole number from 0; see \
                 --help",
            ),
            (
                &["run", "plan.toml", "--dryrun"],
                "unexpected argument '--dryrun' found; tip: a similar argument exists: \
                 '--dry-run'; see --help",
            ),
            (
                &["report", "study", "--writes-per-day", "500G", "-5"],
                "unexpected argument '-5' found; see --help",
            ),
            (&["run"], "the following required arguments were not provided: <PLAN>; see --help"),
        ] {
            assert_eq!(refused(words), says);
        }
    }

    #[test]
    fn help_is_not_broken_by_a_terminal_nor_by_itself() {
        assert_eq!(broken(&Arguments::command()), Vec::<String>::new());
        let wrapped = clap::Command::new("control").after_help("A sentence that\ngoes on.");
        assert_eq!(broken(&wrapped), ["goes on."]);
    }

    /// The launcher prints `docs/commands.txt` before anything is built.
    #[test]
    fn the_list_of_commands_that_needs_no_build_is_the_one_that_is_built() {
        let help = Arguments::command().term_width(100).render_help().to_string();
        let kept = include_str!("../../../docs/commands.txt");
        assert_eq!(kept, help, "write it anew: assay --help >docs/commands.txt");
    }
}
