//! What we make on the machine and take away again: the ledger of it, things that can be taken away, the cache, free space,
//! programs that help, processes of our own that serve, Ctrl-C.

pub mod cache;
pub mod changeable;
pub mod daemon;
pub mod database;
mod free;
mod image;
pub mod interrupt;
pub mod kept;
pub mod ledger;
mod owned;
mod presence;
pub mod private;
pub mod resource;
pub mod state;
pub mod tool;

pub use free::free_bytes;
pub use owned::{OwnDirectory, new_name};
