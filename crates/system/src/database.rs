//! A database of our own on a server that somebody else runs.
//!
//! Guarantees: none is taken over, each is made; what is removed bears the very mark that this one was given, a table with a row
//! that says so; nothing else on the server is changed.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use assay_mysql::account::Account;
use assay_mysql::{ClientConnect, ClientSession, Endpoint, SessionError};

use super::presence::Presence;

/// The table that marks a database as ours.
pub const MARK: &str = "assay_mark";

/// How long a server may take to answer where somebody waits for what is left.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long dropping a database of large tables may take.
const DROP_PATIENCE: Duration = Duration::from_secs(120);

/// How often a removal is tried: connections to a server elsewhere are lost now and then.
const TRIES: u32 = 5;

/// Every user may use it, and nobody's data are in it.
const EVERYBODYS: &str = "information_schema";

/// What is found under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    /// With the mark.
    Ours,
    /// With nothing in it: ours before it was marked, or anybody's.
    Empty,
    /// With somebody's tables.
    Theirs,
}

/// Makes the database `name`, and marks it.
///
/// # Errors
/// It is there already, or the user may not make it.
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

/// Whether there is a database of that name, anybody's.
///
/// # Errors
/// The server does not answer.
pub fn is_there(session: &mut ClientSession, name: &str) -> Result<bool, SessionError> {
    let sql = format!("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{name}'");
    Ok(!session.rows(&sql)?.is_empty())
}

/// Whether it bears our mark of anybody's making: an Assay's, of this machine or another.
///
/// # Errors
/// The server does not answer.
pub fn is_marked(session: &mut ClientSession, name: &str) -> Result<bool, SessionError> {
    let sql = format!(
        "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{name}' AND TABLE_NAME = '{MARK}'"
    );
    Ok(!session.rows(&sql)?.is_empty())
}

/// Whether ours is there: a server that cannot be asked may have it.
pub(crate) fn presence(account: &Account, name: &str, mark: &str) -> Presence {
    let found = connect(account).and_then(|mut session| Ok(find(&mut session, name, mark)?));
    match found {
        Ok(Found::Ours | Found::Empty) => Presence::There,
        Ok(Found::Nothing) => Presence::Gone,
        Ok(Found::Theirs) => Presence::Another,
        Err(_) => Presence::Unasked,
    }
}

/// Removes ours.
pub(crate) fn remove(account: &Account, name: &str, mark: &str) -> Result<()> {
    let mut tries = 1;
    let began = Instant::now();
    loop {
        match remove_once(account, name, mark) {
            // A server that does not answer is not asked for ever.
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
        Found::Nothing | Found::Theirs => Ok(()),
        Found::Ours => {
            session.set_patience(Some(DROP_PATIENCE));
            session.query(format!("DROP DATABASE `{name}`").as_bytes())?;
            Ok(())
        }
        Found::Empty => {
            bail!(
                "it is empty and does not bear the mark of a run; drop it by hand if it is of no use"
            )
        }
    }
}

fn connect(account: &Account) -> Result<ClientSession> {
    let endpoint: Endpoint = account.endpoint(EVERYBODYS)?;
    Ok(ClientConnect::new(&endpoint)?.with_patience(PATIENCE).connect()?)
}

fn find(session: &mut ClientSession, name: &str, mark: &str) -> Result<Found, SessionError> {
    if !is_there(session, name)? {
        return Ok(Found::Nothing);
    }
    if !is_marked(session, name)? {
        let sql = format!(
            "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{name}' LIMIT 1"
        );
        let is_empty = session.rows(&sql)?.is_empty();
        return Ok(if is_empty { Found::Empty } else { Found::Theirs });
    }
    let marks = session.rows(&format!("SELECT mark FROM `{name}`.`{MARK}`"))?;
    let is_ours = marks.iter().flatten().any(|found| found.as_deref() == Some(mark));
    Ok(if is_ours { Found::Ours } else { Found::Theirs })
}

/// Drops every table of ours but the mark.
///
/// # Errors
/// The database does not bear `mark`, or the server says no.
pub fn empty(session: &mut ClientSession, name: &str, mark: &str) -> Result<()> {
    let found = find(session, name, mark)?;
    ensure!(
        found == Found::Ours,
        "the database {name} does not bear the mark of this run any more"
    );
    let sql = format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{name}' AND TABLE_NAME <> '{MARK}'"
    );
    for table in session.rows(&sql)?.into_iter().filter_map(|row| row.into_iter().next()?) {
        let sql = format!("DROP TABLE `{name}`.`{}`", table.replace('`', "``"));
        session.query(sql.as_bytes()).with_context(|| format!("cannot drop the table {table}"))?;
    }
    Ok(())
}
