//! Starts the daemon of a private cluster, which outlives this process or ends with it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use assay_ports::child::{self, Child, describe};
use assay_system::daemon::{Life, Line};
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
    let (mut command, mut line, job) = prepared(spec, location, Life::Independent)?;
    let mut server = command.spawn().context(CANNOT_START)?;
    drop(command);
    match hear(&mut line, &job, progress)? {
        Heard::Up(started) => Ok(started),
        Heard::Failed(reason) => {
            server.wait()?;
            bail!(reason);
        }
        Heard::Ended => bail!(ended(&describe(server.wait()?))),
    }
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
        let (command, mut line, job) = prepared(spec, Some(location), Life::Tied)?;
        let mut server = child::spawn(command, &[]).context(CANNOT_START)?;
        match hear(&mut line, &job, progress)? {
            Heard::Up(started) => {
                Ok(OwnCluster { layout: Layout::new(&started.directory), pid: started.pid, server })
            }
            Heard::Failed(reason) => {
                server.stop(STOP_PATIENCE)?;
                bail!(reason);
            }
            Heard::Ended => bail!(ended(&describe(server.stop(STOP_PATIENCE)?))),
        }
    }

    /// Stops the cluster and removes its data. After an error the rest stays for `assay clean`.
    pub fn stop(mut self) -> Result<()> {
        let status = self.server.stop(STOP_PATIENCE)?;
        ensure!(status.success(), "{}", ended(&describe(status)));
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

const CANNOT_START: &str = "cannot start the cluster's process";

fn ended(how: &str) -> String {
    format!("the cluster's process ended with {how}; `assay clean` removes what it left")
}

enum Heard {
    Up(Started),
    Failed(String),
    Ended,
}

/// The command of the daemon, the connection to it, and its job.
fn prepared(spec: &Spec, location: Option<&Path>, life: Life) -> Result<(Command, Line, Job)> {
    spec.check()?;
    ledger::sweep()?;
    if let Some(former) = registry::find(&spec.name)? {
        former.make_way()?;
    }
    let job = Job { spec: spec.clone(), directory: new_directory(spec, location)? };
    let words: [&OsStr; 3] = ["pool".as_ref(), "serve".as_ref(), job.directory.as_os_str()];
    let (command, line) = Line::to_server(&words, life)?;
    Ok((command, line, job))
}

fn hear(line: &mut Line, job: &Job, progress: &dyn Fn(&str)) -> Result<Heard> {
    let mut heard = line.ask::<Answer>(&serde_json::to_string(job)?)?;
    loop {
        match heard {
            Some(Answer::Step(step)) => progress(&step),
            Some(Answer::Up(started)) => return Ok(Heard::Up(started)),
            Some(Answer::Failed(reason)) => return Ok(Heard::Failed(reason)),
            None => return Ok(Heard::Ended),
        }
        heard = line.hear()?;
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
