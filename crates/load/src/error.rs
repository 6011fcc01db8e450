//! Errors: one variant for each that a caller would handle differently.

use std::{fmt, io};

use serde::{Deserialize, Serialize};

/// An error of preparing or running a load. A load host sends it to the coordinating machine.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Error {
    /// The connection failed.
    #[error(
        "cannot connect to {address}: {reason}; check that the server is running and listening \
         there"
    )]
    Connect {
        address: String,
        /// The system's or the server's message.
        reason: String,
    },
    /// The encryption failed, or could not be trusted.
    #[error("the connection to {address} cannot be encrypted: {reason}")]
    Encryption {
        address: String,
        /// The certificate or file at fault, and what to do.
        reason: String,
    },
    /// The server refused the user (errors 1044, 1045, 1698 and the like).
    #[error("{user} may not log in: {message}; check user, password and grants")]
    Denied { user: String, message: String },
    /// The connection was lost during the run (client errors 2006 and 2013, or the server's
    /// shutdown).
    #[error("lost the server: {0}; see the server's own log for the reason")]
    Lost(String),
    /// The server refused a statement with an error that is not ignored.
    #[error("server error {code} ({state}): {message}; {}", next_step(*code, statement))]
    Server {
        code: u16,
        state: String,
        message: String,
        /// The statement, shortened.
        statement: String,
    },
    /// An invalid setting; nothing was done.
    #[error("{0}")]
    Config(String),
    /// A limit is too low; nothing was done.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Preflight(Vec<Problem>),
    /// The data read differ from the data written.
    #[error("{0}")]
    Corrupt(String),
    /// A failure of a load host, in its own words.
    #[error("{0}")]
    Host(String),
    /// The operating system refused something, such as a thread or a file.
    #[error("{what}")]
    System {
        /// The failed action.
        what: String,
        /// The system's error; serialized as its message alone.
        #[serde(with = "words")]
        source: io::Error,
    },
}

/// Serializes a system's error as its message.
mod words {
    use std::io;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(error: &io::Error, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(error)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<io::Error, D::Error> {
        String::deserialize(from).map(io::Error::other)
    }
}

/// A limit that is too low for a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The server variable or the resource.
    pub what: String,
    pub needed: u64,
    pub available: u64,
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is too low: {} needed, {} available; {}",
            self.what, self.needed, self.available, self.remedy
        )
    }
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn system(what: impl Into<String>, source: io::Error) -> Error {
        Error::System { what: what.into(), source }
    }
}

fn next_step(code: u16, statement: &str) -> String {
    match code {
        1049 => "create the database, or run `prepare`".into(),
        1050 => "run `cleanup` first".into(),
        1146 => "run `prepare` first, with the same options".into(),
        _ => format!("it came from `{statement}`"),
    }
}
