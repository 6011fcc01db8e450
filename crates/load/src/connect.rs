//! Connections for set-up work, and a session's errors as callers of this crate see them.

use std::time::Duration;

use assay_mysql::{ClientConnect, ClientSession, Endpoint, SessionError};

use crate::error::{Error, Result};

/// The time that a server may take to answer a question that costs it nothing, or next to nothing.
const PATIENCE: Duration = Duration::from_secs(8);

/// The statement with the least to do.
pub(crate) const NOTHING: &str = "DO 0";

/// A connection for set-up work, to a server that answers: from then on it may take as long as it needs.
pub(crate) fn open(endpoint: &Endpoint) -> Result<ClientSession> {
    let mut session = open_to_ask(endpoint)?;
    let answer = session.query(NOTHING.as_bytes());
    answer.map_err(|error| error.at(&endpoint.to_string(), NOTHING))?;
    session.set_patience(None);
    Ok(session)
}

/// A connection for questions, which are answered at once or not at all.
pub(crate) fn open_to_ask(endpoint: &Endpoint) -> Result<ClientSession> {
    let connected =
        ClientConnect::new(endpoint).and_then(|one| one.with_patience(PATIENCE).connect());
    connected.map_err(|error| error.at(&endpoint.to_string(), "connect"))
}

/// The server says it is going down, or has closed idle or killed connections.
const GOING: [u16; 5] = [1053, 1077, 1079, 1927, 4031];

/// What a server answers, besides, to statements that it ends because it is going down: interrupted, killed.
const ENDED: [u16; 2] = [1317, 3169];

/// Whether the connection is of no more use.
fn is_gone(error: &SessionError) -> bool {
    match error {
        SessionError::Server { code, .. } => GOING.contains(code),
        SessionError::Lost { .. } => true,
        SessionError::Connect(_) | SessionError::Encryption(_) => false,
    }
}

/// Whether a restart of the server explains the error.
pub(crate) fn is_of_restart(error: &SessionError) -> bool {
    is_gone(error) || error.code().is_some_and(|code| ENDED.contains(&code))
}

/// Whether a table that was changed meanwhile explains the error: its definition has changed, a statement must be prepared anew.
pub(crate) fn is_of_changed_table(error: &SessionError) -> bool {
    matches!(error, SessionError::Server { code: 1412 | 1615, .. })
}

/// A session's error with where it came from.
pub(crate) trait At {
    /// As callers of the crate see it, with the statement it came from.
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
