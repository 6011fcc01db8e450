//! A server that somebody else runs: where it is, who we are there, and how each run comes back to the same start.
//!
//! Guarantees: no plan holds a password, for plans are stored with their studies.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use assay_load::Address;

/// The variable that holds the password, where the plan names none: the one that MySQL's own programs read.
const PASSWORD_ENV: &str = "MYSQL_PWD";

/// A server that somebody else runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointSpec {
    /// `host`, `host:port` or the absolute path of a Unix socket. Default: what the option file says.
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
    /// How each run comes back to the same start.
    #[serde(default)]
    pub restore: Restore,
    /// Refused with a sentence of its own.
    #[serde(default, skip_serializing)]
    password: NoPassword,
}

/// A password that is not there: whoever gives one is told where it belongs.
#[derive(Debug, Clone, Default, PartialEq)]
struct NoPassword;

impl<'de> Deserialize<'de> for NoPassword {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<NoPassword, D::Error> {
        Err(D::Error::custom(
            "a plan holds no password, as it is stored with the study; give password_env, option_file or ask = true",
        ))
    }
}

/// How each run comes back to the same start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Restore {
    /// The tables are dropped and loaded anew before each run.
    #[default]
    Reload,
    /// A program of the user's, with its arguments, before each run but the first: whatever it does, the tables are there again.
    Command(Vec<String>),
    /// Not at all: each run begins with what the one before has left.
    None,
}

fn database() -> String {
    "assay".into()
}

impl EndpointSpec {
    /// The environment variable that holds the password, where it is in one.
    #[must_use]
    pub fn variable(&self) -> &str {
        self.password_env.as_deref().unwrap_or(PASSWORD_ENV)
    }

    /// Checks that the keys make an account.
    ///
    /// # Errors
    /// One line: the key, and what to do.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(address) = &self.address {
            ensure!(
                Address::parse(address).is_some(),
                "address is `{address}`; give host, host:port or the absolute path of a socket"
            );
        }
        ensure!(
            self.address.is_some() || self.option_file.is_some(),
            "address is missing; give host, host:port or the absolute path of a socket"
        );
        ensure!(
            self.user.is_some() != self.option_file.is_some(),
            "give either user, or option_file with user and password in its group [client]"
        );
        let beside_file = [("password_env", self.password_env.is_some()), ("ask", self.ask)];
        if let Some((key, _)) = beside_file.iter().find(|(_, is_given)| *is_given)
            && self.option_file.is_some()
        {
            bail!(
                "{key} cannot be combined with option_file, which holds the password; remove one"
            );
        }
        ensure!(
            !(self.ask && self.password_env.is_some()),
            "password_env cannot be combined with ask; remove one"
        );
        ensure!(
            is_database_name(&self.database),
            "database is `{}`; give a name of letters, digits and underscores",
            self.database
        );
        if let Restore::Command(words) = &self.restore {
            ensure!(
                words.first().is_some_and(|program| !program.is_empty()),
                "restore.command is empty; give a program and its arguments"
            );
        }
        Ok(())
    }
}

/// 64 characters are the most that MySQL takes (reference manual, "Identifier Length Limits").
fn is_database_name(name: &str) -> bool {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || one == '_';
    (1..=64).contains(&name.len()) && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    fn plan(endpoint: &str, more: &str) -> Result<Plan> {
        Plan::parse(&format!(
            "title = \"t\"\nthreads = [1]\nseconds = 1\n{more}\n[workloads.w]\nrecipe = \"oltp_read_only\"\n[configs.a]\n\
             [rig]\nkind = \"endpoint\"\nendpoint = {{ {endpoint} }}\n"
        ))
    }

    #[test]
    fn an_endpoint_is_an_address_and_where_the_password_is_kept() {
        let spec = |text: &str| plan(text, "").unwrap().rig.endpoint.unwrap();
        let one = spec("address = \"db1:3307\", user = \"ann\"");
        assert_eq!((one.variable(), one.database.as_str()), ("MYSQL_PWD", "assay"));
        assert_eq!(one.restore, Restore::Reload);
        let one = spec("option_file = \"~/.my.cnf\", restore = \"none\"");
        assert_eq!(one.restore, Restore::None);
        let one = spec(
            "address = \"/run/db.sock\", user = \"ann\", ask = true, restore = { command = [\"./back\", \"-x\"] }",
        );
        assert_eq!(one.restore, Restore::Command(vec!["./back".into(), "-x".into()]));
        let none = plan("address = \"db1\", user = \"ann\"", "").unwrap();
        assert!(none.needs_server() && !none.needs_own_server());
    }

    #[test]
    fn what_makes_no_account_is_refused_and_a_password_is_not_repeated() {
        for (endpoint, told) in [
            ("user = \"ann\"", "address is missing"),
            ("address = \"db1:x\", user = \"ann\"", "give host, host:port"),
            ("address = \"db1\"", "give either user, or option_file"),
            ("address = \"db1\", user = \"ann\", option_file = \"f\"", "give either user, or"),
            ("option_file = \"f\", ask = true", "ask cannot be combined with option_file"),
            ("address = \"db1\", user = \"a\", ask = true, password_env = \"P\"", "remove one"),
            ("address = \"db1\", user = \"a\", database = \"a-b\"", "letters, digits and"),
            ("address = \"db1\", user = \"a\", restore = { command = [] }", "restore.command is"),
            ("address = \"db1\", user = \"a\", password = \"s3cret\"", "a plan holds no password"),
        ] {
            let error = format!("{:#}", plan(endpoint, "").unwrap_err());
            assert!(error.contains(told), "{endpoint}: {error}");
            assert!(!error.contains("s3cret") && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn what_only_its_owner_can_do_is_refused() {
        let endpoint = "address = \"db1\", user = \"ann\"";
        for (more, told) in [
            ("objective = { p99_ms = 10, during = \"checkpoint\" }", "changes the server"),
            ("placement = { server_cpus = \"0\" }", "server_cpus cannot be set"),
        ] {
            let error = format!("{:#}", plan(endpoint, more).unwrap_err());
            assert!(error.contains(told), "{more}: {error}");
        }
        assert!(plan(endpoint, "objective = { p99_ms = 10, during = \"scan\" }").is_ok());
    }
}
