//! A server that somebody else runs, resolved: its address, the account on it, and the way back to
//! the same start.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use assay_load::Address;

use crate::document::{EndpointSpec, Restore};

/// The variable that holds the password, where the plan names none: the one that MySQL's own
/// programs read.
const PASSWORD_ENV: &str = "MYSQL_PWD";

/// A server that somebody else runs.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedEndpoint {
    /// `None`: the one that the option file names.
    pub address: Option<Address>,
    pub login: EndpointLogin,
    /// The database that is created for the tables, and removed.
    pub database: String,
    /// Whether connections are encrypted.
    pub ssl: bool,
    /// Certificates that the server's must chain to.
    pub ssl_ca: Option<PathBuf>,
    /// Beginning of the server's version.
    pub version: Option<String>,
    pub restore: RestoreWay,
}

/// The place where the name and the password of an account are kept.
#[derive(Debug, Clone, PartialEq)]
pub enum EndpointLogin {
    /// A MySQL option file, in its group `[client]`.
    OptionFile(PathBuf),
    /// The password is asked for at the terminal.
    Asked { user: String },
    /// The password is in an environment variable.
    Variable { user: String, variable: String },
}

/// The way in which each run comes back to the same start.
#[derive(Debug, Clone, PartialEq)]
pub enum RestoreWay {
    /// The tables are dropped and loaded anew before each run.
    Reload,
    /// The user's program runs before each run but the first.
    Command(RestoreCommand),
    /// Each run begins with the tables that the one before has left.
    Nothing,
}

/// A program of the user's, with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct RestoreCommand {
    pub program: String,
    pub arguments: Vec<String>,
}

impl PlannedEndpoint {
    /// Resolves the endpoint of a plan.
    ///
    /// # Errors
    /// One line: the key, and what to do.
    pub fn of(spec: &EndpointSpec) -> Result<PlannedEndpoint> {
        let address = spec.address.as_deref().map(address).transpose()?;
        ensure!(
            address.is_some() || spec.option_file.is_some(),
            "address is missing; give host, host:port or the absolute path of a socket"
        );
        let login = login(spec)?;
        ensure!(
            is_database_name(&spec.database),
            "database is `{}`; give a name of letters, digits and underscores",
            spec.database
        );
        Ok(PlannedEndpoint {
            address,
            login,
            database: spec.database.clone(),
            ssl: spec.ssl,
            ssl_ca: spec.ssl_ca.clone(),
            version: spec.version.clone(),
            restore: restore(&spec.restore)?,
        })
    }
}

fn address(text: &str) -> Result<Address> {
    let Some(address) = Address::parse(text) else {
        bail!("address is `{text}`; give host, host:port or the absolute path of a socket");
    };
    Ok(address)
}

fn login(spec: &EndpointSpec) -> Result<EndpointLogin> {
    let variable = &spec.password_env;
    Ok(match (spec.user.clone(), spec.option_file.clone()) {
        (None, Some(path)) => {
            let others = [("password_env", variable.is_some()), ("ask", spec.ask)];
            if let Some((key, _)) = others.iter().find(|(_, is_given)| *is_given) {
                bail!(
                    "{key} cannot be combined with option_file, which holds the password; remove \
                    one"
                );
            }
            EndpointLogin::OptionFile(path)
        }
        (Some(user), None) if spec.ask => {
            ensure!(variable.is_none(), "password_env cannot be combined with ask; remove one");
            EndpointLogin::Asked { user }
        }
        (Some(user), None) => {
            let variable = variable.as_deref().unwrap_or(PASSWORD_ENV).to_owned();
            EndpointLogin::Variable { user, variable }
        }
        _ => bail!("give either user, or option_file with user and password in its group [client]"),
    })
}

fn restore(spec: &Restore) -> Result<RestoreWay> {
    Ok(match spec {
        Restore::Reload => RestoreWay::Reload,
        Restore::None => RestoreWay::Nothing,
        Restore::Command(words) => match words.split_first() {
            Some((program, arguments)) if !program.is_empty() => {
                let (program, arguments) = (program.clone(), arguments.to_vec());
                RestoreWay::Command(RestoreCommand { program, arguments })
            }
            _ => bail!("restore.command is empty; give a program and its arguments"),
        },
    })
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
            "title = \"t\"\nthreads = [1]\nseconds = 1\n{more}\n[workloads.w]\nrecipe = \
             \"oltp_read_only\"\n[configs.a]\n\
             [rig]\nkind = \"endpoint\"\nendpoint = {{ {endpoint} }}\n"
        ))
    }

    #[test]
    fn an_endpoint_is_an_address_and_where_the_password_is_kept() {
        let resolved = |text: &str| {
            PlannedEndpoint::of(&plan(text, "").unwrap().rig.endpoint.unwrap()).unwrap()
        };
        let one = resolved("address = \"db1:3307\", user = \"ann\"");
        let (user, variable) = ("ann".into(), "MYSQL_PWD".into());
        assert_eq!(one.login, EndpointLogin::Variable { user, variable });
        assert_eq!((one.database.as_str(), one.restore), ("assay", RestoreWay::Reload));
        let one = resolved("option_file = \"~/.my.cnf\", restore = \"none\"");
        assert_eq!(one.restore, RestoreWay::Nothing);
        let one = resolved(
            "address = \"/run/db.sock\", user = \"ann\", ask = true, restore = { command = \
            [\"./back\", \"-x\"] }",
        );
        let (program, arguments) = ("./back".into(), vec!["-x".into()]);
        assert_eq!(one.restore, RestoreWay::Command(RestoreCommand { program, arguments }));
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
