//! Host reads.
//!
//! A read gives what its blocks held at one moment, or an error that names the block: never other data. Its segments are pinned
//! meanwhile, so that nothing is written in their place; nodes of the map that it needs are loaded, and nothing is changed.

mod read;
