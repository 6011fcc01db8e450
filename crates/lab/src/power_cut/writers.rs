//! The writers: connections that run transactions of known rows, one after another, until the
//! server is gone.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Scope;

use anyhow::{Context, Result};
use assay_load::Endpoint;
use assay_mysql::{ClientSession, SessionError};

use super::expected::{Expected, Sent};
use super::rows::{Rows, TABLES};

/// Database of the rows.
pub(super) const DATABASE: &str = "assay_power";

/// Rows of one `INSERT` when the tables are filled.
const ROWS_AT_ONCE: usize = 500;

/// Makes the tables and fills them. `options` is what `CREATE TABLE` says beside.
///
/// # Errors
/// What the server answered.
pub(super) fn prepare(endpoint: &Endpoint, rows: &Rows, options: &str) -> Result<()> {
    let mut session = ClientSession::open(endpoint).context("cannot connect to the server")?;
    let mut run = |statement: String| {
        session.query(statement.as_bytes()).map(drop).context("cannot make the writers' tables")
    };
    run(format!("CREATE DATABASE {DATABASE}"))?;
    run(format!("USE {DATABASE}"))?;
    let commits = "CREATE TABLE commits (writer INT UNSIGNED PRIMARY KEY, commit_number BIGINT \
        UNSIGNED NOT NULL)";
    run(format!("{commits} ENGINE=InnoDB {options}"))?;
    let writers: Vec<String> = (0..rows.writers).map(|writer| format!("({writer}, 0)")).collect();
    run(format!("INSERT INTO commits VALUES {}", writers.join(", ")))?;
    for table in 0..TABLES {
        run(format!(
            "CREATE TABLE rows_{table} (id INT UNSIGNED PRIMARY KEY, commit_number BIGINT \
             UNSIGNED NOT NULL, \
             k INT UNSIGNED NOT NULL, pad CHAR(200) NOT NULL, KEY k (k)) ENGINE=InnoDB DEFAULT \
             CHARSET=latin1 {options}"
        ))?;
        let its: Vec<u32> = (0..rows.count()).filter(|id| Rows::table(*id) == table).collect();
        for some in its.chunks(ROWS_AT_ONCE) {
            let values: Vec<String> = some.iter().map(|id| values(rows, *id)).collect();
            run(format!("INSERT INTO rows_{table} VALUES {}", values.join(", ")))?;
        }
    }
    Ok(())
}

fn values(rows: &Rows, id: u32) -> String {
    let row = rows.row(id, 0);
    format!("({id}, 0, {}, '{}')", row.k, row.pad)
}

/// A deadlock, or a lock that was waited for too long: the transaction is run again (MySQL
/// reference manual, errors 1213 and 1205).
const ROLLED_BACK: [u16; 2] = [1213, 1205];

/// Progress of one writer, for others to read.
#[derive(Debug, Default)]
pub(super) struct Said {
    acknowledged: AtomicU64,
    begun: AtomicU64,
}

impl Said {
    /// Progress of a writer that continues after transaction `kept`.
    pub(super) fn from(kept: u64) -> Said {
        Said { acknowledged: AtomicU64::new(kept), begun: AtomicU64::new(kept) }
    }

    /// Reads the progress, the begun transaction first: it was stored first.
    pub(super) fn sent(&self) -> Sent {
        let acknowledged = self.acknowledged.load(Ordering::Acquire);
        Sent { acknowledged, begun: self.begun.load(Ordering::Acquire) }
    }
}

/// Begins the writers on the rows that are expected; each goes on until its connection is lost, or
/// `stop` is set.
///
/// # Errors
/// The server lets one of them not in.
pub(super) fn begin<'scope>(
    scope: &'scope Scope<'scope, '_>,
    endpoint: &Endpoint,
    expected: &Expected,
    said: &'scope [Said],
    stop: &'scope AtomicBool,
) -> Result<()> {
    for (writer, said) in (0..).zip(said) {
        let mut session = ClientSession::open(endpoint).context("a writer cannot connect")?;
        session.query(format!("USE {DATABASE}").as_bytes())?;
        let rows = *expected.rows();
        scope.spawn(move || write(&mut session, &rows, writer, said, stop));
    }
    Ok(())
}

fn write(session: &mut ClientSession, rows: &Rows, writer: u32, said: &Said, stop: &AtomicBool) {
    let mut commit = said.begun.load(Ordering::Relaxed);
    while !stop.load(Ordering::Relaxed) {
        commit += 1;
        said.begun.store(commit, Ordering::Release);
        match transact(session, rows, writer, commit) {
            Ok(()) => said.acknowledged.store(commit, Ordering::Release),
            Err(SessionError::Server { code, .. }) if ROLLED_BACK.contains(&code) => {
                // Without an answer the next statement tells.
                let _ = session.query(b"ROLLBACK");
                commit -= 1;
            }
            // A server whose disk is gone says so or goes first, as chance has it.
            Err(error) => {
                log::debug!("writer {writer}: {error}");
                break;
            }
        }
    }
}

fn transact(
    session: &mut ClientSession,
    rows: &Rows,
    writer: u32,
    commit: u64,
) -> Result<(), SessionError> {
    for statement in rows.statements(writer, commit) {
        session.query(statement.as_bytes())?;
    }
    session.query(b"COMMIT").map(drop)
}
