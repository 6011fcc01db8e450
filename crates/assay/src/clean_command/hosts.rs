//! `assay clean --host`: runs the command on other machines over ssh, one after the other.

use std::process::ExitCode;

use anyhow::{Context, Result};
use assay_ports::child::describe;
use assay_system::interrupt::Interrupt;

use super::CleanArgs;
use crate::host_command::with_all;
use crate::print;

/// Cleans each host and prints its output. Returns the highest exit code.
///
/// # Errors
/// The first host that cannot be used; the others are cleaned all the same.
pub(super) fn clean(args: &CleanArgs) -> Result<ExitCode> {
    let interrupt = Interrupt::listen()?;
    let flags = [("--cache", args.cache), ("--dry-run", args.dry_run), ("--json", args.json)];
    let given = flags.iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| *flag);
    let words: Vec<&str> = std::iter::once("clean").chain(given).collect();
    let (mut highest, mut failure) = (0, None);
    for spec in args.reach.specs(&args.hosts) {
        if args.hosts.len() > 1 && !args.json {
            print::line(format_args!("{}:", spec.ssh));
        }
        let ended = with_all(std::slice::from_ref(&spec), &interrupt, |host| host.run(&words))?;
        match ended.into_iter().next().context("no host was asked")? {
            Ok(status) => match status.code() {
                Some(code) => highest = highest.max(code),
                None => anyhow::bail!("`ssh` to {} ended with {}", spec.ssh, describe(status)),
            },
            Err(error) => drop(failure.get_or_insert(error)),
        }
        interrupt.check()?;
    }
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(ExitCode::from(u8::try_from(highest).unwrap_or(2))),
    }
}
