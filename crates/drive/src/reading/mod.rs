//! Host reads.

mod read;
