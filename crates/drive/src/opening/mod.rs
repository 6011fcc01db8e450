//! Making a drive, and opening it after whatever happened to it.
//!
//! What opens is what the drive was after some beginning of the acknowledged commands, one that holds everything before the last
//! completed flush. A torn tail is cut off, damage is told, the two are never confused; one bad place, of whichever structure, does
//! not keep a drive from opening. Nothing is written before the host first writes, but by a repair.

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
