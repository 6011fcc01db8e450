//! Host writes and discards.
//!
//! A command of up to 256 KiB is there whole or not at all, whatever happens. It is accepted only where there is room for it, for
//! the map that grows with it and for the checkpoint of that; what is accepted reaches media, what is refused changes nothing.
//! A drive without units never refuses data that take no more room than what they replace; one with units writes the rest of
//! the unit anew for it.

pub(crate) mod units;
mod write;
