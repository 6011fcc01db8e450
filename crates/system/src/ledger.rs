//! The ledger: everything that this process made on the machine, recorded before it is made.
//!
//! One small file per process that runs rigs. While the process lives, a [`LedgerGuard`] removes
//! its resource and strikes it out; after a `kill -9` the file remains, and `assay clean` works
//! through it backwards.
//!
//! Guarantees: every existing resource is recorded, possibly with some that were never made; what
//! existed before is never taken over; a ledger that others could have written is not read. The
//! process holds a lock on its ledger, so that it counts as living even where its process number
//! differs: in a container with the same state, or on another machine.

mod left;

use parking_lot::Mutex;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use assay_ports::child::identity;
use assay_ports::rbd::{self, ClusterAccess, ImageName, NewImage, PoolIo};
use serde::{Deserialize, Serialize};

#[cfg(test)]
pub(crate) use self::left::ledgers_in;
pub use self::left::{FoundLedger, UnreadableLedger, delete, found, ledgers, sweep};
use super::image::OwnImage;
use super::owned::OwnDirectory;
use super::resource::Resource;
use super::{private, state};

/// Directory of the ledgers in the state directory.
const LEDGERS: &str = "ledgers";

/// The ledger of this process.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    pages: Mutex<LedgerContents>,
    /// The file in its last version, locked until this process ends.
    held: Mutex<Option<File>>,
}

/// The contents of a ledger's file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LedgerContents {
    pid: u32,
    start_ticks: u64,
    boot_id: String,
    /// The study being measured, for the ledger of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    study: Option<PathBuf>,
    resources: Vec<Resource>,
}

/// A resource that is recorded and not made yet. Dropping it strikes it out.
#[derive(Debug)]
struct Draft {
    resource: Resource,
    ledger: Arc<Ledger>,
    is_made: bool,
}

/// A resource that was made. Dropping it removes the resource.
#[derive(Debug)]
pub struct LedgerGuard {
    resource: Resource,
    ledger: Arc<Ledger>,
    is_removed: bool,
}

impl Ledger {
    /// Opens the ledger of this process, in the state directory.
    pub fn open() -> Result<Arc<Ledger>> {
        Ledger::open_in(&state::below(LEDGERS)?, None)
    }

    /// Opens the ledger of a run into `study`, by which other processes find the run.
    pub fn of_run(study: &Path) -> Result<Arc<Ledger>> {
        Ledger::open_in(&state::below(LEDGERS)?, Some(study.to_owned()))
    }

    /// Opens a ledger in the existing `directory`.
    pub fn open_in(directory: &Path, study: Option<PathBuf>) -> Result<Arc<Ledger>> {
        let me = identity(std::process::id()).context("cannot read /proc/self/stat")?;
        let path = directory.join(format!("{}-{}.json", me.pid, me.start_ticks));
        let pages = LedgerContents {
            pid: me.pid,
            start_ticks: me.start_ticks,
            boot_id: boot_id(),
            study,
            resources: Vec::new(),
        };
        Ok(Arc::new(Ledger { path, pages: Mutex::new(pages), held: Mutex::default() }))
    }

    /// Records `resource`, then calls `make`. If making fails, a partly made resource is removed
    /// again. If the ledger cannot be written, nothing is made.
    pub fn make<T>(
        self: &Arc<Self>,
        resource: Resource,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<(LedgerGuard, T)> {
        ensure!(resource.proves_itself(), "{resource} cannot be known again before it is made");
        let made = self.draft(resource.clone())?.made(resource)?;
        let value = make()?;
        Ok((made, value))
    }

    /// Makes the directory `path`, with access for this user alone, in an existing directory. Fails
    /// if an entry of that name exists, and leaves it alone.
    pub fn make_directory(self: &Arc<Self>, path: &Path) -> Result<LedgerGuard> {
        self.make_with_directory(path, |path| Resource::Directory { path })
    }

    /// Makes the directory `path` of a resource that consists of more than a directory, as
    /// [`Ledger::make_directory`] does.
    pub fn make_with_directory(
        self: &Arc<Self>,
        path: &Path,
        of: impl Fn(OwnDirectory) -> Resource,
    ) -> Result<LedgerGuard> {
        let meant = OwnDirectory::meant(path)?;
        let draft = self.draft(of(meant.clone()))?;
        let directory = meant.make()?;
        draft.made(of(directory))
    }

    /// Makes the image `name` in the pool of `io`. Fails if it exists, and leaves it alone.
    pub fn make_image(
        self: &Arc<Self>,
        access: &ClusterAccess,
        io: &PoolIo,
        name: &ImageName,
        new: &NewImage,
    ) -> Result<LedgerGuard> {
        let meant = OwnImage::meant(name, &access.libraries);
        let draft = self.draft(Resource::Image(meant.clone()))?;
        rbd::create(io, name, new)?;
        // The image now belongs to this process. If its id cannot be read, dropping `made` removes
        // it by its name, which no other image ever has.
        let made = draft.made(Resource::Image(meant.clone()))?;
        let id = rbd::id(io, name)?;
        made.now(Resource::Image(meant.made(id)))
    }

    /// Records a resource that is to be made.
    fn draft(self: &Arc<Self>, resource: Resource) -> Result<Draft> {
        self.change(|resources| resources.push(resource.clone()))?;
        Ok(Draft { resource, ledger: Arc::clone(self), is_made: false })
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Resource>)) -> Result<()> {
        let mut pages = self.pages.lock();
        change(&mut pages.resources);
        let held = write(&self.path, &pages)?;
        *self.held.lock() = held;
        Ok(())
    }

    fn replace(&self, former: &Resource, resource: &Resource) -> Result<()> {
        match former == resource {
            true => Ok(()),
            false => self.change(|resources| {
                if let Some(index) = position(resources, former) {
                    resources[index] = resource.clone();
                }
            }),
        }
    }

    fn strike_out(&self, resource: &Resource) -> Result<()> {
        self.change(|resources| {
            if let Some(index) = position(resources, resource) {
                resources.remove(index);
            }
        })
    }
}

fn position(resources: &[Resource], resource: &Resource) -> Option<usize> {
    resources.iter().rposition(|recorded| recorded == resource)
}

impl Draft {
    /// The resource was made; `resource` identifies it.
    fn made(mut self, resource: Resource) -> Result<LedgerGuard> {
        self.is_made = true;
        let made = LedgerGuard {
            resource: resource.clone(),
            ledger: Arc::clone(&self.ledger),
            is_removed: false,
        };
        self.ledger.replace(&self.resource, &resource)?;
        Ok(made)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_made
            && let Err(error) = self.ledger.strike_out(&self.resource)
        {
            log::error!("{error:#}");
        }
    }
}

impl LedgerGuard {
    /// Replaces the resource by one with more identification.
    fn now(mut self, resource: Resource) -> Result<LedgerGuard> {
        self.ledger.replace(&self.resource, &resource)?;
        self.resource = resource;
        Ok(self)
    }

    /// Adds the number of the mount to a mounted drive, which tells it from another drive mounted
    /// in the same place.
    pub fn mounted(self) -> Result<LedgerGuard> {
        let resource = self.resource.clone().mounted()?;
        self.now(resource)
    }

    /// Removes the resource now and returns an error if that fails; dropping can only log the
    /// error. After an error the resource stays in the ledger for `assay clean`.
    pub fn remove(mut self) -> Result<()> {
        self.remove_once()
    }

    #[cfg(test)]
    pub(crate) fn resource(&self) -> &Resource {
        &self.resource
    }

    /// Keeps the resource and its entry in the ledger, for `assay clean`.
    pub fn leave(mut self) {
        self.is_removed = true;
    }

    fn remove_once(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_removed, true) {
            return Ok(());
        }
        self.resource.remove()?;
        self.ledger.strike_out(&self.resource)
    }
}

impl Drop for LedgerGuard {
    fn drop(&mut self) {
        if let Err(error) = self.remove_once() {
            log::error!("{error:#}; `assay clean` tries again");
        }
    }
}

fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// An empty ledger has no file.
fn write(path: &Path, pages: &LedgerContents) -> Result<Option<File>> {
    if pages.resources.is_empty() {
        return delete(path).map(|()| None);
    }
    private::write(path, &serde_json::to_vec_pretty(pages)?)
        .map(Some)
        .with_context(|| format!("cannot write the ledger {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Asking;

    fn ledger() -> (tempfile::TempDir, Arc<Ledger>) {
        let directory = tempfile::tempdir().unwrap();
        let study = Some(directory.path().join("study"));
        std::fs::create_dir(directory.path().join("ledgers")).unwrap();
        let ledger = Ledger::open_in(&directory.path().join("ledgers"), study).unwrap();
        (directory, ledger)
    }

    #[test]
    fn a_dropped_thing_is_gone_and_struck_out() {
        let (directory, ledger) = ledger();
        let path = directory.path().join("made");
        let made = ledger.make_directory(&path).unwrap();
        std::fs::write(path.join("file"), "").unwrap();
        assert!(ledger.path.is_file());
        drop(made);
        assert!(!ledger.path.exists() && !path.exists());
    }

    #[test]
    fn what_a_failed_making_left_is_removed() {
        let (_directory, ledger) = ledger();
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let assay_ports::child::Identity { pid, start_ticks } = identity(child.id()).unwrap();
        let made = ledger.make(Resource::Process { pid, start_ticks }, || {
            anyhow::bail!("no luck") as Result<()>
        });
        assert_eq!(made.unwrap_err().to_string(), "no luck");
        let ended = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(9));
    }

    #[test]
    fn what_is_there_before_it_is_made_stays() {
        let (directory, ledger) = ledger();
        let path = directory.path().join("assay-made");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("ibdata1"), "precious").unwrap();
        let error = format!("{:#}", ledger.make_directory(&path).unwrap_err());
        assert!(error.starts_with("cannot make ") && error.contains("File exists"), "{error}");
        assert_eq!(std::fs::read(path.join("ibdata1")).unwrap(), b"precious");
        assert!(!ledger.path.exists(), "struck out");
    }

    #[test]
    fn what_cannot_be_known_again_is_not_made_by_its_name() {
        let (directory, ledger) = ledger();
        let path = OwnDirectory::meant(&directory.path().join("made")).unwrap();
        assert!(ledger.make(Resource::Directory { path }, || Ok(())).is_err());
    }

    #[test]
    fn the_ledger_of_a_dead_process_tells_what_is_left() {
        let (directory, ledger) = ledger();
        let path = directory.path().join("made");
        let gone = ledger.make_directory(&directory.path().join("gone")).unwrap();
        std::fs::remove_dir(directory.path().join("gone")).unwrap();
        let made = ledger.make_directory(&path).unwrap();
        // The same text under the number of a process that has ended, without the resources of this
        // process.
        let text = std::fs::read_to_string(&ledger.path).unwrap();
        let text = text.replace(&format!("\"pid\": {}", std::process::id()), "\"pid\": 4194305");
        std::fs::write(ledger.path.with_file_name("4194305-1.json"), text).unwrap();
        let directory = directory.path().join("ledgers");
        assert_eq!(ledgers_in(&directory).unwrap().found[0].resources(), [], "the living have it");
        std::fs::rename(&ledger.path, directory.join("aside")).unwrap();
        let found = ledgers_in(&directory).unwrap().found;
        assert_eq!(found.len(), 1);
        let left = found[0].left(Asking::Everyone).unwrap();
        assert_eq!((found[0].owner(), left), (None, vec![made.resource.clone()]));
        assert_eq!(found[0].run(), None, "a dead process measures nothing");
        drop((gone, made));
    }
}
