//! The rows of sysbench's tables: numbers, groups of digits, and text if the schema has it.

use std::ops::Range;

use super::Filling;
use super::insert::{Rows, STATEMENT_ROWS};
use crate::random::Rng;
use crate::rows;
use crate::schema::{C_BYTES, PAD_BYTES, TEXT_BYTES_MAX};
use assay_mysql::BoundValue;

/// Rows drawn from one random stream. Streams start at multiples of this number, whatever the
/// piece.
const STREAM_ROWS: u64 = 1024;

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
pub(super) struct TableRows<'a> {
    filling: &'a Filling<'a>,
    table: u32,
    rng: Rng,
    /// The current stream and its next row.
    next: Option<(u64, u64)>,
    batch: Vec<Row>,
}

impl<'a> TableRows<'a> {
    pub(super) fn new(filling: &'a Filling<'a>, table: u32) -> TableRows<'a> {
        TableRows { filling, table, rng: Rng::new(0, 0), next: None, batch: Vec::new() }
    }

    /// Advances the random stream to row `id` by drawing the rows before it, so that a row does not
    /// depend on how the table was cut.
    fn seek(&mut self, id: u64, row: &mut Row) {
        let stream = id / STREAM_ROWS;
        if self.next == Some((stream, id)) {
            return;
        }
        self.rng = Rng::new(self.filling.seed, u64::from(self.table) << 40 | stream);
        for _ in (stream * STREAM_ROWS).max(1)..id {
            self.draw(row);
        }
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

impl Rows for TableRows<'_> {
    fn target(&self) -> String {
        let schema = self.filling.schema;
        format!("{} ({})", schema.table(self.table), schema.columns())
    }

    fn columns(&self) -> usize {
        self.filling.schema.columns().split(',').count()
    }

    fn batch_rows(&self) -> u64 {
        STATEMENT_ROWS
    }

    fn make(&mut self, ids: Range<u64>) {
        let mut batch = std::mem::take(&mut self.batch);
        batch.resize((ids.end - ids.start) as usize, Row::default());
        for (row, id) in batch.iter_mut().zip(ids) {
            self.seek(id, row);
            self.draw(row);
            row.id = id.cast_signed();
            self.next = Some((id / STREAM_ROWS, id + 1));
        }
        self.batch = batch;
    }

    fn values<'a>(&'a self, out: &mut Vec<BoundValue<'a>>) {
        for row in &self.batch {
            out.extend([BoundValue::Int(row.id), BoundValue::Int(row.k)]);
            out.extend([BoundValue::Bytes(&row.c), BoundValue::Bytes(&row.pad)]);
            if self.filling.text.is_some() {
                out.extend(row.data.iter().map(|line| BoundValue::Bytes(line)));
            }
        }
    }
}
