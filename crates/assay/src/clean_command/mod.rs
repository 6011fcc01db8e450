//! `assay clean`: removes what interrupted runs have left on the machine, and with `--cache` the
//! cache's entries.

mod cache;
mod hosts;
mod unfinished;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use assay_pool::locate;
use assay_ports::rbd::ImageName;
use clap::Args;
use serde_json::json;

use crate::host_command::Reach;
use crate::{ask, print};
use assay_mysql::account::Account;
use assay_system::interrupt::Interrupt;
use assay_system::ledger::{self, FoundLedger, UnreadableLedger};
use assay_system::resource::{Asking, Resource};

/// Remove what interrupted runs left behind: servers, mounts, loop devices, directories, databases,
/// unfinished downloads
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay clean --dry-run           print what would be removed
  assay clean
  assay clean --cache --dry-run   list the cache's contents and sizes
  assay clean --cache             empty it
  assay clean --host ann@db1      the same on another machine, over ssh

With --json, each host prints an object of its own, in the order given.

The cache is $ASSAY_CACHE, else $XDG_CACHE_HOME/assay, else ~/.cache/assay. Entries are created or \
downloaded again when needed; entries in use by a running command are kept.")]
pub(crate) struct CleanArgs {
    /// Empty the cache instead: preconditioned devices, empty data directories, downloaded servers
    /// and Ceph
    #[arg(long)]
    cache: bool,
    /// Clean another machine instead, reached over ssh (repeatable)
    #[arg(long = "host", value_name = "USER@HOST")]
    hosts: Vec<String>,
    #[command(flatten)]
    reach: Reach,
    /// Print what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Result of a clean-up, for text and JSON.
#[derive(Debug, Default)]
struct Tally {
    removed: Vec<String>,
    /// A sentence for each entry of `removed`.
    done: Vec<String>,
    failed: Vec<String>,
    in_use: Vec<String>,
    /// Resources that replaced ours under the same name.
    left_alone: Vec<String>,
}

/// Runs the command. Exit code 2 if a resource could not be removed.
pub(crate) fn run(args: &CleanArgs) -> Result<ExitCode> {
    ensure!(
        !args.hosts.is_empty() || !args.reach.is_given(),
        "--host-directory and --ssh-config apply only to hosts; give --host too, or leave them out"
    );
    if !args.hosts.is_empty() {
        return hosts::clean(args);
    }
    if args.cache {
        return cache::empty(args.dry_run, args.json);
    }
    let mut tally = Tally::default();
    let all = ledger::ledgers()?;
    if !args.dry_run {
        ask_passwords(&all.found)?;
    }
    for found in all.found {
        let found = if args.dry_run { found } else { locate::with_client_library(found) };
        clean(&found, args.dry_run, &mut tally)?;
    }
    for unreadable in &all.unreadable {
        clean_unreadable(unreadable, args.dry_run, &mut tally);
    }
    if !args.dry_run {
        all.unfinished.iter().try_for_each(|path| ledger::delete(path))?;
    }
    unfinished::clean(args.dry_run, &mut tally);
    tally.print(args);
    if !args.json {
        cache::mention();
    }
    Ok(if tally.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// Asks for passwords of accounts that no file holds: removing a database needs its account.
fn ask_passwords(all: &[FoundLedger]) -> Result<()> {
    let dead = all.iter().filter(|found| found.owner().is_none());
    let resources = dead.flat_map(FoundLedger::resources);
    let account = |resource: &Resource| match resource {
        Resource::Database { account, .. } => Some(account.clone()),
        _ => None,
    };
    let accounts: Vec<Account> = resources.filter_map(account).collect();
    match accounts.iter().any(Account::must_be_asked) {
        true => ask::passwords(&accounts, &Interrupt::listen()?),
        false => Ok(()),
    }
}

fn clean(found: &FoundLedger, dry_run: bool, tally: &mut Tally) -> Result<()> {
    if let Some(pid) = found.owner() {
        let used = found.left(Asking::ThisMachine)?;
        tally.in_use.extend(used.iter().map(|resource| format!("{resource}, by process {pid}")));
        return Ok(());
    }
    let asking = if dry_run { Asking::ThisMachine } else { Asking::Everyone };
    let left = found.left(asking)?;
    let unproven = found.unproven()?;
    tally.failed.extend(unproven.iter().map(|resource| {
        format!("{resource} may be anybody's: nothing was noted to know it by; remove it by hand")
    }));
    tally.left_alone.extend(found.replaced(asking)?.iter().map(ToString::to_string));
    for resource in &left {
        match if dry_run { Ok(()) } else { resource.remove() } {
            Ok(()) => tally.remove(resource, &left, dry_run),
            Err(error) => tally.failed.push(format!("{error:#}")),
        }
    }
    if dry_run { Ok(()) } else { found.close_if_done(asking) }
}

fn clean_unreadable(ledger: &UnreadableLedger, dry_run: bool, tally: &mut Tally) {
    match (ledger.owner(), ledger.remove(dry_run)) {
        (Some(pid), _) => tally.in_use.push(format!("{ledger}, by process {pid}")),
        (None, Ok(true)) => tally.remove_named(format!("{ledger}, which was empty"), dry_run),
        (None, Ok(false)) => tally.failed.push(format!(
            "{ledger}; remove what it lists with umount, losetup --detach and rm, then delete it"
        )),
        (None, Err(error)) => tally.failed.push(format!("{error:#}")),
    }
}

fn verb(dry_run: bool) -> &'static str {
    if dry_run { "would remove" } else { "removed" }
}

impl Tally {
    /// Records the removal of `resource`, one of `all` that are removed. The file or image under a
    /// drive is kept, unless its directory is removed; the sentence says which.
    fn remove(&mut self, resource: &Resource, all: &[Resource], dry_run: bool) {
        let goes = |media: &Path| {
            let holds_media = |resource: &Resource| match resource {
                Resource::Directory { path } => media.starts_with(path.path()),
                _ => false,
            };
            all.iter().any(holds_media)
        };
        self.done.push(match resource {
            Resource::Drive { media, .. } => {
                let verb = if dry_run { "would detach" } else { "detached" };
                let kept = match media {
                    media if goes(media) => "",
                    media if ImageName::is_meant(media) => "; the image is kept",
                    _ => "; the file is kept",
                };
                format!("{verb} {}{kept}", media.display())
            }
            // A dry run does not log in, so whether the database exists is not known.
            Resource::Database { .. } | Resource::Image(_) if dry_run => {
                format!("{} {resource}, if it is still there", verb(dry_run))
            }
            resource => format!("{} {resource}", verb(dry_run)),
        });
        self.removed.push(resource.to_string());
    }

    fn remove_named(&mut self, name: String, dry_run: bool) {
        self.done.push(format!("{} {name}", verb(dry_run)));
        self.removed.push(name);
    }

    fn print(&self, args: &CleanArgs) {
        if args.json {
            let Tally { removed, failed, in_use, left_alone, .. } = self;
            print::line(json!({
                "dry_run": args.dry_run, "removed": removed, "failed": failed, "in_use": in_use,
                "left_alone": left_alone,
            }));
            return;
        }
        self.done.iter().for_each(print::line);
        self.in_use
            .iter()
            .for_each(|resource| print::line(format_args!("still in use: {resource}")));
        self.left_alone.iter().for_each(|resource| {
            print::line(format_args!("left alone: {resource}, which is not the one that was made"));
        });
        self.failed.iter().for_each(|failure| print::line(format_args!("{failure}")));
        if self.removed.is_empty() && self.failed.is_empty() && self.left_alone.is_empty() {
            print::line("nothing to clean");
        }
    }
}
