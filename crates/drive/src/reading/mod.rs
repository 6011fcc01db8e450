//! Host reads.

mod read;
pub(crate) mod readahead;
