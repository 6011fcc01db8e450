//! Models: disks that make their caller wait as a known device would.
//!
//! A model is a [`Timing`], arithmetic over next-free times without a queue of events, and a
//! [`Modelled`], a disk over a disk: it lets the disk below do the real work, asks the timing for
//! the device's answer time, and waits until then. Models stack on one another and on the drive. A
//! command through several of them waits once, at the top, so that the work of our own CPUs counts
//! as a part of the modelled time. Time comes from a [`Clock`], randomness from a seed of the
//! caller.

mod calendar;
mod clock;
pub mod in_hand;
mod inside;
mod meter;
mod mirror;
mod modelled;
pub mod nand;
pub mod network;
mod packed;
pub mod power;
mod precondition;
mod random;
mod replay;
pub mod rotating;
pub mod synthetic;
mod tally;
mod tearing;
#[cfg(test)]
mod testing;
mod time;
mod timing;
mod trace;
mod virtual_disk;
pub mod volume;

pub use clock::{Clock, VirtualClock};
pub use inside::{Inside, WriteCache};
pub use mirror::MirrorTiming;
pub use modelled::Modelled;
pub use packed::PackedDisk;
pub use precondition::{
    PAGE_BYTES, PreconditionProgress, Preconditioned, Preconditioning, fill_block, precondition,
};
pub use replay::{ReplayPacing, Replayed, ReplayedCommand, replay};
pub use tally::{CommandTally, KINDS, TallyOfKind};
pub use tearing::Tearing;
pub use time::{Rate, Time};
pub use timing::{Command, Due, Immediate, Kind, Resource, Ticket, Timing};
pub use trace::{CommandObserver, Event, Recorder, Trace, window_record};
pub use virtual_disk::{BACKGROUND_REST, VirtualDisk};
