//! Devices as data.
//!
//! A preset is a device in numbers, each with its source and mark. At a scale it becomes a device,
//! from whose numbers figures follow in closed form; served, it is a block device that answers when
//! the real one would have.

mod bounds;
mod check;
pub mod closed;
mod compression;
mod device;
mod document;
mod fault;
#[cfg(test)]
mod fault_tests;
mod figure;
mod marked;
mod mirror;
#[cfg(test)]
mod mirror_tests;
mod nand;
mod network;
pub mod preset;
mod rotating;
mod scale;
mod stack;
#[cfg(test)]
mod tests;
mod volume;

pub use bounds::{check_number, plain};
pub use compression::{CompressionUnit, codec_name, read_ahead};
pub use device::Device;
pub use document::CacheName;
pub use figure::Mark;
pub use marked::{mark, marked};
pub use mirror::Mirrored;
pub use nand::Nand;
pub use preset::Preset;
pub use scale::{Obtained, Scale, parse_ratio};
pub use stack::{Builder, Top, drive_options, inside};

/// Seed of places and contents while a device is preconditioned: the same for cached media and for
/// a replay, which must find each block where it lay.
pub const WEAR_SEED: u64 = 20_200_901;

/// Threads of a model's server: each waits as long as its command takes, so these are the commands
/// in flight.
pub const THREADS: u16 = 64;
