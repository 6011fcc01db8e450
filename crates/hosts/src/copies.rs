//! Copies of this program in a host's cache, left by other machines: the current one is locked, and
//! a few of the others are kept.

use anyhow::Result;
use assay_system::cache::{self, CacheLock};
use assay_system::cache_entry;

use crate::program::own_entry;

const SHELF: &str = "programs";

/// Number of copies kept in addition to the current one: users of one machine have one or two
/// versions.
const KEPT: usize = 2;

/// Locks the copy that this process runs from, and removes the least recently used of the others.
pub(crate) fn tidy() -> Result<()> {
    let Some(own) = own_entry(&cache::root()?.join(SHELF)) else { return Ok(()) };
    cache_entry::hold(&own)?;
    // A process that is copying right now tidies up afterwards.
    let Some(shelf) = CacheLock::try_open(SHELF)? else { return Ok(()) };
    let mut others = cache_entry::list(SHELF)?;
    others.retain(|copy| copy.path != own);
    for copy in others.iter().rev().skip(KEPT) {
        cache_entry::remove(&shelf, &copy.path)?;
    }
    Ok(())
}
