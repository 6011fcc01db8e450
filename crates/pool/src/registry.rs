//! Finds the private clusters recorded in the ledgers of this machine.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use assay_system::ledger::{self, FoundLedger};
use assay_system::resource::{Asking, Resource};
use rustix::process::Signal;

use super::layout::Layout;

/// Time limit for a daemon to stop its children and to remove their data.
const STOP_PATIENCE: Duration = Duration::from_secs(120);

/// A private cluster, or the remains of one whose daemon died.
#[derive(Debug)]
pub struct RegisteredCluster {
    pub name: String,
    pub layout: Layout,
    /// Process number of its daemon; `None` if that has died.
    pub owner: Option<u32>,
    ledger: FoundLedger,
}

/// Every cluster that exists at least in part.
pub fn all() -> Result<Vec<RegisteredCluster>> {
    let mut all = Vec::new();
    for found in ledger::found()? {
        for resource in found.resources() {
            if let Resource::Pool { name, directory } = resource
                && resource.may_exist(Asking::ThisMachine)?
            {
                all.push(RegisteredCluster {
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
pub fn running() -> Result<Vec<RegisteredCluster>> {
    Ok(all()?.into_iter().filter(|cluster| cluster.owner.is_some()).collect())
}

/// The cluster of that name; a running one takes precedence over remains.
pub fn find(name: &str) -> Result<Option<RegisteredCluster>> {
    Ok(all()?.into_iter().find(|cluster| cluster.name == name))
}

impl RegisteredCluster {
    /// Removes the remains of a cluster, so that its name is free. Fails if it runs.
    pub(crate) fn make_way(&self) -> Result<()> {
        ensure!(
            self.owner.is_none(),
            "the pool cluster {0} already runs; stop it with `assay pool stop --name {0}`, or give \
             another --name",
            self.name
        );
        self.clear()
    }

    /// Stops the cluster and removes its data.
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

    /// The path of the configuration file, which exists.
    #[must_use]
    pub fn conf(&self) -> PathBuf {
        self.layout.conf()
    }

    /// Removes what a dead daemon left.
    fn clear(&self) -> Result<()> {
        self.ledger.ensure_dead()?;
        for resource in self.ledger.left(Asking::ThisMachine)? {
            resource.remove().with_context(|| format!("the cluster {}", self.name))?;
        }
        self.ledger.close_if_done(Asking::ThisMachine)
    }
}
