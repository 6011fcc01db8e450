//! A mount of Assay's.
//!
//! Guarantees: a mount is identified by the mounted device, not by its mount point; mounts of
//! others in the same place stay.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use assay_ports::filesystem;
use rustix::fs::{FileType, major, minor};
use serde::{Deserialize, Serialize};

use super::Presence;
use super::users::{refuse, users_of};

/// How long unmounting a busy mount is repeated.
const BUSY_PATIENCE: Duration = Duration::from_secs(10);

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnMount {
    /// Absolute path, without links, of the mount point.
    target: PathBuf,
    /// `None` in ledgers of earlier versions: then no mount is taken for Assay's.
    #[serde(default)]
    of: Option<Source>,
}

/// The mounted device in the kernel's terms (`proc(5)`, `mountinfo`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Source {
    /// Absolute path, without links, of the device; for a kernel's own file system, its type.
    name: String,
    /// The device's number as `major:minor`, or the file system's if it has no device.
    device_number: Option<String>,
}

impl OwnMount {
    /// A mount of the file system on `device`, to be mounted on `target`.
    pub fn of_device(device: &Path, target: &Path) -> Result<OwnMount> {
        let device = device.canonicalize().with_context(|| device.display().to_string())?;
        let stat = rustix::fs::stat(&device)?;
        let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
        let number = || format!("{}:{}", major(stat.st_rdev), minor(stat.st_rdev));
        let name = device.to_string_lossy().into_owned();
        OwnMount::new(target, Source { name, device_number: is_device.then(number) })
    }

    /// A mount of a file system of the kernel, such as `tracefs`.
    pub fn of_kernels(kind: &str, target: &Path) -> Result<OwnMount> {
        OwnMount::new(target, Source { name: kind.to_owned(), device_number: None })
    }

    fn new(target: &Path, of: Source) -> Result<OwnMount> {
        let target = target.canonicalize().with_context(|| target.display().to_string())?;
        Ok(OwnMount { target, of: Some(of) })
    }

    /// The mount point.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The last of several mounts in one place covers the others.
    pub(super) fn presence(&self) -> Result<Presence> {
        let here = self.mounts_here()?;
        Ok(match here.iter().any(|mount| self.is_ours(mount)) {
            true => Presence::There,
            false if here.is_empty() => Presence::Gone,
            false if self.of.is_none() => Presence::Unproven,
            false => Presence::Another,
        })
    }

    fn mounts_here(&self) -> Result<Vec<filesystem::Mount>> {
        let mounts = filesystem::mounts().context("cannot read the mounts")?;
        Ok(mounts.into_iter().filter(|mount| mount.target == self.target).collect())
    }

    /// btrfs gives each of its mounts a number of its own.
    fn is_ours(&self, mount: &filesystem::Mount) -> bool {
        let Some(of) = &self.of else { return false };
        match &of.device_number {
            Some(number) if mount.file_system != "btrfs" => mount.device_number == *number,
            _ => mount.source == of.name,
        }
    }

    /// Unmounts the file system. Busy mounts are retried for a while: a process that was just
    /// killed closes its files only when its last read or write returns.
    pub(super) fn remove(&self) -> Result<()> {
        let top = self.mounts_here()?.pop();
        ensure!(
            top.is_some_and(|mount| self.is_ours(&mount)),
            "another file system is mounted over it; unmount that first"
        );
        let deadline = Instant::now() + BUSY_PATIENCE;
        loop {
            match filesystem::unmount(&self.target) {
                Err(error) if error.is_busy() && Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(error) if error.is_busy() => {
                    refuse(&self.target, &users_of(&self.target)?)?;
                    return Err(error.into());
                }
                done => return Ok(done?),
            }
        }
    }
}
