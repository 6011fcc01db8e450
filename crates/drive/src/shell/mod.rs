//! What stands between the state and the media: the locks, the writing of sealed chunks, the reading of tables and records.
//!
//! Locks are taken in one order: maintenance, log, map. Nothing is read or written under the log's or the map's. A flush returns
//! when everything before it is on stable media; what is read is what was written there, or an error. The first failure to write
//! or to flush stops the drive, for what it lost is not known; a failure to read does not.

pub(crate) mod bad_places;
pub(crate) mod commit;
pub(crate) mod drive;
pub(crate) mod nodes;
pub(crate) mod readahead;
pub(crate) mod records;
pub(crate) mod span;
pub(crate) mod tables;
pub(crate) mod worker;
