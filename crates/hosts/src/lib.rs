//! Other machines, reached over OpenSSH's own client with the user's own configuration, keys and known hosts.
//!
//! [`Host::connect`] logs in and brings this program there; [`Session`] is the program at work at the other end, which [`serve`] runs;
//! [`compare_clocks`](Session::compare_clocks) says by how much its clock differs; [`load`] puts load on one server from several hosts.
//!
//! Guarantees: nobody is ever asked anything; a link that is cut is noticed within [`PATIENCE`] at both ends, and so is a death at
//! either; what was made there is written down in a ledger there, and removed when the session ends, however it does; what is secret
//! travels on the session's standard input alone. Whatever goes wrong is a [`Failure`]: a host and a reason, in one line.

mod clock;
mod connection;
mod copies;
mod directory;
mod facts;
mod failure;
mod host;
pub mod load;
mod program;
mod protocol;
mod serve;
mod session;
mod ssh;

pub use assay_base::HostSpec;
pub use clock::{ClockOffset, UNCERTAINTY_MS_MAX, instant_of, ns_of};
pub use directory::new_session_directory;
pub use facts::Facts;
pub use failure::{Failure, Reason, Result};
pub use host::{Host, Step};
pub use protocol::PATIENCE;
pub use serve::{Talk, Works, serve};
pub use session::{Message, Session};
