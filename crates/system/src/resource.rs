//! The resources that a rig makes on this machine, and how each is removed.
//!
//! Tear-down and `assay clean` remove by the same code, so that both can undo the same things.
//! Removing a missing resource is a success.
//!
//! Guarantees: each resource records its identity; something else of the same name stays.

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

const KILL_PATIENCE: Duration = Duration::from_secs(30);

/// Something that Assay made on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Resource {
    /// A directory, removed with its contents.
    Directory { path: OwnDirectory },
    /// A loop device, identified by its backing file because the kernel picks its number.
    Loop {
        /// Absolute path of the backing file.
        backing: PathBuf,
        /// Identity of the backing file while the machine runs: files are moved and deleted under
        /// their devices. If it is missing, as in ledgers of earlier versions, no device is taken
        /// for Assay's.
        #[serde(default)]
        backing_id: Option<FileId>,
    },
    /// A mounted file system.
    Mount(OwnMount),
    /// A served drive: its FUSE mount, the loop device over it, and its directory.
    Drive {
        /// Absolute path, without links, of the drive's media, which stay.
        media: PathBuf,
        /// Identity of the media, whose name can change.
        #[serde(default)]
        media_id: Option<FileId>,
        /// Absolute path, without links, of the mount point.
        mount_point: PathBuf,
        /// Directory of the drive's server, removed with its contents.
        directory: OwnDirectory,
        /// Number of the mounted device as `major:minor`, once it is mounted.
        #[serde(default)]
        mounted: Option<String>,
    },
    /// A private Ceph cluster: the directory with all its data. Its processes die with its daemon.
    Pool {
        name: String,
        /// Removed with its contents.
        directory: OwnDirectory,
    },
    /// An image in a pool of a cluster that somebody else runs.
    Image(OwnImage),
    /// A trace in the kernel: its directory in `tracefs`, removed together with the trace.
    Trace { instance: OwnDirectory },
    /// A server process.
    Process {
        pid: u32,
        /// Start in clock ticks since boot, so that a reused process number is not mistaken for
        /// this one.
        start_ticks: u64,
    },
    /// A database on a server that somebody else runs.
    Database {
        /// How to log in; the password is kept elsewhere.
        account: Account,
        name: String,
        /// The contents of its mark, which tell it from another database of that name.
        mark: String,
    },
}

/// Where to look for resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// The kernel of this machine.
    ThisMachine,
    /// Servers and clusters as well, with the passwords and keys that they need.
    Everyone,
}

impl Resource {
    /// Whether the resource still exists.
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

    /// Returns true if the resource exists or may exist.
    pub fn may_exist(&self, asking: Asking) -> Result<bool> {
        Ok(matches!(self.presence(asking)?, Presence::There | Presence::Unasked))
    }

    /// Returns true if the resource carries an identity that nothing else can have, so that it may
    /// be recorded before it exists.
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

    /// Returns true if all its paths are absolute and without `..`.
    pub(crate) fn is_well_named(&self) -> bool {
        self.places().into_iter().all(owned::is_well_named)
    }

    /// Returns true if removing one of the two could remove the other.
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
            // The media of a drive stay as they are.
            Resource::Drive { mount_point, directory, .. } => vec![mount_point, directory.path()],
            Resource::Process { .. } | Resource::Database { .. } | Resource::Image(_) => vec![],
        }
    }

    /// Removes the resource. Something else in its place is left alone. After an error, e.g. for a
    /// busy mount, the resource still exists.
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

    /// The same resource with the number of the current mount.
    pub(crate) fn mounted(mut self) -> Result<Resource> {
        if let Resource::Drive { mount_point, mounted, .. } = &mut self {
            *mounted = drives_on(mount_point)?.pop().map(|mount| mount.device_number);
        }
        Ok(self)
    }

    /// Returns true if this drive is mounted there. The user's directory may hold other mounts,
    /// also of other drives.
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

    /// A drive mounted in a directory of the user's is not a block device.
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

    /// Removes the drive of a server that has ended or hangs; nothing here waits for that server.
    /// Parts in use stay.
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

/// The mounts of drives there, the topmost last.
fn drives_on(mount_point: &Path) -> Result<Vec<filesystem::Mount>> {
    let mut mounts = filesystem::mounts().context("cannot read the mounts")?;
    mounts.retain(|it| it.target == mount_point && it.file_system == fuse::FILE_SYSTEM);
    Ok(mounts)
}

/// Returns true if the drive is mounted below the directory of its server, where nobody else
/// mounts.
fn is_in_ours(mount_point: &Path, directory: &OwnDirectory) -> bool {
    mount_point.starts_with(directory.path())
}

fn there_if(is_there: bool) -> Presence {
    if is_there { Presence::There } else { Presence::Gone }
}

/// The loop devices over the backing file, by the kernel's record, which survives the file's name.
/// An inode number is reused once the file is gone, so under another name the file must lie in a
/// directory of Assay's.
fn loops_over(backing: &Path, id: Option<FileId>) -> Result<Vec<loopdev::LoopEntry>> {
    let Some(id) = id else { return Ok(Vec::new()) };
    let mut deleted = backing.as_os_str().to_owned();
    deleted.push(loopdev::DELETED);
    let is_named = |shown: &loopdev::LoopEntry| {
        shown.backing == backing || shown.backing.as_os_str() == deleted
    };
    let is_ours = |shown: &loopdev::LoopEntry| {
        shown.id == Some(id) && (is_named(shown) || bears_our_mark(&shown.backing))
    };
    Ok(loopdev::shown()?.into_iter().filter(is_ours).collect())
}

/// Returns true if the path lies in a directory of Assay's.
fn bears_our_mark(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"assay-"))
}

fn kill(who: Identity) -> Result<()> {
    let Some(process) = Process::open_known(who)? else { return Ok(()) };
    process.signal(rustix::process::Signal::KILL)?;
    // A mount stays busy until the kernel has closed the process's files.
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
