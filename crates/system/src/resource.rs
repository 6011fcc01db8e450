//! The resources that a rig makes on this machine, and how each is removed.
//!
//! Tear-down and `assay clean` remove by the same code, so what one can undo the other can. Removing what is
//! already gone is a success.
//!
//! Guarantees: each names what tells it from others, by which it is known again: what only bears its name stays.

mod mounted;
mod users;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use assay_mysql::account::Account;
use assay_ports::child::{Identity, Process, identity};
use assay_ports::file_id::FileId;
use assay_ports::waiting::Waiting;
use assay_ports::{filesystem, fuse, loopdev};
use serde::{Deserialize, Serialize};

pub use self::mounted::OwnMount;
pub use self::users::{ensure_unused, ensure_unused_now, lasting_users};
use super::database;
use super::image::OwnImage;
use super::owned::{self, OwnDirectory};
pub use super::presence::Presence;

/// How long a killed process may take to end.
const KILL_PATIENCE: Duration = Duration::from_secs(30);

/// Something that exists on this machine because we made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Resource {
    /// A directory, removed with all that it holds.
    Directory {
        /// It.
        path: OwnDirectory,
    },
    /// A loop device, known by the file behind it because the kernel picks its number.
    Loop {
        /// Absolute path of the file.
        backing: PathBuf,
        /// The same by what tells it from others, as long as the machine runs: files are moved and deleted under their
        /// devices. Without it, as ledgers of earlier versions have it, no device is known to be ours.
        #[serde(default)]
        backing_id: Option<FileId>,
    },
    /// A mounted file system.
    Mount(OwnMount),
    /// A drive that is served: its FUSE mount, the loop device over it, and its directory.
    Drive {
        /// Absolute path, without links, of the file or device that the drive lies on; it stays.
        media: PathBuf,
        /// The same by what tells it from others, for names change.
        #[serde(default)]
        media_id: Option<FileId>,
        /// Absolute path, without links, of the directory that it is mounted on.
        mount_point: PathBuf,
        /// The directory of its server, removed with all that it holds.
        directory: OwnDirectory,
        /// Number of the mount's device as `major:minor`, once it is there.
        #[serde(default)]
        mounted: Option<String>,
    },
    /// A Ceph cluster of our own: the directory with all that it keeps. Its processes die with the one that runs it.
    Pool {
        /// What it is called.
        name: String,
        /// The directory, removed with all that it holds.
        directory: OwnDirectory,
    },
    /// An image in a pool of a cluster that somebody else runs.
    Image(OwnImage),
    /// A trace of the kernel's: its directory in `tracefs`, which goes with all that is traced.
    Trace {
        /// It.
        instance: OwnDirectory,
    },
    /// A server.
    Process {
        /// Process number.
        pid: u32,
        /// Start in clock ticks since boot, so that a reused number is not mistaken for ours.
        start_ticks: u64,
    },
    /// A database on a server that somebody else runs.
    Database {
        /// How to log in there; the password is kept elsewhere.
        account: Account,
        /// Its name.
        name: String,
        /// What its mark says, so that another one of that name is not taken for ours.
        mark: String,
    },
}

/// Who may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// This machine's kernel.
    ThisMachine,
    /// Servers and clusters, too, with the passwords and keys that they take.
    Everyone,
}

impl Resource {
    /// Whether it is still there.
    ///
    /// # Errors
    /// What the system answered when asked.
    pub fn presence(&self, asking: Asking) -> Result<Presence> {
        Ok(match self {
            Resource::Directory { path: directory }
            | Resource::Pool { directory, .. }
            | Resource::Trace { instance: directory } => directory.presence(),
            Resource::Loop { backing, backing_id } => {
                let is_ours = !loops_over(backing, *backing_id)?.is_empty();
                let shows_it = || -> Result<bool> {
                    Ok(loopdev::shown()?.iter().any(|shown| shown.backing == *backing))
                };
                match backing_id.is_none() && shows_it()? {
                    true => Presence::Unproven,
                    false => there_if(is_ours),
                }
            }
            Resource::Mount(mount) => mount.presence()?,
            Resource::Drive { .. } => self.presence_of_drive()?,
            Resource::Process { pid, start_ticks } => {
                there_if(identity(*pid) == Some(Identity { pid: *pid, start_ticks: *start_ticks }))
            }
            Resource::Database { .. } | Resource::Image(_) if asking == Asking::ThisMachine => {
                Presence::Unasked
            }
            Resource::Database { account, name, mark } => database::presence(account, name, mark),
            Resource::Image(image) => image.presence(),
        })
    }

    /// Whether it is there, or may be.
    ///
    /// # Errors
    /// As [`Resource::presence`].
    pub fn may_exist(&self, asking: Asking) -> Result<bool> {
        Ok(matches!(self.presence(asking)?, Presence::There | Presence::Unasked))
    }

    /// Whether it is known again by what only what was made can have, so that it may be written down before it exists.
    pub(crate) fn proves_itself(&self) -> bool {
        match self {
            Resource::Directory { .. }
            | Resource::Drive { .. }
            | Resource::Pool { .. }
            | Resource::Image(_)
            | Resource::Trace { .. } => false,
            Resource::Loop { .. }
            | Resource::Mount(_)
            | Resource::Process { .. }
            | Resource::Database { .. } => true,
        }
    }

    /// Whether all places that it names are absolute and without `..`.
    pub(crate) fn is_well_named(&self) -> bool {
        self.places().into_iter().all(owned::is_well_named)
    }

    /// Whether taking one of the two down could take the other with it.
    #[must_use]
    pub fn touches(&self, other: &Resource) -> bool {
        let (ours, theirs) = (self.places(), other.places());
        let overlap = |a: &Path, b: &Path| a.starts_with(b) || b.starts_with(a);
        self == other || ours.iter().any(|a| theirs.iter().any(|b| overlap(a, b)))
    }

    fn places(&self) -> Vec<&Path> {
        match self {
            Resource::Directory { path: directory }
            | Resource::Pool { directory, .. }
            | Resource::Trace { instance: directory } => vec![directory.path()],
            Resource::Loop { backing, .. } => vec![backing],
            Resource::Mount(mount) => vec![mount.target()],
            // What a drive lies on stays as it is.
            Resource::Drive { mount_point, directory, .. } => vec![mount_point, directory.path()],
            Resource::Process { .. } | Resource::Database { .. } | Resource::Image(_) => vec![],
        }
    }

    /// Removes it. What is there in its place is left alone.
    ///
    /// # Errors
    /// What stands in the way, e.g. a mount that is in use; the resource is then still there.
    pub fn remove(&self) -> Result<()> {
        if !self.may_exist(Asking::Everyone)? {
            return Ok(());
        }
        let name = self.to_string();
        let _waiting = Waiting::on(move || format!("{name} to be removed"));
        match self {
            Resource::Directory { path: directory } | Resource::Pool { directory, .. } => {
                directory.remove()
            }
            Resource::Loop { backing, backing_id } => loops_over(backing, *backing_id)?
                .iter()
                .try_for_each(|shown| Ok(loopdev::detach(&shown.device, &shown.backing)?)),
            Resource::Mount(mount) => mount.remove(),
            Resource::Trace { instance } => instance.remove_as_it_is(),
            Resource::Drive { .. } => self.remove_drive(),
            Resource::Process { pid, start_ticks } => {
                kill(Identity { pid: *pid, start_ticks: *start_ticks })
            }
            Resource::Database { account, name, mark } => database::remove(account, name, mark),
            Resource::Image(image) => image.remove(),
        }
        .with_context(|| format!("cannot remove {self}"))
    }

    fn presence_of_drive(&self) -> Result<Presence> {
        let Resource::Drive { directory, .. } = self else { return Ok(Presence::Gone) };
        let has_shown = self.is_served()? || !self.loops_of_drive()?.is_empty();
        Ok(if has_shown { Presence::There } else { directory.presence() })
    }

    /// The same with the number of the mount that is there by now.
    pub(crate) fn mounted(mut self) -> Result<Resource> {
        if let Resource::Drive { mount_point, mounted, .. } = &mut self {
            *mounted = drives_on(mount_point)?.pop().map(|mount| mount.device_number);
        }
        Ok(self)
    }

    /// Whether a mount of this drive is there; the user's own directory may hold other mounts, and of other drives.
    fn is_served(&self) -> Result<bool> {
        let Resource::Drive { mount_point, directory, mounted, .. } = self else {
            return Ok(false);
        };
        let is_in_ours = is_in_ours(mount_point, directory);
        let ours = |mount: &filesystem::Mount| {
            is_in_ours || mounted.as_ref().is_some_and(|number| *number == mount.device_number)
        };
        Ok(drives_on(mount_point)?.iter().any(ours))
    }

    /// A drive in a directory of the user's is no block device.
    fn loops_of_drive(&self) -> Result<Vec<PathBuf>> {
        match self {
            Resource::Drive { mount_point, directory, .. }
                if is_in_ours(mount_point, directory) =>
            {
                Ok(loopdev::attached_under(mount_point)?)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Its server has ended, or hangs: nothing here waits for it. What is still in use stays whole.
    fn remove_drive(&self) -> Result<()> {
        let Resource::Drive { mount_point, directory, .. } = self else { return Ok(()) };
        let devices = self.loops_of_drive()?;
        devices.iter().try_for_each(|device| ensure_unused(device))?;
        if self.is_served()? {
            fuse::abort(mount_point)?;
        }
        devices.iter().try_for_each(|device| loopdev::detach(device, mount_point))?;
        if self.is_served()? {
            fuse::abort_and_unmount(mount_point)?;
        }
        match directory.presence() {
            Presence::There => directory.remove(),
            _ => Ok(()),
        }
    }
}

/// The mounts of drives there, the one on top last.
fn drives_on(mount_point: &Path) -> Result<Vec<filesystem::Mount>> {
    let mut mounts = filesystem::mounts().context("cannot read the mounts")?;
    mounts.retain(|it| it.target == mount_point && it.file_system == fuse::FILE_SYSTEM);
    Ok(mounts)
}

/// Whether it is mounted below the directory of its server, where nobody else mounts.
fn is_in_ours(mount_point: &Path, directory: &OwnDirectory) -> bool {
    mount_point.starts_with(directory.path())
}

fn there_if(is_there: bool) -> Presence {
    if is_there { Presence::There } else { Presence::Gone }
}

/// The devices that show our file, by what the kernel says of them: it holds the file after its name is gone. A number is
/// given to another file once ours is given up, so under another name it must bear our mark.
fn loops_over(backing: &Path, id: Option<FileId>) -> Result<Vec<loopdev::Shown>> {
    let Some(id) = id else { return Ok(Vec::new()) };
    let mut deleted = backing.as_os_str().to_owned();
    deleted.push(loopdev::DELETED);
    let is_named =
        |shown: &loopdev::Shown| shown.backing == backing || shown.backing.as_os_str() == deleted;
    let is_ours = |shown: &loopdev::Shown| {
        shown.id == Some(id) && (is_named(shown) || bears_our_mark(&shown.backing))
    };
    Ok(loopdev::shown()?.into_iter().filter(is_ours).collect())
}

/// Whether it lies in a directory of ours.
fn bears_our_mark(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"assay-"))
}

fn kill(who: Identity) -> Result<()> {
    let Some(process) = Process::open_known(who)? else { return Ok(()) };
    process.signal(rustix::process::Signal::KILL)?;
    // A mount stays busy until the kernel has let go of the process's files.
    let has_ended = process.wait(Some(KILL_PATIENCE))?;
    ensure!(has_ended, "it was killed and has not ended after {} s", KILL_PATIENCE.as_secs());
    Ok(())
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::Directory { path } => write!(f, "directory {}", path.path().display()),
            Resource::Loop { backing, .. } => write!(f, "loop device over {}", backing.display()),
            Resource::Mount(mount) => write!(f, "mount on {}", mount.target().display()),
            Resource::Trace { instance } => write!(f, "trace in {}", instance.path().display()),
            Resource::Drive { media, mount_point, .. } => {
                write!(f, "drive {} served in {}", media.display(), mount_point.display())
            }
            Resource::Pool { name, directory } => {
                write!(f, "pool {name} in {}", directory.path().display())
            }
            Resource::Image(image) => write!(f, "image {}", image.name().display()),
            Resource::Process { pid, .. } => write!(f, "server with process number {pid}"),
            Resource::Database { account, name, .. } => {
                write!(f, "database {name} on {}", account.address)
            }
        }
    }
}

#[cfg(test)]
mod tests;
