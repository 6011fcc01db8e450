//! A directory that this program made, identified by more than its name.
//!
//! Guarantees: an existing directory is never taken over; only the directory that was made is
//! removed, reached through no link, and never with something mounted below it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use assay_ports::filesystem;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Statx, StatxFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::presence::Presence;

/// Prefix of the names of Assay's directories.
const MARK: &str = "assay-";

/// A directory of Assay's, with its path and its identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct OwnDirectory {
    path: PathBuf,
    /// `None` before the directory is made. If the process dies in between, the directory is empty.
    id: Option<DirectoryId>,
}

/// The identity of a directory.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct DirectoryId {
    device: u64,
    inode: u64,
    /// Time of birth in seconds and nanoseconds since 1970, on file systems that keep it
    /// (`statx(2)`, `stx_btime`). An inode number is reused once the directory is gone; a time of
    /// birth is not.
    born: Option<(i64, u32)>,
}

/// Device numbers start anew with each boot; so times of birth are compared where both are known.
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

/// The form in ledgers. Ledgers of earlier versions contain the path alone.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Path(PathBuf),
    LedgerGuard { path: PathBuf, id: DirectoryId },
}

impl From<Written> for OwnDirectory {
    fn from(written: Written) -> OwnDirectory {
        match written {
            Written::Path(path) => OwnDirectory { path, id: None },
            Written::LedgerGuard { path, id } => OwnDirectory { path, id: Some(id) },
        }
    }
}

impl From<OwnDirectory> for Written {
    fn from(directory: OwnDirectory) -> Written {
        let OwnDirectory { path, id } = directory;
        match id {
            Some(id) => Written::LedgerGuard { path, id },
            None => Written::Path(path),
        }
    }
}

/// A name that no directory had before: `assay-KIND-PROCESS-` and 48 random bits.
#[must_use]
pub fn new_name(kind: &str) -> String {
    let random = random_bits() >> 16;
    format!("{MARK}{kind}-{}-{random:012x}", std::process::id())
}

/// Random bits of the kernel.
#[must_use]
pub fn random_bits() -> u64 {
    let mut random = [0; 8];
    // getrandom(2) fails on kernels before 3.17 only; then the process number must do.
    if rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).is_err() {
        return u64::from(std::process::id());
    }
    u64::from_le_bytes(random)
}

impl OwnDirectory {
    /// A directory that is to be made in an existing one.
    pub(crate) fn meant(path: &Path) -> Result<OwnDirectory> {
        let absolute = std::path::absolute(path)?;
        let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
            bail!("{} cannot be made", path.display());
        };
        let cannot = || format!("cannot make {}", path.display());
        let path = parent.canonicalize().with_context(cannot)?.join(name);
        Ok(OwnDirectory { path, id: None })
    }

    /// Makes the directory, with access for this user alone. Fails if an entry of that name exists,
    /// and leaves it alone.
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

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the path is absolute and without `..`.
    pub(crate) fn is_well_named(&self) -> bool {
        is_well_named(&self.path)
    }

    /// A name that leads to a link, to a file or to another directory counts as
    /// [`Presence::Another`].
    pub(crate) fn presence(&self) -> Presence {
        let found = self.open_parent().and_then(|(parent, name)| self.open_in(&parent, name));
        match found {
            Ok(Some(_)) => Presence::There,
            Ok(None) if self.id.is_none() && self.is_directory() => Presence::Unproven,
            Ok(None) | Err(Errno::LOOP) => Presence::Another,
            // The directory does not exist, or its parent does not.
            Err(Errno::NOENT | Errno::NOTDIR) => Presence::Gone,
            // What cannot be read may exist.
            Err(_) => Presence::There,
        }
    }

    fn is_directory(&self) -> bool {
        self.path.symlink_metadata().is_ok_and(|found| found.is_dir())
    }

    /// Removes the directory with its contents; one that was only meant to be made, if it is empty.
    /// Fails if something is mounted below it.
    pub(crate) fn remove(&self) -> Result<()> {
        self.remove_after(if self.id.is_some() { empty } else { |_| Ok(()) })
    }

    /// Removes a directory whose files disappear with it, such as those of the kernel's file
    /// systems.
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

    /// Opens the parent directory, through no link.
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

    /// Opens the directory, unless its name leads to something else.
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

/// Returns true if the directory can be one whose maker died before reading its identity: of
/// Assay's name and this user, and empty.
fn is_new(path: &Path, directory: &OwnedFd) -> rustix::io::Result<bool> {
    let has_mark =
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(MARK.as_bytes()));
    let is_ours = rustix::fs::fstat(directory)?.st_uid == rustix::process::geteuid().as_raw();
    let is_empty = std::fs::read_dir(seen(directory)).is_ok_and(|mut held| held.next().is_none());
    Ok(has_mark && is_ours && is_empty)
}

/// Returns true if the path is absolute and without `..`, as ledgers require.
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

/// A path to an open directory, independent of changes to its name (`proc(5)`, `/proc/PID/fd`).
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

/// Mounts at or below `path`: they belong to somebody else, and deleting their files cannot be
/// undone.
pub(crate) fn mounted_at_or_below(path: &Path) -> Result<Vec<PathBuf>> {
    let mounts = filesystem::mounts().context("cannot read the mounts")?;
    Ok(mounts.into_iter().map(|mount| mount.target).filter(|at| at.starts_with(path)).collect())
}
