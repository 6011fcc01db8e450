//! Compares pages with their copies: which pages are torn, and which copies are whole.

use std::collections::{BTreeMap, HashSet};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use crate::doublewrite::{PageCopy, copies, slots};
use crate::page::{PageFields, PageName, PageState, TRANSACTION_SYSTEM};
use crate::tablespaces::{PageFile, Tablespaces, open};

/// Pages read by one call.
const PAGES_AT_ONCE: u64 = 256;

/// A page that is torn or has copies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageComparison {
    /// The page's name by its position, not by its own header.
    pub name: PageName,
    pub file: PathBuf,
    /// Byte offset in the file.
    pub offset: u64,
    pub page: PageFields,
    /// In the order in which a server loads them.
    pub copies: Vec<PageCopy>,
}

/// The pages and copies of a data directory.
#[derive(Debug, Clone, Serialize)]
pub struct PageScan {
    /// Page size in bytes.
    pub page_bytes: u64,
    /// Number of pages read.
    pub pages: u64,
    /// Number of pages with encrypted or compressed contents, whose checksum cannot be computed.
    pub unreadable: u64,
    /// Files with `ROW_FORMAT=COMPRESSED`, whose pages are not read.
    pub unread: Vec<PathBuf>,
    /// In the order in which a server loads them.
    pub copies: Vec<PageCopy>,
    /// Pages that are torn or have copies, ordered by name.
    pub compared: Vec<PageComparison>,
}

/// Reads every page below a data directory, and every copy there or in `elsewhere`
/// (`innodb_doublewrite_dir`).
///
/// # Errors
/// Fails if `directory` is no data directory, if a file cannot be read, and if the checksums are of
/// another algorithm than `crc32`, `full_crc32` and `none`.
pub fn scan(directory: &Path, elsewhere: Option<&Path>) -> Result<PageScan> {
    let spaces = Tablespaces::find(directory)?;
    let slots = slots(&spaces, elsewhere)?;
    let copies = copies(&spaces, &slots)?;
    let mut by_name: BTreeMap<PageName, Vec<PageCopy>> = BTreeMap::new();
    for copy in &copies {
        by_name.entry(copy.fields.name).or_default().push(copy.clone());
    }
    let slots: HashSet<(&Path, u64)> =
        slots.iter().map(|slot| (&*slot.file, slot.offset)).collect();
    let mut found = PageScan {
        page_bytes: spaces.page_bytes,
        pages: 0,
        unreadable: 0,
        unread: spaces.unread.clone(),
        compared: Vec::new(),
        copies: Vec::new(),
    };
    let mut torn = 0;
    for file in &spaces.files {
        each_page(file, spaces.page_bytes, |name, offset, page| {
            found.pages += 1;
            found.unreadable += u64::from(page.state == PageState::Unreadable);
            // A slot of a doublewrite buffer in the system tablespace holds a copy, not a page.
            let is_slot = name.space == 0 && slots.contains(&(&*file.path, offset));
            let is_torn = page.state == PageState::Torn && !is_slot;
            torn += u64::from(is_torn);
            let copies = by_name.remove(&name).unwrap_or_default();
            if is_torn || !copies.is_empty() {
                let file = file.path.clone();
                found.compared.push(PageComparison { name, file, offset, page, copies });
            }
        })?;
    }
    ensure!(
        torn <= found.pages / 2,
        "{torn} of {} pages have a wrong checksum: they are of another innodb_checksum_algorithm \
         than crc32, full_crc32 or none, which assay cannot check",
        found.pages
    );
    found.compared.sort_by_key(|page| page.name);
    found.copies = copies;
    Ok(found)
}

fn each_page(
    file: &PageFile,
    page_bytes: u64,
    mut visit: impl FnMut(PageName, u64, PageFields),
) -> Result<()> {
    let source = open(&file.path)?;
    let mut bytes = vec![0; (PAGES_AT_ONCE * page_bytes) as usize];
    for first in (0..file.pages).step_by(PAGES_AT_ONCE as usize) {
        let count = PAGES_AT_ONCE.min(file.pages - first);
        let bytes = &mut bytes[..(count * page_bytes) as usize];
        source
            .read_exact_at(bytes, first * page_bytes)
            .with_context(|| format!("cannot read {}", file.path.display()))?;
        for (number, page) in (first..).zip(bytes.chunks(page_bytes as usize)) {
            let name = PageName { space: file.space, page: (file.first_page + number) as u32 };
            visit(name, number * page_bytes, PageFields::of(page, file.format));
        }
    }
    Ok(())
}

/// The highest LSN of all pages.
pub fn newest_lsn(spaces: &Tablespaces) -> Result<u64> {
    let slots = slots(spaces, None)?;
    let slots: HashSet<(&Path, u64)> =
        slots.iter().map(|slot| (&*slot.file, slot.offset)).collect();
    let mut newest = 0;
    for file in &spaces.files {
        each_page(file, spaces.page_bytes, |_, offset, page| {
            if page.state == PageState::Whole && !slots.contains(&(&*file.path, offset)) {
                newest = newest.max(page.lsn);
            }
        })?;
    }
    Ok(newest)
}

impl PageComparison {
    #[must_use]
    pub fn is_torn(&self) -> bool {
        self.page.state == PageState::Torn
    }

    /// The whole copy with the highest LSN.
    #[must_use]
    pub fn newest(&self) -> Option<&PageCopy> {
        self.whole().max_by_key(|copy| copy.fields.lsn)
    }

    /// The whole copy that a server finds first, if it is older than the newest one.
    #[must_use]
    pub fn older_first(&self) -> Option<&PageCopy> {
        let newest = self.newest()?.fields.lsn;
        self.whole().next().filter(|first| first.fields.lsn < newest)
    }

    /// Returns true if the page is whole and has the LSN of a copy that is not the newest. Servers
    /// that restore from the first copy found leave such pages.
    #[must_use]
    pub fn is_restored_from_older(&self) -> bool {
        let lsn = self.page.lsn;
        self.page.state == PageState::Whole
            && self.newest().is_some_and(|newest| newest.fields.lsn > lsn)
            && self.whole().any(|copy| copy.fields.lsn == lsn)
    }

    /// Returns true if the page is torn and MySQL reads it before it restores pages.
    #[must_use]
    pub fn is_read_too_early(&self) -> bool {
        self.is_torn() && self.name == TRANSACTION_SYSTEM
    }

    fn whole(&self) -> impl Iterator<Item = &PageCopy> {
        self.copies.iter().filter(|copy| copy.fields.state == PageState::Whole)
    }
}

impl PageScan {
    pub fn torn(&self) -> impl Iterator<Item = &PageComparison> {
        self.compared.iter().filter(|page| page.is_torn())
    }

    /// Pages that need the newest copy, with that copy: torn pages and those restored from an older
    /// copy.
    pub fn to_put_back(&self) -> impl Iterator<Item = (&PageComparison, &PageCopy)> {
        let needs = |page: &&PageComparison| page.is_torn() || page.is_restored_from_older();
        self.compared.iter().filter(needs).filter_map(|page| Some((page, page.newest()?)))
    }

    /// Drops the whole pages. Before a server has started on them, a page with the LSN of an older
    /// copy was not written since, and redo brings it up to date.
    #[must_use]
    pub fn torn_alone(mut self) -> PageScan {
        self.compared.retain(PageComparison::is_torn);
        self
    }

    /// The page of that name, if it is torn or has copies.
    #[must_use]
    pub fn of(&self, name: PageName) -> Option<&PageComparison> {
        self.compared.iter().find(|page| page.name == name)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::page::ChecksumFormat;
    use crate::page::made::{page, torn};
    use crate::put_back::{command, put_back};

    /// A data directory with pages of 4 KiB: system tablespace, a table `db/t.ibd` with number 7,
    /// two doublewrite files.
    fn directory(format: ChecksumFormat) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let pages = |space, count| -> Vec<u8> {
            (0..count)
                .flat_map(|number| page(space, number, 100 + u64::from(number), 9, format))
                .collect()
        };
        fs::create_dir(at("db")).unwrap();
        fs::write(at("ibdata1"), pages(0, 8)).unwrap();
        fs::write(at("db/t.ibd"), pages(7, 6)).unwrap();
        fs::write(at("#ib_4096_0.dblwr"), [0; 4 * 4096]).unwrap();
        fs::write(at("#ib_4096_1.dblwr"), [0; 4 * 4096]).unwrap();
        directory
    }

    fn write(directory: &Path, file: &str, page: u64, bytes: &[u8]) {
        let file = fs::File::options().write(true).open(directory.join(file)).unwrap();
        file.write_all_at(bytes, page * 4096).unwrap();
    }

    #[test]
    fn a_directory_without_torn_pages_needs_nothing() {
        for format in [ChecksumFormat::Crc32, ChecksumFormat::FullCrc32] {
            let directory = directory(format);
            // A copy equal to its page, and a copy newer than its page, which redo would bring up
            // to date.
            write(directory.path(), "#ib_4096_0.dblwr", 1, &page(7, 3, 103, 9, format));
            write(directory.path(), "#ib_4096_0.dblwr", 2, &page(7, 4, 900, 9, format));
            let found = scan(directory.path(), None).unwrap();
            assert_eq!((found.pages, found.copies.len(), found.compared.len()), (14, 2, 2));
            assert_eq!((found.torn().count(), found.to_put_back().count()), (0, 0));
        }
    }

    #[test]
    fn the_newest_whole_copy_of_a_torn_page_is_found_and_put_back() {
        for format in [ChecksumFormat::Crc32, ChecksumFormat::FullCrc32] {
            let directory = directory(format);
            let (old, new) = (page(7, 3, 50, 1, format), page(7, 3, 500, 2, format));
            let between = page(7, 3, 103, 9, format);
            write(directory.path(), "db/t.ibd", 3, &torn(&between, &new));
            write(directory.path(), "#ib_4096_0.dblwr", 2, &old);
            write(
                directory.path(),
                "#ib_4096_1.dblwr",
                0,
                &torn(&between, &page(7, 3, 700, 3, format)),
            );
            write(directory.path(), "#ib_4096_1.dblwr", 1, &new);
            let found = scan(directory.path(), None).unwrap();
            let page = found.torn().next().unwrap();
            assert_eq!(page.name, PageName { space: 7, page: 3 });
            assert_eq!((page.page.lsn, page.page.lsn_tail, page.copies.len()), (103, 500, 3));
            assert_eq!(page.newest().unwrap().fields.lsn, 500);
            assert_eq!(
                page.older_first().map(|copy| (copy.fields.lsn, copy.offset)),
                Some((50, 8192))
            );
            let said: Vec<_> = found
                .to_put_back()
                .map(|(page, copy)| {
                    command((&copy.file, copy.offset), (&page.file, page.offset), 4096)
                })
                .collect();
            let base = directory.path().display();
            assert_eq!(
                said,
                [format!(
                    "dd if='{base}/#ib_4096_1.dblwr' of={base}/db/t.ibd bs=4096 skip=1 seek=3 \
                     count=1 conv=notrunc status=none"
                )]
            );
            assert_eq!(put_back(&found).unwrap(), 1);
            let after = scan(directory.path(), None).unwrap();
            assert_eq!((after.torn().count(), after.to_put_back().count()), (0, 0));
            assert_eq!(after.of(page.name).unwrap().page.lsn, 500);
        }
    }

    #[test]
    fn a_page_that_was_restored_from_an_older_copy_is_told_from_one_that_was_not_written_yet() {
        let directory = directory(ChecksumFormat::Crc32);
        let page = |lsn| page(7, 3, lsn, 1, ChecksumFormat::Crc32);
        write(directory.path(), "#ib_4096_0.dblwr", 0, &page(50));
        write(directory.path(), "#ib_4096_1.dblwr", 0, &page(500));
        let name = PageName { space: 7, page: 3 };
        for (lsn, is_restored) in [(50, true), (103, false), (500, false)] {
            write(directory.path(), "db/t.ibd", 3, &page(lsn));
            let found = scan(directory.path(), None).unwrap();
            assert_eq!(found.of(name).unwrap().is_restored_from_older(), is_restored, "{lsn}");
        }
    }

    #[test]
    fn copies_in_the_system_tablespace_are_no_pages_of_it() {
        let format = ChecksumFormat::FullCrc32;
        let directory = directory(format);
        let mut system: Vec<u8> =
            (0..200).flat_map(|number| page(0, number, 100, 9, format)).collect();
        let mut five = page(0, 5, 100, 9, format);
        let words = [536_853_855_u32, 64, 128].map(u32::to_be_bytes).concat();
        five[4096 - 190..][..12].copy_from_slice(&words);
        let sum = crate::page::checksum(&five, format).to_be_bytes();
        five[4092..].copy_from_slice(&sum);
        system[5 * 4096..6 * 4096].copy_from_slice(&five);
        system[64 * 4096..192 * 4096].fill(0);
        fs::write(directory.path().join("ibdata1"), &system).unwrap();
        let (old, new) = (page(7, 3, 103, 9, format), page(7, 3, 500, 2, format));
        write(directory.path(), "ibdata1", 130, &new);
        write(directory.path(), "ibdata1", 65, &torn(&new, &old));
        write(directory.path(), "db/t.ibd", 3, &torn(&old, &new));
        let found = scan(directory.path(), None).unwrap();
        let names: Vec<_> = found.torn().map(|page| page.name).collect();
        assert_eq!(names, [PageName { space: 7, page: 3 }]);
        let newest = found.torn().next().unwrap().newest().unwrap();
        assert_eq!((newest.offset, newest.fields.lsn), (130 * 4096, 500));
    }

    #[test]
    fn pages_of_another_checksum_are_refused_by_name() {
        let directory = directory(ChecksumFormat::Crc32);
        for number in 0..6 {
            let mut page = page(7, number, 100, 1, ChecksumFormat::Crc32);
            page[0] ^= 1;
            write(directory.path(), "db/t.ibd", number.into(), &page);
        }
        for number in 2..8 {
            let mut page = page(0, number, 100, 1, ChecksumFormat::Crc32);
            page[0] ^= 1;
            write(directory.path(), "ibdata1", number.into(), &page);
        }
        let error = scan(directory.path(), None).unwrap_err().to_string();
        assert!(error.contains("another innodb_checksum_algorithm"), "{error}");
        let none = scan(Path::new("/"), None).unwrap_err().to_string();
        assert_eq!(none, "/ has no ibdata1; give a server's data directory");
    }
}
