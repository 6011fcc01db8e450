//! Files in the kernel's page cache, and dropping them from it.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::Result;

/// Drops the clean pages of all files below `directory` from the page cache, so that reading them
/// is as on a cold machine. Returns the number of files; those that vanish meanwhile do not count.
///
/// # Errors
/// A file that cannot be opened.
pub fn forget(directory: &Path) -> Result<u64> {
    let mut files = 0;
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        match forget_entry(&path) {
            Ok(more) => files += more,
            Err(error) if is_of_nothing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(files)
}

fn forget_entry(path: &Path) -> Result<u64> {
    let kind = path.symlink_metadata()?.file_type();
    if kind.is_dir() {
        return forget(path);
    }
    if !kind.is_file() {
        return Ok(0);
    }
    let file = std::fs::File::open(path)?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(1)
}

fn is_of_nothing(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|one| one.kind() == ErrorKind::NotFound)
}
