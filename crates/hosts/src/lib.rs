//! Other machines, reached over OpenSSH's client with the user's configuration, keys and known
//! hosts.
//!
//! [`RemoteHost::connect`] logs in and copies this program to the host; [`HostSession`] is the
//! program running there, which [`serve`] implements; [`compare_clocks`](Session::compare_clocks)
//! measures the offset of its clock; [`load`] loads one server from several hosts.
//!
//! Guarantees: no prompt ever appears. Both ends notice a cut link within [`PATIENCE`], and a death
//! of the other end too. Everything made on a host is in a ledger there and is removed when the
//! session ends, however it ends. Secrets travel on the session's standard input alone. Every error
//! is a [`Failure`]: a host and a reason, in one line.

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
pub use facts::HostFacts;
pub use failure::{Failure, FailureReason, Result};
pub use host::{ConnectStep, RemoteHost};
pub use protocol::PATIENCE;
pub use serve::{Talk, Works, serve};
pub use session::{HostSession, Message};
