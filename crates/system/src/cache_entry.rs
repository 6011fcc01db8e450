//! The entries of the cache, kind by kind: size, last use, current use, and which may be removed.
//!
//! A process holds a shared lock (`flock(2)`) on the directory of an entry that it uses, until the
//! process ends; the directory's modification time is the start of its last use. A locked entry is
//! never removed.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::cache::{self, CacheLock};

/// Directory names of the kinds, with a description.
pub const KINDS: [(&str, &str); 5] = [
    ("preconditioned", "preconditioned devices"),
    ("templates", "empty data directories"),
    ("servers", "downloaded servers"),
    ("ceph", "downloaded Ceph programs"),
    ("programs", "copies of Assay from other machines"),
];

/// Preconditioned devices unused for longer are removed when another one is made.
const UNUSED_MAX: Duration = Duration::from_secs(30 * 24 * 3600);

/// The least recently used preconditioned devices beyond this total are removed, too.
const PRECONDITIONED_BYTES_MAX: u64 = 20 << 30;

#[derive(Debug, Clone, PartialEq)]
pub struct CacheEntry {
    pub path: PathBuf,
    /// Space on the disk.
    pub bytes: u64,
    /// Start of its last use.
    pub used: SystemTime,
}

/// The result of removing an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    Removed,
    /// A process uses it.
    InUse,
}

/// The entries of a kind, the least recently used first.
pub fn list(kind: &str) -> Result<Vec<CacheEntry>> {
    let look = |path: PathBuf| {
        let used = path
            .metadata()
            .and_then(|directory| directory.modified())
            .unwrap_or(SystemTime::UNIX_EPOCH);
        CacheEntry { bytes: bytes_below(&path), path, used }
    };
    let mut entries: Vec<_> = cache::entries(kind)?.into_iter().map(look).collect();
    entries.sort_by_key(|entry| entry.used);
    Ok(entries)
}

/// Blocks on the disk, because preconditioned devices have holes. Files that vanish meanwhile count
/// 0.
fn bytes_below(path: &Path) -> u64 {
    let Ok(metadata) = path.symlink_metadata() else { return 0 };
    let own = metadata.blocks() * 512;
    let below = fs::read_dir(path).ok().filter(|_| metadata.is_dir());
    let below = below.into_iter().flatten().flatten().map(|entry| bytes_below(&entry.path()));
    own + below.sum::<u64>()
}

/// Locks an entry against removal until this process ends, and records the use.
pub fn hold(entry: &Path) -> Result<()> {
    static HELD: Mutex<BTreeMap<PathBuf, File>> = Mutex::new(BTreeMap::new());
    let cannot = || format!("cannot use {}", entry.display());
    let directory = File::open(entry).with_context(cannot)?;
    flock(&directory, FlockOperation::LockShared).with_context(cannot)?;
    directory.set_modified(SystemTime::now()).with_context(cannot)?;
    HELD.lock().insert(entry.to_owned(), directory);
    Ok(())
}

/// [`hold`]s the server in the cache to which `program` belongs; does nothing for an installed
/// server.
pub fn hold_server(program: &Path) -> Result<()> {
    let servers = cache::root()?.join("servers");
    let Ok(inside) = program.strip_prefix(&servers) else { return Ok(()) };
    inside.iter().next().map_or(Ok(()), |name| hold(&servers.join(name)))
}

/// Returns true if a process uses the entry.
#[must_use]
pub fn is_in_use(entry: &Path) -> bool {
    File::open(entry).is_ok_and(|directory| !can_lock(&directory))
}

fn can_lock(directory: &File) -> bool {
    flock(directory, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
}

/// Removes the existing entry, if any. Fails if a process uses it.
pub fn clear(shelf: &CacheLock, entry: &Path) -> Result<()> {
    match entry.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(found) if found.is_dir() => match remove(shelf, entry)? {
            Removal::Removed => Ok(()),
            Removal::InUse => bail!(
                "{} is damaged, and a running command uses it; try again when that has ended",
                entry.display()
            ),
        },
        _ => shelf.discard(entry),
    }
}

/// Removes an entry unless a process uses it. An interrupted removal leaves the entry whole, or
/// leftovers that the next maker sweeps.
pub fn remove(shelf: &CacheLock, entry: &Path) -> Result<Removal> {
    let directory =
        File::open(entry).with_context(|| format!("cannot remove {}", entry.display()))?;
    if !can_lock(&directory) {
        return Ok(Removal::InUse);
    }
    shelf.discard(entry)?;
    Ok(Removal::Removed)
}

/// Removes preconditioned devices that were unused for long, and the least recently used ones
/// beyond a total. Returns the removed entries.
pub fn drop_old_preconditioned(shelf: &CacheLock) -> Result<Vec<CacheEntry>> {
    let (free, used): (Vec<CacheEntry>, Vec<CacheEntry>) =
        list("preconditioned")?.into_iter().partition(|entry| !is_in_use(&entry.path));
    let held_bytes = used.iter().map(|entry| entry.bytes).sum();
    let mut dropped = Vec::new();
    for entry in superfluous(free, held_bytes, SystemTime::now()) {
        if remove(shelf, &entry.path)? == Removal::Removed {
            dropped.push(entry);
        }
    }
    Ok(dropped)
}

/// The entries to remove from `free`, which is ordered by last use, given `held_bytes` in use.
fn superfluous(free: Vec<CacheEntry>, held_bytes: u64, now: SystemTime) -> Vec<CacheEntry> {
    let mut total = held_bytes + free.iter().map(|entry| entry.bytes).sum::<u64>();
    let goes = |entry: &CacheEntry| {
        let unused = now.duration_since(entry.used).unwrap_or_default();
        let is_superfluous = unused > UNUSED_MAX || total > PRECONDITIONED_BYTES_MAX;
        total -= if is_superfluous { entry.bytes } else { 0 };
        is_superfluous
    };
    free.into_iter().filter(goes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn list(name: &str, gib: u64, days: u32, now: SystemTime) -> CacheEntry {
        CacheEntry { path: name.into(), bytes: gib << 30, used: now - DAY * days }
    }

    #[test]
    fn what_is_long_unused_goes_and_then_the_least_recently_used_beyond_the_total() {
        let now = SystemTime::now();
        let names = |held_gib: u64| -> Vec<String> {
            let free = [("old", 1, 31), ("a", 8, 9), ("b", 8, 8), ("c", 4, 1)]
                .map(|(n, g, d)| list(n, g, d, now));
            let gone = superfluous(free.to_vec(), held_gib << 30, now);
            gone.iter().map(|entry| entry.path.display().to_string()).collect()
        };
        assert_eq!(names(0), ["old"], "20 GiB may stay");
        assert_eq!(names(1), ["old", "a"]);
        assert_eq!(names(9), ["old", "a", "b"]);
        assert_eq!(names(40), ["old", "a", "b", "c"], "what is in use stays whatever it takes");
    }

    #[test]
    fn what_is_held_is_in_use_and_is_not_removed() {
        let directory = tempfile::tempdir().unwrap();
        let shelf = CacheLock::open_at(directory.path().to_path_buf(), || {}).unwrap();
        let [used, free] = ["used", "free"].map(|name| directory.path().join(name));
        for entry in [&used, &free] {
            fs::create_dir(entry).unwrap();
            fs::write(entry.join("media.img"), [1; 9000]).unwrap();
            File::open(entry).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        assert!(bytes_below(&used) >= 9000);
        hold(&used).unwrap();
        hold(&used).unwrap();
        assert!(used.metadata().unwrap().modified().unwrap() > SystemTime::now() - DAY);
        assert!(is_in_use(&used) && !is_in_use(&free));
        assert_eq!(remove(&shelf, &used).unwrap(), Removal::InUse);
        assert_eq!(remove(&shelf, &free).unwrap(), Removal::Removed);
        assert!(used.join("media.img").exists() && !free.exists());
        assert!(
            clear(&shelf, &used).unwrap_err().to_string().contains("a running command uses it")
        );
        assert!(used.join("media.img").exists());
        clear(&shelf, &free).unwrap();
        fs::write(&free, "a file").unwrap();
        clear(&shelf, &free).unwrap();
        assert!(free.symlink_metadata().is_err());
    }
}
