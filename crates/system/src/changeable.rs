//! Finds out whether another user could replace a file or directory.
//!
//! This user, root, and under sudo the user who called it do not count as others.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How another user could replace it, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ByOthers {
    /// The file belongs to another user.
    Owner {
        /// The file, or a directory above it.
        path: PathBuf,
        /// Number of the user.
        user: u32,
    },
    /// Other users may write to the file.
    Open {
        /// The file, or a directory above it.
        path: PathBuf,
    },
}

impl fmt::Display for ByOthers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &Path| path.display().to_string().escape_debug().to_string();
        match self {
            ByOthers::Owner { path, user } => write!(f, "{} belongs to user {user}", shown(path)),
            ByOthers::Open { path } => write!(f, "other users can write to {}", shown(path)),
        }
    }
}

/// How others could change `path`, or redirect it by a directory above it; `None` if nobody can, or
/// if it does not exist.
#[must_use]
pub fn anywhere(path: &Path) -> Option<ByOthers> {
    // A link can be redirected by the owner of its directory.
    let places = [std::path::absolute(path).ok()?, path.canonicalize().ok()?];
    let all: BTreeSet<&Path> = places.iter().flat_map(|place| place.ancestors()).collect();
    all.into_iter().rev().find_map(itself)
}

/// How others could change the file or directory `path` itself.
#[must_use]
pub fn itself(path: &Path) -> Option<ByOthers> {
    let found = path.symlink_metadata().ok()?;
    if !own_users().contains(&found.uid()) {
        return Some(ByOthers::Owner { path: path.to_owned(), user: found.uid() });
    }
    is_open(&found).then(|| ByOthers::Open { path: path.to_owned() })
}

/// This user and root; under sudo the calling user, too.
fn own_users() -> Vec<u32> {
    let uid = rustix::process::geteuid();
    let caller = std::env::var("SUDO_UID").ok().filter(|_| uid.is_root());
    let caller = caller.and_then(|uid| uid.parse().ok());
    [uid.as_raw(), 0].into_iter().chain(caller).collect()
}

/// Returns true if others may change a file, or replace an entry of a directory. The sticky bit
/// prevents the latter (`unlink(2)`). A user's private group counts as the user; links have no
/// mode.
fn is_open(found: &Metadata) -> bool {
    let is_sticky_directory = found.is_dir() && found.mode() & 0o1000 != 0;
    let is_own_group = found.gid() == rustix::process::getegid().as_raw();
    let writers = if is_own_group { 0o002 } else { 0o022 };
    !is_sticky_directory && !found.is_symlink() && found.mode() & writers != 0
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn every_directory_above_counts_and_a_sticky_one_is_nobodys() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        let file = root.join("a/b/plan.toml");
        fs::write(&file, "").unwrap();
        let set =
            |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        set(&file, 0o644);
        assert_eq!(anywhere(&file), None);
        set(&root.join("a"), 0o777);
        assert_eq!(anywhere(&file), Some(ByOthers::Open { path: root.join("a") }));
        assert_eq!(itself(&file), None);
        set(&root.join("a"), 0o1777);
        assert_eq!(anywhere(&file), None);
        set(&file, 0o646);
        assert_eq!(anywhere(&file), Some(ByOthers::Open { path: file.clone() }));
        set(&file, 0o644);
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(root.join("a"), Some(12345), None).unwrap();
            let told = anywhere(&file).unwrap().to_string();
            assert!(told.ends_with("/a belongs to user 12345"), "{told}");
        }
    }
}
