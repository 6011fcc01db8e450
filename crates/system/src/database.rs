//! A database of Assay's own on a server that somebody else runs.
//!
//! Guarantees: an existing database is never taken over; only a database with the mark that this
//! one was given is removed (a table with a row that contains it); nothing else on the server is
//! changed.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use assay_mysql::account::Account;
use assay_mysql::{ClientConnect, ClientSession, Endpoint, SessionError};

use super::presence::Presence;

/// The table that holds the mark.
pub const MARK: &str = "assay_mark";

const PATIENCE: Duration = Duration::from_secs(5);

/// Dropping a database of large tables takes long.
const DROP_PATIENCE: Duration = Duration::from_secs(120);

/// Number of attempts to remove a database: connections to remote servers break now and then.
const TRIES: u32 = 5;

/// A database that every user may use and that holds no user's data.
const SYSTEM_DATABASE: &str = "information_schema";

/// The state of the database with a given name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DatabaseState {
    Nothing,
    /// It bears the mark.
    Ours,
    /// It is empty: Assay's before it was marked, or somebody else's.
    Empty,
    /// It holds somebody else's tables.
    Theirs,
}

/// Creates the database `name` and marks it. Fails if it exists.
pub fn make(session: &mut ClientSession, name: &str, mark: &str) -> Result<()> {
    for statement in [
        format!("CREATE DATABASE `{name}`"),
        format!("CREATE TABLE `{name}`.`{MARK}` (mark VARCHAR(64) NOT NULL PRIMARY KEY)"),
        format!("INSERT INTO `{name}`.`{MARK}` (mark) VALUES ('{mark}')"),
    ] {
        session.query(statement.as_bytes())?;
    }
    Ok(())
}

/// Returns true if a database of that name exists.
pub fn is_there(session: &mut ClientSession, name: &str) -> Result<bool, SessionError> {
    let sql = format!("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{name}'");
    Ok(!session.rows(&sql)?.is_empty())
}

/// Returns true if the database bears a mark of any Assay, on this machine or another.
pub fn is_marked(session: &mut ClientSession, name: &str) -> Result<bool, SessionError> {
    let sql = format!(
        "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{name}' AND TABLE_NAME = \
         '{MARK}'"
    );
    Ok(!session.rows(&sql)?.is_empty())
}

/// Returns [`Presence::Unasked`] if the server cannot be asked.
pub(crate) fn presence(account: &Account, name: &str, mark: &str) -> Presence {
    let found = connect(account).and_then(|mut session| Ok(find(&mut session, name, mark)?));
    match found {
        Ok(DatabaseState::Ours | DatabaseState::Empty) => Presence::There,
        Ok(DatabaseState::Nothing) => Presence::Gone,
        Ok(DatabaseState::Theirs) => Presence::Another,
        Err(_) => Presence::Unasked,
    }
}

/// Removes the database if it bears `mark`.
pub(crate) fn remove(account: &Account, name: &str, mark: &str) -> Result<()> {
    let mut tries = 1;
    let began = Instant::now();
    loop {
        match remove_once(account, name, mark) {
            // A server that does not answer is given up after some attempts.
            Err(error)
                if tries < TRIES && began.elapsed() < PATIENCE && is_of_connection(&error) =>
            {
                tries += 1;
            }
            done => return done,
        }
    }
}

fn is_of_connection(error: &anyhow::Error) -> bool {
    let lost = |error: &SessionError| {
        matches!(error, SessionError::Lost { .. } | SessionError::Connect(_))
    };
    error.downcast_ref::<SessionError>().is_some_and(lost)
}

fn remove_once(account: &Account, name: &str, mark: &str) -> Result<()> {
    let mut session = connect(account)?;
    match find(&mut session, name, mark)? {
        DatabaseState::Nothing | DatabaseState::Theirs => Ok(()),
        DatabaseState::Ours => {
            session.set_patience(Some(DROP_PATIENCE));
            session.query(format!("DROP DATABASE `{name}`").as_bytes())?;
            Ok(())
        }
        DatabaseState::Empty => {
            bail!(
                "it is empty and does not bear the mark of a run; drop it by hand if it is of no \
                 use"
            )
        }
    }
}

fn connect(account: &Account) -> Result<ClientSession> {
    let endpoint: Endpoint = account.endpoint(SYSTEM_DATABASE)?;
    Ok(ClientConnect::new(&endpoint)?.with_patience(PATIENCE).connect()?)
}

fn find(
    session: &mut ClientSession,
    name: &str,
    mark: &str,
) -> Result<DatabaseState, SessionError> {
    if !is_there(session, name)? {
        return Ok(DatabaseState::Nothing);
    }
    if !is_marked(session, name)? {
        let sql = format!(
            "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{name}' LIMIT 1"
        );
        let is_empty = session.rows(&sql)?.is_empty();
        return Ok(if is_empty { DatabaseState::Empty } else { DatabaseState::Theirs });
    }
    let marks = session.rows(&format!("SELECT mark FROM `{name}`.`{MARK}`"))?;
    let is_ours = marks.iter().flatten().any(|found| found.as_deref() == Some(mark));
    Ok(if is_ours { DatabaseState::Ours } else { DatabaseState::Theirs })
}

/// Drops every table except the mark. Fails if the database does not bear `mark`.
pub fn empty(session: &mut ClientSession, name: &str, mark: &str) -> Result<()> {
    let found = find(session, name, mark)?;
    ensure!(
        found == DatabaseState::Ours,
        "the database {name} does not bear the mark of this run any more"
    );
    let sql = format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{name}' AND \
         TABLE_NAME <> '{MARK}'"
    );
    for table in session.rows(&sql)?.into_iter().filter_map(|row| row.into_iter().next()?) {
        let sql = format!("DROP TABLE `{name}`.`{}`", table.replace('`', "``"));
        session.query(sql.as_bytes()).with_context(|| format!("cannot drop the table {table}"))?;
    }
    Ok(())
}
