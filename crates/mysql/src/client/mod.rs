//! The MySQL protocol as far as load and laboratory need it, one system call to send and one to receive.
//!
//! Sources: MySQL's protocol documentation ("Client/Server Protocol", dev.mysql.com/doc/dev/mysql-server) and
//! MariaDB's ("Clients & Utilities: Server Client Protocol"). A general client builds a value for each field it
//! reads, which costs more than sysbench's whole client does; this one walks over the rows it drains.
//!
//! Guarantees: executing allocates nothing once buffers have grown; an answer is read to its end before the next
//! statement; a session that lost its connection says so on every further call.

mod login;
mod socket;
mod tls;
mod wire;

use crate::endpoint::Endpoint;
use crate::session::{Connect, Interrupter, Reply, Session, SessionError, StatementId, Value};
use socket::{CONNECT_TIMEOUT, Stream};
use std::time::Duration;
pub use wire::Fields;
use wire::Wire;

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

const TYPE_LONGLONG: u8 = 0x08;
const TYPE_VAR_STRING: u8 = 0xfd;

/// The server has more result sets for the same statement (`SERVER_MORE_RESULTS_EXISTS`).
const MORE_RESULTS: u16 = 0x0008;

/// Makes connections to one server.
pub struct ClientConnect {
    endpoint: Endpoint,
    tls: Option<tls::Config>,
    patience: Option<Duration>,
}

impl ClientConnect {
    /// Of `endpoint`, with answers that may take as long as they take.
    ///
    /// # Errors
    /// Its certificates cannot be used.
    pub fn new(endpoint: &Endpoint) -> Result<ClientConnect, SessionError> {
        let tls = tls::Config::new(endpoint).map_err(SessionError::Encryption)?;
        Ok(ClientConnect { endpoint: endpoint.clone(), tls, patience: None })
    }

    /// The same, with connections that give up, and are lost, when the server lets them wait for so long: to let them in, to
    /// take a statement, to answer.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> ClientConnect {
        ClientConnect { patience: Some(patience), ..self }
    }
}

impl Connect for ClientConnect {
    type Session = ClientSession;

    fn connect(&self) -> Result<ClientSession, SessionError> {
        let patience = self.patience.unwrap_or(CONNECT_TIMEOUT);
        let failed = |error: std::io::Error| SessionError::Connect(error.to_string());
        let stream = Stream::connect(&self.endpoint.address, patience).map_err(failed)?;
        let mut wire = login::log_in(stream, &self.endpoint, self.tls.as_ref())?;
        wire.be_logged_in(self.patience).map_err(failed)?;
        Ok(ClientSession { wire, statements: Vec::new() })
    }
}

/// A statement on the server, and whether it has been told the types of the values.
struct Statement {
    id: u32,
    places: usize,
    types_sent: bool,
}

/// A connection to a server.
pub struct ClientSession {
    wire: Wire,
    statements: Vec<Statement>,
}

impl Session for ClientSession {
    fn prepare(&mut self, sql: &str) -> Result<StatementId, SessionError> {
        self.wire.begin(COM_STMT_PREPARE);
        self.wire.put(sql.as_bytes());
        self.wire.send()?;
        let answer = self.wire.answer()?;
        let field = |from: usize, to: usize| {
            let bytes = answer.get(from..to).unwrap_or_default();
            bytes.iter().rev().fold(0u32, |number, byte| number << 8 | u32::from(*byte))
        };
        let (id, columns, places) = (field(1, 5), field(5, 7), field(7, 9));
        for definitions in [places, columns] {
            self.wire.skip_definitions(u64::from(definitions))?;
        }
        self.statements.push(Statement { id, places: places as usize, types_sent: false });
        Ok(StatementId(self.statements.len() - 1))
    }

    #[inline]
    fn execute(&mut self, id: StatementId, values: &[Value<'_>]) -> Result<Reply, SessionError> {
        let statement = &mut self.statements[id.0];
        if statement.places != values.len() {
            let message = format!("{} values for {} places", values.len(), statement.places);
            return Err(SessionError::Server { code: 1210, state: "HY000".into(), message });
        }
        self.wire.begin(COM_STMT_EXECUTE);
        self.wire.put(&statement.id.to_le_bytes());
        self.wire.put(&[0, 1, 0, 0, 0]);
        if !values.is_empty() {
            self.wire.put_zeroes(values.len().div_ceil(8));
            self.wire.put(&[u8::from(!statement.types_sent)]);
            if !statement.types_sent {
                for value in values {
                    self.wire.put(&[type_of(value), 0]);
                }
            }
            for value in values {
                match value {
                    Value::Int(number) => self.wire.put(&number.to_le_bytes()),
                    Value::Bytes(bytes) => self.wire.put_counted(bytes),
                }
            }
        }
        self.wire.send()?;
        let reply = self.drain();
        // A refused execution may have been refused for its types: then they are told again.
        self.statements[id.0].types_sent = reply.is_ok();
        reply
    }

    #[inline]
    fn query(&mut self, sql: &[u8]) -> Result<Reply, SessionError> {
        self.wire.begin(COM_QUERY);
        self.wire.put(sql);
        self.wire.send()?;
        self.drain()
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SessionError> {
        let text = |field: Option<&[u8]>| Some(String::from_utf8_lossy(field?).into_owned());
        let mut rows = Vec::new();
        self.each_row(sql, |row| rows.push(row.map(text).collect()))?;
        Ok(rows)
    }

    fn interrupter(&self) -> Option<Interrupter> {
        Some(self.wire.interrupter())
    }
}

fn type_of(value: &Value<'_>) -> u8 {
    match value {
        Value::Int(_) => TYPE_LONGLONG,
        Value::Bytes(_) => TYPE_VAR_STRING,
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

    /// Runs one statement of text and hands each of its rows to `take`, as it lies in the buffer.
    ///
    /// # Errors
    /// The server refuses it, or is gone.
    pub fn each_row(
        &mut self,
        sql: &str,
        mut take: impl FnMut(Fields<'_>),
    ) -> Result<(), SessionError> {
        self.wire.begin(COM_QUERY);
        self.wire.put(sql.as_bytes());
        self.wire.send()?;
        let columns = match wire::result_head(self.wire.answer()?)? {
            wire::Head::Done { .. } => return Ok(()),
            wire::Head::Columns(columns) => columns,
        };
        self.wire.skip_definitions(columns)?;
        while let Some(row) = self.wire.row()? {
            take(Fields::new(row, columns as usize));
        }
        Ok(())
    }

    /// Reads the answer to its end; the reply is the first result's.
    fn drain(&mut self) -> Result<Reply, SessionError> {
        let mut first = None;
        loop {
            let (reply, status) = match wire::result_head(self.wire.answer()?)? {
                wire::Head::Done { affected, status } => (Reply::Done { affected }, status),
                wire::Head::Columns(columns) => {
                    self.wire.skip_definitions(columns)?;
                    (Reply::Rows, self.wire.skip_rows()?)
                }
            };
            let first = *first.get_or_insert(reply);
            if status & MORE_RESULTS == 0 {
                return Ok(first);
            }
        }
    }
}
