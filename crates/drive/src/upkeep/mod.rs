//! Background work, one piece at a time, under one lock.
//!
//! The host's data never change: a move gives way to a concurrent host write, a segment is given
//! back only when the writes that emptied it are on stable media, and a checkpoint counts only when
//! both superblocks name it. There is always room for a checkpoint, see `core::budget`. Places that
//! cannot be read are set aside and cost nothing else.

pub(crate) mod checkpoint;
mod clean;
pub(crate) mod collect;
mod dictionaries;
pub(crate) mod maintain;
mod release;
mod trainer;
