//! A client of MySQL's protocol.
//!
//! [`ClientConnect`] makes connections to an [`Endpoint`]; [`ClientSession`] is one that blocks, [`LoopSession`] one of many on an event
//! loop. Load generators speak the narrow traits [`Connect`] and [`Session`], which a test can put a fake behind. Errors are values: the
//! server's own, a connection that was lost, one that never came to be. An
//! [`account::Account`] says how to log in without holding a secret.

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod account;
mod client;
pub mod cutting;
mod endpoint;
pub mod option_file;
pub mod secrets;
mod session;
mod ssl_mode;

pub use client::{Bounds, ClientConnect, ClientSession, Fields, LoopSession};
pub use endpoint::{Address, Endpoint, ServerKey, Tls};
pub use session::{
    Connect, Interrupter, LOST_IN_QUERY, Reply, Session, SessionError, StatementId, Value,
};
pub use ssl_mode::SslMode;
