//! Where the server is and who we are there.

use std::fmt;
use std::path::{Path, PathBuf};

/// A server's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket.
    Socket(PathBuf),
    /// A TCP port.
    Tcp {
        /// Host name or address.
        host: String,
        /// Port number.
        port: u16,
    },
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Socket(path) => write!(f, "{}", path.display()),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

/// Whether a TCP connection is encrypted. A Unix socket never is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Tls {
    /// Not encrypted.
    #[default]
    Off,
    /// Encrypted; the server's certificate is not checked.
    Unverified,
    /// Encrypted; the server's certificate must chain to one of this PEM file and bear the host's name.
    Verified {
        /// Certificates to trust.
        ca: PathBuf,
    },
}

/// A MySQL or MariaDB server, a user and a database.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Where it listens.
    pub address: Address,
    /// User name.
    pub user: String,
    /// Password; empty for none.
    pub password: String,
    /// Database that holds the tables.
    pub database: String,
    /// Encryption.
    pub tls: Tls,
}

impl Endpoint {
    /// `root` without a password over a Unix socket, as on the servers that we start.
    #[must_use]
    pub fn root_over(socket: &Path, database: &str) -> Endpoint {
        Endpoint {
            address: Address::Socket(socket.to_owned()),
            user: "root".into(),
            password: String::new(),
            database: database.into(),
            tls: Tls::Off,
        }
    }
}

/// The password stays out of logs and error messages.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("address", &self.address)
            .field("user", &self.user)
            .field("database", &self.database)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.user, self.address, self.database)
    }
}
