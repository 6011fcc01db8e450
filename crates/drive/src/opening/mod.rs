//! Making a drive, and opening it after whatever happened to it.

pub(crate) mod create;
mod follow;
mod rebuild;
mod reconcile;
pub(crate) mod recover;
mod scan;
pub(crate) mod superblocks;
