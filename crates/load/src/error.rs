//! What can go wrong, one variant for each thing a caller would do differently.

use std::{fmt, io};

use serde::{Deserialize, Serialize};

/// Why loading or running failed. A load on another host sends it on its way home.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Error {
    /// No connection at all: nobody listens, or the network says no.
    #[error(
        "cannot connect to {address}: {reason}; check that the server is running and listening there"
    )]
    Connect {
        /// Where.
        address: String,
        /// What the system or the server said.
        reason: String,
    },
    /// The server was reached, or was not tried, and no encrypted connection that may be trusted came to be.
    #[error("the connection to {address} cannot be encrypted: {reason}")]
    Encryption {
        /// Where.
        address: String,
        /// Which certificate or file is to blame, and what to do.
        reason: String,
    },
    /// The server turned the user away (errors 1044, 1045, 1698 and the like).
    #[error("{user} may not log in: {message}; check user, password and grants")]
    Denied {
        /// User and address.
        user: String,
        /// The server's words.
        message: String,
    },
    /// The server went away in mid-run (client errors 2006 and 2013, or the server said it shuts down).
    #[error("lost the server: {0}; see the server's own log for the reason")]
    Lost(String),
    /// The server refused a statement with an error that is not on the list of those to ignore.
    #[error("server error {code} ({state}): {message}; {}", next_step(*code, statement))]
    Server {
        /// The server's error number.
        code: u16,
        /// The SQL state.
        state: String,
        /// The server's message.
        message: String,
        /// The statement, shortened.
        statement: String,
    },
    /// A setting makes no sense; nothing was done.
    #[error("{0}")]
    Config(String),
    /// A limit would be hit; nothing was done.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Preflight(Vec<Problem>),
    /// What was read is not what was written.
    #[error("{0}")]
    Corrupt(String),
    /// Another machine has a part in the load, and something is wrong with it; in its own words.
    #[error("{0}")]
    Host(String),
    /// The operating system refused something, such as a thread or a file.
    #[error("{what}")]
    System {
        /// What was tried.
        what: String,
        /// What it answered; on its way its words alone.
        #[serde(with = "words")]
        source: io::Error,
    },
}

/// What the system answered, in words.
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

/// A limit that a run would hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// What is short: the server variable or the resource.
    pub what: String,
    /// How much the run needs.
    pub needed: u64,
    /// How much there is.
    pub available: u64,
    /// What to do about it.
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

/// The result of what this crate does.
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
