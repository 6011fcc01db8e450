//! The torn pages on a disk that lost something, and whether their newest copies bring it back.

use std::path::Path;

use anyhow::Result;
use assay_innodb::{PageComparison, PageCopy, PageScan, put_back, scan};
use assay_study::power_cut::{Aftermath, CopyLeft, FilePlace, Loss, PageLeft};

/// Looks at a data directory before a server starts on it; `again` starts one and checks everything
/// after the newest copies have been put over the torn pages.
///
/// # Errors
/// The reason why it cannot be read.
pub(super) fn aftermath(
    data_dir: &Path,
    again: impl FnOnce() -> Result<Vec<Loss>>,
) -> Result<Aftermath> {
    let found = scan(data_dir, None)?.torn_alone();
    let put_back = if put_back(&found)? > 0 { Some(again()?) } else { None };
    Ok(Aftermath { page_bytes: found.page_bytes, pages: pages_left(&found, data_dir), put_back })
}

/// The pages that are torn or restored from an older copy.
pub fn pages_left(found: &PageScan, data_dir: &Path) -> Vec<PageLeft> {
    let left = |one: &PageComparison| PageLeft {
        name: one.name,
        at: at(&one.file, one.offset, data_dir),
        is_torn: one.is_torn(),
        lsn: one.page.lsn,
        lsn_tail: one.page.lsn_tail,
        newest: one.newest().map(|copy| copy_left(copy, data_dir)),
        older_first: one.older_first().map(|copy| copy_left(copy, data_dir)),
    };
    let needs = |one: &&PageComparison| one.is_torn() || one.is_restored_from_older();
    found.compared.iter().filter(needs).map(left).collect()
}

fn copy_left(copy: &PageCopy, data_dir: &Path) -> CopyLeft {
    CopyLeft { at: at(&copy.file, copy.offset, data_dir), lsn: copy.fields.lsn }
}

fn at(file: &Path, offset: u64, data_dir: &Path) -> FilePlace {
    let file = file.strip_prefix(data_dir).unwrap_or(file).display().to_string();
    FilePlace { file, offset }
}
