//! The ledger: what this process has made on the machine, written down before it is made.
//!
//! One small file for each process that runs rigs. While it lives, [`Made`] guards take things down and strike
//! them out; after a `kill -9` the file is all that is left, and `assay clean` works through it backwards.
//! Promise: what exists is written down, at worst with something that never came to be.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use assay_ports::child::{Identity, identity};
use serde::{Deserialize, Serialize};

use super::thing::Thing;
use crate::sync::lock;

/// The folder of ledgers in the state folder.
const LEDGERS: &str = "ledgers";

/// The ledger of this process.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    pages: Mutex<Pages>,
}

/// What a ledger's file holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pages {
    pid: u32,
    start_ticks: u64,
    boot_id: String,
    things: Vec<Thing>,
}

/// A thing that was made; dropping it removes it.
#[derive(Debug)]
pub struct Made {
    thing: Thing,
    ledger: Arc<Ledger>,
    is_removed: bool,
}

impl Ledger {
    /// The ledger of this process, in the state folder.
    ///
    /// # Errors
    /// The folder cannot be made or `/proc` not read.
    pub fn open() -> Result<Arc<Ledger>> {
        Ledger::open_in(&state_folder().join(LEDGERS))
    }

    fn open_in(folder: &Path) -> Result<Arc<Ledger>> {
        std::fs::create_dir_all(folder).with_context(|| {
            format!("cannot make the state folder {}; set ASSAY_STATE to another", folder.display())
        })?;
        let me = identity(std::process::id()).context("cannot read /proc/self/stat")?;
        let path = folder.join(format!("{}-{}.json", me.pid, me.start_ticks));
        let pages = Pages {
            pid: me.pid,
            start_ticks: me.start_ticks,
            boot_id: boot_id(),
            things: Vec::new(),
        };
        Ok(Arc::new(Ledger { path, pages: Mutex::new(pages) }))
    }

    /// Writes `thing` down, then has it made. If making fails, whatever came of it is removed again.
    ///
    /// # Errors
    /// What `make` answered, or that the ledger cannot be written (nothing is made then).
    pub fn make<T>(
        self: &Arc<Self>,
        thing: Thing,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<(Made, T)> {
        self.change(|things| things.push(thing.clone()))?;
        let made = Made { thing, ledger: Arc::clone(self), is_removed: false };
        let value = make()?;
        Ok((made, value))
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Thing>)) -> Result<()> {
        let mut pages = lock(&self.pages);
        change(&mut pages.things);
        write(&self.path, &pages)
    }
}

impl Made {
    /// Removes the thing now and says if that failed; dropping does the same and can only log it.
    ///
    /// # Errors
    /// What stands in the way; the thing then stays in the ledger for `assay clean`.
    pub fn remove(mut self) -> Result<()> {
        self.remove_once()
    }

    /// Leaves the thing as it is, in the ledger, for `assay clean`.
    pub fn leave(mut self) {
        self.is_removed = true;
    }

    fn remove_once(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_removed, true) {
            return Ok(());
        }
        self.thing.remove()?;
        self.ledger.change(|things| {
            if let Some(index) = things.iter().rposition(|thing| *thing == self.thing) {
                things.remove(index);
            }
        })
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if let Err(error) = self.remove_once() {
            log::error!("{error:#}; `assay clean` tries again");
        }
    }
}

/// A ledger found on the machine.
#[derive(Debug, Clone)]
pub struct Found {
    path: PathBuf,
    pages: Pages,
}

/// Every ledger on the machine, this process's own left out.
///
/// # Errors
/// The state folder cannot be read.
pub fn found() -> Result<Vec<Found>> {
    found_in(&state_folder().join(LEDGERS))
}

fn found_in(folder: &Path) -> Result<Vec<Found>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", folder.display()));
        }
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = match std::fs::read_to_string(&path) {
                // Its process has just taken down the last of its things.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                text => text.with_context(|| format!("cannot read {}", path.display()))?,
            };
            let pages: Pages = serde_json::from_str(&text).with_context(|| {
                format!("{} is not a ledger; look at it and delete it", path.display())
            })?;
            found.push(Found { path, pages });
        }
    }
    found.retain(|found| found.pages.pid != std::process::id());
    Ok(found)
}

impl Found {
    /// The process that still uses these things, if it lives.
    #[must_use]
    pub fn owner(&self) -> Option<u32> {
        let Pages { pid, start_ticks, ref boot_id, .. } = self.pages;
        let lives =
            *boot_id == self::boot_id() && identity(pid) == Some(Identity { pid, start_ticks });
        lives.then_some(pid)
    }

    /// What is written down, whether it is there or not, in the order in which it was made.
    #[must_use]
    pub fn things(&self) -> &[Thing] {
        &self.pages.things
    }

    /// What is written down and still there, last made first.
    ///
    /// # Errors
    /// What the system answered when asked.
    pub fn left(&self) -> Result<Vec<Thing>> {
        let mut left = Vec::new();
        for thing in self.pages.things.iter().rev() {
            // Process numbers and start times begin anew with each boot.
            let is_gone_with_boot =
                matches!(thing, Thing::Process { .. }) && self.pages.boot_id != boot_id();
            if !is_gone_with_boot && thing.exists()? {
                left.push(thing.clone());
            }
        }
        Ok(left)
    }

    /// Removes the ledger itself, once nothing of it is left; others may have done so.
    ///
    /// # Errors
    /// The file cannot be deleted.
    pub fn close(&self) -> Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot delete {}", self.path.display()))
            }
            _ => Ok(()),
        }
    }
}

/// Where this program keeps what must outlive it: `$ASSAY_STATE`, else `$XDG_STATE_HOME/assay`, else
/// `~/.local/state/assay` (XDG Base Directory Specification).
#[must_use]
pub fn state_folder() -> PathBuf {
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("ASSAY_STATE")
        .or_else(|| Some(variable("XDG_STATE_HOME")?.join("assay")))
        .or_else(|| Some(variable("HOME")?.join(".local/state/assay")))
        .unwrap_or_else(|| PathBuf::from("/var/tmp/assay"))
}

fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// An empty ledger has no file. Renamed into place, so that a reader never sees half of one.
fn write(path: &Path, pages: &Pages) -> Result<()> {
    let what = || format!("cannot write the ledger {}", path.display());
    if pages.things.is_empty() {
        return match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(what)
            }
            _ => Ok(()),
        };
    }
    let staged = path.with_extension("new");
    std::fs::write(&staged, serde_json::to_vec_pretty(pages)?).with_context(what)?;
    std::fs::rename(&staged, path).with_context(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> (tempfile::TempDir, Arc<Ledger>) {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open_in(&folder.path().join("ledgers")).unwrap();
        (folder, ledger)
    }

    #[test]
    fn a_dropped_thing_is_gone_and_struck_out() {
        let (folder, ledger) = ledger();
        let path = folder.path().join("assay-made");
        let thing = Thing::Folder { path: path.clone() };
        let (made, ()) = ledger.make(thing, || Ok(std::fs::create_dir(&path)?)).unwrap();
        assert!(ledger.path.is_file() && path.is_dir());
        drop(made);
        assert!(!ledger.path.exists() && !path.exists());
    }

    #[test]
    fn what_a_failed_making_left_is_removed() {
        let (folder, ledger) = ledger();
        let path = folder.path().join("assay-made");
        let thing = Thing::Folder { path: path.clone() };
        let made = ledger.make(thing, || {
            std::fs::create_dir(&path)?;
            anyhow::bail!("no luck") as Result<()>
        });
        assert_eq!(made.unwrap_err().to_string(), "no luck");
        assert!(!path.exists());
    }

    #[test]
    fn the_ledger_of_a_dead_process_tells_what_is_left() {
        let (folder, ledger) = ledger();
        let path = folder.path().join("assay-made");
        let gone = Thing::Folder { path: folder.path().join("assay-never") };
        let kept = ledger.make(gone, || Ok(())).unwrap();
        let thing = Thing::Folder { path: path.clone() };
        let made = ledger.make(thing.clone(), || Ok(std::fs::create_dir(&path)?)).unwrap();
        // The same text under the number of a process that has ended.
        let text = std::fs::read_to_string(&ledger.path).unwrap();
        let text = text.replace(&format!("\"pid\": {}", std::process::id()), "\"pid\": 4194305");
        std::fs::write(ledger.path.with_file_name("4194305-1.json"), text).unwrap();
        let found = found_in(&folder.path().join("ledgers")).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].owner(), found[0].left().unwrap()), (None, vec![thing]));
        drop((kept, made));
    }
}
