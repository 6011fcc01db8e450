//! The records of YCSB's table, in the order of their numbers, whose hashed keys fall anywhere in
//! the index: its pages become as full as after YCSB's own load.

use std::ops::Range;

use super::Filling;
use super::insert::{Rows, STATEMENT_ROWS};
use crate::random::Rng;
use crate::ycsb::{fill_field, key_name};
use assay_mysql::BoundValue;

/// Limit of a statement's data, in bytes.
const STATEMENT_BYTES: u64 = 1 << 20;
/// Limit of a prepared statement's values: their count has 16 bits.
const STATEMENT_VALUES_MAX: u64 = 65_535;

/// Makes records. Each has a random stream of its own.
pub(super) struct Records<'a> {
    filling: &'a Filling<'a>,
    keys: Vec<Vec<u8>>,
    /// All fields of the batch, concatenated.
    data: Vec<u8>,
}

impl<'a> Records<'a> {
    pub(super) fn new(filling: &'a Filling<'a>) -> Records<'a> {
        Records { filling, keys: Vec::new(), data: Vec::new() }
    }

    fn record_bytes(&self) -> usize {
        let schema = self.filling.schema;
        schema.field_count as usize * schema.field_length as usize
    }
}

impl Rows for Records<'_> {
    fn target(&self) -> String {
        let schema = self.filling.schema;
        format!("{} ({})", schema.table(1), schema.record_columns())
    }

    fn columns(&self) -> usize {
        self.filling.schema.field_count as usize + 1
    }

    fn batch_rows(&self) -> u64 {
        let by_bytes = STATEMENT_BYTES / self.record_bytes() as u64;
        let by_values = STATEMENT_VALUES_MAX / self.columns() as u64;
        STATEMENT_ROWS.min(by_bytes).min(by_values).max(1)
    }

    /// Rows are numbered from 1, records from 0.
    fn make(&mut self, ids: Range<u64>) {
        let (schema, bytes) = (self.filling.schema, self.record_bytes());
        let count = (ids.end - ids.start) as usize;
        self.keys.resize(count, Vec::new());
        self.data.resize(count * bytes, 0);
        let records = self.keys.iter_mut().zip(self.data.chunks_mut(bytes));
        for (number, (key, data)) in (ids.start - 1..).zip(records) {
            key_name(number, schema.insert_order, schema.zero_padding as usize, key);
            let mut rng = Rng::new(self.filling.seed, number);
            data.chunks_mut(schema.field_length as usize)
                .for_each(|field| fill_field(&mut rng, field));
        }
    }

    fn values<'a>(&'a self, out: &mut Vec<BoundValue<'a>>) {
        let length = self.filling.schema.field_length as usize;
        for (key, data) in self.keys.iter().zip(self.data.chunks(self.record_bytes())) {
            out.push(BoundValue::Bytes(key));
            out.extend(data.chunks(length).map(BoundValue::Bytes));
        }
    }
}
