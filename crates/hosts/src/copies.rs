//! Copies of this program in a host's cache, which other machines have brought: that in use is held, and of the others a few are kept.

use anyhow::Result;
use assay_system::cache::{self, CacheLock};
use assay_system::cache_entry;

use crate::program::own_entry;

/// Their directory in the cache.
const SHELF: &str = "programs";

/// How many are kept beside that in use: those who measure from one machine have one or two versions.
const KEPT: usize = 2;

/// Holds the copy that this process runs from, if it does, and removes the least recently used of the others.
///
/// # Errors
/// What the system answered.
pub(crate) fn tidy() -> Result<()> {
    let Some(own) = own_entry(&cache::root()?.join(SHELF)) else { return Ok(()) };
    cache_entry::hold(&own)?;
    // Somebody who copies now tidies up afterwards.
    let Some(shelf) = CacheLock::try_open(SHELF)? else { return Ok(()) };
    let mut others = cache_entry::list(SHELF)?;
    others.retain(|one| one.path != own);
    for one in others.iter().rev().skip(KEPT) {
        cache_entry::remove(&shelf, &one.path)?;
    }
    Ok(())
}
