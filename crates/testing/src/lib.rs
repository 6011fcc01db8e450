//! Helpers for the tests of every crate: how much of a test runs, skipping with a report, calm
//! machines, free ports, the first page of an InnoDB file. Only tests depend on this crate.

#![allow(clippy::panic, reason = "a test fails by panicking")]

mod calm;
pub mod mutate;
mod mysql_server;
mod port;
mod recording;
mod scope;
mod skip;
mod tablespace;

pub use calm::calm;
pub use mysql_server::RecordedServer;
pub use port::free_port;
pub use recording::{is_recording, record};
pub use scope::{Scope, count, is_full, scope, simulations};
pub use skip::{note, own_name, skip};
pub use tablespace::first_page;
