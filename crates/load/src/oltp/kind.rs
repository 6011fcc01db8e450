//! The kinds of statement.

use serde::{Deserialize, Serialize};

/// The kinds of statement, each with histograms of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum StatementKind {
    /// `BEGIN`.
    Begin,
    /// `COMMIT`.
    Commit,
    /// `c` of one row by primary key.
    PointSelect,
    /// `c` of a range of rows.
    SimpleRange,
    /// Sum of `k` over a range of rows.
    SumRange,
    /// `c` of a range of rows, sorted.
    OrderRange,
    /// Distinct `c` of a range of rows, sorted.
    DistinctRange,
    /// Adds one to `k`, which is indexed.
    IndexUpdate,
    /// Writes a new `c`, which is not indexed.
    NonIndexUpdate,
    /// Deletes one row.
    Delete,
    /// Inserts the row just deleted, with new contents.
    Insert,
    /// Inserts a row of a new id, as text.
    InsertNew,
    /// `data1` and `data2` of one row (schema `text`).
    TextSelect,
    /// Writes a new line to `data1` (schema `text`).
    TextUpdate,
    /// Rows whose `k` is in a list.
    RandomPoints,
    /// Count of rows whose `k` is in any of some ranges.
    RandomRanges,
    /// Adds one to `k` of the row that is deleted next (sysbench 0.4).
    UpdateBeforeDelete,
    /// `pad` of one row by primary key (sysbench 0.4, `nontrx`).
    PadSelect,
    /// Deletes the next row of a walk through all (sysbench 0.4, `nontrx`).
    WalkDelete,
    /// Inserts the next row of a walk through all, or of the server's numbering (sysbench 0.4,
    /// `nontrx`).
    WalkInsert,
    /// All fields of one record by its key (YCSB).
    RecordRead,
    /// Writes one field of a record, or all (YCSB).
    RecordUpdate,
    /// Inserts a record of a new key (YCSB).
    RecordInsert,
    /// Records from a key on, in order of their keys (YCSB).
    RecordScan,
    /// A read and an update of the same record together (YCSB); no statement of its own.
    ReadModifyWrite,
    /// A read of a file (fileio); no statement, as the next two.
    FileRead,
    /// A write to a file (fileio).
    FileWrite,
    /// Making a file durable (fileio).
    FileFsync,
}

impl StatementKind {
    /// Number of kinds.
    pub const COUNT: usize = 28;

    /// All kinds, in order of their numbers.
    pub const ALL: [StatementKind; StatementKind::COUNT] = [
        StatementKind::Begin,
        StatementKind::Commit,
        StatementKind::PointSelect,
        StatementKind::SimpleRange,
        StatementKind::SumRange,
        StatementKind::OrderRange,
        StatementKind::DistinctRange,
        StatementKind::IndexUpdate,
        StatementKind::NonIndexUpdate,
        StatementKind::Delete,
        StatementKind::Insert,
        StatementKind::InsertNew,
        StatementKind::TextSelect,
        StatementKind::TextUpdate,
        StatementKind::RandomPoints,
        StatementKind::RandomRanges,
        StatementKind::UpdateBeforeDelete,
        StatementKind::PadSelect,
        StatementKind::WalkDelete,
        StatementKind::WalkInsert,
        StatementKind::RecordRead,
        StatementKind::RecordUpdate,
        StatementKind::RecordInsert,
        StatementKind::RecordScan,
        StatementKind::ReadModifyWrite,
        StatementKind::FileRead,
        StatementKind::FileWrite,
        StatementKind::FileFsync,
    ];

    /// The name in stores and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StatementKind::Begin => "begin",
            StatementKind::Commit => "commit",
            StatementKind::PointSelect | StatementKind::PadSelect => "point_select",
            StatementKind::SimpleRange => "simple_range",
            StatementKind::SumRange => "sum_range",
            StatementKind::OrderRange => "order_range",
            StatementKind::DistinctRange => "distinct_range",
            StatementKind::IndexUpdate => "index_update",
            StatementKind::NonIndexUpdate => "non_index_update",
            StatementKind::Delete | StatementKind::WalkDelete => "delete",
            StatementKind::Insert
            | StatementKind::InsertNew
            | StatementKind::WalkInsert
            | StatementKind::RecordInsert => "insert",
            StatementKind::TextSelect => "text_select",
            StatementKind::TextUpdate => "text_update",
            StatementKind::RandomPoints => "random_points",
            StatementKind::RandomRanges => "random_ranges",
            StatementKind::UpdateBeforeDelete => "update_before_delete",
            StatementKind::RecordRead | StatementKind::FileRead => "read",
            StatementKind::RecordUpdate => "update",
            StatementKind::RecordScan => "scan",
            StatementKind::ReadModifyWrite => "read_modify_write",
            StatementKind::FileWrite => "write",
            StatementKind::FileFsync => "fsync",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_kinds_are_their_places() {
        for (number, kind) in StatementKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
    }
}
