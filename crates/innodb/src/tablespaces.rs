//! Finds the tablespaces of a data directory: which files hold the pages of which tablespace, with
//! their size and checksum format.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::page::{ChecksumFormat, Flags, PageName, word};

/// Valid page sizes in bytes (MySQL reference manual, `innodb_page_size`).
const PAGE_SIZES: [u64; 5] = [4096, 8192, 16384, 32768, 65536];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFile {
    pub path: PathBuf,
    pub space: u32,
    /// Number of its first page: 0, except for the second file of the system tablespace.
    pub first_page: u64,
    /// Number of pages.
    pub pages: u64,
    pub format: ChecksumFormat,
}

#[derive(Debug, Clone)]
pub struct Tablespaces {
    pub directory: PathBuf,
    /// Page size in bytes.
    pub page_bytes: u64,
    /// Ordered by path.
    pub files: Vec<PageFile>,
    /// Files with `ROW_FORMAT=COMPRESSED`, whose pages are not read.
    pub unread: Vec<PathBuf>,
}

impl Tablespaces {
    /// Finds the tablespaces below a data directory.
    pub fn find(directory: &Path) -> Result<Tablespaces> {
        let system = directory.join("ibdata1");
        if !system.is_file() {
            bail!("{} has no ibdata1; give a server's data directory", directory.display());
        }
        let page_bytes = page_bytes(&system)?;
        let mut found = Tablespaces {
            directory: directory.to_owned(),
            page_bytes,
            files: Vec::new(),
            unread: Vec::new(),
        };
        let mut system_pages = 0;
        for path in files(directory)? {
            found.add(path, &mut system_pages)?;
        }
        Ok(found)
    }

    fn add(&mut self, path: PathBuf, system_pages: &mut u64) -> Result<()> {
        let file = open(&path)?;
        let pages = file.metadata()?.len() / self.page_bytes;
        if pages == 0 {
            return Ok(());
        }
        let mut first = vec![0; self.page_bytes as usize];
        file.read_exact_at(&mut first, 0)
            .with_context(|| format!("cannot read {}", path.display()))?;
        if system_number(&path).is_some() {
            let format = match self.files.iter().find(|file| file.space == 0) {
                Some(other) => other.format,
                None => Flags::of(&first).format(),
            };
            self.files.push(PageFile { path, space: 0, first_page: *system_pages, pages, format });
            *system_pages += pages;
            return Ok(());
        }
        let flags = Flags::of(&first);
        if flags.is_row_compressed() {
            self.unread.push(path);
            return Ok(());
        }
        // `FIL_PAGE_SPACE_ID` lies in the first 512 bytes, and every write of page 0 stores the
        // same number there.
        let space = word(&first, 34);
        self.files.push(PageFile { path, space, first_page: 0, pages, format: flags.format() });
        Ok(())
    }

    /// The file of a page and the byte offset in it; `None` if the tablespace is unknown or
    /// shorter.
    #[must_use]
    pub fn place(&self, name: PageName) -> Option<(&PageFile, u64)> {
        let number = u64::from(name.page);
        let holds = |file: &&PageFile| {
            file.space == name.space
                && (file.first_page..file.first_page + file.pages).contains(&number)
        };
        let file = self.files.iter().find(holds)?;
        Some((file, (number - file.first_page) * self.page_bytes))
    }

    /// Checksum formats by tablespace number, for readers of copies.
    #[must_use]
    pub fn formats(&self) -> BTreeMap<u32, ChecksumFormat> {
        self.files.iter().map(|file| (file.space, file.format)).collect()
    }
}

pub(crate) fn open(path: &Path) -> Result<File> {
    File::open(path).with_context(|| format!("cannot open {}", path.display()))
}

/// The page size of the system tablespace: the size at which the second page has number 1 and
/// tablespace 0.
fn page_bytes(system: &Path) -> Result<u64> {
    let file = open(system)?;
    let is_second = |size: &u64| {
        let mut head = [0; 38];
        // A page of zeroes would pass for tablespace 0, so the number must be 1.
        let read = file.read_exact_at(&mut head, *size).is_ok();
        read && word(&head, 4) == 1 && word(&head, 34) == 0 && word(&head, 20) != 0
    };
    let found = PAGE_SIZES.into_iter().find(is_second);
    found.with_context(|| format!("cannot tell the page size of {}", system.display()))
}

/// The files of pages below a data directory, by their names (MySQL reference manual, "InnoDB
/// On-Disk Structures"): system, undo and table spaces. Temporary tablespaces are left out: a
/// server recreates them at each start.
pub fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(directory) = left.pop() {
        let entries = std::fs::read_dir(&directory)
            .with_context(|| format!("cannot read {}", directory.display()))?;
        for entry in entries {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let is_temporary = name.starts_with("ibtmp") || name.starts_with('#');
            if entry.file_type()?.is_dir() && !is_temporary {
                left.push(path);
            } else if is_tablespace(&name) && !is_temporary {
                files.push(path);
            }
        }
    }
    // `ibdata10` comes after `ibdata2`.
    files.sort_by_key(|path| (system_number(path), path.clone()));
    Ok(files)
}

/// The number of a file of the system tablespace.
fn system_number(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.strip_prefix("ibdata")?.parse().ok()
}

fn is_tablespace(name: &str) -> bool {
    let is_kind = |kind: &str| Path::new(name).extension().is_some_and(|it| it == kind);
    let has_number = |word: &str| {
        name.strip_prefix(word).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    is_kind("ibd")
        || is_kind("ibu")
        || has_number("ibdata")
        || has_number("undo_")
        || has_number("undo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tablespaces_are_told_from_other_files() {
        let directory = tempfile::tempdir().unwrap();
        let names = [
            "ibdata1",
            "ibdata10",
            "ibdata2",
            "undo_001",
            "undo002",
            "mysql.ibd",
            "db/t.ibd",
            "ibtmp1",
            "#innodb_temp/temp_1.ibt",
            "#ib_16384_0.dblwr",
            "#innodb_redo/#ib_redo9",
            "auto.cnf",
            "db/t.frm",
        ];
        for name in names {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, b"").unwrap();
        }
        let found = files(directory.path()).unwrap();
        let names: Vec<_> = found
            .iter()
            .map(|path| path.strip_prefix(directory.path()).unwrap().to_str().unwrap())
            .collect();
        let expected =
            ["db/t.ibd", "mysql.ibd", "undo002", "undo_001", "ibdata1", "ibdata2", "ibdata10"];
        assert_eq!(names, expected);
    }
}
