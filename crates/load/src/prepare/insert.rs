//! Inserts one piece of a table: text of many rows at a time, several such statements to a transaction.

use std::sync::atomic::Ordering;

use super::{Filling, Piece, stopped};
use crate::error::Result;
use crate::random::Rng;
use crate::rows;
use crate::schema::{C_BYTES, PAD_BYTES, TEXT_BYTES_MAX};
use crate::session::{Session, open};
use crate::worker::push_quoted;

/// Bytes after which a statement is sent. Measured: larger ones gain nothing and leave the processor's caches.
const STATEMENT_BYTES: usize = 256 * 1024;
/// Statements in a transaction: a commit's flush is shared, the undo log stays small.
const STATEMENTS_PER_COMMIT: u32 = 16;
/// Rows drawn from one stream of random numbers. Streams start at multiples of it, whatever the piece.
const STREAM_ROWS: u64 = 1024;

/// Inserts all rows of `piece`.
pub(super) fn fill(filling: &Filling<'_>, piece: &Piece) -> Result<()> {
    let where_to = filling.endpoint.to_string();
    let head = format!("INSERT INTO sbtest{} ({}) VALUES ", piece.table, filling.schema.columns());
    let mut session = open(filling.endpoint)?;
    let mut send =
        |sql: &[u8]| session.query(sql).map(drop).map_err(|error| error.at(&where_to, &head));
    // Binary logs of a test load help nobody; leaving them out needs a privilege and may be refused.
    let _ = send(b"SET SESSION sql_log_bin=0");
    send(b"SET SESSION unique_checks=0, foreign_key_checks=0, autocommit=0")?;

    let mut writer = RowWriter::new(filling, piece);
    let mut statement = Vec::with_capacity(STATEMENT_BYTES + 1024);
    let (mut rows, mut statements) = (0, 0);
    for id in piece.ids.clone() {
        statement.extend_from_slice(if rows == 0 { head.as_bytes() } else { b"," });
        writer.push(id, &mut statement);
        rows += 1;
        if statement.len() >= STATEMENT_BYTES || id + 1 == piece.ids.end {
            send(&statement)?;
            filling.rows_done.fetch_add(rows, Ordering::Relaxed);
            statement.clear();
            rows = 0;
            statements += 1;
            if statements % STATEMENTS_PER_COMMIT == 0 {
                send(b"COMMIT")?;
            }
            if filling.stop.load(Ordering::Relaxed) {
                return Err(stopped());
            }
        }
    }
    send(b"COMMIT")
}

/// Writes rows of one table in order of their ids.
struct RowWriter<'a> {
    filling: &'a Filling<'a>,
    table: u32,
    rng: Rng,
    stream: Option<u64>,
    c: [u8; C_BYTES],
    pad: [u8; PAD_BYTES],
    line: Vec<u8>,
}

impl<'a> RowWriter<'a> {
    fn new(filling: &'a Filling<'a>, piece: &Piece) -> RowWriter<'a> {
        RowWriter {
            filling,
            table: piece.table,
            rng: Rng::new(0, 0),
            stream: None,
            c: [0; C_BYTES],
            pad: [0; PAD_BYTES],
            line: Vec::new(),
        }
    }

    /// Appends `(…)` of row `id`.
    fn push(&mut self, id: u64, out: &mut Vec<u8>) {
        self.enter_stream_of(id);
        self.skip_or_write(id, Some(out));
    }

    /// Rows share a stream of random numbers with their neighbours; a piece that begins inside one draws those before
    /// it too, so that a row is the same however the table was cut.
    fn enter_stream_of(&mut self, id: u64) {
        let stream = id / STREAM_ROWS;
        if self.stream == Some(stream) {
            return;
        }
        self.stream = Some(stream);
        self.rng = Rng::new(self.filling.seed, u64::from(self.table) << 40 | stream);
        for earlier in (stream * STREAM_ROWS).max(1)..id {
            self.skip_or_write(earlier, None);
        }
    }

    fn skip_or_write(&mut self, id: u64, out: Option<&mut Vec<u8>>) {
        let k = self.filling.keys.draw(&mut self.rng);
        rows::fill_c(&mut self.rng, &mut self.c);
        rows::fill_pad(&mut self.rng, &mut self.pad);
        let mut nowhere = Vec::new();
        let out = out.unwrap_or(&mut nowhere);
        out.push(b'(');
        rows::push_number(out, id.cast_signed());
        out.push(b',');
        rows::push_number(out, k.cast_signed());
        out.extend_from_slice(b",'");
        out.extend_from_slice(&self.c);
        out.extend_from_slice(b"','");
        out.extend_from_slice(&self.pad);
        out.push(b'\'');
        if let Some(text) = &self.filling.text {
            for _ in 0..2 {
                self.line.clear();
                text.line(&mut self.rng, TEXT_BYTES_MAX, &mut self.line);
                out.push(b',');
                push_quoted(out, &self.line);
            }
        }
        out.push(b')');
    }
}
