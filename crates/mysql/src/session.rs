//! A connection to a server, as narrow as a load generator needs it.
//!
//! Load speaks these traits, so a test can put a fake in place of a server.

use assay_event_loop::Handle;

/// A value bound to a `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// A whole number.
    Int(i64),
    /// Text or bytes.
    Bytes(&'a [u8]),
}

/// What the server answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// A result set; its rows were drained unread.
    Rows {
        /// How many.
        rows: u64,
    },
    /// No result set.
    Done {
        /// Rows changed; on a connection that counts matches, rows found.
        affected: u64,
    },
}

/// A statement prepared on this session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementId(pub usize);

/// Why a call on a session failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The server answered with an error.
    #[error("server error {code} ({state}): {message}")]
    Server {
        /// The server's error number.
        code: u16,
        /// The SQL state.
        state: String,
        /// The server's message.
        message: String,
    },
    /// The connection is gone.
    #[error("the connection was lost: {message}")]
    Lost {
        /// The client error number: 2006 if it was lost before the statement was sent, 2013 after.
        code: u16,
        /// What the system said.
        message: String,
    },
    /// No connection came to be.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// No encrypted connection came to be.
    #[error("cannot encrypt the connection: {0}")]
    Encryption(String),
}

/// The client error number of a connection that broke while waiting for an answer.
pub const LOST_IN_QUERY: u16 = 2013;

/// A connection, on an event loop: what is asked is put together at once, and nobody blocks until it is answered.
pub trait Session {
    /// Prepares `sql` on the server.
    ///
    /// # Errors
    /// The server refuses it, or is gone.
    fn prepare(&mut self, sql: &str) -> impl Future<Output = Result<StatementId, SessionError>>;
    /// Puts together what runs a prepared statement.
    ///
    /// # Errors
    /// It takes another number of values.
    fn put_execute(&mut self, id: StatementId, values: &[Value<'_>]) -> Result<(), SessionError>;
    /// Puts together what runs one statement of text.
    fn put_query(&mut self, sql: &[u8]);
    /// Sends what was put together and drains the answer's rows.
    ///
    /// # Errors
    /// The server refuses it, or is gone.
    fn exchange(&mut self) -> impl Future<Output = Result<Reply, SessionError>>;
}

/// Cuts a connection that another thread may be waiting on.
pub struct Interrupter(Box<dyn Fn() + Send + Sync>);

impl Interrupter {
    /// What cuts it.
    pub fn new(cut: impl Fn() + Send + Sync + 'static) -> Interrupter {
        Interrupter(Box::new(cut))
    }

    /// Cuts it.
    pub fn cut(&self) {
        (self.0)();
    }
}

/// Makes connections on event loops.
pub trait Connect: Sync {
    /// What it makes.
    type Session: Session;
    /// A new connection, logged in, of the task at hand of the loop that `events` belongs to.
    ///
    /// # Errors
    /// Nobody listens, or the user is turned away.
    fn connect_on(
        &self,
        events: &Handle,
    ) -> impl Future<Output = Result<Self::Session, SessionError>>;
}

impl SessionError {
    /// The error number a list of errors to ignore would hold.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match self {
            SessionError::Server { code, .. } | SessionError::Lost { code, .. } => Some(*code),
            SessionError::Connect(_) | SessionError::Encryption(_) => None,
        }
    }
}
