//! Creating a drive, and opening it after any crash or damage.
//!
//! An opened drive is in the state after a prefix of the acknowledged commands that includes
//! everything before the last completed flush. A torn tail is cut off and damage is reported; the
//! two are never confused. One bad place in any structure does not keep a drive from opening. Only
//! a repair writes before the host first writes.

mod attempt;
pub(crate) mod create;
mod dictionaries;
mod follow;
mod losses;
mod preload;
mod rebuild;
mod reconcile;
pub(crate) mod recover;
mod scan;
pub(crate) mod superblocks;
