//! Starts the daemon of a private cluster, which outlives this process or ends with it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use assay_ports::child::{Child, describe};
use assay_system::daemon::Daemon;
use assay_system::free_bytes;
use assay_system::ledger;
use assay_system::{new_name, state};
use serde::{Deserialize, Serialize};

use super::answer::{Answer, Started};
use super::layout::Layout;
use super::registry;
use super::spec::Spec;

/// Disk space of an empty cluster, in bytes: the monitor's tables, and the log and tables of each
/// store (measured: 60 MB and 75 MB).
const MONITOR_BYTES: u64 = 200 << 20;
const STORE_BYTES: u64 = 150 << 20;

/// Memory in addition to cached data, in bytes (measured: 41 MiB for the monitor, 297 MiB for the
/// manager, 590 to 790 MiB for a store).
const MONITOR_MEMORY_BYTES: u64 = 350 << 20;
const STORE_MEMORY_BYTES: u64 = 700 << 20;

/// Disk space of an empty cluster, in bytes.
#[must_use]
pub fn empty_bytes(stores: u16) -> u64 {
    MONITOR_BYTES + STORE_BYTES * u64::from(stores)
}

/// Memory of clusters with that many stores in total, in bytes.
#[must_use]
pub fn memory_needed_bytes(stores: u64) -> u64 {
    MONITOR_MEMORY_BYTES + STORE_MEMORY_BYTES * stores
}

/// Time limit for a daemon to stop its children and to remove their data.
const STOP_PATIENCE: Duration = Duration::from_secs(120);

/// The daemon's job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) spec: Spec,
    /// Absolute path of the cluster's directory, which does not exist yet.
    pub(crate) directory: PathBuf,
}

/// Starts the cluster in a new directory within `location`, or in the state directory; its daemon
/// outlives this process. `progress` receives a plain line per step. After an error nothing is
/// left.
pub fn start(spec: &Spec, location: Option<&Path>, progress: &dyn Fn(&str)) -> Result<Started> {
    let job = Job::new(spec, location)?;
    job.daemon().start(|answer| read(answer, progress))
}

/// A cluster that ends with this process. Dropping it stops it and removes its data.
#[derive(Debug)]
pub struct OwnCluster {
    pub layout: Layout,
    /// Process number of its daemon, the parent of its monitor, manager and stores.
    pub pid: u32,
    server: Child,
}

impl OwnCluster {
    /// Starts the cluster in a new directory within `location`. `progress` receives a plain line
    /// per step. After an error nothing is left.
    pub fn start(spec: &Spec, location: &Path, progress: &dyn Fn(&str)) -> Result<OwnCluster> {
        let job = Job::new(spec, Some(location))?;
        let read = |answer| read(answer, progress);
        let (started, server, _) = job.daemon().start_tied(&[], STOP_PATIENCE, read)?;
        Ok(OwnCluster { layout: Layout::new(&started.directory), pid: started.pid, server })
    }

    /// Stops the cluster and removes its data. After an error the rest stays for `assay clean`.
    pub fn stop(mut self) -> Result<()> {
        let status = self.server.stop(STOP_PATIENCE)?;
        ensure!(status.success(), "{DAEMON} ended with {}{REMEDY}", describe(status));
        Ok(())
    }
}

impl Drop for OwnCluster {
    fn drop(&mut self) {
        if let Err(error) = self.server.stop(STOP_PATIENCE) {
            log::error!("the cluster in {}: {error}", self.layout.directory().display());
        }
    }
}

const DAEMON: &str = "the cluster's process";
const REMEDY: &str = "; `assay clean` removes what it left";

impl Job {
    /// Makes way for the cluster of `spec` in a new directory within `location`.
    fn new(spec: &Spec, location: Option<&Path>) -> Result<Job> {
        spec.check()?;
        ledger::sweep()?;
        if let Some(former) = registry::find(&spec.name)? {
            former.make_way()?;
        }
        Ok(Job { spec: spec.clone(), directory: new_directory(spec, location)? })
    }

    fn daemon(&self) -> Daemon<'_, Job> {
        let words = ["pool".as_ref(), "serve".as_ref(), self.directory.as_os_str()];
        Daemon { words, job: self, name: DAEMON, remedy: REMEDY }
    }
}

fn read(answer: Answer, progress: &dyn Fn(&str)) -> Result<Option<Started>> {
    match answer {
        Answer::Step(step) => {
            progress(&step);
            Ok(None)
        }
        Answer::Up(started) => Ok(Some(started)),
        Answer::Failed(reason) => bail!(reason),
    }
}

/// The directory of a new cluster: a new name each time, with Assay's prefix.
fn new_directory(spec: &Spec, location: Option<&Path>) -> Result<PathBuf> {
    let parent = match location {
        Some(named) => named.canonicalize().with_context(|| named.display().to_string())?,
        None => state::below("pools")?,
    };
    ensure!(parent.is_dir(), "{} is not a directory; name one", parent.display());
    let (free, needed) = (free_bytes(&parent)?, empty_bytes(spec.stores));
    ensure!(
        free >= needed,
        "{} has {} MB free, and an empty cluster of {} stores takes {} MB; free some, or name \
         another place with --directory",
        parent.display(),
        free / 1_000_000,
        spec.stores,
        needed / 1_000_000
    );
    Ok(parent.join(new_name(&format!("pool-{}", spec.name))))
}
