//! The private directory for files that are expensive to make: server binaries, initialised data
//! directories, preconditioned devices.
//!
//! `$ASSAY_CACHE`, else `$XDG_CACHE_HOME/assay`, else `~/.cache/assay` (XDG Base Directory
//! Specification).
//!
//! Guarantees: the directory belongs to this user alone, or nothing in it is read or run; an entry
//! is complete or absent, because it is made in a staging directory and renamed; two makers of one
//! kind wait for each other; files of an interrupted maker are removed by the next.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::owned::mounted_at_or_below;
use super::private::{self, NotPrivate};

const STAGING_PREFIX: &str = ".staging-";

/// The file in a kind's directory that the maker locks.
const LOCK: &str = ".lock";

/// The cache directory, which may not exist yet.
pub fn root() -> Result<PathBuf> {
    let directory =
        |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let path = directory("ASSAY_CACHE")
        .or_else(|| directory("XDG_CACHE_HOME").map(|path| path.join("assay")))
        .or_else(|| directory("HOME").map(|path| path.join(".cache/assay")));
    match path {
        Some(path) => {
            let path =
                std::path::absolute(&path).context("cannot determine the cache directory")?;
            // Drops a trailing slash, which would follow a link.
            Ok(path.components().collect())
        }
        None => {
            bail!(
                "no directory for downloads: HOME is not set; set HOME, or both ASSAY_CACHE \
                 (downloads) and ASSAY_STATE (what is made on this machine)"
            )
        }
    }
}

/// The lock on one kind of entries (`servers`, `templates`), held against other makers until
/// dropped.
#[derive(Debug)]
pub struct CacheLock {
    directory: PathBuf,
    _lock: File,
}

impl CacheLock {
    /// Locks `kind`. If another maker holds the lock, `waiting` is called once and the call blocks.
    pub fn open(kind: &str, waiting: impl FnOnce()) -> Result<CacheLock> {
        private::make_directory(&root()?).map_err(refusal)?;
        CacheLock::open_at(root()?.join(kind), waiting)
    }

    /// Locks the existing `kind` unless a maker holds it. An interrupted maker holds it no longer.
    pub fn try_open(kind: &str) -> Result<Option<CacheLock>> {
        let Some(shelf) = CacheLock::lock_free(checked(kind)?)? else { return Ok(None) };
        shelf.sweep()?;
        Ok(Some(shelf))
    }

    /// Returns true if no maker holds the existing `kind`. Files of an interrupted maker stay.
    pub fn is_free(kind: &str) -> Result<bool> {
        Ok(CacheLock::lock_free(checked(kind)?)?.is_some())
    }

    fn lock_free(directory: PathBuf) -> Result<Option<CacheLock>> {
        let cannot = || format!("cannot use the cache directory {}", directory.display());
        if !is_ours(&directory) {
            return Ok(None);
        }
        let lock = private::open_file(&directory.join(LOCK)).map_err(refusal)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(None),
            other => other.with_context(cannot)?,
        }
        Ok(Some(CacheLock { directory, _lock: lock }))
    }

    /// Locks the kind in `directory`, as [`CacheLock::open`] does.
    pub fn open_at(directory: PathBuf, waiting: impl FnOnce()) -> Result<CacheLock> {
        let cannot =
            || format!("cannot use the cache directory {}; set ASSAY_CACHE", directory.display());
        private::make_directory(&directory).map_err(refusal)?;
        ensure!(
            is_ours(&directory) || is_empty(&directory),
            "{} holds what Assay did not put there; set ASSAY_CACHE to an empty directory",
            directory.display()
        );
        // Earlier versions made directories that others could read, with files that kept their
        // setuid bits.
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).with_context(cannot)?;
        let lock = private::open_file(&directory.join(LOCK)).map_err(refusal)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => {
                waiting();
                flock(&lock, FlockOperation::LockExclusive).with_context(cannot)?;
            }
            other => other.with_context(cannot)?,
        }
        let shelf = CacheLock { directory, _lock: lock };
        shelf.sweep()?;
        Ok(shelf)
    }

    /// The path of the entry `name`, whether it exists or not.
    #[must_use]
    pub fn entry(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Creates a directory in which an entry can be made.
    pub fn stage(&self) -> Result<Staging> {
        let path = self.directory.join(format!("{STAGING_PREFIX}{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Staging { path })
    }

    /// Removes the entry `path`. It is renamed first, so that it disappears at once; after an
    /// interruption the next maker sweeps the rest.
    pub fn discard(&self, path: &Path) -> Result<()> {
        let cannot = || format!("cannot remove {}", path.display());
        ensure_nothing_mounted(path)?;
        let staging = self.stage()?;
        fs::rename(path, staging.path().join("discarded")).with_context(cannot)?;
        fs::remove_dir_all(staging.path()).with_context(cannot)
    }

    /// Removes the files of interrupted makers: under the lock, every staging directory is one of
    /// those.
    fn sweep(&self) -> Result<()> {
        unfinished_in(&self.directory)?.iter().try_for_each(|path| {
            ensure_nothing_mounted(path)?;
            fs::remove_dir_all(path).with_context(|| format!("cannot remove {}", path.display()))
        })
    }
}

/// A directory in which an entry is made, removed when dropped.
#[derive(Debug)]
pub struct Staging {
    path: PathBuf,
}

impl Staging {
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the subdirectory `part` to the cache entry `target` and removes the rest. On an
    /// error the entry is absent.
    pub fn publish(self, part: &str, target: &Path) -> Result<()> {
        let made = self.path.join(part);
        rustix::fs::syncfs(File::open(&made)?).context("cannot write out the cache")?;
        fs::rename(&made, target).with_context(|| format!("cannot create {}", target.display()))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Returns true if this program made the directory: it then contains a lock.
fn is_ours(directory: &Path) -> bool {
    directory.join(LOCK).symlink_metadata().is_ok_and(|lock| lock.is_file())
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

/// A file system mounted below belongs to somebody else, and deleting its files cannot be undone.
fn ensure_nothing_mounted(path: &Path) -> Result<()> {
    let resolved = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match mounted_at_or_below(&resolved)?.first() {
        Some(mount) => bail!("{} is mounted; unmount it first", mount.display()),
        None => Ok(()),
    }
}

/// The complete entries of a kind, ordered by name.
pub fn entries(kind: &str) -> Result<Vec<PathBuf>> {
    let shelf = checked(kind)?;
    if shelf.is_dir() && !is_ours(&shelf) {
        return Ok(Vec::new());
    }
    listing(&shelf, |name| !name.starts_with(b"."))
}

/// The staging directories of a kind. [`CacheLock::try_open`] distinguishes active makers from
/// interrupted ones.
pub fn unfinished(kind: &str) -> Result<Vec<PathBuf>> {
    let shelf = checked(kind)?;
    if shelf.is_dir() && !is_ours(&shelf) { Ok(Vec::new()) } else { unfinished_in(&shelf) }
}

/// The directory of a kind, after checking that it and the cache are private.
fn checked(kind: &str) -> Result<PathBuf> {
    let root = root()?;
    check(&root)?;
    let shelf = root.join(kind);
    check(&shelf)?;
    Ok(shelf)
}

fn check(directory: &Path) -> Result<()> {
    match private::check_directory(directory) {
        // The code that reads it reports the problem better.
        Ok(_) | Err(NotPrivate::Kind { .. }) => Ok(()),
        Err(error) => Err(refusal(error)),
    }
}

fn refusal(error: NotPrivate) -> anyhow::Error {
    anyhow!("the cache: {error}; or set ASSAY_CACHE to a directory of your own")
}

fn unfinished_in(directory: &Path) -> Result<Vec<PathBuf>> {
    listing(directory, |name| name.starts_with(STAGING_PREFIX.as_bytes()))
}

/// The names in a kind's directory that `wanted` selects; empty if there is no such directory.
fn listing(directory: &Path, wanted: impl Fn(&[u8]) -> bool) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            let file = directory.ancestors().find(|part| part.is_file()).unwrap_or(directory);
            bail!("the cache {} is not a directory; set ASSAY_CACHE to one", file.display());
        }
        Err(error) => {
            return Err(error).with_context(|| {
                format!("cannot read the cache directory {}; set ASSAY_CACHE", directory.display())
            });
        }
    };
    let is_wanted = |path: &PathBuf| {
        path.file_name().is_some_and(|name: &OsStr| wanted(name.as_encoded_bytes()))
    };
    let mut paths: Vec<_> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_wanted).collect();
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn shelf(directory: &Path) -> CacheLock {
        CacheLock::open_at(directory.to_path_buf(), || {}).unwrap()
    }

    #[test]
    fn an_entry_appears_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let shelf = shelf(directory.path());
        let staging = shelf.stage().unwrap();
        fs::create_dir(staging.path().join("tree")).unwrap();
        fs::write(staging.path().join("rest"), "x").unwrap();
        let target = shelf.entry("thing");
        staging.publish("tree", &target).unwrap();
        assert!(target.is_dir());
        drop(shelf.stage().unwrap());
        let names: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "the entry and the lock only: {names:?}");
    }

    #[test]
    fn a_cache_that_others_can_write_to_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let kind = directory.path().join("servers");
        let set = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        drop(shelf(&kind));
        set(&kind, 0o777);
        assert!(check(&kind).unwrap_err().to_string().contains("others can write to"));
        let refused = CacheLock::open_at(kind.clone(), || {}).unwrap_err().to_string();
        assert!(refused.contains("others can write to"), "{refused}");
        set(&kind, 0o755);
        check(&kind).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("precious"), "precious").unwrap();
        fs::remove_file(kind.join(LOCK)).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("precious"), kind.join(LOCK)).unwrap();
        assert!(
            CacheLock::open_at(kind, || {}).unwrap_err().to_string().contains("did not put there")
        );
        assert_eq!(fs::read(elsewhere.path().join("precious")).unwrap(), b"precious");
    }

    #[test]
    fn what_is_mounted_below_an_entry_keeps_it() {
        if !rustix::process::geteuid().is_root() {
            return assay_testing::skip("root, who mounts");
        }
        let directory = tempfile::tempdir().unwrap();
        let shelf = shelf(directory.path());
        for name in ["entry", ".staging-1"] {
            let mount = shelf.entry(name).join("mnt");
            fs::create_dir_all(&mount).unwrap();
            assay_ports::filesystem::mount_kernels("tmpfs", &mount).unwrap();
            fs::write(mount.join("precious"), "precious").unwrap();
            let gone =
                if name == "entry" { shelf.discard(&shelf.entry(name)) } else { shelf.sweep() };
            assert!(gone.unwrap_err().to_string().ends_with("is mounted; unmount it first"));
            assert_eq!(fs::read(mount.join("precious")).unwrap(), b"precious");
            assay_ports::filesystem::unmount(&mount).unwrap();
        }
        shelf.discard(&shelf.entry("entry")).unwrap();
        shelf.sweep().unwrap();
    }

    #[test]
    fn leftovers_of_an_interrupted_maker_are_swept_and_entries_kept() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join(".staging-1/half")).unwrap();
        fs::create_dir_all(directory.path().join("whole")).unwrap();
        assert!(CacheLock::open_at(directory.path().into(), || {}).is_err(), "nobody's shelf");
        fs::write(directory.path().join(LOCK), "").unwrap();
        let shelf = shelf(directory.path());
        assert!(!directory.path().join(".staging-1").exists());
        assert!(shelf.entry("whole").is_dir());
    }

    #[test]
    fn a_second_maker_waits_for_the_first() {
        let directory = tempfile::tempdir().unwrap();
        let first = shelf(directory.path());
        let (said, told) = std::sync::mpsc::channel();
        let released = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let waiting = || said.send(()).unwrap();
                let _second = CacheLock::open_at(directory.path().to_path_buf(), waiting).unwrap();
                assert!(released.load(Ordering::SeqCst));
            });
            told.recv().unwrap();
            released.store(true, Ordering::SeqCst);
            drop(first);
        });
    }
}
