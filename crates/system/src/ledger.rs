//! The ledger: what this process has made on the machine, written down before it is made.
//!
//! One small file for each process that runs rigs. While it lives, [`Made`] guards take resources down and strike
//! them out; after a `kill -9` the file is all that is left, and `assay clean` works through it backwards.
//! Guarantees: what exists is written down, at worst with something that never came to be.

mod left;

use parking_lot::Mutex;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_ports::child::identity;
use serde::{Deserialize, Serialize};

pub use self::left::{Found, Unreadable, delete, found, ledgers, sweep};
use super::resource::Resource;

/// The directory of ledgers in the state directory.
const LEDGERS: &str = "ledgers";

/// How the name of a ledger ends that is being written.
const STAGED: &str = "new";

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
    /// The study that is measured, if it is the ledger of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    study: Option<PathBuf>,
    resources: Vec<Resource>,
}

/// A resource that was made; dropping it removes it.
#[derive(Debug)]
pub struct Made {
    resource: Resource,
    ledger: Arc<Ledger>,
    is_removed: bool,
}

impl Ledger {
    /// The ledger of this process, in the state directory.
    ///
    /// # Errors
    /// The directory cannot be made or `/proc` not read.
    pub fn open() -> Result<Arc<Ledger>> {
        Ledger::open_in(&state_directory().join(LEDGERS), None)
    }

    /// As [`Ledger::open`], of a run into `study`: others that look for runs find it.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn of_run(study: &Path) -> Result<Arc<Ledger>> {
        Ledger::open_in(&state_directory().join(LEDGERS), Some(study.to_owned()))
    }

    fn open_in(directory: &Path, study: Option<PathBuf>) -> Result<Arc<Ledger>> {
        std::fs::create_dir_all(directory).with_context(|| {
            format!(
                "cannot make the state directory {}; set ASSAY_STATE to another",
                directory.display()
            )
        })?;
        let me = identity(std::process::id()).context("cannot read /proc/self/stat")?;
        let path = directory.join(format!("{}-{}.json", me.pid, me.start_ticks));
        let pages = Pages {
            pid: me.pid,
            start_ticks: me.start_ticks,
            boot_id: boot_id(),
            study,
            resources: Vec::new(),
        };
        Ok(Arc::new(Ledger { path, pages: Mutex::new(pages) }))
    }

    /// Writes `resource` down, then has it made. If making fails, whatever came of it is removed again.
    ///
    /// # Errors
    /// What `make` answered, or that the ledger cannot be written (nothing is made then).
    pub fn make<T>(
        self: &Arc<Self>,
        resource: Resource,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<(Made, T)> {
        self.change(|resources| resources.push(resource.clone()))?;
        let made = Made { resource, ledger: Arc::clone(self), is_removed: false };
        let value = make()?;
        Ok((made, value))
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Resource>)) -> Result<()> {
        let mut pages = self.pages.lock();
        change(&mut pages.resources);
        write(&self.path, &pages)
    }
}

impl Made {
    /// Removes the resource now and says if that failed; dropping does the same and can only log it.
    ///
    /// # Errors
    /// What stands in the way; the resource then stays in the ledger for `assay clean`.
    pub fn remove(mut self) -> Result<()> {
        self.remove_once()
    }

    /// Leaves the resource as it is, in the ledger, for `assay clean`.
    pub fn leave(mut self) {
        self.is_removed = true;
    }

    fn remove_once(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_removed, true) {
            return Ok(());
        }
        self.resource.remove()?;
        self.ledger.change(|resources| {
            if let Some(index) = resources.iter().rposition(|resource| *resource == self.resource) {
                resources.remove(index);
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

/// Where this program keeps what must outlive it: `$ASSAY_STATE`, else `$XDG_STATE_HOME/assay`, else
/// `~/.local/state/assay` (XDG Base Directory Specification).
#[must_use]
pub fn state_directory() -> PathBuf {
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

/// An empty ledger has no file. Renamed into place when it is on stable media, so that a reader never sees half of one,
/// nor anyone after a power cut.
fn write(path: &Path, pages: &Pages) -> Result<()> {
    if pages.resources.is_empty() {
        return delete(path);
    }
    write_whole(path, &serde_json::to_vec_pretty(pages)?)
        .with_context(|| format!("cannot write the ledger {}", path.display()))
}

fn write_whole(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let staged = path.with_extension(STAGED);
    let mut file = File::create(&staged)?;
    file.write_all(text)?;
    file.sync_all()?;
    std::fs::rename(&staged, path)?;
    path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::left::ledgers_in;
    use super::*;

    fn ledger() -> (tempfile::TempDir, Arc<Ledger>) {
        let directory = tempfile::tempdir().unwrap();
        let study = Some(directory.path().join("study"));
        let ledger = Ledger::open_in(&directory.path().join("ledgers"), study).unwrap();
        (directory, ledger)
    }

    #[test]
    fn a_dropped_thing_is_gone_and_struck_out() {
        let (directory, ledger) = ledger();
        let path = directory.path().join("assay-made");
        let resource = Resource::Directory { path: path.clone() };
        let (made, ()) = ledger.make(resource, || Ok(std::fs::create_dir(&path)?)).unwrap();
        assert!(ledger.path.is_file() && path.is_dir());
        drop(made);
        assert!(!ledger.path.exists() && !path.exists());
    }

    #[test]
    fn what_a_failed_making_left_is_removed() {
        let (directory, ledger) = ledger();
        let path = directory.path().join("assay-made");
        let resource = Resource::Directory { path: path.clone() };
        let made = ledger.make(resource, || {
            std::fs::create_dir(&path)?;
            anyhow::bail!("no luck") as Result<()>
        });
        assert_eq!(made.unwrap_err().to_string(), "no luck");
        assert!(!path.exists());
    }

    #[test]
    fn the_ledger_of_a_dead_process_tells_what_is_left() {
        let (directory, ledger) = ledger();
        let path = directory.path().join("assay-made");
        let gone = Resource::Directory { path: directory.path().join("assay-never") };
        let kept = ledger.make(gone, || Ok(())).unwrap();
        let resource = Resource::Directory { path: path.clone() };
        let made = ledger.make(resource.clone(), || Ok(std::fs::create_dir(&path)?)).unwrap();
        // The same text under the number of a process that has ended, and without what this one has.
        let text = std::fs::read_to_string(&ledger.path).unwrap();
        let text = text.replace(&format!("\"pid\": {}", std::process::id()), "\"pid\": 4194305");
        std::fs::write(ledger.path.with_file_name("4194305-1.json"), text).unwrap();
        let directory = directory.path().join("ledgers");
        assert_eq!(ledgers_in(&directory).unwrap().found[0].resources(), [], "the living have it");
        std::fs::rename(&ledger.path, directory.join("aside")).unwrap();
        let found = ledgers_in(&directory).unwrap().found;
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].owner(), found[0].left().unwrap()), (None, vec![resource]));
        assert_eq!(found[0].run(), None, "a dead process measures nothing");
        drop((kept, made));
    }
}
