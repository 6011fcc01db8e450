//! The part of the cache that keeps servers.

use anyhow::Result;
use assay_system::cache::CacheLock;

/// The kind of cache entries that servers are.
pub(super) const SHELF: &str = "servers";

/// Opens the shelf for a maker of entries; one at a time makes them.
pub(super) fn open_shelf(progress: &dyn Fn(&str)) -> Result<CacheLock> {
    CacheLock::open(SHELF, || progress("waiting for another download to finish"))
}
