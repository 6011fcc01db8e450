//! Wakes all tasks of a loop from another thread.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::Thread;

use rustix::event::{EventfdFlags, eventfd};

/// The bell of a loop. Ringing it has all tasks check what they wait for.
#[derive(Debug, Clone)]
pub struct Bell(pub(crate) Rung);

/// The target of a bell.
#[derive(Debug, Clone)]
pub(crate) enum Rung {
    Loop(Arc<OwnedFd>),
    Thread(Thread),
}

impl Bell {
    /// Creates the bell of a new loop.
    ///
    /// # Errors
    /// The process may open no more files.
    pub fn new() -> io::Result<Bell> {
        let counter = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Bell(Rung::Loop(Arc::new(counter))))
    }

    /// Creates the bell of a thread whose waits block, as those of [`crate::Handle::of_thread`] do.
    #[must_use]
    pub fn of_thread(thread: Thread) -> Bell {
        Bell(Rung::Thread(thread))
    }

    /// Rings the bell. A busy loop notices before its next wait.
    pub fn ring(&self) {
        match &self.0 {
            // The write fails only if the counter is full, and then the bell has rung.
            Rung::Loop(counter) => drop(rustix::io::write(counter, &1u64.to_ne_bytes())),
            Rung::Thread(thread) => thread.unpark(),
        }
    }
}
