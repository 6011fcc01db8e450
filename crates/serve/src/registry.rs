//! Finds attached drives through the ledgers on this machine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assay_ports::child::{Process, is_ending, is_stopped};
use assay_ports::file_id::FileId;
use assay_ports::rbd::ImageName;
use assay_ports::{filesystem, fuse, loopdev};

use super::asked;
use super::health::{Attachment, Health, STATUS_FILE};
use super::log;
use super::place::{self, is_same_image};
use assay_system::ledger::{self, FoundLedger};
use assay_system::resource::{Asking, Resource, ensure_unused};

/// How long to wait for a server that may be ending.
const END_PATIENCE: Duration = Duration::from_millis(500);

/// Time limit for a killed server to end: its last thread needs a CPU to close the media, and its
/// system calls must return.
const KILLED_PATIENCE: Duration = Duration::from_secs(10);

/// Time limit for a server to report its health.
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);

/// A drive that is attached, or that was attached until its server died.
#[derive(Debug)]
pub struct RegisteredDrive {
    /// The name under which it was attached.
    pub media: PathBuf,
    media_id: Option<FileId>,
    /// The directory in which its file is shown.
    pub mount_point: PathBuf,
    /// The directory of its server: status, log and socket.
    pub directory: PathBuf,
    /// Process number of its server; `None` if that has died.
    pub owner: Option<u32>,
    resource: Resource,
    ledger: FoundLedger,
}

/// A drive as a command finds it.
#[derive(Debug)]
pub enum FoundDrive {
    /// The drive is served by another process; callers send it requests.
    Served(Box<RegisteredDrive>),
    /// The server has died and left a mount or device; the media can be opened.
    Died(Box<RegisteredDrive>),
    /// The drive is not in use, according to the ledgers.
    AtRest { media: PathBuf },
}

impl FoundDrive {
    /// The media of a drive that is not served.
    pub fn media_at_rest(&self) -> Option<&Path> {
        match self {
            FoundDrive::Served(_) => None,
            FoundDrive::Died(attached) => Some(&attached.media),
            FoundDrive::AtRest { media } => Some(media),
        }
    }
}

/// The drive `named` by its media or its device.
pub fn look_up(named: &Path) -> Result<FoundDrive> {
    Ok(match find(named)?.map(Box::new) {
        Some(attached) if attached.owner.is_some() => FoundDrive::Served(attached),
        Some(attached) => FoundDrive::Died(attached),
        None => FoundDrive::AtRest { media: named.to_owned() },
    })
}

/// The drive on the media `named`, under any name, or else the drive shown as the device `named`,
/// in the directory, or as the file in it: a drive's device can be another drive's media.
pub fn find(named: &Path) -> Result<Option<RegisteredDrive>> {
    let path = place::resolved(named)
        .ok()
        .filter(|_| ImageName::is_meant(named))
        .unwrap_or_else(|| without_links(named));
    let id = FileId::named(named).ok();
    let mut shown = None;
    for drive in served_first()? {
        if drive.lies_on(&path, id) {
            return Ok(Some(drive));
        }
        let is_shown_in = drive.mount_point == path || drive.file() == path;
        if shown.is_none() && (is_shown_in || drive.devices()?.contains(&path)) {
            shown = Some(drive);
        }
    }
    Ok(shown)
}

/// The drive on `media`, an absolute path without links.
pub fn find_media(media: &Path) -> Result<Option<RegisteredDrive>> {
    let id = FileId::named(media).ok();
    Ok(served_first()?.into_iter().find(|drive| drive.lies_on(media, id)))
}

/// Remains of dead servers whose drives had this name, on any file: on a file system that was
/// mounted again, the same media are a different file for the kernel.
pub fn died_under_name(media: &Path) -> Result<Vec<RegisteredDrive>> {
    let died = |drive: &RegisteredDrive| drive.owner.is_none() && drive.media == media;
    Ok(all()?.into_iter().filter(died).collect())
}

/// Returns true if a ledger names a drive on `media`, or if no ledger can be read.
pub fn is_attached(media: &Path) -> bool {
    find(media).map_or(true, |found| found.is_some())
}

fn served_first() -> Result<Vec<RegisteredDrive>> {
    let mut attached = all()?;
    attached.sort_by_key(|drive| drive.owner.is_none());
    Ok(attached)
}

/// Every drive in a ledger with an existing resource.
pub fn all() -> Result<Vec<RegisteredDrive>> {
    let mut all = Vec::new();
    for found in ledger::found()? {
        for resource in found.resources() {
            if let Resource::Drive { media, media_id, mount_point, directory, .. } = resource
                && resource.may_exist(Asking::ThisMachine)?
            {
                all.push(RegisteredDrive {
                    media: media.clone(),
                    media_id: media_id.filter(|_| found.is_of_this_boot()),
                    mount_point: mount_point.clone(),
                    directory: directory.path().to_owned(),
                    owner: found.owner(),
                    resource: resource.clone(),
                    ledger: found.clone(),
                });
            }
        }
    }
    Ok(all)
}

/// The path without links, even if it no longer exists or cannot be read, such as the mount of a
/// dead server.
fn without_links(named: &Path) -> PathBuf {
    if ImageName::is_meant(named) {
        return named.to_owned();
    }
    let Ok(absolute) = std::path::absolute(named) else { return named.to_owned() };
    let resolved = absolute.ancestors().find_map(|front| {
        let behind = absolute.strip_prefix(front).ok()?;
        // Joining an empty path would add a slash.
        let front = front.canonicalize().ok()?;
        Some(if behind.as_os_str().is_empty() { front } else { front.join(behind) })
    });
    resolved.unwrap_or(absolute)
}

impl RegisteredDrive {
    /// Returns true if the drive is on this file. Names are compared only if there is no file to
    /// compare: a different file may have the old name.
    fn lies_on(&self, path: &Path, id: Option<FileId>) -> bool {
        match self.media_id.zip(id) {
            Some((ours, theirs)) => ours == theirs,
            None => self.media == path || is_same_image(&self.media, path),
        }
    }

    /// The drive as a file.
    pub fn file(&self) -> PathBuf {
        self.mount_point.join(fuse::DISK_FILE)
    }

    /// The block devices that show it: one, or none if it is shown in a directory.
    pub fn devices(&self) -> Result<Vec<PathBuf>> {
        loopdev::attached_under(&self.mount_point).context("cannot list the loop devices")
    }

    /// The name for users: its device, or else its file.
    pub fn shown_as(&self) -> Result<PathBuf> {
        Ok(self.devices()?.into_iter().next().unwrap_or_else(|| self.file()))
    }

    /// The mount points of its devices.
    pub fn mounted_on(&self) -> Result<Vec<PathBuf>> {
        let devices = self.devices()?;
        let mounts = filesystem::mounts().context("cannot read the mounts")?;
        let is_ours = |mount: &filesystem::Mount| devices.iter().any(|at| mount.is_of(at));
        Ok(mounts.into_iter().filter(is_ours).map(|mount| mount.target).collect())
    }

    /// The existing resources, without asking the server, as the remains of a dead one.
    pub fn left_over(&self) -> Result<Attachment> {
        let device = self.devices()?.into_iter().next();
        let file = device.is_none().then(|| self.file());
        let mounted_on = self.mounted_on()?;
        let log = log::found_of(&self.media);
        Ok(Attachment { server_died: true, device, file, mounted_on, log, ..Attachment::default() })
    }

    /// The health that its server reports. Fails if the server is starting, has ended or is
    /// stopped: then nobody would answer.
    pub fn health(&self) -> Result<Health> {
        self.ensure_running()?;
        let media = self.media.display();
        let being = || format!("{media} is being attached or detached; try again");
        match asked::ask(&self.directory, ANSWER_PATIENCE) {
            Ok(Some(text)) => Health::parse(&text).with_context(being),
            // The server does not listen yet, or is of an older version.
            Ok(None) => Health::read(&self.mount_point.join(STATUS_FILE)).with_context(being),
            Err(_) => {
                self.ensure_running()?;
                bail!(
                    "the server of {media} (process {}) does not answer; check its media",
                    self.owner.unwrap_or_default()
                )
            }
        }
    }

    /// Returns true if the drive is visible: a server mounts first, and attaches the device then.
    pub fn is_shown(&self) -> Result<bool> {
        let has_no_device = !self.mount_point.starts_with(&self.directory);
        Ok(has_no_device || !self.devices()?.is_empty())
    }

    fn ensure_running(&self) -> Result<()> {
        if let Some(pid) = self.owner.filter(|_| self.is_stopped()) {
            let media = self.media.display();
            bail!("the server of {media} is stopped; continue it with `kill -CONT {pid}`");
        }
        Ok(())
    }

    /// A handle of its server; `None` if that has died.
    pub(crate) fn process(&self) -> Result<Option<Process>> {
        self.ledger.process()
    }

    /// Returns true if its server has died.
    pub fn has_died_by_now(&self) -> Result<bool> {
        let Some(server) = self.process()? else {
            return Ok(true);
        };
        Ok(server.wait(Some(Duration::ZERO))?)
    }

    /// Returns true if its server was stopped, by a signal or a debugger.
    pub fn is_stopped(&self) -> bool {
        self.owner.is_some_and(is_stopped)
    }

    /// Returns true if its server was killed and has not ended yet.
    pub fn is_ending(&self) -> bool {
        self.owner.is_some_and(is_ending)
    }

    /// Returns true if its server has died, or dies within a moment.
    pub fn has_died(&self) -> Result<bool> {
        let Some(server) = self.process()? else {
            return Ok(true);
        };
        let patience = if self.is_ending() { KILLED_PATIENCE } else { END_PATIENCE };
        Ok(server.wait(Some(patience))?)
    }

    /// Removes the remains of a dead server. Fails if its device is in use.
    pub fn clear(&self) -> Result<()> {
        self.ledger.ensure_dead()?;
        let unused = self.devices()?.iter().try_for_each(|device| ensure_unused(device));
        unused.with_context(|| format!("the server of {} has died", self.media.display()))?;
        self.resource.remove()?;
        self.ledger.close_if_done(Asking::ThisMachine)
    }
}
