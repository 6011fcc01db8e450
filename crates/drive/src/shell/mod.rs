//! What stands between the state and the media: the locks, the writing of sealed chunks, the reading of tables.

mod bad_places;
pub(crate) mod commit;
pub(crate) mod drive;
pub(crate) mod nodes;
pub(crate) mod readahead;
pub(crate) mod records;
pub(crate) mod span;
pub(crate) mod tables;
pub(crate) mod worker;
