//! A session that blocks its thread until the server has answered: for set-up, and for who has a thread to spare.

use std::time::{Duration, Instant};

use assay_event_loop::at_once;

use super::ClientConnect;
use super::login;
use super::ready::Blocks;
use super::socket::{CONNECT_TIMEOUT, Socket, Stream};
use super::talk::{SET_UP_BYTES_MAX, Talk};
use super::wire::Fields;
use crate::endpoint::Endpoint;
use crate::session::{Interrupter, Reply, SessionError, StatementId, Value};

/// The largest answer that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Rows.
    pub rows: usize,
    /// Bytes of memory that they take.
    pub bytes: usize,
}

impl Bounds {
    /// Of a question about the server: its variables, its counters, one table's state.
    pub const ASKED: Bounds = Bounds { rows: 20_000, bytes: 16 << 20 };

    /// Of a list with an entry for each table or file.
    pub const LISTED: Bounds = Bounds { rows: 500_000, bytes: 96 << 20 };
}

/// Bytes that a row and a field take beside their text: a vector, a string, and what the allocator adds to each.
const ROW_BYTES: usize = 40;
const FIELD_BYTES: usize = 40;

/// A connection to a server.
pub struct ClientSession {
    talk: Talk<Blocks>,
    patience: Option<Duration>,
}

impl ClientConnect {
    /// A new connection, logged in.
    ///
    /// # Errors
    /// Nobody listens, or the user is turned away.
    pub fn connect(&self) -> Result<ClientSession, SessionError> {
        let until = Instant::now() + self.patience.unwrap_or(CONNECT_TIMEOUT);
        let failed = |error: std::io::Error| SessionError::Connect(in_words(&error));
        let socket = Socket::connect(&self.endpoint.address, until).map_err(failed)?;
        let stream = Stream::Plain(socket);
        let mut wire = at_once(login::log_in(
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
    /// A connection to `endpoint`, for one who needs one alone.
    ///
    /// # Errors
    /// As of making one by [`ClientConnect`].
    pub fn open(endpoint: &Endpoint) -> Result<ClientSession, SessionError> {
        ClientConnect::new(endpoint)?.connect()
    }

    /// From now on the whole of an answer is there within this time, or the connection is lost; `None` for as long as it takes.
    pub fn set_patience(&mut self, patience: Option<Duration>) {
        self.patience = patience;
    }

    /// The limit of the next answer.
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
    /// The server refuses it, or is gone.
    pub fn prepare(&mut self, sql: &str) -> Result<StatementId, SessionError> {
        self.begin()?;
        at_once(self.talk.prepare(sql))
    }

    /// Runs a prepared statement and drains its rows.
    ///
    /// # Errors
    /// As above, or it takes another number of values.
    pub fn execute(
        &mut self,
        id: StatementId,
        values: &[Value<'_>],
    ) -> Result<Reply, SessionError> {
        self.begin()?;
        self.talk.put_execute(id, values)?;
        at_once(self.talk.exchange())
    }

    /// Runs one statement of text and drains its rows.
    ///
    /// # Errors
    /// The server refuses it, or is gone.
    pub fn query(&mut self, sql: &[u8]) -> Result<Reply, SessionError> {
        self.begin()?;
        self.talk.put_query(sql);
        at_once(self.talk.exchange())
    }

    /// Runs one statement of text and hands each of its rows to `take`, as it lies in the buffer.
    ///
    /// # Errors
    /// As above.
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
        at_once(self.talk.each_row(sql, take))
    }

    /// Runs one statement of text and keeps its rows, at most [`Bounds::ASKED`].
    ///
    /// # Errors
    /// As above, or the answer is larger; the connection is lost then.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SessionError> {
        self.rows_within(sql, Bounds::ASKED)
    }

    /// As [`ClientSession::rows`], with other bounds.
    ///
    /// # Errors
    /// As there.
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
        at_once(self.talk.each_row(sql, keep))?;
        Ok(rows)
    }

    /// What cuts this session's connection from another thread.
    #[must_use]
    pub fn interrupter(&self) -> Interrupter {
        self.talk.interrupter()
    }
}

/// Bytes that a field takes when it is kept; what is no text grows when it is made one.
fn held(field: Option<&[u8]>) -> usize {
    FIELD_BYTES
        + field.map_or(0, |bytes| if bytes.is_ascii() { bytes.len() } else { 3 * bytes.len() })
}

fn too_large(bounds: Bounds) -> String {
    let (rows, mib) = (bounds.rows, bounds.bytes >> 20);
    format!("the server's answer is larger than {rows} rows or {mib} MiB")
}
