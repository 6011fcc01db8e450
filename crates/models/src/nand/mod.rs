//! A flash drive's timing, in two halves around the software drive, which is its translation layer.
//!
//! Above the drive, [`HostTiming`] models the controller's rate, the firmware, the compression
//! engine and the link. Below it, [`FlashTiming`] models dies behind channels and a write buffer,
//! on which the drive's log lies. Collection costs what the drive's own collector reads, writes and
//! erases, instead of a formula. A plain SSD is the same drive with the codec `none` and spare
//! media; a computational drive has a codec and an engine.
//!
//! The method is that of NVMeVirt (Kim et al., "NVMeVirt: A Versatile Software-defined Virtual NVMe
//! Device", FAST 2023): each resource keeps its next free time, and a command's completion follows
//! from these alone.

mod buffer;
pub mod figures;
mod flash;
mod host;
mod lane;

pub use flash::{FlashGeometry, FlashTiming};
pub use host::{CompressionEngine, HostLimits, HostTiming};
