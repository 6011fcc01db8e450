//! Inserts one piece of a table: a prepared statement with many rows, several statements per
//! transaction.
//!
//! Prepared rather than text, because the server then parses nothing: on MySQL 9.7 a row takes a
//! fifth less of its CPU time, and more rows per statement gain nothing further.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::{Filling, Piece, stopped};
use crate::connect::At;
use crate::error::{Error, Result};
use assay_mysql::{BoundValue, ClientSession, StatementId};

/// Most rows in a statement.
pub(super) const STATEMENT_ROWS: u64 = 256;
/// Statements in a transaction: a commit's flush is shared, the undo log stays small.
const STATEMENTS_PER_COMMIT: u32 = 64;

/// Retries of a transaction that the server ended to break a deadlock: MariaDB locks gaps between
/// pieces that are inserted concurrently.
const RETRIES: u32 = 20;
/// The server's errors in this case: deadlock, lock wait timeout.
const RETRIED_ERRORS: [u16; 2] = [1213, 1205];

/// Makes the rows of a table, batch by batch. A row depends on the seed, the table and its number
/// alone.
pub(super) trait Rows {
    /// Table and columns, as in an insert.
    fn target(&self) -> String;

    /// Number of columns.
    fn columns(&self) -> usize;

    /// Number of rows per statement.
    fn batch_rows(&self) -> u64;

    /// Makes the rows with these numbers, which replace the last batch.
    fn make(&mut self, ids: Range<u64>);

    /// Appends the values of the batch, row by row.
    fn values<'a>(&'a self, out: &mut Vec<BoundValue<'a>>);
}

/// Inserts all rows of `piece`.
pub(super) fn fill(filling: &Filling<'_>, piece: &Piece, rows: &mut dyn Rows) -> Result<()> {
    let mut inserter = Inserter::open(filling, rows)?;
    let full = inserter.prepare(rows.batch_rows().min(piece.ids.end - piece.ids.start))?;
    let mut next = piece.ids.start;
    let mut retries = 0;
    while next < piece.ids.end {
        let end = piece.ids.end.min(next + full.rows * u64::from(STATEMENTS_PER_COMMIT));
        let mut inserted = 0;
        match fill_transaction(&mut inserter, full, rows, next..end, &mut inserted) {
            Ok(()) => (next, retries) = (end, 0),
            Err(error) if retries < RETRIES && is_retried(&error) => {
                retries += 1;
                filling.rows_done.fetch_sub(inserted, Ordering::Relaxed);
                inserter.query("ROLLBACK")?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Inserts the rows `ids` in one transaction; `inserted` counts the rows that the server accepted.
fn fill_transaction(
    inserter: &mut Inserter<'_>,
    full: Insert,
    rows: &mut dyn Rows,
    ids: Range<u64>,
    inserted: &mut u64,
) -> Result<()> {
    let filling = inserter.filling;
    while ids.start + *inserted < ids.end {
        let next = ids.start + *inserted;
        let count = full.rows.min(ids.end - next);
        let insert = if count == full.rows { full } else { inserter.prepare(count)? };
        rows.make(next..next + count);
        inserter.insert(insert, rows)?;
        *inserted += count;
        filling.rows_done.fetch_add(count, Ordering::Relaxed);
        if filling.stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
    }
    inserter.query("COMMIT")
}

fn is_retried(error: &Error) -> bool {
    matches!(error, Error::Server { code, .. } if RETRIED_ERRORS.contains(code))
}

/// A prepared insert with a number of rows.
#[derive(Debug, Clone, Copy)]
struct Insert {
    statement: StatementId,
    rows: u64,
}

/// A session that inserts into one table.
struct Inserter<'a> {
    filling: &'a Filling<'a>,
    session: ClientSession,
    head: String,
    columns: usize,
}

impl<'a> Inserter<'a> {
    fn open(filling: &'a Filling<'a>, rows: &dyn Rows) -> Result<Inserter<'a>> {
        let (head, columns) = (format!("INSERT INTO {} VALUES ", rows.target()), rows.columns());
        let session = filling.open()?;
        let mut inserter = Inserter { filling, session, head, columns };
        // Binary logs of a test load have no use; disabling them needs a privilege and may be
        // refused.
        let _ = inserter.query("SET SESSION sql_log_bin=0");
        // The server writes every execution out as text, whether or not it is logged; in a
        // multi-byte character set it then measures each character, which costs a tenth of the
        // insert.
        inserter.query("SET NAMES binary")?;
        inserter.query("SET SESSION unique_checks=0, foreign_key_checks=0, autocommit=0")?;
        Ok(inserter)
    }

    fn query(&mut self, sql: &str) -> Result<()> {
        let answer = self.session.query(sql.as_bytes());
        answer.map(drop).map_err(|error| error.at(&self.filling.endpoint.to_string(), sql))
    }

    fn prepare(&mut self, rows: u64) -> Result<Insert> {
        let places = vec!["?"; self.columns].join(",");
        let list = vec![format!("({places})"); rows as usize].join(",");
        let prepared = self.session.prepare(&format!("{}{list}", self.head));
        let statement =
            prepared.map_err(|e| e.at(&self.filling.endpoint.to_string(), &self.head))?;
        Ok(Insert { statement, rows })
    }

    fn insert(&mut self, insert: Insert, rows: &dyn Rows) -> Result<()> {
        let mut values = Vec::with_capacity(insert.rows as usize * self.columns);
        rows.values(&mut values);
        let answer = self.session.execute(insert.statement, &values);
        answer.map(drop).map_err(|e| e.at(&self.filling.endpoint.to_string(), &self.head))
    }
}
