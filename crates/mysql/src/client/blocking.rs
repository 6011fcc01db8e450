//! A session that blocks its thread until the server has answered: for set-up, and for who has a thread to spare.

use assay_event_loop::at_once;

use super::ClientConnect;
use super::login;
use super::ready::Blocks;
use super::socket::{CONNECT_TIMEOUT, Socket, Stream};
use super::talk::Talk;
use super::wire::Fields;
use crate::endpoint::Endpoint;
use crate::session::{Interrupter, Reply, SessionError, StatementId, Value};

/// A connection to a server.
pub struct ClientSession {
    talk: Talk<Blocks>,
}

impl ClientConnect {
    /// A new connection, logged in.
    ///
    /// # Errors
    /// Nobody listens, or the user is turned away.
    pub fn connect(&self) -> Result<ClientSession, SessionError> {
        let patience = self.patience.unwrap_or(CONNECT_TIMEOUT);
        let failed = |error: std::io::Error| SessionError::Connect(error.to_string());
        let socket = Socket::connect(&self.endpoint.address, patience).map_err(failed)?;
        let stream = Stream::Plain(socket);
        let mut wire = at_once(login::log_in(
            stream,
            Blocks,
            &self.endpoint,
            self.tls.as_ref(),
            self.counts_matches,
        ))?;
        wire.be_logged_in(self.patience).map_err(failed)?;
        Ok(ClientSession { talk: Talk::over(wire) })
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

    /// Prepares `sql` on the server.
    ///
    /// # Errors
    /// The server refuses it, or is gone.
    pub fn prepare(&mut self, sql: &str) -> Result<StatementId, SessionError> {
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
        self.talk.put_execute(id, values)?;
        at_once(self.talk.exchange())
    }

    /// Runs one statement of text and drains its rows.
    ///
    /// # Errors
    /// The server refuses it, or is gone.
    pub fn query(&mut self, sql: &[u8]) -> Result<Reply, SessionError> {
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
        take: impl FnMut(Fields<'_>),
    ) -> Result<(), SessionError> {
        at_once(self.talk.each_row(sql, take))
    }

    /// Runs one statement of text and reads its rows.
    ///
    /// # Errors
    /// As above.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SessionError> {
        let text = |field: Option<&[u8]>| Some(String::from_utf8_lossy(field?).into_owned());
        let mut rows = Vec::new();
        self.each_row(sql, |row| rows.push(row.map(text).collect()))?;
        Ok(rows)
    }

    /// What cuts this session's connection from another thread.
    #[must_use]
    pub fn interrupter(&self) -> Interrupter {
        self.talk.interrupter()
    }
}
