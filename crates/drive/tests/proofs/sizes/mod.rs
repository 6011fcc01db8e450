//! Drives of all sizes and shapes: however large the map and however it is spread, a drive opens
//! after a power cut, never stops for want of room, and takes writes when enough was discarded.
//!
//! `ASSAY_CRASHES` sets how many power cuts the large ones get, `ASSAY_SEEDS` and `ASSAY_SEED`
//! which geometries are drawn.

mod crashes;
mod fill;
mod geometries;
mod large;
mod memory;
mod replay;
mod room;
mod wide;
