//! The MySQL protocol as far as load and laboratory need it, one system call to send and one to receive.
//!
//! Sources: MySQL's protocol documentation ("Client/Server Protocol", dev.mysql.com/doc/dev/mysql-server) and
//! MariaDB's ("Clients & Utilities: Server Client Protocol"). A general client builds a value for each field it
//! reads, which costs more than sysbench's whole client does; this one walks over the rows it drains.
//!
//! `talk` is the protocol, written once as futures. A [`ClientSession`] blocks, so that these never wait; a [`LoopSession`] is one of many
//! on an event loop.
//!
//! Whatever a server sends, it can neither panic, fill nor outwait the client: lengths and counts are bounded before anything is
//! allocated, kept answers have their [`Bounds`], a login takes at most [`CONNECT_TIMEOUT`](socket::CONNECT_TIMEOUT).
//!
//! Guarantees: executing allocates nothing once buffers have grown; an answer is read to its end before the next
//! statement; a session that lost its connection says so on every further call.

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

/// From now on this process leaves no core dump, and nobody but root looks into its memory (`prctl(2)`, `PR_SET_DUMPABLE`): it holds a
/// password. Servers and other programs that it starts are as they were.
pub(crate) fn keep_from_cores() {
    // Nothing is known to keep a process from it; one that cannot goes on.
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
    /// Of `endpoint`, with answers that may take as long as they take.
    ///
    /// # Errors
    /// Its certificates cannot be used.
    pub fn new(endpoint: &Endpoint) -> Result<ClientConnect, SessionError> {
        if !endpoint.password.is_empty() {
            keep_from_cores();
        }
        let tls = tls::Config::new(endpoint).map_err(SessionError::Encryption)?;
        Ok(ClientConnect { endpoint: endpoint.clone(), tls, patience: None, counts_matches: false })
    }

    /// The same, with connections on which an update counts the rows that it finds, changed or not, as Connector/J's do.
    #[must_use]
    pub fn that_counts_matches(self) -> ClientConnect {
        ClientConnect { counts_matches: true, ..self }
    }

    /// The same, with blocking connections that give up, and are lost, when the server takes longer than this to let them in, or for
    /// the whole of an answer.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> ClientConnect {
        ClientConnect { patience: Some(patience), ..self }
    }
}
