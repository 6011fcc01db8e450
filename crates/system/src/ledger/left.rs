//! Reads the ledgers of other processes, living or dead.
//!
//! Guarantees: an unreadable ledger does not prevent reading the others; resources in the ledger of
//! a living process are that process's alone.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use assay_base::text::on_one_line;
use assay_ports::child::{Identity, Process, identity};

use super::{LEDGERS, LedgerContents, boot_id};
use crate::resource::{Asking, Presence, Resource};
use crate::{private, state};

/// Largest ledger that is read: a run records some dozens of resources, some hundred bytes each.
const LEDGER_BYTES_MAX: u64 = 4 << 20;

#[derive(Debug, Clone)]
pub struct FoundLedger {
    path: PathBuf,
    pages: LedgerContents,
}

/// A file among the ledgers that cannot be read as one.
#[derive(Debug)]
pub struct UnreadableLedger {
    path: PathBuf,
    reason: String,
    /// The process that wrote it, by the file's name.
    writer: Option<Identity>,
    names_nothing: bool,
}

/// The ledgers on the machine, except this process's own.
#[derive(Debug, Default)]
pub struct Ledgers {
    /// Ledgers. Resources in the ledger of a living process are removed from all others.
    pub found: Vec<FoundLedger>,
    pub unreadable: Vec<UnreadableLedger>,
    /// Files that dead processes had begun to write and never renamed.
    pub unfinished: Vec<PathBuf>,
}

/// Every ledger on the machine, except this process's own. Logs a warning for each unreadable one.
pub fn found() -> Result<Vec<FoundLedger>> {
    let Ledgers { found, unreadable, .. } = ledgers()?;
    for ledger in unreadable {
        log::warn!("{ledger}; `assay clean` says what to do");
    }
    Ok(found)
}

/// Like [`found`], with the unreadable ledgers.
pub fn ledgers() -> Result<Ledgers> {
    ledgers_in(&state::directory()?.join(LEDGERS))
}

/// Removes the ledgers of dead processes without remaining resources: killed before they made
/// anything, or cleaned up by hand.
pub fn sweep() -> Result<()> {
    let all = ledgers()?;
    for found in &all.found {
        if found.owner().is_none() {
            found.close_if_done(Asking::ThisMachine)?;
        }
    }
    all.unfinished.iter().try_for_each(|path| delete(path))
}

pub(crate) fn ledgers_in(directory: &Path) -> Result<Ledgers> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Ledgers::default()),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", directory.display()));
        }
    };
    let mut all = Ledgers::default();
    for entry in entries {
        let path = entry?.path();
        match path.extension().and_then(std::ffi::OsStr::to_str) {
            Some("json") => all.add(path),
            Some(private::STAGED) if writer(&path).is_some_and(|writer| !lives(writer)) => {
                all.unfinished.push(path);
            }
            _ => {}
        }
    }
    all.leave_to_the_living();
    all.found.retain(|found| found.pages.pid != std::process::id());
    Ok(all)
}

/// Parses a ledger's file. Paths must be absolute and without `..`, because removal follows them.
fn read(bytes: &[u8]) -> Result<LedgerContents, String> {
    let pages: LedgerContents = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    match pages.resources.iter().find(|resource| !resource.is_well_named()) {
        Some(resource) => Err(format!("{resource} is no place where Assay makes anything")),
        None => Ok(pages),
    }
}

impl Ledgers {
    fn add(&mut self, path: PathBuf) {
        let bytes = match private::read(&path, LEDGER_BYTES_MAX) {
            // Its process has just removed the last of its resources.
            Ok(None) => return,
            Ok(Some(bytes)) => Ok(bytes),
            Err(error) => Err(error.to_string()),
        };
        let pages = bytes.as_ref().map_err(String::clone).and_then(|bytes| read(bytes));
        match pages {
            Ok(pages) => self.found.push(FoundLedger { path, pages }),
            Err(reason) => {
                // Each resource begins with its kind.
                let names = |bytes: &Vec<u8>| bytes.windows(6).any(|word| word == b"\"kind\"");
                let (writer, names_nothing) = (writer(&path), bytes.is_ok_and(|it| !names(&it)));
                self.unreadable.push(UnreadableLedger { path, reason, writer, names_nothing });
            }
        }
    }

    /// Removes from the ledgers of dead processes every resource in a ledger of a living one.
    fn leave_to_the_living(&mut self) {
        let (living, mut dead): (Vec<FoundLedger>, Vec<FoundLedger>) =
            std::mem::take(&mut self.found)
                .into_iter()
                .partition(|ledger| ledger.owner().is_some());
        let taken: Vec<&Resource> =
            living.iter().flat_map(|ledger| &ledger.pages.resources).collect();
        for ledger in &mut dead {
            ledger
                .pages
                .resources
                .retain(|resource| !taken.iter().any(|taken| resource.touches(taken)));
        }
        self.found = living.into_iter().chain(dead).collect();
    }
}

impl UnreadableLedger {
    /// The process that wrote it, if it lives.
    #[must_use]
    pub fn owner(&self) -> Option<u32> {
        self.writer.filter(|writer| lives(*writer)).map(|writer| writer.pid)
    }

    /// Deletes the file unless it is needed: its process is dead, and it names no resource. Returns
    /// true if it is deleted, or would be without `dry_run`.
    pub fn remove(&self, dry_run: bool) -> Result<bool> {
        let is_needless = self.writer.is_some() && self.owner().is_none() && self.names_nothing;
        if is_needless && !dry_run {
            delete(&self.path)?;
        }
        Ok(is_needless)
    }
}

impl fmt::Display for UnreadableLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = format!("{} cannot be read as a ledger ({})", self.path.display(), self.reason);
        write!(f, "{}", on_one_line(&line))
    }
}

/// The process that a ledger belongs to, by the ledger's name.
fn writer(path: &Path) -> Option<Identity> {
    let (pid, start_ticks) = path.file_stem()?.to_str()?.split_once('-')?;
    Some(Identity { pid: pid.parse().ok()?, start_ticks: start_ticks.parse().ok()? })
}

fn lives(process: Identity) -> bool {
    identity(process.pid) == Some(process)
}

/// Deletes a file that others may have deleted already.
pub fn delete(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot delete {}", path.display()))
        }
        _ => Ok(()),
    }
}

impl FoundLedger {
    /// The process that still uses these resources, if it lives; by its number in its own PID
    /// namespace.
    #[must_use]
    pub fn owner(&self) -> Option<u32> {
        let LedgerContents { pid, start_ticks, .. } = self.pages;
        let is_here = self.is_of_this_boot() && lives(Identity { pid, start_ticks });
        (is_here || private::is_held(&self.path)).then_some(pid)
    }

    /// Fails if a process elsewhere uses these resources: in another PID namespace, or on another
    /// machine with this state.
    pub fn ensure_dead(&self) -> Result<()> {
        match self.owner() {
            None => Ok(()),
            Some(pid) => bail!(
                "process {pid} still uses it, in another PID namespace or on another machine; end \
                 it there"
            ),
        }
    }

    /// A handle of the process, if it lives.
    pub fn process(&self) -> Result<Option<Process>> {
        let LedgerContents { pid, start_ticks, .. } = self.pages;
        if !self.is_of_this_boot() {
            return Ok(None);
        }
        Ok(Process::open_known(Identity { pid, start_ticks })?)
    }

    /// Returns true if that process, of this boot, wrote the ledger.
    #[must_use]
    pub fn is_of(&self, process: Identity) -> bool {
        let LedgerContents { pid, start_ticks, .. } = self.pages;
        self.is_of_this_boot() && Identity { pid, start_ticks } == process
    }

    /// The process and its study, if the ledger is that of a run in progress.
    #[must_use]
    pub fn run(&self) -> Option<(u32, &Path)> {
        Some((self.owner()?, self.pages.study.as_deref()?))
    }

    /// Returns true for a ledger of this boot: numbers of processes and files start anew with each
    /// boot.
    #[must_use]
    pub fn is_of_this_boot(&self) -> bool {
        self.pages.boot_id == boot_id()
    }

    /// The recorded resources in the order in which they were made, whether they exist or not.
    #[must_use]
    pub fn resources(&self) -> &[Resource] {
        &self.pages.resources
    }

    /// The recorded resources that exist or may exist, the last made first.
    pub fn left(&self, asking: Asking) -> Result<Vec<Resource>> {
        self.that_are(&[Presence::There, Presence::Unasked], asking)
    }

    /// The recorded resources that were replaced by something else, which is left alone.
    pub fn replaced(&self, asking: Asking) -> Result<Vec<Resource>> {
        self.that_are(&[Presence::Another], asking)
    }

    /// The recorded resources that may be the existing ones, without proof: they stay, and the
    /// ledger with them.
    pub fn unproven(&self) -> Result<Vec<Resource>> {
        self.that_are(&[Presence::Unproven], Asking::ThisMachine)
    }

    /// [`FoundLedger::close`]s the ledger if none of its resources is left.
    pub fn close_if_done(&self, asking: Asking) -> Result<()> {
        let is_done = self.left(asking)?.is_empty() && self.unproven()?.is_empty();
        if is_done { self.close() } else { Ok(()) }
    }

    fn that_are(&self, wanted: &[Presence], asking: Asking) -> Result<Vec<Resource>> {
        let mut those = Vec::new();
        for resource in self.pages.resources.iter().rev() {
            let is_gone_with_boot = !self.is_of_this_boot()
                && matches!(
                    resource,
                    Resource::Process { .. } | Resource::Loop { .. } | Resource::Mount(_)
                );
            if !is_gone_with_boot && wanted.contains(&resource.presence(asking)?) {
                those.push(resource.clone());
            }
        }
        Ok(those)
    }

    /// The same ledger with `change` applied to its resources, to add what a ledger does not store.
    #[must_use]
    pub fn with(mut self, change: impl FnMut(&mut Resource)) -> FoundLedger {
        self.pages.resources.iter_mut().for_each(change);
        self
    }

    /// Deletes the ledger, once none of its resources is left. Another process may have deleted it
    /// already.
    pub fn close(&self) -> Result<()> {
        delete(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_goes_on_is_found_and_other_living_ledgers_are_none() {
        let directory = tempfile::tempdir().unwrap();
        // The process that started this one lives as long as the test.
        let parent = identity(std::os::unix::process::parent_id()).unwrap();
        let write = |start_ticks: u64, study: &str| {
            let text = format!(
                "{{\"pid\": {}, \"start_ticks\": {start_ticks}, \"boot_id\": \"{}\", \
                 {study}\"resources\": []}}",
                parent.pid,
                boot_id()
            );
            let name = format!("{}-{start_ticks}.json", parent.pid);
            std::fs::write(directory.path().join(name), text).unwrap();
        };
        let runs = || {
            let found = ledgers_in(directory.path()).unwrap().found;
            found.iter().filter_map(|ledger| Some(ledger.run()?.1.to_owned())).collect::<Vec<_>>()
        };
        write(parent.start_ticks, "");
        write(parent.start_ticks + 1, "\"study\": \"/of/another/process\", ");
        assert_eq!(runs(), Vec::<PathBuf>::new());
        write(parent.start_ticks, "\"study\": \"/some/study\", ");
        assert_eq!(runs(), [PathBuf::from("/some/study")]);
    }

    #[test]
    fn what_cannot_be_read_is_told_and_goes_when_it_names_nothing_and_its_process_is_dead() {
        let directory = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
        let me = identity(std::process::id()).unwrap();
        let mine = format!("{}-{}", me.pid, me.start_ticks);
        write("4194305-1.json", "");
        write("4194305-2.json", "{\"pid\": 1, \"resources\": [{\"kind\": \"directory\", \"pa");
        write("notes.json", "buy milk");
        write(&format!("{mine}.json"), "");
        write("4194305-1.new", "{\"pid\"");
        write(&format!("{mine}.new"), "{\"pid\"");
        let all = ledgers_in(directory.path()).unwrap();
        assert_eq!(all.unfinished, [directory.path().join("4194305-1.new")]);
        assert_eq!((all.found.len(), all.unreadable.len()), (0, 4));
        let removed = all.unreadable.iter().filter(|ledger| ledger.remove(false).unwrap());
        let removed: Vec<_> = removed.map(|ledger| ledger.path.clone()).collect();
        assert_eq!(removed, [directory.path().join("4194305-1.json")]);
        assert!(!removed[0].exists() && directory.path().join("4194305-2.json").exists());
        let owners: Vec<_> = all.unreadable.iter().filter_map(UnreadableLedger::owner).collect();
        assert_eq!(owners, [me.pid]);
    }
}
