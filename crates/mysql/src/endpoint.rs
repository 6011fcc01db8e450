//! Address and account of a server.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// MySQL's default port.
const PORT: u16 = 3306;

/// A server's address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

impl Address {
    /// Parses `host`, `host:port`, `[address]:port`, or a socket's absolute path; `None` for
    /// anything else.
    ///
    /// ```
    /// use assay_mysql::Address;
    ///
    /// let address = Address::parse("[::1]:3307").unwrap();
    /// assert_eq!(address, Address::Tcp { host: "::1".into(), port: 3307 });
    /// assert!(address.is_local());
    /// assert_eq!(Address::parse("db1:0"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Address> {
        if text.starts_with('/') {
            return Some(Address::Socket(text.into()));
        }
        let (host, port) = match (text.strip_prefix('['), text.rsplit_once(':')) {
            (Some(rest), _) => {
                let (host, port) = rest.split_once(']')?;
                (host, if port.is_empty() { None } else { Some(port.strip_prefix(':')?) })
            }
            // Several colons are an IPv6 address without a port.
            (None, Some((host, port))) if !host.contains(':') => (host, Some(port)),
            (None, _) => (text, None),
        };
        let is_host =
            !host.is_empty() && !host.contains(char::is_whitespace) && !host.contains('/');
        let port = port.map_or(Some(PORT), |port| port.parse().ok().filter(|port| *port > 0))?;
        is_host.then(|| Address::Tcp { host: host.into(), port })
    }

    /// Returns true if the address is one of this machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self {
            Address::Socket(_) => true,
            Address::Tcp { host, .. } => matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Socket(path) => write!(f, "{}", path.display()),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

/// Encryption of a TCP connection, as MySQL's `ssl-mode`. A Unix socket is never encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tls {
    /// `DISABLED`: not encrypted.
    #[default]
    Off,
    /// `PREFERRED`: encrypted if the server offers it; its certificate is not checked.
    Preferred,
    /// `REQUIRED`: encrypted; the server's certificate is not checked.
    Unverified,
    /// `VERIFY_CA`: encrypted; the server's certificate must chain to one of this PEM file.
    Verified {
        /// Certificates to trust.
        ca: PathBuf,
    },
    /// `VERIFY_IDENTITY`: encrypted; the server's certificate must chain to one of this PEM file
    /// and be issued for the host's name.
    VerifiedIdentity {
        /// Certificates to trust.
        ca: PathBuf,
    },
}

impl Tls {
    /// The file of certificates to trust, if the server's is checked.
    pub fn ca_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Tls::Verified { ca } | Tls::VerifiedIdentity { ca } => Some(ca),
            Tls::Off | Tls::Preferred | Tls::Unverified => None,
        }
    }
}

/// The source of the key that encrypts a password on a connection without TLS.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerKey {
    /// No key: the password is not sent over such a connection, since a man in the middle could
    /// send a key of his own.
    #[default]
    None,
    /// The server sends the key, whoever it is (`get-server-public-key`).
    Fetched,
    /// The key as PEM, given by the server's owner (the file of `server-public-key-path`).
    Known(String),
}

/// A MySQL or MariaDB server, a user and a database.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The server's address.
    pub address: Address,
    /// User name.
    pub user: String,
    /// Password; empty for none.
    pub password: String,
    /// Database that holds the tables.
    pub database: String,
    /// Encryption of the connection.
    pub tls: Tls,
    /// The key that encrypts the password on a connection without TLS.
    pub key: ServerKey,
    /// True if the user's name is not printed. The password never is.
    pub hides_user: bool,
}

impl Endpoint {
    /// The endpoint of `root` without a password over a Unix socket, as on the servers that Assay
    /// starts.
    #[must_use]
    pub fn root_over(socket: &Path, database: &str) -> Endpoint {
        Endpoint {
            address: Address::Socket(socket.to_owned()),
            user: "root".into(),
            password: String::new(),
            database: database.into(),
            tls: Tls::Off,
            key: ServerKey::None,
            hides_user: false,
        }
    }
}

/// Prints no password, and no user name if it is hidden.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("address", &self.address)
            .field("user", &if self.hides_user { "…" } else { &self.user })
            .field("database", &self.database)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hides_user {
            true => write!(f, "{}/{}", self.address, self.database),
            false => write!(f, "{}@{}/{}", self.user, self.address, self.database),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let tcp = |host: &str, port| Some(Address::Tcp { host: host.into(), port });
        assert_eq!(Address::parse("db1"), tcp("db1", 3306));
        assert_eq!(Address::parse("db1.example.com:3307"), tcp("db1.example.com", 3307));
        assert_eq!(Address::parse("::1"), tcp("::1", 3306));
        assert_eq!(Address::parse("[::1]:3307"), tcp("::1", 3307));
        assert_eq!(Address::parse("[::1]"), tcp("::1", 3306));
        assert_eq!(Address::parse("/run/db.sock"), Some(Address::Socket("/run/db.sock".into())));
        for wrong in ["", "db1:", "db1:0", "db1:99999", "db1:x", "[::1", "a b", "mysql://db1"] {
            assert_eq!(Address::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_user_who_is_to_be_hidden_is_printed_nowhere() {
        let shown = Endpoint { user: "ann".into(), ..Endpoint::root_over("/s".as_ref(), "d") };
        assert_eq!(shown.to_string(), "ann@/s/d");
        let hidden = Endpoint { hides_user: true, ..shown };
        assert_eq!(hidden.to_string(), "/s/d");
        assert!(!format!("{hidden:?}").contains("ann"));
    }
}
