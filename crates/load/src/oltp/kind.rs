//! The kinds of statement.

use serde::{Deserialize, Serialize};

/// The kinds of statement, each with histograms of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Kind {
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
    /// Inserts the next row of a walk through all, or of the server's numbering (sysbench 0.4, `nontrx`).
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

impl Kind {
    /// How many kinds there are.
    pub const COUNT: usize = 28;

    /// All kinds, in order of their numbers.
    pub const ALL: [Kind; Kind::COUNT] = [
        Kind::Begin,
        Kind::Commit,
        Kind::PointSelect,
        Kind::SimpleRange,
        Kind::SumRange,
        Kind::OrderRange,
        Kind::DistinctRange,
        Kind::IndexUpdate,
        Kind::NonIndexUpdate,
        Kind::Delete,
        Kind::Insert,
        Kind::InsertNew,
        Kind::TextSelect,
        Kind::TextUpdate,
        Kind::RandomPoints,
        Kind::RandomRanges,
        Kind::UpdateBeforeDelete,
        Kind::PadSelect,
        Kind::WalkDelete,
        Kind::WalkInsert,
        Kind::RecordRead,
        Kind::RecordUpdate,
        Kind::RecordInsert,
        Kind::RecordScan,
        Kind::ReadModifyWrite,
        Kind::FileRead,
        Kind::FileWrite,
        Kind::FileFsync,
    ];

    /// The name it is stored and reported under.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Begin => "begin",
            Kind::Commit => "commit",
            Kind::PointSelect | Kind::PadSelect => "point_select",
            Kind::SimpleRange => "simple_range",
            Kind::SumRange => "sum_range",
            Kind::OrderRange => "order_range",
            Kind::DistinctRange => "distinct_range",
            Kind::IndexUpdate => "index_update",
            Kind::NonIndexUpdate => "non_index_update",
            Kind::Delete | Kind::WalkDelete => "delete",
            Kind::Insert | Kind::InsertNew | Kind::WalkInsert | Kind::RecordInsert => "insert",
            Kind::TextSelect => "text_select",
            Kind::TextUpdate => "text_update",
            Kind::RandomPoints => "random_points",
            Kind::RandomRanges => "random_ranges",
            Kind::UpdateBeforeDelete => "update_before_delete",
            Kind::RecordRead | Kind::FileRead => "read",
            Kind::RecordUpdate => "update",
            Kind::RecordScan => "scan",
            Kind::ReadModifyWrite => "read_modify_write",
            Kind::FileWrite => "write",
            Kind::FileFsync => "fsync",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_kinds_are_their_places() {
        for (number, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
    }
}
