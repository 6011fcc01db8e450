//! A server that somebody else runs: its address, our account, and the way back to the same start.
//!
//! Guarantees: no plan holds a password, for plans are stored with their studies.

use std::path::PathBuf;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// A server that somebody else runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointSpec {
    /// `host`, `host:port` or the absolute path of a Unix socket. Default: the option file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The database that is made for the tables, and removed.
    #[serde(default = "database")]
    pub database: String,
    /// User name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The environment variable that holds the password. Default: `MYSQL_PWD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_env: Option<String>,
    /// A MySQL option file, such as `~/.my.cnf`, whose group `[client]` holds user and password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option_file: Option<PathBuf>,
    /// Whether the password is asked for at the terminal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ask: bool,
    /// Whether connections are encrypted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ssl: bool,
    /// Certificates that the server's must chain to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssl_ca: Option<PathBuf>,
    /// The version that the plan is for: the server's must begin so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The way in which each run comes back to the same start.
    #[serde(default)]
    pub restore: Restore,
    /// Refused with a sentence of its own.
    #[serde(default, skip_serializing)]
    password: NoPassword,
}

/// Placeholder for a password: giving one is an error that names the right place for it.
#[derive(Debug, Clone, Default, PartialEq)]
struct NoPassword;

impl<'de> Deserialize<'de> for NoPassword {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<NoPassword, D::Error> {
        Err(D::Error::custom(
            "a plan holds no password, as it is stored with the study; give password_env, \
            option_file or ask = true",
        ))
    }
}

/// The way in which each run comes back to the same start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Restore {
    /// The tables are dropped and loaded anew before each run.
    #[default]
    Reload,
    /// The user's program, with its arguments, before each run but the first. It brings the tables
    /// back.
    Command(Vec<String>),
    /// No restore: each run begins with the tables that the one before has left.
    None,
}

fn database() -> String {
    "assay".into()
}
