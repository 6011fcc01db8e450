//! A connection to a server, as narrow as a load generator needs it.
//!
//! Everything above speaks this trait, so a test can put a fake in place of a server, and a client written for speed
//! can take the place of a general one.

pub(crate) mod client;
#[cfg(test)]
pub(crate) mod fake;

use crate::endpoint::Endpoint;
use crate::error::Error;

/// A value bound to a `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Int(i64),
    Bytes(&'a [u8]),
}

/// What the server answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    /// A result set; its rows were drained unread.
    Rows,
    /// No result set.
    Done {
        /// Rows changed.
        affected: u64,
    },
}

/// A statement prepared on this session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatementId(pub(crate) usize);

/// Why a call on a session failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionError {
    /// The server answered with an error.
    Server { code: u16, state: String, message: String },
    /// The connection is gone: 2006 if before the statement was sent, 2013 after.
    Lost { code: u16, message: String },
    /// No connection came to be.
    Connect(String),
    /// No encrypted connection came to be.
    Encryption(String),
}

/// The client error number of a connection that broke while waiting for an answer.
pub(crate) const LOST_IN_QUERY: u16 = 2013;

/// A connection.
pub(crate) trait Session {
    /// Prepares `sql` on the server.
    fn prepare(&mut self, sql: &str) -> Result<StatementId, SessionError>;
    /// Runs a prepared statement and drains its rows.
    fn execute(&mut self, id: StatementId, values: &[Value<'_>]) -> Result<Reply, SessionError>;
    /// Runs one statement of text and drains its rows.
    fn query(&mut self, sql: &[u8]) -> Result<Reply, SessionError>;
    /// Runs one statement of text and reads its rows; for set-up, not for load.
    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SessionError>;
    /// What cuts this session's connection from another thread.
    fn interrupter(&self) -> Option<Interrupter>;
}

/// Cuts a connection that another thread may be waiting on.
pub(crate) struct Interrupter(Box<dyn Fn() + Send + Sync>);

impl Interrupter {
    pub(crate) fn new(cut: impl Fn() + Send + Sync + 'static) -> Interrupter {
        Interrupter(Box::new(cut))
    }

    /// Cuts it.
    pub(crate) fn cut(&self) {
        (self.0)();
    }
}

/// Makes connections.
pub(crate) trait Connect: Sync {
    /// What it makes.
    type Session: Session;
    /// A new connection, logged in.
    fn connect(&self) -> Result<Self::Session, SessionError>;
}

impl SessionError {
    /// The error number a list of errors to ignore would hold.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            SessionError::Server { code, .. } | SessionError::Lost { code, .. } => Some(*code),
            SessionError::Connect(_) | SessionError::Encryption(_) => None,
        }
    }

    /// This error as callers of the crate see it, with the statement it came from.
    pub(crate) fn at(self, endpoint: &str, statement: &str) -> Error {
        match self {
            SessionError::Server { code: 1044 | 1045 | 1698 | 4151, message, .. } => {
                Error::Denied { user: endpoint.into(), message }
            }
            // The server says it is going down, or has closed idle or killed connections.
            SessionError::Server { code: 1053 | 1077 | 1079 | 1927 | 4031, message, .. }
            | SessionError::Lost { message, .. } => Error::Lost(message),
            SessionError::Server { code, state, message } => {
                let statement = statement.chars().take(120).collect();
                Error::Server { code, state, message, statement }
            }
            SessionError::Encryption(reason) => {
                Error::Encryption { address: endpoint.into(), reason }
            }
            SessionError::Connect(reason) => Error::Connect { address: endpoint.into(), reason },
        }
    }
}

/// A connection for set-up work.
pub(crate) fn open(endpoint: &Endpoint) -> crate::error::Result<client::ClientSession> {
    client::ClientConnect::new(endpoint)
        .and_then(|connect| connect.connect())
        .map_err(|error| error.at(&endpoint.to_string(), "connect"))
}
