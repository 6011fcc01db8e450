//! `assay host`: checks hosts that are reached over ssh, and serves at the other end of such
//! sessions.

mod check;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use anyhow::Result;
use assay_base::text::size;
use assay_hosts::{ConnectStep, Failure, HostSpec, RemoteHost, Talk, Works, load, serve};
use assay_system::interrupt::Interrupt;
use assay_system::ledger::Ledger;
use clap::{Args, Subcommand};
use serde_json::Value;

use crate::print;

/// Other machines, reached over ssh
#[derive(Debug, Args)]
pub(crate) struct HostArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check that hosts can be used, and copy the program to them
    Check(check::CheckArgs),
    /// Serve the other end of a session on standard input and output
    #[command(hide = true)]
    Serve,
}

/// Options for reaching hosts.
#[derive(Debug, Clone, Args)]
pub(crate) struct Reach {
    /// Directory for Assay on each host [default: the cache and state of the user there]
    #[arg(long, value_name = "DIR")]
    host_directory: Option<PathBuf>,
    /// Configuration file of ssh [default: the user's]
    #[arg(long, value_name = "FILE")]
    ssh_config: Option<PathBuf>,
}

pub(crate) fn run(args: &HostArgs) -> Result<ExitCode> {
    match &args.action {
        Action::Check(args) => check::run(args),
        Action::Serve => {
            serve(&WorksHere)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The jobs of this program for other machines.
struct WorksHere;

impl Works for WorksHere {
    fn carry_out(&self, work: &str, task: Value, talk: &Talk) -> Option<Result<Value, Value>> {
        let of_study = assay_lab::hosts::carry_out(work, &task, talk);
        of_study.or_else(|| load::carry_out(work, task, talk))
    }
}

/// The hosts of these names, with the given directory and ssh configuration.
pub(crate) fn specs(
    names: &[String],
    host_directory: Option<&PathBuf>,
    ssh_config: Option<&PathBuf>,
) -> Vec<HostSpec> {
    let spec = |name: &String| HostSpec {
        directory: host_directory.cloned(),
        ssh_config: ssh_config.cloned(),
        ..HostSpec::new(name)
    };
    names.iter().map(spec).collect()
}

impl Reach {
    pub(crate) fn specs(&self, names: &[String]) -> Vec<HostSpec> {
        specs(names, self.host_directory.as_ref(), self.ssh_config.as_ref())
    }

    /// Returns true if any of the options is given.
    pub(crate) fn is_given(&self) -> bool {
        self.host_directory.is_some() || self.ssh_config.is_some()
    }
}

/// Calls `act` for all hosts concurrently, each connected and with the program on it. Returns the
/// results in the order of the hosts.
pub(crate) fn with_all<T: Send>(
    specs: &[HostSpec],
    interrupt: &Interrupt,
    act: impl Fn(RemoteHost) -> Result<T, Failure> + Sync,
) -> Result<Vec<Result<T, Failure>>> {
    let ledger = Ledger::open()?;
    let one = |spec: &HostSpec| {
        let tell = |ConnectStep::Copying { bytes }| {
            let size = size(bytes as f64);
            print::note(format_args!("assay: copying the program to {} ({size})", spec.ssh));
        };
        RemoteHost::connect(spec, &Arc::clone(&ledger), interrupt, &tell).and_then(&act)
    };
    Ok(thread::scope(|scope| {
        let threads: Vec<_> = specs.iter().map(|spec| scope.spawn(|| one(spec))).collect();
        let ended = threads.into_iter().map(thread::ScopedJoinHandle::join);
        // A thread's panic is passed on.
        ended.map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    }))
}
