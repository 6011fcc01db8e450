//! Inserts one piece of a table: a prepared statement of many rows, several such statements to a transaction.
//!
//! Prepared rather than as text, because the server then parses nothing: on MySQL 9.7 a row costs it a fifth less
//! CPU time, and more rows to a statement gain nothing further.

use std::sync::atomic::Ordering;

use super::{Filling, Piece, stopped};
use crate::connect::{At, open};
use crate::error::{Error, Result};
use crate::random::Rng;
use crate::rows;
use crate::schema::{C_BYTES, PAD_BYTES, TEXT_BYTES_MAX};
use assay_mysql::ClientSession;
use assay_mysql::{Session, StatementId, Value};

/// Rows in a statement.
const STATEMENT_ROWS: u64 = 256;
/// Statements in a transaction: a commit's flush is shared, the undo log stays small.
const STATEMENTS_PER_COMMIT: u32 = 64;
/// Rows drawn from one stream of random numbers. Streams start at multiples of it, whatever the piece.
const STREAM_ROWS: u64 = 1024;

/// Times that a transaction is begun anew after the server chose it to break a deadlock: MariaDB locks gaps between
/// pieces that are inserted side by side.
const RETRIES: u32 = 20;
/// What the server says then: deadlock, lock wait timeout.
const RETRIED_ERRORS: [u16; 2] = [1213, 1205];

/// Inserts all rows of `piece`.
pub(super) fn fill(filling: &Filling<'_>, piece: &Piece) -> Result<()> {
    let mut inserter = Inserter::open(filling, piece)?;
    let full = inserter.prepare(STATEMENT_ROWS.min(piece.ids.end - piece.ids.start))?;
    let mut batch = vec![Row::default(); full.rows as usize];
    let mut maker = RowMaker::new(filling, piece.table);
    let mut next = piece.ids.start;
    let mut retries = 0;
    while next < piece.ids.end {
        let end = piece.ids.end.min(next + full.rows * u64::from(STATEMENTS_PER_COMMIT));
        let mut inserted = 0;
        let result =
            fill_transaction(&mut inserter, full, &mut batch, &mut maker, next..end, &mut inserted);
        match result {
            Ok(()) => (next, retries) = (end, 0),
            Err(error) if retries < RETRIES && is_retried(&error) => {
                retries += 1;
                filling.rows_done.fetch_sub(inserted, Ordering::Relaxed);
                maker.stream = None;
                inserter.query("ROLLBACK")?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Inserts the rows `ids` in one transaction; `inserted` counts those that the server took.
fn fill_transaction(
    inserter: &mut Inserter<'_>,
    full: Insert,
    batch: &mut [Row],
    maker: &mut RowMaker<'_>,
    ids: std::ops::Range<u64>,
    inserted: &mut u64,
) -> Result<()> {
    let filling = inserter.filling;
    while ids.start + *inserted < ids.end {
        let next = ids.start + *inserted;
        let rows = full.rows.min(ids.end - next);
        let insert = if rows == full.rows { full } else { inserter.prepare(rows)? };
        let batch = &mut batch[..rows as usize];
        for (row, id) in batch.iter_mut().zip(next..) {
            maker.fill(id, row);
        }
        inserter.insert(insert, batch)?;
        *inserted += rows;
        filling.rows_done.fetch_add(rows, Ordering::Relaxed);
        if filling.stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
    }
    inserter.query("COMMIT")
}

fn is_retried(error: &Error) -> bool {
    matches!(error, Error::Server { code, .. } if RETRIED_ERRORS.contains(code))
}

/// A prepared insert of so many rows.
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
}

impl<'a> Inserter<'a> {
    fn open(filling: &'a Filling<'a>, piece: &Piece) -> Result<Inserter<'a>> {
        let head = format!(
            "INSERT INTO {} ({}) VALUES ",
            filling.schema.table(piece.table),
            filling.schema.columns()
        );
        let mut inserter = Inserter { filling, session: open(filling.endpoint)?, head };
        // Binary logs of a test load help nobody; leaving them out needs a privilege and may be refused.
        let _ = inserter.query("SET SESSION sql_log_bin=0");
        // The server writes every execution out as text, whether or not a log wants it; of strings in a multi-byte
        // character set it then measures every character, which costs a tenth of the whole insert.
        inserter.query("SET NAMES binary")?;
        inserter.query("SET SESSION unique_checks=0, foreign_key_checks=0, autocommit=0")?;
        Ok(inserter)
    }

    fn query(&mut self, sql: &str) -> Result<()> {
        let answer = self.session.query(sql.as_bytes());
        answer.map(drop).map_err(|error| error.at(&self.filling.endpoint.to_string(), sql))
    }

    fn prepare(&mut self, rows: u64) -> Result<Insert> {
        let places = vec!["?"; self.filling.schema.columns().split(',').count()].join(",");
        let list = vec![format!("({places})"); rows as usize].join(",");
        let prepared = self.session.prepare(&format!("{}{list}", self.head));
        let statement =
            prepared.map_err(|e| e.at(&self.filling.endpoint.to_string(), &self.head))?;
        Ok(Insert { statement, rows })
    }

    fn insert(&mut self, insert: Insert, rows: &[Row]) -> Result<()> {
        let mut values = Vec::with_capacity(rows.len() * 6);
        for row in rows {
            values.extend([Value::Int(row.id), Value::Int(row.k)]);
            values.extend([Value::Bytes(&row.c), Value::Bytes(&row.pad)]);
            if self.filling.text.is_some() {
                values.extend(row.data.iter().map(|line| Value::Bytes(line)));
            }
        }
        let answer = self.session.execute(insert.statement, &values);
        answer.map(drop).map_err(|e| e.at(&self.filling.endpoint.to_string(), &self.head))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    id: i64,
    k: i64,
    c: [u8; C_BYTES],
    pad: [u8; PAD_BYTES],
    data: [Vec<u8>; 2],
}

impl Default for Row {
    fn default() -> Row {
        Row { id: 0, k: 0, c: [0; C_BYTES], pad: [0; PAD_BYTES], data: Default::default() }
    }
}

/// Makes the rows of one table, in order of their ids.
struct RowMaker<'a> {
    filling: &'a Filling<'a>,
    table: u32,
    rng: Rng,
    stream: Option<u64>,
}

impl<'a> RowMaker<'a> {
    fn new(filling: &'a Filling<'a>, table: u32) -> RowMaker<'a> {
        RowMaker { filling, table, rng: Rng::new(0, 0), stream: None }
    }

    fn fill(&mut self, id: u64, row: &mut Row) {
        let stream = id / STREAM_ROWS;
        if self.stream != Some(stream) {
            self.stream = Some(stream);
            self.rng = Rng::new(self.filling.seed, u64::from(self.table) << 40 | stream);
            // A piece that begins inside a stream draws the rows before it too, so that a row is the same however the
            // table was cut.
            for _ in (stream * STREAM_ROWS).max(1)..id {
                self.draw(row);
            }
        }
        self.draw(row);
        row.id = id.cast_signed();
    }

    fn draw(&mut self, row: &mut Row) {
        row.k = self.filling.keys.draw(&mut self.rng).cast_signed();
        rows::fill_c(&mut self.rng, &mut row.c);
        rows::fill_pad(&mut self.rng, &mut row.pad);
        if let Some(text) = &self.filling.text {
            for line in &mut row.data {
                line.clear();
                text.line(&mut self.rng, TEXT_BYTES_MAX, line);
            }
        }
    }
}
