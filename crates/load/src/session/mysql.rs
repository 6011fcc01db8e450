//! Sessions over the `mysql` crate: Unix sockets and TCP, TLS, `caching_sha2_password`.

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Params, SslOpts, Statement};

use super::{Connect, LOST_IN_QUERY, Reply, Session, SessionError, StatementId, Value};
use crate::endpoint::{Address, Endpoint, Tls};

/// The largest packet we send; the server's own limit may be lower.
const PACKET_BYTES_MAX: usize = 16 * 1024 * 1024;

pub(crate) struct MysqlConnect {
    options: mysql::Opts,
}

impl MysqlConnect {
    pub(crate) fn new(endpoint: &Endpoint) -> Result<MysqlConnect, SessionError> {
        let options = OptsBuilder::new()
            .user(Some(&endpoint.user))
            .pass((!endpoint.password.is_empty()).then_some(&endpoint.password))
            .db_name((!endpoint.database.is_empty()).then_some(&endpoint.database))
            .prefer_socket(false)
            .stmt_cache_size(0)
            .max_allowed_packet(Some(PACKET_BYTES_MAX));
        let options = match &endpoint.address {
            Address::Socket(path) => options.socket(path.to_str()),
            Address::Tcp { host, port } => options.ip_or_hostname(Some(host)).tcp_port(*port),
        };
        let tls = match (&endpoint.address, &endpoint.tls) {
            (Address::Socket(_), _) | (_, Tls::Off) => None,
            (_, Tls::Unverified) => Some(
                SslOpts::default()
                    .with_danger_accept_invalid_certs(true)
                    .with_danger_skip_domain_validation(true),
            ),
            (_, Tls::Verified { ca }) => {
                Some(SslOpts::default().with_root_cert_path(Some(ca.clone())))
            }
        };
        Ok(MysqlConnect { options: options.ssl_opts(tls).into() })
    }
}

impl Connect for MysqlConnect {
    type Session = MysqlSession;

    fn connect(&self) -> Result<MysqlSession, SessionError> {
        let conn = Conn::new(self.options.clone()).map_err(|error| match error {
            mysql::Error::MySqlError(_) => convert(error),
            other => SessionError::Connect(other.to_string()),
        })?;
        Ok(MysqlSession { conn, statements: Vec::new() })
    }
}

pub(crate) struct MysqlSession {
    conn: Conn,
    statements: Vec<Statement>,
}

impl Session for MysqlSession {
    fn prepare(&mut self, sql: &str) -> Result<StatementId, SessionError> {
        self.statements.push(self.conn.prep(sql).map_err(convert)?);
        Ok(StatementId(self.statements.len() - 1))
    }

    fn execute(&mut self, id: StatementId, values: &[Value<'_>]) -> Result<Reply, SessionError> {
        let statement = &self.statements[id.0];
        let params = if values.is_empty() {
            Params::Empty
        } else {
            Params::Positional(values.iter().map(value).collect())
        };
        let result = self.conn.exec_iter(statement, params).map_err(convert)?;
        drain(result)
    }

    fn query(&mut self, sql: &[u8]) -> Result<Reply, SessionError> {
        let text = String::from_utf8_lossy(sql);
        let result = self.conn.query_iter(text).map_err(convert)?;
        drain(result)
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SessionError> {
        let rows: Vec<mysql::Row> = self.conn.query(sql).map_err(convert)?;
        let text = |value: mysql::Value| match value {
            mysql::Value::NULL => None,
            mysql::Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            other => Some(other.as_sql(true)),
        };
        Ok(rows.into_iter().map(|row| row.unwrap().into_iter().map(text).collect()).collect())
    }
}

fn value(value: &Value<'_>) -> mysql::Value {
    match value {
        Value::Int(number) => mysql::Value::Int(*number),
        Value::Bytes(bytes) => mysql::Value::Bytes(bytes.to_vec()),
    }
}

fn drain<P: mysql::prelude::Protocol>(
    mut result: mysql::QueryResult<'_, '_, '_, P>,
) -> Result<Reply, SessionError> {
    let mut reply = Reply::Done { affected: result.affected_rows() };
    if !result.columns().as_ref().is_empty() {
        reply = Reply::Rows;
    }
    while let Some(set) = result.iter() {
        for row in set {
            row.map_err(convert)?;
        }
    }
    Ok(reply)
}

fn convert(error: mysql::Error) -> SessionError {
    match error {
        mysql::Error::MySqlError(error) => {
            SessionError::Server { code: error.code, state: error.state, message: error.message }
        }
        other => SessionError::Lost { code: LOST_IN_QUERY, message: other.to_string() },
    }
}
