//! Host reads.
//!
//! A read returns the contents of its blocks at one moment, or an error that names a block: never
//! other data. Its segments are pinned meanwhile, so that they are not filled again. It may load
//! nodes of the map, and changes nothing.

pub(crate) mod read;
mod readahead;
