//! The shell around the state: its locks, the media below, and one object for each part that
//! threads share.
//!
//! Locks are taken in one order: maintenance, log, map. There is no input or output under the log's
//! or the map's lock. A flush returns when everything before it is on stable media. A read returns
//! the written data or an error. The first failed write or flush stops the drive, because it is not
//! known what was lost; a failed read does not.

pub(crate) mod bad_places;
pub(crate) mod dictionaries;
pub(crate) mod health;
pub(crate) mod log;
pub(crate) mod map;
pub(crate) mod media;
pub(crate) mod parts;
pub(crate) mod pins;
pub(crate) mod records;
pub(crate) mod segments;
pub(crate) mod span;
pub(crate) mod superblocks;
pub(crate) mod worker;
