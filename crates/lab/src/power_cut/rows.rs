//! The writers' rows: every transaction, and every row, follows from the seed, the writer and the
//! transaction's number.
//!
//! A writer has rows of its own, and its transactions come one after another. So what its rows must
//! hold follows from the number of the last transaction that the server kept, and that number lies
//! in a row which each transaction changes too.

use std::fmt::Write;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Tables that the rows are spread over.
pub(super) const TABLES: u32 = 4;

/// Rows that a transaction changes, beside that of its writer's number.
const ROWS: u32 = 4;

/// Characters of a row's text: some 250 bytes a row, as sysbench's tables have.
const TEXT_CHARACTERS: usize = 180;

/// Layout of the rows, shared by all writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rows {
    /// Decides which rows a transaction changes, and what it writes.
    pub(super) seed: u64,
    /// Writers.
    pub(super) writers: u32,
    /// Rows of each writer.
    pub(super) of_each: u32,
}

/// A row's columns beside its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// The transaction that wrote it.
    pub(super) commit: u64,
    /// In an index.
    pub(super) k: u32,
    /// Some text.
    pub(super) pad: String,
}

impl Rows {
    /// Layout of at most `rows` rows, as many as the writers can share equally.
    pub(super) fn new(seed: u64, writers: u32, rows: u32) -> Rows {
        Rows { seed, writers, of_each: rows / writers }
    }

    /// The numbers of a writer's rows.
    pub(super) fn of(&self, writer: u32) -> Range<u32> {
        writer * self.of_each..(writer + 1) * self.of_each
    }

    /// All rows.
    pub(super) fn count(&self) -> u32 {
        self.writers * self.of_each
    }

    /// The table that a row is in.
    pub(super) fn table(id: u32) -> u32 {
        id % TABLES
    }

    /// Rows that a transaction changes; the same one may come twice.
    pub(super) fn changed(&self, writer: u32, commit: u64) -> [u32; ROWS as usize] {
        std::array::from_fn(|number| {
            let drawn = mixed(&[self.seed, writer.into(), commit, number as u64]);
            self.of(writer).start + (drawn % u64::from(self.of_each)) as u32
        })
    }

    /// The row as a transaction writes it.
    pub(super) fn row(&self, id: u32, commit: u64) -> Row {
        let mut pad = String::with_capacity(TEXT_CHARACTERS + 16);
        let mut word = mixed(&[self.seed, id.into(), commit]);
        let k = (word % u64::from(self.count())) as u32;
        while pad.len() < TEXT_CHARACTERS {
            word = mixed(&[word]);
            let _ = write!(pad, "{word:016x}");
        }
        pad.truncate(TEXT_CHARACTERS);
        Row { commit, k, pad }
    }

    /// The statements of a transaction, from its beginning to before its commit.
    pub(super) fn statements(&self, writer: u32, commit: u64) -> Vec<String> {
        let ids = self.changed(writer, commit);
        let mut statements = vec!["BEGIN".to_owned()];
        for (number, id) in ids.into_iter().enumerate() {
            let (table, Row { k, pad, .. }) = (Rows::table(id), self.row(id, commit));
            if number + 1 < ids.len() {
                statements.push(format!(
                    "UPDATE rows_{table} SET commit_number = {commit}, k = {k}, pad = '{pad}' \
                    WHERE id = {id}"
                ));
            } else {
                // Deleted and inserted again, as sysbench does.
                statements.push(format!("DELETE FROM rows_{table} WHERE id = {id}"));
                statements.push(format!(
                    "INSERT INTO rows_{table} VALUES ({id}, {commit}, {k}, '{pad}')"
                ));
            }
        }
        statements
            .push(format!("UPDATE commits SET commit_number = {commit} WHERE writer = {writer}"));
        statements
    }
}

/// SplitMix64's finisher over each word in turn (Steele, Lea, Flood: "Fast splittable pseudorandom
/// number generators", 2014).
fn mixed(words: &[u64]) -> u64 {
    words.iter().fold(0, |state: u64, word| {
        let word = (state ^ word).wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: Rows = Rows { seed: 7, writers: 4, of_each: 100 };

    #[test]
    fn writers_change_rows_of_their_own_and_in_time_all_of_them() {
        for writer in 0..4 {
            let mut seen = std::collections::BTreeSet::new();
            for commit in 1..500 {
                let changed = ROWS.changed(writer, commit);
                assert!(changed.iter().all(|id| ROWS.of(writer).contains(id)));
                seen.extend(changed);
            }
            assert_eq!(seen.len(), 100);
        }
    }

    #[test]
    fn a_row_tells_which_transaction_wrote_it() {
        let row = ROWS.row(5, 9);
        assert_eq!(row, ROWS.row(5, 9));
        assert_eq!(row.pad.len(), TEXT_CHARACTERS);
        assert_ne!(row.pad, ROWS.row(5, 10).pad);
        assert_ne!(row.pad, ROWS.row(6, 9).pad);
        assert_ne!(row.pad, Rows { seed: 8, ..ROWS }.row(5, 9).pad);
    }
}
