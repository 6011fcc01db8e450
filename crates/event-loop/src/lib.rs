//! Event loops: many tasks that wait, on one thread a loop.
//!
//! A task is a future. Its loop polls it when the socket that it watches has something for it, when its time has come, and when somebody
//! rings the loop's [`Bell`]; so no waker is needed, and a wait makes no system call but the loop's own. General executors wake by
//! reference counts and queues, round times to milliseconds (tokio) or ask the kernel anew for each wait (async-io).
//!
//! Guarantees: tasks are polled in the order in which the kernel found them ready, each once before any has its next turn; times are as
//! sharp as the kernel's timers; a wait allocates nothing; [`Handle::of_thread`] gives the same waits to a thread that does one thing.

#![warn(missing_docs, clippy::missing_errors_doc)]

mod bell;
mod event_loop;
mod handle;
mod state;

pub use bell::Bell;
pub use event_loop::{EventLoop, at_once, block_on};
pub use handle::{Handle, Watch};

#[cfg(test)]
mod tests;
