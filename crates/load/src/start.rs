//! The start of a load, once all its connections are ready.

use std::time::Instant;

/// The start of a load, and the origin of its clock.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a> {
    /// As soon as all connections are ready, which is zero of the clock.
    AtOnce,
    /// On the next whole second of a clock that started then.
    OnClock(Instant),
    /// Together with other loads.
    Together(&'a dyn Rendezvous),
}

/// The meeting of loads that start at the same instant.
pub trait Rendezvous: Sync {
    /// Called once, when all connections are ready. Returns the instant at which the load and its
    /// clock start; `None` if the load is called off, which `stop` then shows too. If the instant
    /// is past, the load starts on the next whole second of that clock, or at
    /// [`Rendezvous::start_s`].
    fn meet(&self) -> Option<Instant>;

    /// The second of that clock at which all loads start; `None`: each on its next whole second.
    /// Called after [`Rendezvous::meet`].
    fn start_s(&self) -> Option<u64> {
        None
    }
}
