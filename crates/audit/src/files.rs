//! Examines the files of a data directory: names, sizes, extents, and whether the header marks the
//! file as encrypted by InnoDB.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use assay_base::plain_file;
use assay_innodb::tablespace::Tablespace;
use assay_ports::extents;
use serde::{Deserialize, Serialize};

use crate::ground::Ground;
use crate::pages::PageLayout;

/// The purpose of a file by its name (MySQL's manual, "InnoDB On-Disk Structures"; MariaDB's
/// likewise).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// `*.ibd`: one table or several.
    Table,
    /// `ibdata*`, the system tablespace, and `mysql.ibd`.
    System,
    /// `undo_*`, `undo00*`.
    Undo,
    /// `#ib_*.dblwr`.
    Doublewrite,
    /// `#innodb_redo/*`, `ib_logfile*`.
    Redo,
}

impl FileKind {
    /// The purpose of the file `name` in a directory named `directory`.
    fn of(directory: &str, name: &str) -> Option<FileKind> {
        let is = |suffix: &str| name.ends_with(suffix);
        Some(match name {
            _ if directory == "#innodb_redo" => FileKind::Redo,
            _ if directory == "#innodb_temp" => return None,
            "mysql.ibd" => FileKind::System,
            _ if is(".dblwr") => FileKind::Doublewrite,
            _ if is(".ibd") => FileKind::Table,
            _ if name.starts_with("ib_logfile") => FileKind::Redo,
            _ if name.starts_with("ibdata") => FileKind::System,
            _ if name.starts_with("undo_") || name.starts_with("undo00") => FileKind::Undo,
            _ => return None,
        })
    }

    /// Returns true if pages are written in place in the file, so that a torn page is damage.
    #[must_use]
    pub fn holds_pages(self) -> bool {
        matches!(self, FileKind::Table | FileKind::System | FileKind::Undo)
    }
}

/// A file that was examined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExaminedFile {
    pub path: PathBuf,
    pub kind: FileKind,
    pub bytes: u64,
    /// Number of its device (`stat(2)`, `st_dev`).
    pub device: u64,
    /// The layout of its pages; `None` if the file system does not report extents.
    pub pages: Option<PageLayout>,
    /// Number of extents.
    pub extents: u64,
    /// Bytes shared with other files or snapshots.
    pub shared_bytes: u64,
    /// True if InnoDB encrypts the file: then no layer below can compress it.
    pub encrypted: bool,
}

/// The files of a data directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// The files that were examined.
    pub looked: Vec<ExaminedFile>,
    /// The files that could not be examined, each with the error.
    pub refused: Vec<(PathBuf, String)>,
}

impl Files {
    pub fn of(&self, kind: FileKind) -> impl Iterator<Item = &ExaminedFile> {
        self.looked.iter().filter(move |file| file.kind == kind)
    }

    /// The files that InnoDB encrypts.
    pub fn encrypted(&self) -> impl Iterator<Item = &ExaminedFile> {
        self.looked.iter().filter(|file| file.encrypted)
    }

    /// The layout of the pages of all files that are written in place.
    #[must_use]
    pub fn pages(&self) -> PageLayout {
        let held = self.looked.iter().filter(|file| file.kind.holds_pages());
        held.filter_map(|file| file.pages).fold(PageLayout::default(), PageLayout::with)
    }
}

/// MariaDB, and MySQL up to 5.7, store the path of a table outside the data directory in such a
/// file.
const ELSEWHERE: &str = "it names a table that lies elsewhere; ask the server with --server";

/// Examines all files below a data directory, following links; each file carries its own path.
/// `ground_of` returns the ground of a device.
pub fn look(
    directory: &Path,
    page_bytes: u64,
    ground_of: &dyn Fn(u64) -> Rc<Ground>,
) -> io::Result<Files> {
    let mut files = Files::default();
    let mut waiting = vec![directory.to_owned()];
    let mut seen: BTreeSet<(u64, u64)> = BTreeSet::new();
    while let Some(path) = waiting.pop() {
        // A link may lead back up.
        let is_new = fs::metadata(&path).is_ok_and(|its| seen.insert((its.dev(), its.ino())));
        if !is_new && path != directory {
            continue;
        }
        let entries = match fs::read_dir(&path) {
            Err(error) if path == directory => return Err(error),
            Err(error) => {
                files.refused.push((path, error.to_string()));
                continue;
            }
            Ok(entries) => entries,
        };
        let of = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
                continue;
            }
            let name = entry.file_name();
            if path.extension().is_some_and(|ending| ending == "isl") {
                files.refused.push((path, ELSEWHERE.into()));
                continue;
            }
            if let Some(kind) = name.to_str().and_then(|name| FileKind::of(&of, name)) {
                match look_at(&path, kind, page_bytes, ground_of) {
                    Ok(looked) => files.looked.push(looked),
                    // The table was dropped meanwhile.
                    Err(error)
                        if error.kind() == io::ErrorKind::NotFound
                            && fs::symlink_metadata(&path).is_err() => {}
                    Err(error) => files.refused.push((path, error.to_string())),
                }
            }
        }
    }
    files.sort();
    Ok(files)
}

impl Files {
    /// Examines further files by name; files examined before are left out.
    pub fn add(
        &mut self,
        paths: &[PathBuf],
        page_bytes: u64,
        ground_of: &dyn Fn(u64) -> Rc<Ground>,
    ) {
        for path in paths {
            let Ok(path) = path.canonicalize() else {
                self.refused.push((path.clone(), "it is not there".into()));
                continue;
            };
            let known = self.looked.iter().map(|file| &file.path);
            if known.chain(self.refused.iter().map(|(path, _)| path)).any(|known| *known == path) {
                continue;
            }
            let directory = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let kind = FileKind::of(directory.unwrap_or_default(), name);
            match look_at(&path, kind.unwrap_or(FileKind::Table), page_bytes, ground_of) {
                Ok(looked) => self.looked.push(looked),
                Err(error) => self.refused.push((path, error.to_string())),
            }
        }
        self.sort();
    }

    fn sort(&mut self) {
        self.looked.sort_by(|a, b| a.path.cmp(&b.path));
        self.refused.sort();
    }
}

fn look_at(
    path: &Path,
    kind: FileKind,
    page_bytes: u64,
    ground_of: &dyn Fn(u64) -> Rc<Ground>,
) -> io::Result<ExaminedFile> {
    let path = &path.canonicalize()?;
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    // The file may have been replaced by a pipe meanwhile.
    let file = plain_file::open(path)?;
    let metadata = file.metadata()?;
    let found = match extents::of(&file) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => None,
        Err(error) => return Err(error),
    };
    let shared = found.iter().flatten().filter(|extent| extent.flags.is_shared());
    Ok(ExaminedFile {
        path: path.to_owned(),
        kind,
        bytes: metadata.len(),
        device: metadata.dev(),
        shared_bytes: shared.map(|extent| extent.length).sum(),
        encrypted: kind.holds_pages() && Tablespace::is_encrypted(path)?.unwrap_or(false),
        extents: found.as_ref().map_or(0, |found| found.len() as u64),
        pages: found.map(|found| {
            PageLayout::of(&found, metadata.len(), page_bytes, &ground_of(metadata.dev()))
        }),
    })
}

/// The page size of the server whose system tablespace this is, from the flags in its header
/// (`FSP_SPACE_FLAGS` at byte 54 of page 0; bits 6 to 9 are the shift of the page size, or bits 0
/// to 3 if MariaDB has set bit 4: `fsp0types.h` of both). The header contains no data of any table.
pub fn page_bytes_of(system: &Path) -> io::Result<u64> {
    let mut header = [0; 58];
    plain_file::open(&system.canonicalize()?)?.read_exact(&mut header)?;
    let flags = u32::from_be_bytes([header[54], header[55], header[56], header[57]]);
    let shift = if flags & 0x10 != 0 { flags & 0xf } else { flags >> 6 & 0xf };
    // For pages of 16 KiB MySQL stores 0, for compatibility with older versions.
    Ok(if shift == 0 { 16 << 10 } else { 512 << shift })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_names() {
        let kind = |directory: &str, name: &str| FileKind::of(directory, name);
        assert_eq!(kind("sbtest", "t1.ibd"), Some(FileKind::Table));
        assert_eq!(kind("data", "mysql.ibd"), Some(FileKind::System));
        assert_eq!(kind("data", "ibdata1"), Some(FileKind::System));
        assert_eq!(kind("data", "undo_001"), Some(FileKind::Undo));
        assert_eq!(kind("data", "#ib_16384_0.dblwr"), Some(FileKind::Doublewrite));
        assert_eq!(kind("#innodb_redo", "#ib_redo7"), Some(FileKind::Redo));
        assert_eq!(kind("data", "ib_logfile0"), Some(FileKind::Redo));
        for other in ["ib_buffer_pool", "binlog.000001", "t1.sdi", "ibtmp1"] {
            assert_eq!(kind("data", other), None, "{other}");
        }
        assert_eq!(kind("#innodb_temp", "temp_1.ibt"), None);
    }

    #[test]
    fn torn_pages_matter_in_tables_the_system_tablespace_and_undo() {
        let [table, system, undo, doublewrite, redo] = [
            FileKind::Table,
            FileKind::System,
            FileKind::Undo,
            FileKind::Doublewrite,
            FileKind::Redo,
        ]
        .map(FileKind::holds_pages);
        assert!(table && system && undo && !doublewrite && !redo);
    }

    #[test]
    fn all_files_below_are_found_and_what_is_in_them_is_not_read() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        fs::create_dir(directory.path().join("sbtest")).unwrap();
        fs::write(directory.path().join("ibdata1"), vec![0; 40 << 10]).unwrap();
        fs::write(directory.path().join("sbtest/t1.ibd"), vec![1; 64 << 10]).unwrap();
        fs::write(directory.path().join("notes.txt"), "x").unwrap();
        for name in ["ibdata1", "sbtest/t1.ibd"] {
            fs::File::open(directory.path().join(name)).unwrap().sync_all().unwrap();
        }
        let files = look(directory.path(), 16 << 10, &|_| Rc::default()).unwrap();
        assert_eq!((files.looked.len(), files.refused.len()), (2, 0));
        let table = files.of(FileKind::Table).next().unwrap();
        assert_eq!((table.bytes, table.pages.unwrap().count), (64 << 10, 4));
        assert!(table.extents >= 1 && table.pages.unwrap().whole <= 4);
        assert_eq!(files.pages().count, 4 + 2, "of the system tablespace too");
        assert_eq!(page_bytes_of(&directory.path().join("ibdata1")).unwrap(), 16 << 10);
        let missing =
            look(&directory.path().join("none"), 16 << 10, &|_| Rc::default()).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
