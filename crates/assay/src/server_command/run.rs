//! `assay server run`: runs a command with a private server, which stops afterwards.
//!
//! The command finds the server's socket in `ASSAY_SOCKET`; the user is `root` without a password,
//! and there is an empty database `test`. For tools without sockets, `--port` adds a port on
//! loopback, with an account and a random password in the environment.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assay_ports::{child, cpu};
use clap::Args;

use assay_lab::rig::server::{self, Server, Settings, Start, TcpPort, WantedServer};
use assay_lab::run::space_check;
use assay_system::interrupt::Interrupt;
use assay_system::ledger::{Ledger, LedgerGuard};
use assay_system::new_name;

/// Interval at which Ctrl-C and the server are checked.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Time that the command has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(10);

/// Examples of the help.
pub(super) const EXAMPLES: &str = "Examples:
  assay server run -- sh -c 'sysbench … --mysql-socket=$ASSAY_SOCKET run'
  assay server run --set innodb_buffer_pool_size=2G -- ./my-bench
  assay server run --location /mnt/disk -- ./my-bench

The command gets the socket in ASSAY_SOCKET; user root, no password, database test. With --port it \
also gets ASSAY_PORT, ASSAY_USER and ASSAY_PASSWORD.";

#[derive(Debug, Args)]
pub(super) struct ServerRunArgs {
    /// Server variable, e.g. innodb_doublewrite=OFF (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// CPUs of the server, e.g. 0-3 [default: all]
    #[arg(long)]
    cpus: Option<String>,
    /// Directory for the temporary data directory
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    location: PathBuf,
    /// Server program, a directory with one, or its maker's .tar.xz or .tar.gz [default: the one
    /// found or downloaded]
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,
    /// Also listen on this TCP port on loopback
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Runs the command with a server. The exit code is the command's.
///
/// # Errors
/// The server does not start or ends before the command, or the command does not start.
pub(super) fn run(args: &ServerRunArgs) -> Result<ExitCode> {
    let (program, words) = args.command.split_first().context("no command was given")?;
    let interrupt = Interrupt::listen()?;
    let ledger = Ledger::open()?;
    let port = args.port.map(TcpPort::on_loopback).transpose()?;
    let (_directory, mut server) = bring_up(args, port.clone(), &ledger)?;
    server.execute("CREATE DATABASE test")?;
    interrupt.check()?;
    let mut command = Command::new(program);
    command.args(words).env("ASSAY_SOCKET", server.socket());
    if let Some(port) = port {
        command.env("ASSAY_PORT", port.number.to_string());
        command.env("ASSAY_USER", TcpPort::USER).env("ASSAY_PASSWORD", port.password);
    }
    let status = run_with_server(command, &mut server, &interrupt)
        .with_context(|| format!("cannot run {}", program.to_string_lossy()))?;
    interrupt.check()?;
    // Without its server, the command's result is worthless, whatever its exit code.
    if let Some(how) = server.ended_while("the command ran")? {
        bail!("the server ended with {how}");
    }
    server.kill()?;
    match status.code().map(u8::try_from) {
        Some(Ok(code)) => Ok(ExitCode::from(code)),
        _ => bail!("the command ended with {}", child::describe(status)),
    }
}

/// Waits for the command to end. Stops it on Ctrl-C and when the server ends.
fn run_with_server(
    command: Command,
    server: &mut Server,
    interrupt: &Interrupt,
) -> Result<ExitStatus> {
    let mut child = child::spawn(command, &[])?;
    loop {
        if let Some(status) = child.wait(LOOK_EVERY)? {
            return Ok(status);
        }
        if interrupt.is_set() || !server.is_running()? {
            return Ok(child.stop(GRACE)?);
        }
    }
}

fn bring_up(
    args: &ServerRunArgs,
    port: Option<TcpPort>,
    ledger: &Arc<Ledger>,
) -> Result<(LedgerGuard, Server)> {
    let wanted = WantedServer::named(args.server.as_ref());
    let say = |text: &str| crate::print::note(text);
    let location = args.location.canonicalize().with_context(|| {
        format!(
            "the location {} is not a directory; create it or give another",
            args.location.display()
        )
    })?;
    server::check_places(&location)?;
    let binary = server::find_or_fetch(&wanted, &say)?;
    let directory = location.join(new_name("server"));
    let made = ledger.make_directory(&directory)?;
    let data_dir = directory.join("data");
    let mut start = Start::new(&data_dir, &directory.join("run"), ledger);
    start.settings = settings(&args.settings)?;
    start.cpus = cpus(args.cpus.as_deref().unwrap_or_default())?;
    space_check::ensure_memory(&start.settings, 1)?;
    start.port = port;
    server::make_datadir(&binary, &start.settings, &data_dir, &say)?;
    let server = server::start(&binary, &start)?;
    Ok((made, server))
}

/// Parses a list of CPUs, all of which must exist.
fn cpus(list: &str) -> Result<Vec<usize>> {
    let cpus = cpu::parse_list(list).context("--cpus")?;
    let available = cpu::available().context("cannot determine the CPUs")?;
    if let Some(missing) = cpus.iter().find(|cpu| !available.contains(cpu)) {
        bail!("--cpus contains CPU {missing}; this machine has {available:?}");
    }
    Ok(cpus)
}

fn settings(given: &[String]) -> Result<Settings> {
    let pairs = given.iter().map(|setting| {
        let (name, value) = setting
            .split_once('=')
            .with_context(|| format!("`{setting}` is not a setting; use NAME=VALUE"))?;
        Ok((name.to_owned(), value.to_owned()))
    });
    pairs.collect()
}
