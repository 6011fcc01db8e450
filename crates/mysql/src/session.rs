//! A connection to a server, as narrow as a load generator needs it.
//!
//! Load uses these traits, so a test can replace the server by a fake.

use assay_event_loop::Handle;

/// A value bound to a `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundValue<'a> {
    /// An integer.
    Int(i64),
    /// Text or bytes.
    Bytes(&'a [u8]),
}

/// The answer to a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// A result set; its rows were drained unread.
    Rows {
        /// Number of rows.
        rows: u64,
    },
    /// No result set.
    Done {
        /// Rows changed; on a connection that counts matches, rows matched.
        affected: u64,
    },
}

/// A statement prepared on this session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementId(pub usize);

/// An error of a session.
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
        /// The system's message.
        message: String,
    },
    /// The connection failed.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// The encryption failed.
    #[error("cannot encrypt the connection: {0}")]
    Encryption(String),
}

/// The client error number of a connection that broke while waiting for an answer.
pub const LOST_IN_QUERY: u16 = 2013;

/// A connection on an event loop: statements are built at once, and waiting for the answer blocks
/// no thread.
pub trait Session {
    /// Prepares `sql` on the server.
    ///
    /// # Errors
    /// The server refuses the statement, or is gone.
    fn prepare(&mut self, sql: &str) -> impl Future<Output = Result<StatementId, SessionError>>;
    /// Buffers the execution of a prepared statement.
    ///
    /// # Errors
    /// The statement takes another number of values.
    fn put_execute(
        &mut self,
        id: StatementId,
        values: &[BoundValue<'_>],
    ) -> Result<(), SessionError>;
    /// Buffers one text statement.
    fn put_query(&mut self, sql: &[u8]);
    /// Sends the buffered statement and drains the answer's rows.
    ///
    /// # Errors
    /// The server refuses the statement, or is gone.
    fn exchange(&mut self) -> impl Future<Output = Result<Reply, SessionError>>;
}

/// Cuts a connection that another thread may be waiting on.
pub struct Interrupter(Box<dyn Fn() + Send + Sync>);

impl Interrupter {
    /// Creates an interrupter from the function that cuts the connection.
    pub fn new(cut: impl Fn() + Send + Sync + 'static) -> Interrupter {
        Interrupter(Box::new(cut))
    }

    /// Cuts the connection.
    pub fn cut(&self) {
        (self.0)();
    }
}

/// Makes connections on event loops.
pub trait Connect: Sync {
    /// The type of the connections.
    type Session: Session;
    /// Connects and logs in, for the current task of the loop that `events` belongs to.
    ///
    /// # Errors
    /// The server does not listen, or refuses the user.
    fn connect_on(
        &self,
        events: &Handle,
    ) -> impl Future<Output = Result<Self::Session, SessionError>>;
}

impl SessionError {
    /// The error number by which a list of ignored errors names this error.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match self {
            SessionError::Server { code, .. } | SessionError::Lost { code, .. } => Some(*code),
            SessionError::Connect(_) | SessionError::Encryption(_) => None,
        }
    }
}
