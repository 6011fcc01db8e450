//! What we make on the machine and take away again: the ledger of it, things that can be taken away, free space, Ctrl-C.

mod free;
pub(crate) mod interrupt;
pub(crate) mod ledger;
pub(crate) mod thing;

pub(crate) use free::free_bytes;
