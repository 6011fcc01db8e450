//! Event loops: many waiting tasks on one thread.
//!
//! A task is a future. Its loop polls it when its socket is ready, when its deadline has passed,
//! and when the loop's [`Bell`] rings. So no waker is needed, and a wait makes no system call but
//! the loop's own. General executors wake tasks by reference counts and queues, round times to
//! milliseconds (tokio), or call the kernel for each wait (async-io).
//!
//! Guarantees: tasks are polled in the order in which the kernel found them ready, each once before
//! any has its next turn; times are as precise as the kernel's timers; a wait allocates nothing;
//! [`Handle::of_thread`] provides the same waits to a thread with one task.

#![warn(missing_docs, clippy::missing_errors_doc)]

mod bell;
mod event_loop;
mod handle;
mod state;

pub use bell::Bell;
pub use event_loop::{EventLoop, block_on, poll_ready};
pub use handle::{Handle, Watch};

#[cfg(test)]
mod tests;
