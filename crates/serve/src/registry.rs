//! What is attached where: the drives that the ledgers on this machine tell of.

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
use assay_system::ledger::{self, Found};
use assay_system::resource::{Asking, Resource, ensure_unused};

/// How long is waited for a server to end of which nobody knows whether it does.
const END_PATIENCE: Duration = Duration::from_millis(500);

/// How long a server that was killed may take to end: it lets go of its media with its last thread, which must have a CPU for that, and
/// what it asked the kernel for.
const KILLED_PATIENCE: Duration = Duration::from_secs(10);

/// How long a server may take to say how its drive is.
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);

/// A drive that is attached, or that was until its server died.
#[derive(Debug)]
pub struct Attached {
    /// By the name that it had when it was attached.
    pub media: PathBuf,
    media_id: Option<FileId>,
    /// Where its file is shown.
    pub mount_point: PathBuf,
    /// The directory of its server: status, log and socket.
    pub directory: PathBuf,
    /// The process that the drive belongs to; none once it has died.
    pub owner: Option<u32>,
    resource: Resource,
    ledger: Found,
}

/// A drive as a command finds it.
#[derive(Debug)]
pub enum Drive {
    /// Its server has it; whoever wants something asks there.
    Served(Box<Attached>),
    /// Its server has died and left a mount or device; what it lies on can be opened.
    Died(Box<Attached>),
    /// Nobody has it, as far as the ledgers tell.
    AtRest {
        /// What it lies on.
        media: PathBuf,
    },
}

impl Drive {
    /// What a drive lies on that is not served.
    pub fn media_at_rest(&self) -> Option<&Path> {
        match self {
            Drive::Served(_) => None,
            Drive::Died(attached) => Some(&attached.media),
            Drive::AtRest { media } => Some(media),
        }
    }
}

/// The drive `named` by its media or its device.
///
/// # Errors
/// The ledgers cannot be read.
pub fn look_up(named: &Path) -> Result<Drive> {
    Ok(match find(named)?.map(Box::new) {
        Some(attached) if attached.owner.is_some() => Drive::Served(attached),
        Some(attached) => Drive::Died(attached),
        None => Drive::AtRest { media: named.to_owned() },
    })
}

/// The drive that lies on the media `named`, whatever it was called when it was attached, or else the one that is shown
/// as the device `named`, or in the directory, or as the file in it: a drive may lie on another one's device.
///
/// # Errors
/// The ledgers cannot be read.
pub fn find(named: &Path) -> Result<Option<Attached>> {
    let path = place::resolved(named)
        .ok()
        .filter(|_| ImageName::is_meant(named))
        .unwrap_or_else(|| without_links(named));
    let id = FileId::named(named).ok();
    let mut shown = None;
    for one in served_first()? {
        if one.lies_on(&path, id) {
            return Ok(Some(one));
        }
        let is_shown_in = one.mount_point == path || one.file() == path;
        if shown.is_none() && (is_shown_in || one.devices()?.contains(&path)) {
            shown = Some(one);
        }
    }
    Ok(shown)
}

/// The drive that lies on `media`, an absolute path without links.
///
/// # Errors
/// The ledgers cannot be read.
pub fn find_media(media: &Path) -> Result<Option<Attached>> {
    let id = FileId::named(media).ok();
    Ok(served_first()?.into_iter().find(|one| one.lies_on(media, id)))
}

/// What servers that died have left of drives that lay under this name, on whatever file that was: media that come back
/// on a file system mounted anew are another file to the kernel.
///
/// # Errors
/// The ledgers cannot be read.
pub fn died_under_name(media: &Path) -> Result<Vec<Attached>> {
    let died = |one: &Attached| one.owner.is_none() && one.media == media;
    Ok(all()?.into_iter().filter(died).collect())
}

/// Whether a ledger tells of a drive on `media`; where none can be read, one may.
pub fn is_attached(media: &Path) -> bool {
    find(media).map_or(true, |found| found.is_some())
}

fn served_first() -> Result<Vec<Attached>> {
    let mut attached = all()?;
    attached.sort_by_key(|one| one.owner.is_none());
    Ok(attached)
}

/// Every drive that a ledger tells of and of which something is there.
///
/// # Errors
/// The ledgers cannot be read.
pub fn all() -> Result<Vec<Attached>> {
    let mut all = Vec::new();
    for found in ledger::found()? {
        for resource in found.resources() {
            if let Resource::Drive { media, media_id, mount_point, directory, .. } = resource
                && resource.may_exist(Asking::ThisMachine)?
            {
                all.push(Attached {
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

/// The path without links, also of what is not there any more or cannot be asked, as the mount of a dead server.
fn without_links(named: &Path) -> PathBuf {
    if ImageName::is_meant(named) {
        return named.to_owned();
    }
    let Ok(absolute) = std::path::absolute(named) else { return named.to_owned() };
    let resolved = absolute.ancestors().find_map(|front| {
        let behind = absolute.strip_prefix(front).ok()?;
        // Joined to nothing, a path would end in a slash.
        let front = front.canonicalize().ok()?;
        Some(if behind.as_os_str().is_empty() { front } else { front.join(behind) })
    });
    resolved.unwrap_or(absolute)
}

impl Attached {
    /// Whether it lies on this file. Names count only where there is no file to compare: one that is there may be another
    /// one under its old name.
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

    /// The block devices that show it: one, or none in a directory.
    ///
    /// # Errors
    /// The loop devices cannot be read.
    pub fn devices(&self) -> Result<Vec<PathBuf>> {
        loopdev::attached_under(&self.mount_point).context("cannot list the loop devices")
    }

    /// What a user calls it by: its device, or else its file.
    ///
    /// # Errors
    /// The loop devices cannot be read.
    pub fn shown_as(&self) -> Result<PathBuf> {
        Ok(self.devices()?.into_iter().next().unwrap_or_else(|| self.file()))
    }

    /// Where its devices are mounted.
    ///
    /// # Errors
    /// The mounts cannot be read.
    pub fn mounted_on(&self) -> Result<Vec<PathBuf>> {
        let devices = self.devices()?;
        let mounts = filesystem::mounts().context("cannot read the mounts")?;
        let is_ours = |mount: &filesystem::Mount| devices.iter().any(|at| mount.is_of(at));
        Ok(mounts.into_iter().filter(is_ours).map(|mount| mount.target).collect())
    }

    /// What is there of it, without its server being asked; told as what is left of one that died.
    ///
    /// # Errors
    /// The loop devices or the mounts cannot be read.
    pub fn left_over(&self) -> Result<Attachment> {
        let device = self.devices()?.into_iter().next();
        let file = device.is_none().then(|| self.file());
        let mounted_on = self.mounted_on()?;
        let log = log::found_of(&self.media);
        Ok(Attachment { server_died: true, device, file, mounted_on, log, ..Attachment::default() })
    }

    /// How the drive is, in the words of its server.
    ///
    /// # Errors
    /// Its server is not there yet, or not any more, or was stopped: then nobody would answer.
    pub fn health(&self) -> Result<Health> {
        self.ensure_running()?;
        let media = self.media.display();
        let being = || format!("{media} is being attached or detached; try again");
        match asked::ask(&self.directory, ANSWER_PATIENCE) {
            Ok(Some(text)) => Health::parse(&text).with_context(being),
            // It does not listen yet, or is one of before.
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

    /// Whether what shows it is there: a server mounts first, and attaches the device then.
    ///
    /// # Errors
    /// The loop devices cannot be read.
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

    /// Its server, held; nothing once that has died.
    ///
    /// # Errors
    /// What the system answered when asked.
    pub(crate) fn process(&self) -> Result<Option<Process>> {
        self.ledger.process()
    }

    /// Whether its server has died.
    ///
    /// # Errors
    /// What the system answered when asked.
    pub fn has_died_by_now(&self) -> Result<bool> {
        let Some(server) = self.process()? else {
            return Ok(true);
        };
        Ok(server.wait(Some(Duration::ZERO))?)
    }

    /// Whether its server was stopped, by a signal or a debugger.
    pub fn is_stopped(&self) -> bool {
        self.owner.is_some_and(is_stopped)
    }

    /// Whether its server was killed and has not ended yet.
    pub fn is_ending(&self) -> bool {
        self.owner.is_some_and(is_ending)
    }

    /// Whether its server has died, or does so within a moment.
    ///
    /// # Errors
    /// What the system answered when asked.
    pub fn has_died(&self) -> Result<bool> {
        let Some(server) = self.process()? else {
            return Ok(true);
        };
        let patience = if self.is_ending() { KILLED_PATIENCE } else { END_PATIENCE };
        Ok(server.wait(Some(patience))?)
    }

    /// Removes what a server that died has left.
    ///
    /// # Errors
    /// Who uses its device still; what the system answered.
    pub fn clear(&self) -> Result<()> {
        self.ledger.ensure_dead()?;
        let unused = self.devices()?.iter().try_for_each(|device| ensure_unused(device));
        unused.with_context(|| format!("the server of {} has died", self.media.display()))?;
        self.resource.remove()?;
        self.ledger.close_if_done(Asking::ThisMachine)
    }
}
