//! `assay server list|fetch|run`: lists, downloads and runs servers.

mod run;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use self::run::ServerRunArgs;
use crate::print;
use assay_lab::rig::server::{self, Binary, Flavour, FoundServer, Origin};

const LIST_EXAMPLES: &str = "Examples:
  assay server list
  assay server list --json";

const FETCH_EXAMPLES: &str = "Examples:
  assay server fetch              the newest packaged MySQL
  assay server fetch mariadb      the newest packaged MariaDB

Packages come from the configured apt sources or, where these have no MySQL (Debian), from the \
suite sid of the same mirror. They are unpacked into the cache ($ASSAY_CACHE, else \
~/.cache/assay), not installed.";

/// Server programs: MySQL and Percona Server 8.0 to 9.x, MariaDB 10.6 to 11.x
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List installed, downloaded and unpacked servers
    #[command(after_help = LIST_EXAMPLES)]
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Download a server into the private cache; nothing is installed
    #[command(after_help = FETCH_EXAMPLES)]
    Fetch {
        /// Which server
        #[arg(value_enum, default_value_t = Make::Mysql)]
        make: Make,
    },
    /// Run a command with a private server, which stops afterwards
    #[command(after_help = run::EXAMPLES)]
    Run(ServerRunArgs),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Make {
    Mysql,
    Mariadb,
}

/// Runs the subcommand. `list` succeeds without any server.
pub(crate) fn run(args: &ServerArgs) -> Result<ExitCode> {
    match &args.action {
        Action::List { json } => list(*json),
        Action::Fetch { make } => fetch(*make),
        Action::Run(args) => run::run(args),
    }
}

fn fetch(make: Make) -> Result<ExitCode> {
    let flavour = match make {
        Make::Mysql => Flavour::Mysql,
        Make::Mariadb => Flavour::Mariadb,
    };
    let binary = server::fetch(flavour, &|line| crate::print::note(line))?;
    print::line(format_args!("{binary} is ready at {}", binary.program.display()));
    Ok(ExitCode::SUCCESS)
}

fn list(as_json: bool) -> Result<ExitCode> {
    let found = server::list()?;
    let json = || serde_json::to_string_pretty(&found.iter().map(json_of).collect::<Vec<_>>());
    print::line(if as_json { json()? } else { table(&found) });
    Ok(ExitCode::SUCCESS)
}

fn table(found: &[FoundServer]) -> String {
    if found.is_empty() {
        return "no server on this machine; `assay server fetch` downloads one".into();
    }
    found.iter().map(line_of).collect::<Vec<_>>().join("\n")
}

fn line_of(found: &FoundServer) -> String {
    let origin = word(found.origin);
    match &found.server {
        Ok(binary) => {
            format!("{:<24} {origin:<10} {}", binary.to_string(), binary.program.display())
        }
        Err(reason) => format!("{:<24} {origin:<10} {reason:#}", "(not usable)"),
    }
}

fn word(origin: Origin) -> &'static str {
    match origin {
        Origin::Explicit => "named",
        Origin::Path => "installed",
        Origin::Cache => "downloaded",
        Origin::Archive => "unpacked",
    }
}

fn json_of(found: &FoundServer) -> Value {
    match &found.server {
        Ok(binary) => usable_json(binary),
        Err(reason) => json!({
            "usable": false,
            "origin": found.origin,
            "program": found.program.to_string_lossy(),
            "reason": format!("{reason:#}"),
        }),
    }
}

fn usable_json(binary: &Binary) -> Value {
    let (major, minor, patch) = binary.version;
    json!({
        "usable": true,
        "origin": binary.origin,
        "program": binary.program.to_string_lossy(),
        "loader": binary.loader.as_ref().map(|loader| loader.program.to_string_lossy()),
        "basedir": binary.basedir.to_string_lossy(),
        "flavour": binary.flavour,
        "version": format!("{major}.{minor}.{patch}"),
        "version_text": binary.version_text,
    })
}
