//! When a load begins, once all its connections are ready.

use std::time::Instant;

/// When a load begins, and where its clock does.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a> {
    /// As soon as all is ready, with the clock at zero.
    AtOnce,
    /// On the next whole second of a clock that began then.
    OnClock(Instant),
    /// When it is told to.
    Together(&'a dyn Rendezvous),
}

/// Where a load meets others that are to begin at the same instant.
pub trait Rendezvous: Sync {
    /// Called once, when all connections are ready; gives the instant at which the load begins, and its clock with it. Nothing when
    /// it is called off, which `stop` then says too. One that is past by then has the load begin on the next whole second of that clock.
    fn meet(&self) -> Option<Instant>;
}
