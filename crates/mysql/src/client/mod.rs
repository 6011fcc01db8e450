//! The MySQL protocol as far as load and laboratory need it, with one system call to send and one
//! to receive.
//!
//! Sources: MySQL's protocol documentation ("Client/Server Protocol",
//! dev.mysql.com/doc/dev/mysql-server) and MariaDB's ("Clients & Utilities: Server Client
//! Protocol"). A general client builds a value for each field it reads, which costs more than
//! sysbench's whole client does; this one skips over the rows that it drains.
//!
//! `talk` is the protocol, written once as futures. A [`ClientSession`] blocks, so these never
//! wait; a [`LoopSession`] is one of many on an event loop.
//!
//! A server can send nothing that makes the client panic, run out of memory or wait for ever:
//! lengths and counts are checked before memory is allocated, kept answers have their [`Bounds`], a
//! login takes at most [`CONNECT_TIMEOUT`](socket::CONNECT_TIMEOUT).
//!
//! Guarantees: executing allocates nothing once buffers have grown; an answer is read to its end
//! before the next statement; a session that lost its connection returns that error on every
//! further call.

mod blocking;
mod key;
mod login;
mod looped;
mod ready;
mod socket;
mod talk;
mod tls;
mod wire;

pub use blocking::{Bounds, ClientSession};
pub use looped::LoopSession;
pub use wire::Fields;

use std::time::Duration;

use rustix::process::DumpableBehavior;

use crate::endpoint::Endpoint;
use crate::session::SessionError;

/// Disables core dumps of this process, and access to its memory for all but root (`prctl(2)`,
/// `PR_SET_DUMPABLE`), since it holds a password. The servers and programs that it starts are not
/// affected.
pub(crate) fn keep_from_cores() {
    // No cause of a failure is known; a process in which it fails goes on.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Makes connections to one server.
pub struct ClientConnect {
    endpoint: Endpoint,
    tls: Option<tls::Config>,
    patience: Option<Duration>,
    counts_matches: bool,
}

impl ClientConnect {
    /// Prepares connections to `endpoint`, without a time limit for answers.
    ///
    /// # Errors
    /// The certificates of `endpoint` cannot be used.
    pub fn new(endpoint: &Endpoint) -> Result<ClientConnect, SessionError> {
        if !endpoint.password.is_empty() {
            keep_from_cores();
        }
        let tls = tls::Config::new(endpoint).map_err(SessionError::Encryption)?;
        Ok(ClientConnect { endpoint: endpoint.clone(), tls, patience: None, counts_matches: false })
    }

    /// Makes an update report the rows that it matches, changed or not, as Connector/J does.
    #[must_use]
    pub fn that_counts_matches(self) -> ClientConnect {
        ClientConnect { counts_matches: true, ..self }
    }

    /// Limits the time of a blocking connection for the login and for each whole answer. After it
    /// the connection is lost.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> ClientConnect {
        ClientConnect { patience: Some(patience), ..self }
    }
}
