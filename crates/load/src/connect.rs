//! Connections for set-up work, and a session's errors as this crate reports them.

use std::time::Duration;

use assay_mysql::{ClientConnect, ClientSession, Endpoint, SessionError};

use crate::error::{Error, Result};

/// Time limit of a query that costs the server nothing, or nearly nothing.
const PATIENCE: Duration = Duration::from_secs(8);

/// The cheapest statement.
pub(crate) const NOTHING: &str = "DO 0";

/// Opens a connection for set-up work to a server that answers. It then has no time limit.
pub(crate) fn open(endpoint: &Endpoint) -> Result<ClientSession> {
    let mut session = open_to_ask(endpoint)?;
    let answer = session.query(NOTHING.as_bytes());
    answer.map_err(|error| error.at(&endpoint.to_string(), NOTHING))?;
    session.set_patience(None);
    Ok(session)
}

/// Opens a connection for cheap queries, with a time limit.
pub(crate) fn open_to_ask(endpoint: &Endpoint) -> Result<ClientSession> {
    let connected =
        ClientConnect::new(endpoint).and_then(|connect| connect.with_patience(PATIENCE).connect());
    connected.map_err(|error| error.at(&endpoint.to_string(), "connect"))
}

/// Errors of a server that shuts down, or has closed idle or killed connections.
const GOING: [u16; 5] = [1053, 1077, 1079, 1927, 4031];

/// Further errors of statements that a shutdown ends: interrupted, killed.
const ENDED: [u16; 2] = [1317, 3169];

/// Returns true if the connection is lost.
fn is_gone(error: &SessionError) -> bool {
    match error {
        SessionError::Server { code, .. } => GOING.contains(code),
        SessionError::Lost { .. } => true,
        SessionError::Connect(_) | SessionError::Encryption(_) => false,
    }
}

/// Returns true if a restart of the server explains the error.
pub(crate) fn is_of_restart(error: &SessionError) -> bool {
    is_gone(error) || error.code().is_some_and(|code| ENDED.contains(&code))
}

/// Returns true if a changed table explains the error: its definition has changed, or a statement
/// must be prepared anew.
pub(crate) fn is_of_changed_table(error: &SessionError) -> bool {
    matches!(error, SessionError::Server { code: 1412 | 1615, .. })
}

/// Adds the origin to a session's error.
pub(crate) trait At {
    /// Converts the error to that of this crate, with the statement that caused it.
    fn at(self, endpoint: &str, statement: &str) -> Error;
}

impl At for SessionError {
    fn at(self, endpoint: &str, statement: &str) -> Error {
        match self {
            SessionError::Server { code: 1044 | 1045 | 1698 | 4151, message, .. } => {
                Error::Denied { user: endpoint.into(), message }
            }
            SessionError::Server { ref message, .. } | SessionError::Lost { ref message, .. }
                if is_gone(&self) =>
            {
                Error::Lost(message.clone())
            }
            SessionError::Lost { message, .. } => Error::Lost(message),
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
