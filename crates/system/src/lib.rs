//! What we make on the machine and take away again: the ledger of it, things that can be taken away, free space, Ctrl-C.

mod free;
pub mod interrupt;
pub mod ledger;
pub mod resource;

pub use free::free_bytes;
