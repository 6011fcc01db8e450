//! A directory that this program made, known from every other by more than its name.
//!
//! Guarantees: one that was there before is never taken for ours; what is removed is the very directory that was made, reached
//! through no link, and nothing that is mounted below it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use assay_ports::filesystem;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Statx, StatxFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::presence::Presence;

/// How our names begin.
const MARK: &str = "assay-";

/// A directory of ours, by its path and by what tells it from another one there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct OwnDirectory {
    path: PathBuf,
    /// Nothing before it is made: whoever was killed in between has left it empty.
    id: Option<DirectoryId>,
}

/// What tells a directory from others.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct DirectoryId {
    device: u64,
    inode: u64,
    /// Seconds and nanoseconds since 1970, where the file system keeps them (`statx(2)`, `stx_btime`): a number is given to
    /// another directory once ours is gone, a time of birth is not.
    born: Option<(i64, u32)>,
}

/// Numbers of devices begin anew with each boot; so where there is a time of birth it is what counts.
impl PartialEq for DirectoryId {
    fn eq(&self, other: &DirectoryId) -> bool {
        let is_one = match (self.born, other.born) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => self.device == other.device,
        };
        self.inode == other.inode && is_one
    }
}

impl Eq for DirectoryId {}

/// As ledgers have it; those of earlier versions have the path alone.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Path(PathBuf),
    Made { path: PathBuf, id: DirectoryId },
}

impl From<Written> for OwnDirectory {
    fn from(written: Written) -> OwnDirectory {
        match written {
            Written::Path(path) => OwnDirectory { path, id: None },
            Written::Made { path, id } => OwnDirectory { path, id: Some(id) },
        }
    }
}

impl From<OwnDirectory> for Written {
    fn from(directory: OwnDirectory) -> Written {
        let OwnDirectory { path, id } = directory;
        match id {
            Some(id) => Written::Made { path, id },
            None => Written::Path(path),
        }
    }
}

/// A name that no directory had before: `assay-KIND-PROCESS-` and 48 random bits.
#[must_use]
pub fn new_name(kind: &str) -> String {
    let mut random = [0; 6];
    // It only fails where the kernel is older than 3.17 (getrandom(2)); the number of the process is left then.
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{MARK}{kind}-{}-{random}", std::process::id())
}

impl OwnDirectory {
    /// One that is to be made there, in a directory that is there.
    pub(crate) fn meant(path: &Path) -> Result<OwnDirectory> {
        let absolute = std::path::absolute(path)?;
        let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
            bail!("{} cannot be made", path.display());
        };
        let cannot = || format!("cannot make {}", path.display());
        let path = parent.canonicalize().with_context(cannot)?.join(name);
        Ok(OwnDirectory { path, id: None })
    }

    /// Makes it, open to this user alone.
    ///
    /// # Errors
    /// Something is there already, which stays as it is, or what else the system answered.
    pub(crate) fn make(self) -> Result<OwnDirectory> {
        let cannot = || format!("cannot make {}", self.path.display());
        let id = self.make_and_look().map_err(io::Error::from).with_context(cannot)?;
        Ok(OwnDirectory { id: Some(id), ..self })
    }

    fn make_and_look(&self) -> rustix::io::Result<DirectoryId> {
        let (parent, name) = self.open_parent()?;
        rustix::fs::mkdirat(&parent, name, Mode::RWXU)?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = rustix::fs::openat(&parent, name, flags, Mode::empty());
        let id = made.and_then(|made| id_of(&made));
        if id.is_err() {
            let _ = rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR);
        }
        id
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a place that only we may name: absolute, and without `..`.
    pub(crate) fn is_well_named(&self) -> bool {
        is_well_named(&self.path)
    }

    /// Whether it is there. A name that leads to a link, to a file or to another directory is not it.
    pub(crate) fn presence(&self) -> Presence {
        let found = self.open_parent().and_then(|(parent, name)| self.open_in(&parent, name));
        match found {
            Ok(Some(_)) => Presence::There,
            Ok(None) if self.id.is_none() && self.is_directory() => Presence::Unproven,
            Ok(None) | Err(Errno::LOOP) => Presence::Another,
            // Nothing is there, or not even the place that it was in.
            Err(Errno::NOENT | Errno::NOTDIR) => Presence::Gone,
            // What cannot be looked at may be.
            Err(_) => Presence::There,
        }
    }

    fn is_directory(&self) -> bool {
        self.path.symlink_metadata().is_ok_and(|found| found.is_dir())
    }

    /// Removes it with all that it holds; one that was only meant, if it is empty.
    ///
    /// # Errors
    /// Something is mounted below it, or what the system answered.
    pub(crate) fn remove(&self) -> Result<()> {
        self.remove_after(if self.id.is_some() { empty } else { |_| Ok(()) })
    }

    /// Removes one whose files go with it, as the kernel's own do.
    ///
    /// # Errors
    /// As [`OwnDirectory::remove`].
    pub(crate) fn remove_as_it_is(&self) -> Result<()> {
        self.remove_after(|_| Ok(()))
    }

    fn remove_after(&self, empty: fn(&OwnedFd) -> io::Result<()>) -> Result<()> {
        ensure!(
            self.is_well_named(),
            "{} is no place where Assay makes directories",
            self.path.display()
        );
        if let Some(mount) = mounted_at_or_below(&self.path)?.first() {
            bail!("{} is still mounted; unmount it first", mount.display());
        }
        let (parent, name) = self.open_parent()?;
        let Some(directory) = self.open_in(&parent, name)? else { return Ok(()) };
        empty(&directory)?;
        Ok(rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR)?)
    }

    /// The directory that it lies in, through no link.
    fn open_parent(&self) -> rustix::io::Result<(OwnedFd, &std::ffi::OsStr)> {
        let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Err(Errno::NOENT);
        };
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat2(
            rustix::fs::CWD,
            parent,
            flags,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS,
        );
        let opened = match opened {
            // Kernels before 5.6, and sandboxes that do not know the call.
            Err(Errno::NOSYS | Errno::PERM) => rustix::fs::open(parent, flags, Mode::empty()),
            opened => opened,
        };
        Ok((opened?, name))
    }

    /// It, unless something else is there by that name.
    fn open_in(
        &self,
        parent: &OwnedFd,
        name: &std::ffi::OsStr,
    ) -> rustix::io::Result<Option<OwnedFd>> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = match rustix::fs::openat(parent, name, flags, Mode::empty()) {
            Err(Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            opened => opened?,
        };
        let is_it = match self.id {
            Some(id) => id_of(&directory)? == id,
            None => is_new(&self.path, &directory)?,
        };
        Ok(is_it.then_some(directory))
    }
}

/// Whether a directory can be one that its maker did not come to look at: of our name and our user's, and with nothing in it.
fn is_new(path: &Path, directory: &OwnedFd) -> rustix::io::Result<bool> {
    let has_mark =
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(MARK.as_bytes()));
    let is_ours = rustix::fs::fstat(directory)?.st_uid == rustix::process::geteuid().as_raw();
    let is_empty = std::fs::read_dir(seen(directory)).is_ok_and(|mut held| held.next().is_none());
    Ok(has_mark && is_ours && is_empty)
}

/// Absolute and without `..`: what a ledger may name.
pub(crate) fn is_well_named(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
}

fn id_of(directory: &OwnedFd) -> rustix::io::Result<DirectoryId> {
    let mask = StatxFlags::INO | StatxFlags::BTIME;
    let found: Statx = rustix::fs::statx(directory, "", AtFlags::EMPTY_PATH, mask)?;
    let has_birth = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    Ok(DirectoryId {
        device: rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor),
        inode: found.stx_ino,
        born: has_birth.then_some((found.stx_btime.tv_sec, found.stx_btime.tv_nsec)),
    })
}

/// A path to an open directory itself, whatever its names lead to meanwhile (`proc(5)`, `/proc/PID/fd`).
fn seen(directory: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()))
}

/// `remove_dir_all` follows no link below the directory that it is given.
fn empty(directory: &OwnedFd) -> io::Result<()> {
    for entry in std::fs::read_dir(seen(directory))? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => std::fs::remove_dir_all(entry.path())?,
            false => std::fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

/// What is mounted there: it belongs to somebody, and deleting it cannot be undone.
pub(crate) fn mounted_at_or_below(path: &Path) -> Result<Vec<PathBuf>> {
    let mounts = filesystem::mounts().context("cannot read the mounts")?;
    Ok(mounts.into_iter().map(|mount| mount.target).filter(|at| at.starts_with(path)).collect())
}
