//! Our own client: the MySQL protocol as far as a load needs it, one system call to send and one to receive.
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
use socket::Stream;
use wire::Wire;

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

const TYPE_LONGLONG: u8 = 0x08;
const TYPE_VAR_STRING: u8 = 0xfd;

/// The server has more result sets for the same statement (`SERVER_MORE_RESULTS_EXISTS`).
const MORE_RESULTS: u16 = 0x0008;

pub(crate) struct ClientConnect {
    endpoint: Endpoint,
    tls: Option<tls::Config>,
}

impl ClientConnect {
    pub(crate) fn new(endpoint: &Endpoint) -> Result<ClientConnect, SessionError> {
        let tls = tls::Config::new(endpoint).map_err(SessionError::Encryption)?;
        Ok(ClientConnect { endpoint: endpoint.clone(), tls })
    }
}

impl Connect for ClientConnect {
    type Session = ClientSession;

    fn connect(&self) -> Result<ClientSession, SessionError> {
        let stream = Stream::connect(&self.endpoint.address)
            .map_err(|error| SessionError::Connect(error.to_string()))?;
        let wire = login::log_in(stream, &self.endpoint, self.tls.as_ref())?;
        Ok(ClientSession { wire, statements: Vec::new() })
    }
}

/// A statement on the server, and whether it has been told the types of the values.
struct Statement {
    id: u32,
    places: usize,
    types_sent: bool,
}

pub(crate) struct ClientSession {
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

    fn query(&mut self, sql: &[u8]) -> Result<Reply, SessionError> {
        self.wire.begin(COM_QUERY);
        self.wire.put(sql);
        self.wire.send()?;
        self.drain()
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SessionError> {
        self.wire.begin(COM_QUERY);
        self.wire.put(sql.as_bytes());
        self.wire.send()?;
        let mut rows = Vec::new();
        let columns = match wire::result_head(self.wire.answer()?)? {
            wire::Head::Done { .. } => return Ok(rows),
            wire::Head::Columns(columns) => columns,
        };
        self.wire.skip_definitions(columns)?;
        while let Some(row) = self.wire.row()? {
            rows.push(wire::texts(row, columns as usize));
        }
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
