//! Writes the newest copies over torn pages.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result};

use crate::scan::PageScan;
use crate::tablespaces::open;

/// The shell command that copies a page from an offset in one file to an offset in another.
#[must_use]
pub fn command(from: (&Path, u64), to: (&Path, u64), page_bytes: u64) -> String {
    let word = |path: &Path| assay_base::text::shell_word(&path.display().to_string());
    format!(
        "dd if={} of={} bs={page_bytes} skip={} seek={} count=1 conv=notrunc status=none",
        word(from.0),
        word(to.0),
        from.1 / page_bytes,
        to.1 / page_bytes
    )
}

/// Writes the newest whole copies over all pages that need them. Returns the number of pages. No
/// server may run on the directory.
pub fn put_back(found: &PageScan) -> Result<u64> {
    let mut count = 0;
    for (page, copy) in found.to_put_back() {
        let mut bytes = vec![0; found.page_bytes as usize];
        open(&copy.file)?.read_exact_at(&mut bytes, copy.offset)?;
        let file = File::options().write(true).open(&page.file);
        let written = file.and_then(|file| {
            file.write_all_at(&bytes, page.offset)?;
            file.sync_all()
        });
        written.with_context(|| format!("cannot write {}", page.file.display()))?;
        count += 1;
    }
    Ok(count)
}
