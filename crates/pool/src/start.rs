//! Having a private cluster started by a process that outlives this one.

use std::ffi::OsStr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use assay_ports::child::{describe, identity};
use assay_system::daemon::{Life, Line};
use assay_system::free_bytes;
use assay_system::ledger::{self, state_directory};
use serde::{Deserialize, Serialize};

use super::answer::{Answer, Started};
use super::registry;
use super::spec::Spec;

/// What a cluster takes on the disk before anything is stored, in bytes: the monitor's own tables, and for each store its log
/// and its tables (measured: 60 MB and 75 MB).
const MONITOR_BYTES: u64 = 200 << 20;
const STORE_BYTES: u64 = 150 << 20;

/// What the process is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) spec: Spec,
    /// Absolute path of the cluster's directory, which is not there yet.
    pub(crate) directory: PathBuf,
}

/// Starts the cluster in a new directory within `location`, or in the state directory. `progress` gets a plain line for each
/// step.
///
/// # Errors
/// One line; nothing is left then.
pub fn start(spec: &Spec, location: Option<&Path>, progress: &dyn Fn(&str)) -> Result<Started> {
    spec.check()?;
    ledger::sweep()?;
    if let Some(former) = registry::find(&spec.name)? {
        former.make_way()?;
    }
    let job = Job { spec: spec.clone(), directory: new_directory(spec, location)? };
    let words: [&OsStr; 3] = ["pool".as_ref(), "serve".as_ref(), job.directory.as_os_str()];
    let (mut command, mut line) = Line::to_server(&words, Life::Independent)?;
    let mut server = command.spawn().context("cannot start the cluster's process")?;
    drop(command);
    let mut heard = line.ask::<Answer>(&serde_json::to_string(&job)?)?;
    loop {
        match heard {
            Some(Answer::Step(step)) => progress(&step),
            Some(Answer::Up(started)) => return Ok(started),
            Some(Answer::Failed(reason)) => {
                server.wait()?;
                bail!(reason);
            }
            None => {
                let ending = describe(server.wait()?);
                bail!(
                    "the cluster's process ended with {ending}; `assay clean` removes what it left"
                );
            }
        }
        heard = line.hear()?;
    }
}

/// The directory of a new cluster: its name is another one each time, and bears our mark.
fn new_directory(spec: &Spec, location: Option<&Path>) -> Result<PathBuf> {
    let pools = state_directory().join("pools");
    if location.is_none() {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&pools).with_context(|| {
            format!("cannot make the directory {}; set ASSAY_STATE to another", pools.display())
        })?;
    }
    let parent = location.unwrap_or(&pools);
    let parent = parent.canonicalize().with_context(|| parent.display().to_string())?;
    ensure!(parent.is_dir(), "{} is not a directory; name one", parent.display());
    let (free, needed) =
        (free_bytes(&parent)?, MONITOR_BYTES + STORE_BYTES * u64::from(spec.stores));
    ensure!(
        free >= needed,
        "{} has {} MB free, and an empty cluster of {} stores takes {} MB; free some, or name another place with --directory",
        parent.display(),
        free / 1_000_000,
        spec.stores,
        needed / 1_000_000
    );
    let me = identity(std::process::id()).context("cannot read /proc/self/stat")?;
    Ok(parent.join(format!("assay-pool-{}-{}-{}", spec.name, me.pid, me.start_ticks)))
}
