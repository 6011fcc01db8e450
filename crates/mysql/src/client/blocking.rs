//! A session that blocks its thread until the server has answered: for set-up, and for threads with
//! one session.

use std::time::{Duration, Instant};

use assay_event_loop::poll_ready;

use super::ClientConnect;
use super::login;
use super::ready::Blocks;
use super::socket::{CONNECT_TIMEOUT, Socket, Stream};
use super::talk::{SET_UP_BYTES_MAX, Talk};
use super::wire::Fields;
use crate::endpoint::Endpoint;
use crate::session::{BoundValue, Interrupter, Reply, SessionError, StatementId};

/// Limits of an answer that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Number of rows.
    pub rows: usize,
    /// Bytes of memory of the rows.
    pub bytes: usize,
}

impl Bounds {
    /// Limits of a query about the server: its variables, its counters, one table's state.
    pub const ASKED: Bounds = Bounds { rows: 20_000, bytes: 16 << 20 };

    /// Limits of a list with an entry for each table or file.
    pub const LISTED: Bounds = Bounds { rows: 500_000, bytes: 96 << 20 };
}

/// Memory of a row and of a field in addition to its text, in bytes: a vector, a string, and the
/// allocator's overhead.
const ROW_BYTES: usize = 40;
const FIELD_BYTES: usize = 40;

/// A connection to a server that blocks its thread.
pub struct ClientSession {
    talk: Talk<Blocks>,
    patience: Option<Duration>,
}

impl ClientConnect {
    /// Connects and logs in.
    ///
    /// # Errors
    /// The server does not listen, or refuses the user.
    pub fn connect(&self) -> Result<ClientSession, SessionError> {
        let until = Instant::now() + self.patience.unwrap_or(CONNECT_TIMEOUT);
        let failed = |error: std::io::Error| SessionError::Connect(in_words(&error));
        let socket = Socket::connect(&self.endpoint.address, until).map_err(failed)?;
        let stream = Stream::Plain(socket);
        let mut wire = poll_ready(login::log_in(
            stream,
            Blocks,
            &self.endpoint,
            self.tls.as_ref(),
            self.counts_matches,
        ))?;
        wire.be_logged_in(self.patience.is_none()).map_err(failed)?;
        Ok(ClientSession { talk: Talk::over(wire, SET_UP_BYTES_MAX), patience: self.patience })
    }
}

fn in_words(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::TimedOut => "the server did not answer in time".into(),
        _ => error.to_string(),
    }
}

impl ClientSession {
    /// Opens a single connection to `endpoint`.
    ///
    /// # Errors
    /// Those of [`ClientConnect::new`] and [`ClientConnect::connect`].
    pub fn open(endpoint: &Endpoint) -> Result<ClientSession, SessionError> {
        ClientConnect::new(endpoint)?.connect()
    }

    /// Sets the time limit of each whole answer, after which the connection is lost; `None` for no
    /// limit.
    pub fn set_patience(&mut self, patience: Option<Duration>) {
        self.patience = patience;
    }

    /// Starts the time limit of the next answer.
    fn begin(&mut self) -> Result<(), SessionError> {
        let until = self.patience.map(|patience| Instant::now() + patience);
        let wire = self.talk.wire();
        if until.is_none() && wire.is_patient() {
            return Ok(());
        }
        wire.limit(until).map_err(|error| wire.give_up(&error.to_string()))
    }

    /// Prepares `sql` on the server.
    ///
    /// # Errors
    /// The server refuses the statement, or is gone.
    pub fn prepare(&mut self, sql: &str) -> Result<StatementId, SessionError> {
        self.begin()?;
        poll_ready(self.talk.prepare(sql))
    }

    /// Runs a prepared statement and drains its rows.
    ///
    /// # Errors
    /// The server refuses the statement or is gone, or the statement takes another number of
    /// values.
    pub fn execute(
        &mut self,
        id: StatementId,
        values: &[BoundValue<'_>],
    ) -> Result<Reply, SessionError> {
        self.begin()?;
        self.talk.put_execute(id, values)?;
        poll_ready(self.talk.exchange())
    }

    /// Runs one text statement and drains its rows.
    ///
    /// # Errors
    /// The server refuses the statement, or is gone.
    pub fn query(&mut self, sql: &[u8]) -> Result<Reply, SessionError> {
        self.begin()?;
        self.talk.put_query(sql);
        poll_ready(self.talk.exchange())
    }

    /// Runs one text statement and calls `take` for each of its rows, borrowed from the buffer.
    ///
    /// ```
    /// # use assay_mysql::{ClientSession, Endpoint};
    /// # let server = assay_testing::RecordedServer::start(&[Some("Berlin"), Some("Rome")]);
    /// # let mut session = ClientSession::open(&Endpoint::root_over(&server.socket(), ""))?;
    /// let mut bytes = 0;
    /// session.each_row("SELECT name FROM city", |mut row| {
    ///     bytes += row.next().flatten().map_or(0, <[u8]>::len);
    /// })?;
    /// assert_eq!(bytes, "BerlinRome".len());
    /// # Ok::<(), assay_mysql::SessionError>(())
    /// ```
    ///
    /// # Errors
    /// The server refuses the statement, or is gone.
    pub fn each_row(
        &mut self,
        sql: &str,
        mut take: impl FnMut(Fields<'_>),
    ) -> Result<(), SessionError> {
        self.begin()?;
        let take = |row: Fields<'_>| {
            take(row);
            Ok(())
        };
        poll_ready(self.talk.each_row(sql, take))
    }

    /// Runs one text statement and returns its rows, at most [`Bounds::ASKED`].
    ///
    /// # Errors
    /// The server refuses the statement or is gone, or the answer is larger; the connection is lost
    /// then.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SessionError> {
        self.rows_within(sql, Bounds::ASKED)
    }

    /// As [`ClientSession::rows`], with other bounds.
    ///
    /// # Errors
    /// Those of [`ClientSession::rows`].
    pub fn rows_within(
        &mut self,
        sql: &str,
        bounds: Bounds,
    ) -> Result<Vec<Vec<Option<String>>>, SessionError> {
        self.begin()?;
        let mut rows = Vec::new();
        let mut bytes = 0;
        let keep = |row: Fields<'_>| {
            if !row.is_whole() {
                return Err("the server sent a broken row".into());
            }
            bytes += ROW_BYTES + row.clone().map(|field| held(field)).sum::<usize>();
            if rows.len() == bounds.rows || bytes > bounds.bytes {
                return Err(too_large(bounds));
            }
            let text = |field: Option<&[u8]>| Some(String::from_utf8_lossy(field?).into_owned());
            rows.push(row.map(text).collect());
            Ok(())
        };
        poll_ready(self.talk.each_row(sql, keep))?;
        Ok(rows)
    }

    /// Returns a handle that cuts this session's connection from another thread.
    #[must_use]
    pub fn interrupter(&self) -> Interrupter {
        self.talk.interrupter()
    }
}

/// Memory of a kept field, in bytes; invalid UTF-8 grows when it is converted.
fn held(field: Option<&[u8]>) -> usize {
    FIELD_BYTES
        + field.map_or(0, |bytes| if bytes.is_ascii() { bytes.len() } else { 3 * bytes.len() })
}

fn too_large(bounds: Bounds) -> String {
    let (rows, mib) = (bounds.rows, bounds.bytes >> 20);
    format!("the server's answer is larger than {rows} rows or {mib} MiB")
}
