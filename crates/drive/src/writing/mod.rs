//! Host writes and discards.
//!
//! A command of up to 256 KiB is atomic. It is accepted only if there is room for its data, for the
//! growth of the map, and for the next checkpoint. An accepted command reaches the media; a refused
//! one changes nothing. A drive without units never refuses data that take no more room than those
//! that they replace; a drive with units rewrites the rest of the unit for that.

mod resize;
mod units;
pub(crate) mod write;
