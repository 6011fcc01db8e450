//! Connections for set-up work, and a session's errors as callers of this crate see them.

use assay_mysql::{ClientSession, Endpoint, SessionError};

use crate::error::{Error, Result};

/// A connection for set-up work.
pub(crate) fn open(endpoint: &Endpoint) -> Result<ClientSession> {
    ClientSession::open(endpoint).map_err(|error| error.at(&endpoint.to_string(), "connect"))
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
            // The server says it is going down, or has closed idle or killed connections.
            SessionError::Server { code: 1053 | 1077 | 1079 | 1927 | 4031, message, .. }
            | SessionError::Lost { message, .. } => Error::Lost(message),
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
