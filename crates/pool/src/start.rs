//! Starting the daemon of a private cluster, which outlives this process or belongs to it.

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

/// What a cluster takes on the disk before anything is stored, in bytes: the monitor's own tables, and for each store its log
/// and its tables (measured: 60 MB and 75 MB).
const MONITOR_BYTES: u64 = 200 << 20;
const STORE_BYTES: u64 = 150 << 20;

/// What they take of memory beside what is kept there of data, in bytes (measured: 41 MiB the monitor, 297 MiB the manager, 590 to
/// 790 MiB a store).
const MONITOR_MEMORY_BYTES: u64 = 350 << 20;
const STORE_MEMORY_BYTES: u64 = 700 << 20;

/// What an empty cluster takes on the disk, in bytes.
#[must_use]
pub fn empty_bytes(stores: u16) -> u64 {
    MONITOR_BYTES + STORE_BYTES * u64::from(stores)
}

/// What clusters with so many stores in all take of memory, in bytes.
#[must_use]
pub fn memory_needed_bytes(stores: u64) -> u64 {
    MONITOR_MEMORY_BYTES + STORE_MEMORY_BYTES * stores
}

/// How long a cluster's process may take to end its children and to remove what they kept.
const STOP_PATIENCE: Duration = Duration::from_secs(120);

/// What the process is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) spec: Spec,
    /// Absolute path of the cluster's directory, which is not there yet.
    pub(crate) directory: PathBuf,
}

/// Starts the cluster in a new directory within `location`, or in the state directory; its process outlives this one. `progress`
/// gets a plain line for each step.
///
/// # Errors
/// One line; nothing is left then.
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

/// A cluster that belongs to this process, with which it dies. Dropped, it is stopped and all that it kept removed.
#[derive(Debug)]
pub struct OwnCluster {
    /// Where it is.
    pub layout: Layout,
    /// Number of its process, whose children are its monitor, its manager and its stores.
    pub pid: u32,
    server: Child,
}

impl OwnCluster {
    /// Starts it in a new directory within `location`. `progress` gets a plain line for each step.
    ///
    /// # Errors
    /// One line; nothing is left then.
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

    /// Stops it, and removes all that it kept.
    ///
    /// # Errors
    /// It left something, which stays for `assay clean`.
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

/// What the cluster's process came to say.
enum Heard {
    Up(Started),
    Failed(String),
    Ended,
}

/// The process that is to run the cluster, the line to it, and its job.
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

/// The directory of a new cluster: its name is another one each time, and bears our mark.
fn new_directory(spec: &Spec, location: Option<&Path>) -> Result<PathBuf> {
    let parent = match location {
        Some(named) => named.canonicalize().with_context(|| named.display().to_string())?,
        None => state::below("pools")?,
    };
    ensure!(parent.is_dir(), "{} is not a directory; name one", parent.display());
    let (free, needed) = (free_bytes(&parent)?, empty_bytes(spec.stores));
    ensure!(
        free >= needed,
        "{} has {} MB free, and an empty cluster of {} stores takes {} MB; free some, or name another place with --directory",
        parent.display(),
        free / 1_000_000,
        spec.stores,
        needed / 1_000_000
    );
    Ok(parent.join(new_name(&format!("pool-{}", spec.name))))
}
