//! What wakes all tasks of a loop from another thread.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::Thread;

use rustix::event::{EventfdFlags, eventfd};

/// Rings a loop: all its tasks look again at what they wait for.
#[derive(Debug, Clone)]
pub struct Bell(pub(crate) Rung);

/// Who hears it.
#[derive(Debug, Clone)]
pub(crate) enum Rung {
    Loop(Arc<OwnedFd>),
    Thread(Thread),
}

impl Bell {
    /// For a loop that is yet to be made.
    ///
    /// # Errors
    /// The process may open no more files.
    pub fn new() -> io::Result<Bell> {
        let counter = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Bell(Rung::Loop(Arc::new(counter))))
    }

    /// Of a thread whose waits block it, as [`crate::Handle::of_thread`] makes them.
    #[must_use]
    pub fn of_thread(thread: Thread) -> Bell {
        Bell(Rung::Thread(thread))
    }

    /// Rings it. A loop that is busy hears it before it waits next.
    pub fn ring(&self) {
        match &self.0 {
            // It can only be full, and then it has rung.
            Rung::Loop(counter) => drop(rustix::io::write(counter, &1u64.to_ne_bytes())),
            Rung::Thread(thread) => thread.unpark(),
        }
    }
}
