//! Resources that Assay makes on the machine and removes again: the ledger, the resources
//! themselves, the cache, free space, helper programs, daemons, Ctrl-C.

pub mod cache;
pub mod cache_entry;
pub mod changeable;
pub mod daemon;
pub mod database;
mod free;
mod image;
pub mod interrupt;
pub mod ledger;
mod owned;
mod presence;
pub mod private;
pub mod resource;
pub mod state;
pub mod tool;

pub use free::free_bytes;
pub use owned::{OwnDirectory, new_name, random_bits};
