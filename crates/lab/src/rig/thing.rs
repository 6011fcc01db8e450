//! The things that a rig makes on this machine, and how each is removed.
//!
//! Tear-down and `assay clean` remove by the same code, so what one can undo the other can. Removing what is
//! already gone is a success.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use assay_ports::child::{Identity, identity};
use assay_ports::{filesystem, loopdev};
use serde::{Deserialize, Serialize};

/// How long a busy mount is tried again.
const BUSY_PATIENCE: Duration = Duration::from_secs(10);

/// Something that exists on this machine because we made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Thing {
    /// A folder, removed with all that it holds.
    Folder {
        /// Absolute path.
        path: PathBuf,
    },
    /// A loop device, known by the file behind it because the kernel picks its number.
    Loop {
        /// Absolute path of the file.
        backing: PathBuf,
    },
    /// A mounted file system.
    Mount {
        /// Absolute path of the folder that it is mounted on.
        target: PathBuf,
    },
    /// A server.
    Process {
        /// Process number.
        pid: u32,
        /// Start in clock ticks since boot, so that a reused number is not mistaken for ours.
        start_ticks: u64,
    },
}

impl Thing {
    /// Whether it is still there.
    ///
    /// # Errors
    /// What the system answered when asked.
    pub fn exists(&self) -> Result<bool> {
        Ok(match self {
            Thing::Folder { path } => path.symlink_metadata().is_ok(),
            Thing::Loop { backing } => {
                backing.exists() && !loopdev::attached_to(backing)?.is_empty()
            }
            Thing::Mount { target } => mounted_at_or_below(target)?.iter().any(|at| at == target),
            Thing::Process { pid, start_ticks } => {
                identity(*pid) == Some(Identity { pid: *pid, start_ticks: *start_ticks })
            }
        })
    }

    /// Removes it.
    ///
    /// # Errors
    /// What stands in the way, e.g. a mount that is in use; the thing is then still there.
    pub fn remove(&self) -> Result<()> {
        if !self.exists()? {
            return Ok(());
        }
        match self {
            Thing::Folder { path } => remove_folder(path),
            Thing::Loop { backing } => loopdev::attached_to(backing)?
                .iter()
                .try_for_each(|device| Ok(loopdev::detach(device)?)),
            Thing::Mount { target } => unmount(target),
            Thing::Process { pid, .. } => kill(*pid),
        }
        .with_context(|| format!("cannot remove {self}"))
    }
}

/// A process that was just killed lets go of its files only when its last read or write has come back, which
/// nobody but the kernel knows; so a busy mount is tried again for a while.
fn unmount(target: &Path) -> Result<()> {
    let deadline = Instant::now() + BUSY_PATIENCE;
    loop {
        match filesystem::unmount(target) {
            Err(error) if error.to_string().contains("busy") && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(50));
            }
            done => return Ok(done?),
        }
    }
}

/// Never reaches through a mount: what is mounted below belongs to somebody, and deleting it cannot be undone.
fn remove_folder(path: &Path) -> Result<()> {
    // Whatever a ledger may say by then, only what bears our mark is ours to delete.
    let is_ours =
        |part: std::path::Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b"assay-");
    ensure!(
        path.is_absolute() && path.components().any(is_ours),
        "{} is not a folder of ours",
        path.display()
    );
    if let Some(mount) = mounted_at_or_below(path)?.first() {
        bail!("{} is still mounted; unmount it first", mount.display());
    }
    Ok(std::fs::remove_dir_all(path)?)
}

fn mounted_at_or_below(path: &Path) -> Result<Vec<PathBuf>> {
    let mounts = filesystem::mounts().context("cannot read the mounts")?;
    Ok(mounts.into_iter().map(|mount| mount.target).filter(|at| at.starts_with(path)).collect())
}

fn kill(pid: u32) -> Result<()> {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let pid = Pid::from_raw(pid.cast_signed()).context("no such process number")?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    pidfd_send_signal(&pidfd, Signal::KILL)?;
    // A mount stays busy until the kernel has let go of the process's files, which the pidfd tells.
    rustix::event::poll(
        &mut [rustix::event::PollFd::new(&pidfd, rustix::event::PollFlags::IN)],
        Some(&rustix::event::Timespec { tv_sec: 30, tv_nsec: 0 }),
    )?;
    Ok(())
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Thing::Folder { path } => write!(f, "folder {}", path.display()),
            Thing::Loop { backing } => write!(f, "loop device over {}", backing.display()),
            Thing::Mount { target } => write!(f, "mount on {}", target.display()),
            Thing::Process { pid, .. } => write!(f, "server with process number {pid}"),
        }
    }
}
