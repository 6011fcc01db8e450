//! The identity of a file, independent of its names: links, bind mounts, renaming.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Value of [`FileId::device`] for block devices, whose own number is used instead of that of the
/// file system that holds their node.
const BLOCK_DEVICES: u64 = u64::MAX;

/// A file, directory or block device, identified until the next boot: numbers start anew with each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    /// The file with these metadata (`st_dev` and `st_ino` of `stat(2)`; `st_rdev` of a block
    /// device).
    #[must_use]
    pub fn of(metadata: &Metadata) -> FileId {
        match metadata.file_type().is_block_device() {
            true => FileId { device: BLOCK_DEVICES, number: metadata.rdev() },
            false => FileId { device: metadata.dev(), number: metadata.ino() },
        }
    }

    /// The file with number `inode` on the file system `device` (`st_ino` and `st_dev` of
    /// `stat(2)`).
    #[must_use]
    pub fn on(device: u64, inode: u64) -> FileId {
        FileId { device, number: inode }
    }

    /// The file that `path` leads to.
    ///
    /// # Errors
    /// The system's error, e.g. that there is no such file.
    pub fn named(path: &Path) -> io::Result<FileId> {
        Ok(FileId::of(&path.metadata()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_every_name_and_another_in_its_place_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        let id = FileId::named(&at("file")).unwrap();
        std::fs::hard_link(at("file"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("file"), at("symlink")).unwrap();
        assert_eq!(FileId::named(&at("symlink")).unwrap(), id);
        std::fs::rename(at("file"), at("moved")).unwrap();
        std::fs::write(at("file"), "").unwrap();
        assert_eq!(FileId::named(&at("link")).unwrap(), id);
        assert_eq!(FileId::named(&at("moved")).unwrap(), id);
        assert_ne!(FileId::named(&at("file")).unwrap(), id);
    }
}
