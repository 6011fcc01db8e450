//! The resources that a rig makes on this machine, and how each is removed.
//!
//! Tear-down and `assay clean` remove by the same code, so what one can undo the other can. Removing what is
//! already gone is a success.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use assay_mysql::account::Account;
use assay_ports::child::{Identity, Process, identity};
use assay_ports::file_id::FileId;
use assay_ports::rbd::Libraries;
use assay_ports::users::users;
use assay_ports::waiting::Waiting;
use assay_ports::{filesystem, fuse, loopdev};
use serde::{Deserialize, Serialize};

use super::{database, image};

/// How long what is in use is looked at again: longer than a prober opens a device that has just changed, or a process
/// that was just forked holds its parent's files.
const USE_PATIENCE: Duration = Duration::from_secs(1);

/// How long a busy mount is tried again.
const BUSY_PATIENCE: Duration = Duration::from_secs(10);

/// How long a killed process may take to end.
const KILL_PATIENCE: Duration = Duration::from_secs(30);

/// Something that exists on this machine because we made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Resource {
    /// A directory, removed with all that it holds.
    Directory {
        /// Absolute path.
        path: PathBuf,
    },
    /// A loop device, known by the file behind it because the kernel picks its number.
    Loop {
        /// Absolute path of the file.
        backing: PathBuf,
        /// The same by what tells it from others, as long as the machine runs: files are moved and deleted under their
        /// devices.
        #[serde(default)]
        backing_id: Option<FileId>,
    },
    /// A mounted file system.
    Mount {
        /// Absolute path of the directory that it is mounted on.
        target: PathBuf,
    },
    /// A drive that is served: its FUSE mount, the loop device over it, and its directory.
    Drive {
        /// Absolute path, without links, of the file or device that the drive lies on; it stays.
        media: PathBuf,
        /// The same by what tells it from others, for names change.
        #[serde(default)]
        media_id: Option<FileId>,
        /// Absolute path, without links, of the directory that it is mounted on.
        mount_point: PathBuf,
        /// Absolute path of the directory of its server, removed with all that it holds.
        directory: PathBuf,
    },
    /// A Ceph cluster of our own: the directory with all that it keeps. Its processes die with the one that runs it.
    Pool {
        /// What it is called.
        name: String,
        /// Absolute path of the directory, removed with all that it holds.
        directory: PathBuf,
    },
    /// An image in a pool of a cluster that somebody else runs.
    Image {
        /// Its name with its cluster, as `rbd:POOL/IMAGE:conf=FILE`.
        name: PathBuf,
        /// Where the client library is.
        libraries: Libraries,
    },
    /// A trace of the kernel's: its directory in `tracefs`, which goes with all that is traced.
    Trace {
        /// Absolute path.
        instance: PathBuf,
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

impl Resource {
    /// Whether it is still there.
    ///
    /// # Errors
    /// What the system answered when asked.
    pub fn exists(&self) -> Result<bool> {
        Ok(match self {
            Resource::Directory { path } | Resource::Pool { directory: path, .. } => {
                path.symlink_metadata().is_ok()
            }
            Resource::Loop { backing, backing_id } => !loops_over(backing, *backing_id)?.is_empty(),
            Resource::Mount { target } => is_mounted(target)?,
            Resource::Trace { instance } => instance.is_dir(),
            Resource::Drive { mount_point, directory, .. } => {
                directory.symlink_metadata().is_ok()
                    || is_served(mount_point)?
                    || !loopdev::attached_under(mount_point)?.is_empty()
            }
            Resource::Process { pid, start_ticks } => {
                identity(*pid) == Some(Identity { pid: *pid, start_ticks: *start_ticks })
            }
            Resource::Database { account, name, mark } => database::may_exist(account, name, mark),
            Resource::Image { name, libraries } => image::may_exist(name, libraries),
        })
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
            Resource::Directory { path } | Resource::Pool { directory: path, .. } => vec![path],
            Resource::Loop { backing, .. } => vec![backing],
            Resource::Mount { target } => vec![target],
            Resource::Trace { instance } => vec![instance],
            // What a drive lies on stays as it is.
            Resource::Drive { mount_point, directory, .. } => vec![mount_point, directory],
            Resource::Process { .. } | Resource::Database { .. } | Resource::Image { .. } => vec![],
        }
    }

    /// Removes it.
    ///
    /// # Errors
    /// What stands in the way, e.g. a mount that is in use; the resource is then still there.
    pub fn remove(&self) -> Result<()> {
        if !self.exists()? {
            return Ok(());
        }
        let name = self.to_string();
        let _waiting = Waiting::on(move || format!("{name} to be removed"));
        match self {
            Resource::Directory { path } | Resource::Pool { directory: path, .. } => {
                remove_directory(path)
            }
            Resource::Loop { backing, backing_id } => loops_over(backing, *backing_id)?
                .iter()
                .try_for_each(|shown| Ok(loopdev::detach(&shown.device, &shown.backing)?)),
            Resource::Mount { target } => unmount(target),
            Resource::Trace { instance } => Ok(std::fs::remove_dir(instance)?),
            Resource::Drive { mount_point, directory, .. } => remove_drive(mount_point, directory),
            Resource::Process { pid, .. } => kill(*pid),
            Resource::Database { account, name, mark } => database::remove(account, name, mark),
            Resource::Image { name, libraries } => image::remove(name, libraries),
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
            Err(error) if error.to_string().contains("busy") => {
                refuse(target, &users_of(target)?)?;
                return Err(error.into());
            }
            done => return Ok(done?),
        }
    }
}

/// The devices that show our file, by what the kernel says of them: it holds the file after its name is gone. Without
/// its number it is known by that name alone; with it also under another name, so long as that bears our mark, for a
/// number is given to another file once ours is given up.
fn loops_over(backing: &Path, id: Option<FileId>) -> Result<Vec<loopdev::Shown>> {
    let mut deleted = backing.as_os_str().to_owned();
    deleted.push(loopdev::DELETED);
    let is_named =
        |shown: &loopdev::Shown| shown.backing == backing || shown.backing.as_os_str() == deleted;
    let is_ours = |shown: &loopdev::Shown| match (id, shown.id) {
        (Some(ours), Some(id)) => ours == id && (is_named(shown) || bears_our_mark(&shown.backing)),
        _ => is_named(shown),
    };
    Ok(loopdev::shown()?.into_iter().filter(is_ours).collect())
}

/// Whether it lies in a directory of ours.
fn bears_our_mark(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"assay-"))
}

/// Its server has ended, or hangs: nothing here waits for it. What is still in use stays whole.
fn remove_drive(mount_point: &Path, directory: &Path) -> Result<()> {
    let devices = loopdev::attached_under(mount_point)?;
    devices.iter().try_for_each(|device| ensure_unused(device))?;
    fuse::abort(mount_point)?;
    devices.iter().try_for_each(|device| loopdev::detach(device, mount_point))?;
    fuse::abort_and_unmount(mount_point)?;
    if directory.symlink_metadata().is_ok() { remove_directory(directory) } else { Ok(()) }
}

/// Who uses it, and goes on using it.
///
/// # Errors
/// It cannot be told.
pub fn lasting_users(path: &Path) -> Result<Vec<String>> {
    let deadline = Instant::now() + USE_PATIENCE;
    loop {
        let found = users_of(path)?;
        if found.is_empty() || Instant::now() >= deadline {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn users_of(path: &Path) -> Result<Vec<String>> {
    users(path).with_context(|| format!("cannot determine who uses {}", path.display()))
}

/// Refuses what somebody uses, and goes on using, saying who.
///
/// # Errors
/// One line with every user.
pub fn ensure_unused(path: &Path) -> Result<()> {
    refuse(path, &lasting_users(path)?)
}

/// The same of this moment, for whoever looks again by himself.
///
/// # Errors
/// One line with every user.
pub fn ensure_unused_now(path: &Path) -> Result<()> {
    refuse(path, &users_of(path)?)
}

fn refuse(path: &Path, users: &[String]) -> Result<()> {
    ensure!(
        users.is_empty(),
        "{} is in use: {}; unmount or close it first",
        path.display(),
        users.join(", ")
    );
    Ok(())
}

/// Never reaches through a mount: what is mounted below belongs to somebody, and deleting it cannot be undone.
fn remove_directory(path: &Path) -> Result<()> {
    // Whatever a ledger may say by then, only what bears our mark is ours to delete.
    ensure!(path.is_absolute() && bears_our_mark(path), "{} was not made by Assay", path.display());
    if let Some(mount) = mounted_at_or_below(path)?.first() {
        bail!("{} is still mounted; unmount it first", mount.display());
    }
    Ok(std::fs::remove_dir_all(path)?)
}

fn is_mounted(target: &Path) -> Result<bool> {
    Ok(mounted_at_or_below(target)?.iter().any(|at| at == target))
}

/// Whether a mount of a disk of ours is there; the user's own directory may hold other mounts.
fn is_served(mount_point: &Path) -> Result<bool> {
    let mounts = filesystem::mounts().context("cannot read the mounts")?;
    let ours = |mount: &filesystem::Mount| {
        mount.target == mount_point && mount.file_system == fuse::FILE_SYSTEM
    };
    Ok(mounts.iter().any(ours))
}

fn mounted_at_or_below(path: &Path) -> Result<Vec<PathBuf>> {
    let mounts = filesystem::mounts().context("cannot read the mounts")?;
    Ok(mounts.into_iter().map(|mount| mount.target).filter(|at| at.starts_with(path)).collect())
}

fn kill(pid: u32) -> Result<()> {
    let Some(process) = Process::open(pid)? else { return Ok(()) };
    process.signal(rustix::process::Signal::KILL)?;
    // A mount stays busy until the kernel has let go of the process's files.
    process.wait(Some(KILL_PATIENCE))?;
    Ok(())
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::Directory { path } => write!(f, "directory {}", path.display()),
            Resource::Loop { backing, .. } => write!(f, "loop device over {}", backing.display()),
            Resource::Mount { target } => write!(f, "mount on {}", target.display()),
            Resource::Trace { instance } => write!(f, "trace in {}", instance.display()),
            Resource::Drive { media, mount_point, .. } => {
                write!(f, "drive {} served in {}", media.display(), mount_point.display())
            }
            Resource::Pool { name, directory } => {
                write!(f, "pool {name} in {}", directory.display())
            }
            Resource::Image { name, .. } => write!(f, "image {}", name.display()),
            Resource::Process { pid, .. } => write!(f, "server with process number {pid}"),
            Resource::Database { account, name, .. } => {
                write!(f, "database {name} on {}", account.address)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that can be attached, in a directory that bears our mark; nothing, said aloud, where nothing can.
    fn image() -> Option<(tempfile::TempDir, PathBuf)> {
        if !rustix::process::geteuid().is_root() || !Path::new("/dev/loop-control").exists() {
            assay_testing::skip("root and loop devices");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let ours = directory.path().canonicalize().unwrap().join("assay-1");
        std::fs::create_dir(&ours).unwrap();
        Some((directory, new_image(&ours)))
    }

    fn new_image(directory: &Path) -> PathBuf {
        let image = directory.join("disk.img");
        std::fs::File::create_new(&image).unwrap().set_len(1 << 20).unwrap();
        image
    }

    fn loop_over(backing: &Path) -> Resource {
        Resource::Loop {
            backing: backing.to_owned(),
            backing_id: Some(FileId::named(backing).unwrap()),
        }
    }

    #[test]
    fn a_loop_device_is_there_after_its_file_was_moved_or_deleted() {
        let Some((_directory, image)) = image() else { return };
        let moved = image.with_file_name("moved");
        for (with_id, change) in [
            (true, (|image, moved| std::fs::rename(image, moved)) as fn(&Path, &Path) -> _),
            (true, |image, _| std::fs::remove_file(image)),
            // As ledgers of earlier versions have it.
            (false, |image, _| std::fs::remove_file(image)),
        ] {
            let resource = match with_id {
                true => loop_over(&image),
                false => Resource::Loop { backing: image.clone(), backing_id: None },
            };
            assert!(!resource.exists().unwrap(), "nothing is attached");
            let device = loopdev::attach(&image).unwrap().device;
            assert!(resource.exists().unwrap());
            change(&image, &moved).unwrap();
            assert!(resource.exists().unwrap(), "{} is still attached", device.display());
            resource.remove().unwrap();
            assert!(!resource.exists().unwrap());
            // Its number may be another's by now.
            let directory = image.parent().unwrap();
            let shown = loopdev::shown().unwrap();
            assert!(shown.iter().all(|shown| !shown.backing.starts_with(directory)), "{shown:?}");
            let _ = std::fs::remove_file(&moved);
            new_image(image.parent().unwrap());
        }
    }

    #[test]
    fn a_loop_device_over_another_file_of_that_name_is_somebody_elses() {
        let Some((_directory, image)) = image() else { return };
        let resource = loop_over(&image);
        // Kept, so that its number is not given to the next file.
        std::fs::rename(&image, image.with_file_name("aside")).unwrap();
        let theirs = new_image(image.parent().unwrap());
        let device = loopdev::attach(&theirs).unwrap().device;
        std::fs::remove_file(&theirs).unwrap();
        assert!(!resource.exists().unwrap());
        resource.remove().unwrap();
        assert!(loopdev::shown().unwrap().iter().any(|shown| shown.device == device));
        loopdev::detach(&device, theirs.parent().unwrap()).unwrap();
    }
}
