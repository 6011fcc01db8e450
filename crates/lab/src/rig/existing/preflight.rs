//! Everything that can be refused of somebody else's server before anything is made there.

use std::time::Duration;

use anyhow::{Result, anyhow, bail, ensure};
use assay_base::Size;
use assay_mysql::account::Account;
use assay_mysql::secrets::is_secret;
use assay_mysql::{ClientConnect, ClientSession, SessionError};
use assay_system::database;

use super::account;
use crate::rig::server::Settings;
use assay_plan::PlannedEndpoint;

/// Every user may use it, and nobody's data are in it.
const EVERYBODYS: &str = "information_schema";

/// The time that a server may take to let us in, and to answer.
const PATIENCE: Duration = Duration::from_secs(8);

/// The table that rights are tried on.
const TRIED: &str = "assay_try";

/// Error codes of refused users (MySQL "Server Error Message Reference"): for databases, for
/// logging in, for statements on tables, for anything that needs a privilege.
const NOT_OF_DATABASE: u16 = 1044;
const NO_LOGIN: [u16; 4] = [1045, 1130, 1698, 4151];
const NOT_OF_TABLE: [u16; 2] = [1142, 1227];

/// Checks that the server answers, is what the plan is for, and takes what is to be made there.
///
/// # Errors
/// One line: what is wrong and what to do.
pub fn check(spec: &PlannedEndpoint, settings: &Settings) -> Result<()> {
    let account = account(spec)?;
    let mut session = open(&account)?;
    check_version(&mut session, spec)?;
    check_settings(&mut session, settings)?;
    refuse_taken(&mut session, spec, &account)?;
    // A user who may not drop the database may not create it either. Rights are checked before
    // names, and there is nothing to drop.
    let sql = format!("DROP TABLE IF EXISTS `{}`.`{TRIED}`", spec.database);
    match session.query(sql.as_bytes()) {
        Err(error @ SessionError::Server { .. }) if is_refused(&error) => {
            Err(right(error.into(), &spec.database))
        }
        Err(error @ (SessionError::Lost { .. } | SessionError::Connect(_))) => Err(error.into()),
        _ => Ok(()),
    }
}

/// A connection for questions and small statements: a server that takes longer over one than
/// [`PATIENCE`] is of no use.
///
/// # Errors
/// One line without a user's name: it cannot be reached, or refuses us.
pub(super) fn open(account: &Account) -> Result<ClientSession> {
    let address = &account.address;
    let connected = ClientConnect::new(&account.endpoint(EVERYBODYS)?)
        .and_then(|one| one.with_patience(PATIENCE).connect());
    connected.map_err(|error| match error {
        SessionError::Server { code, .. } if NO_LOGIN.contains(&code) => anyhow!(
            "{address} refuses the login; check user and password, and which hosts that user may \
            connect from"
        ),
        SessionError::Connect(reason) => anyhow!(
            "cannot connect to {address}: {reason}; check that the server is running and can be \
            reached from here"
        ),
        other => anyhow!("{address}: {other}"),
    })
}

/// The server's version, in its own words.
///
/// # Errors
/// It does not answer.
pub(super) fn version(session: &mut ClientSession) -> Result<String> {
    let rows = session.rows("SELECT @@version, @@version_comment")?;
    let words: Vec<String> = rows.into_iter().flatten().flatten().collect();
    Ok(words.join(", "))
}

fn check_version(session: &mut ClientSession, spec: &PlannedEndpoint) -> Result<()> {
    let Some(wanted) = &spec.version else { return Ok(()) };
    let is = version(session)?;
    let is_it = is
        .strip_prefix(wanted.as_str())
        .is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()));
    ensure!(
        is_it,
        "the plan is for version {wanted}, and the server is {is}; change endpoint.version"
    );
    Ok(())
}

/// Settings are the owner's: those of the plan must be the server's already.
fn check_settings(session: &mut ClientSession, settings: &Settings) -> Result<()> {
    if settings.is_empty() {
        return Ok(());
    }
    let rows = session.rows("SHOW GLOBAL VARIABLES")?;
    for (name, wanted) in settings {
        let row =
            rows.iter().find(|row| row.first().is_some_and(|first| first.as_ref() == Some(name)));
        match row.and_then(|row| row.get(1)?.as_ref()) {
            None => bail!(
                "the plan sets {name}, which the server does not report; Assay does not change \
                settings of a server that somebody else runs, so remove it"
            ),
            Some(found) if is_secret(name) => ensure!(
                is_same(wanted, found),
                "the plan needs another {name} than the server has, which holds a secret: remove \
                it from the plan, which is stored with the study"
            ),
            Some(found) => ensure!(
                is_same(wanted, found),
                "the plan needs {name} = {wanted}, and the server has {found}; Assay does not \
                change settings of a server that somebody else runs: change the plan, or ask the \
                server's owner to set it"
            ),
        }
    }
    Ok(())
}

/// Compares values as servers take them: sizes with their letter, switches by several names,
/// capitals or not.
fn is_same(wanted: &str, found: &str) -> bool {
    let switch = |text: &str| match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    };
    let number = |text: &str| text.parse::<f64>().ok();
    let size = |text: &str| Size::parse(text).ok().map(|size| size.0);
    wanted.eq_ignore_ascii_case(found)
        || matches!((switch(wanted), switch(found)), (Some(a), Some(b)) if a == b)
        || matches!((number(wanted), number(found)), (Some(a), Some(b)) if a == b)
        || matches!((size(wanted), size(found)), (Some(a), Some(b)) if a == b)
}

/// A database that is there is nobody's to take.
///
/// # Errors
/// One line: whose it is as far as can be told, and what to do.
pub(super) fn refuse_taken(
    session: &mut ClientSession,
    spec: &PlannedEndpoint,
    account: &Account,
) -> Result<()> {
    let (name, address) = (&spec.database, &account.address);
    if !database::is_there(session, name)? {
        return Ok(());
    }
    ensure!(
        database::is_marked(session, name)?,
        "{address} has a database {name} already, which Assay did not make; give another \
        endpoint.database"
    );
    bail!(
        "{address} has a database {name} of another run; wait for that, remove it with `assay \
        clean` if it was killed, or give another endpoint.database"
    )
}

/// Tries what loading and runs will do.
///
/// # Errors
/// One line: what the user may not.
pub(super) fn try_rights(session: &mut ClientSession, name: &str) -> Result<()> {
    for statement in [
        format!("CREATE TABLE `{name}`.`{TRIED}` (id INT NOT NULL PRIMARY KEY, k INT NOT NULL)"),
        format!("CREATE INDEX k ON `{name}`.`{TRIED}` (k)"),
        format!("ALTER TABLE `{name}`.`{TRIED}` COMMENT = 'tried'"),
        format!("INSERT INTO `{name}`.`{TRIED}` VALUES (1, 1)"),
        format!("UPDATE `{name}`.`{TRIED}` SET k = 2"),
        format!("SELECT k FROM `{name}`.`{TRIED}`"),
        format!("DELETE FROM `{name}`.`{TRIED}`"),
        format!("DROP TABLE `{name}`.`{TRIED}`"),
    ] {
        session.query(statement.as_bytes()).map_err(|error| right(error.into(), name))?;
    }
    Ok(())
}

fn is_refused(error: &SessionError) -> bool {
    let Some(code) = error.code() else { return false };
    code == NOT_OF_DATABASE || NOT_OF_TABLE.contains(&code)
}

/// A refusal with what to have granted.
pub(super) fn right(error: anyhow::Error, name: &str) -> anyhow::Error {
    match error.downcast_ref::<SessionError>() {
        Some(refused) if is_refused(refused) => anyhow!(
            "the user may not create, fill and drop the database {name}; ask the server's owner \
             to GRANT ALL ON {name}.* to that user"
        ),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_same_however_they_are_written() {
        for (wanted, found) in [
            ("16M", "16777216"),
            ("true", "ON"),
            ("1", "1"),
            ("0", "OFF"),
            ("o_direct", "O_DIRECT"),
            ("1", "1.000"),
        ] {
            assert!(is_same(wanted, found), "{wanted} {found}");
        }
        for (wanted, found) in
            [("16M", "16777217"), ("ON", "OFF"), ("2", "1"), ("O_DIRECT", "fsync")]
        {
            assert!(!is_same(wanted, found), "{wanted} {found}");
        }
    }
}
