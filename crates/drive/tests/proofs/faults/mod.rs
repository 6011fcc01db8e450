//! Media that fail: whatever they do, the drive says so, and never gives wrong data for good.
//!
//! Each kind of damage to each kind of structure, on drives that were closed properly and on those
//! that crashed; then commands of media that are lost, misdirected, stale, short or failed while
//! the drive works.

mod commands;
mod controls;
mod flips;
mod rebuild;
mod scenes;
mod specimen;
mod together;
mod torn_superblocks;
mod verdict;
