//! Puts the newest copies over torn pages.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result};

use crate::look::Look;
use crate::tablespaces::open;

/// The command that copies a page from a place in one file to a place in another, for a shell.
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

/// Puts the newest whole copies over all pages that need them; returns the number of pages. No server may run there.
///
/// # Errors
/// A file that cannot be read or written.
pub fn put_back(found: &Look) -> Result<u64> {
    let mut count = 0;
    for (one, copy) in found.to_put_back() {
        let mut page = vec![0; found.page_bytes as usize];
        open(&copy.file)?.read_exact_at(&mut page, copy.offset)?;
        let file = File::options().write(true).open(&one.file);
        let written = file.and_then(|file| {
            file.write_all_at(&page, one.offset)?;
            file.sync_all()
        });
        written.with_context(|| format!("cannot write {}", one.file.display()))?;
        count += 1;
    }
    Ok(count)
}
