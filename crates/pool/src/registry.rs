//! The private clusters that the ledgers on this machine tell of.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use assay_system::ledger::{self, Found};
use assay_system::resource::{Asking, Resource};
use rustix::process::Signal;

use super::layout::Layout;

/// How long a cluster's process may take to end its children and to remove what they kept.
const STOP_PATIENCE: Duration = Duration::from_secs(120);

/// A cluster, or what is left of one whose process died.
#[derive(Debug)]
pub struct Private {
    /// What it is called.
    pub name: String,
    /// Where it lies.
    pub layout: Layout,
    /// The process that it belongs to; none once that has died.
    pub owner: Option<u32>,
    ledger: Found,
}

/// Every cluster of which something is there.
///
/// # Errors
/// The ledgers cannot be read.
pub fn all() -> Result<Vec<Private>> {
    let mut all = Vec::new();
    for found in ledger::found()? {
        for resource in found.resources() {
            if let Resource::Pool { name, directory } = resource
                && resource.may_exist(Asking::ThisMachine)?
            {
                all.push(Private {
                    name: name.clone(),
                    layout: Layout::new(directory.path()),
                    owner: found.owner(),
                    ledger: found.clone(),
                });
            }
        }
    }
    all.sort_by(|a, b| (a.owner.is_none(), &a.name).cmp(&(b.owner.is_none(), &b.name)));
    Ok(all)
}

/// The clusters that run.
///
/// # Errors
/// The ledgers cannot be read.
pub fn running() -> Result<Vec<Private>> {
    Ok(all()?.into_iter().filter(|one| one.owner.is_some()).collect())
}

/// The cluster of that name; one that runs before what is left of another.
///
/// # Errors
/// The ledgers cannot be read.
pub fn find(name: &str) -> Result<Option<Private>> {
    Ok(all()?.into_iter().find(|one| one.name == name))
}

impl Private {
    /// Removes what is left of it, for another of its name.
    ///
    /// # Errors
    /// It runs; it cannot be removed.
    pub(crate) fn make_way(&self) -> Result<()> {
        ensure!(
            self.owner.is_none(),
            "the pool cluster {0} already runs; stop it with `assay pool stop --name {0}`, or give another --name",
            self.name
        );
        self.clear()
    }

    /// Stops it, and removes all that it kept.
    ///
    /// # Errors
    /// It does not end.
    pub fn stop(&self) -> Result<()> {
        let Some(process) = self.ledger.process()? else {
            return self.clear();
        };
        process.signal(Signal::TERM)?;
        if !process.wait(Some(STOP_PATIENCE))? {
            bail!(
                "the cluster {} does not end; kill its process {} and run `assay clean`",
                self.name,
                self.owner.unwrap_or_default()
            );
        }
        self.clear()
    }

    /// The conf, as a path that says it exists.
    #[must_use]
    pub fn conf(&self) -> PathBuf {
        self.layout.conf()
    }

    /// Removes what a process that died has left.
    fn clear(&self) -> Result<()> {
        self.ledger.ensure_dead()?;
        for resource in self.ledger.left(Asking::ThisMachine)? {
            resource.remove().with_context(|| format!("the cluster {}", self.name))?;
        }
        self.ledger.close_if_done(Asking::ThisMachine)
    }
}
