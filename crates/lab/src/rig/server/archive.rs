//! A server from its maker's archive, unpacked into the cache once for each content.
//!
//! Guarantees: an archive that is damaged, leads out of its directory or holds no server of use
//! leaves nothing behind; what is unpacked runs as the user who started Assay, from the cache, and
//! nothing is installed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use assay_packages::Archive;
use assay_system::cache::{self, CacheLock};
use assay_system::cache_entry;
use parking_lot::Mutex;

use super::binary::{Binary, Origin};
use super::layout::program_in;
use super::shelf::{SHELF, open_shelf};

/// The beginning of the names of entries that come from archives.
const PREFIX: &str = "archive-";

/// Hexadecimal digits of the digest in an entry's name: 64 bits.
const DIGITS: usize = 16;

/// Endings of archives, also of those that cannot be unpacked here.
const ENDINGS: [&str; 8] = [".tar", ".tgz", ".txz", ".tbz2", ".zip", ".deb", ".rpm", ".dmg"];

/// The archive at `path`; `None` where another file or a directory is.
///
/// # Errors
/// By its name the file is an archive, and it cannot be unpacked here.
pub(super) fn open(path: &Path) -> Result<Option<Archive>> {
    // A program may be run where it may not be read.
    let archive = Archive::open(path).ok().flatten();
    if archive.is_none() && is_named_like_one(path) {
        bail!(
            "{} is damaged, or of a kind that is not unpacked here; name a .tar.xz, .tar.gz or \
             .tar, as MySQL, Percona and MariaDB publish them for Linux, or a mysqld",
            path.display()
        );
    }
    Ok(archive)
}

fn is_named_like_one(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    path.is_file() && (name.contains(".tar.") || ENDINGS.iter().any(|end| name.ends_with(end)))
}

/// Returns true for a cache entry that was unpacked from an archive.
pub(super) fn is_entry(directory: &Path) -> bool {
    directory.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
}

/// The server of the archive at `path`, if it was unpacked before.
///
/// # Errors
/// The archive cannot be read.
pub(super) fn unpacked(path: &Path, archive: &mut Archive) -> Result<Option<Binary>> {
    let entry = cache::root()?.join(SHELF).join(entry_name(&digest(path, archive)?));
    Ok(in_entry(&entry))
}

/// The server of the archive at `path`, unpacked now. `progress` gets a plain line for each step.
///
/// # Errors
/// The archive is damaged or holds no server of use, or there is no space.
pub(super) fn unpack(path: &Path, progress: &dyn Fn(&str)) -> Result<Binary> {
    super::check_cache()?;
    let mut archive = open(path)?.with_context(|| format!("no archive at {}", path.display()))?;
    let digest = digest(path, &mut archive)?;
    let shelf = open_shelf(progress)?;
    let target = shelf.entry(&entry_name(&digest));
    // By another process, while this one waited.
    if let Some(binary) = in_entry(&target) {
        return Ok(binary);
    }
    let mb = path.metadata()?.len().div_ceil(1_000_000);
    progress(&format!("unpacking {} ({mb} MB, SHA-256 {digest})", path.display()));
    publish(path, &mut archive, &shelf, &target, progress)
}

fn publish(
    path: &Path,
    archive: &mut Archive,
    shelf: &CacheLock,
    target: &Path,
    progress: &dyn Fn(&str),
) -> Result<Binary> {
    let staging = shelf.stage()?;
    let tree = staging.path().join("tree");
    archive.unpack(&tree, progress)?;
    let (root, program) = server_in(&tree)
        .with_context(|| format!("there is no mysqld or mariadbd in {}", path.display()))?;
    Binary::inspect(&program, Origin::Archive)
        .with_context(|| format!("the server in {} cannot be used", path.display()))?;
    cache_entry::clear(shelf, target)?;
    let part = root.strip_prefix(staging.path())?.to_string_lossy().into_owned();
    staging.publish(&part, target)?;
    in_entry(target).with_context(|| format!("{} lost its server", target.display()))
}

/// The directory of the server in an unpacked archive, and its program: makers put everything into
/// one directory.
fn server_in(tree: &Path) -> Option<(PathBuf, PathBuf)> {
    let below = fs::read_dir(tree).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let roots = std::iter::once(tree.to_owned()).chain(below.filter(|path| path.is_dir()));
    roots.into_iter().find_map(|root| {
        let program = program_in(&root)?;
        Some((root, program))
    })
}

fn in_entry(entry: &Path) -> Option<Binary> {
    Binary::inspect(&program_in(entry)?, Origin::Archive).ok()
}

fn entry_name(digest: &str) -> String {
    format!("{PREFIX}{}", &digest[..DIGITS])
}

/// The digest of an archive, which is read once while it stays as it is.
fn digest(path: &Path, archive: &mut Archive) -> Result<String> {
    type Identity = (u64, u64, u64, i64, i64);
    static KNOWN: Mutex<BTreeMap<Identity, String>> = Mutex::new(BTreeMap::new());
    let file = path.metadata()?;
    let identity = (file.dev(), file.ino(), file.size(), file.mtime(), file.mtime_nsec());
    if let Some(known) = KNOWN.lock().get(&identity) {
        return Ok(known.clone());
    }
    let digest = archive.digest()?;
    KNOWN.lock().insert(identity, digest.clone());
    Ok(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_found_at_the_top_or_in_the_one_directory() {
        for program in ["bin/mysqld", "mysql-9/bin/mysqld", "mariadb/usr/sbin/mariadbd"] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join(program);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            assert_eq!(server_in(directory.path()), None);
            fs::write(&path, "").unwrap();
            assert_eq!(server_in(directory.path()).unwrap().1, path);
        }
    }

    #[test]
    fn what_only_has_the_name_of_an_archive_is_refused_in_a_line() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["mysql-9.tar.xz", "mysql.TGZ", "mysql.zip", "mysql_9_amd64.deb"] {
            let path = directory.path().join(name);
            assert!(open(&path).unwrap().is_none(), "{name} does not exist");
            fs::write(&path, "<html>").unwrap();
            let error = open(&path).unwrap_err().to_string();
            assert!(error.contains("is damaged, or of a kind that is not unpacked"), "{error}");
        }
        fs::write(directory.path().join("mysqld"), "#!/bin/sh").unwrap();
        assert!(open(&directory.path().join("mysqld")).unwrap().is_none());
    }
}
