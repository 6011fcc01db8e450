//! The SQL of each kind of statement, for each generator.

use super::{StatementKind, record_sql};
use crate::generator::Generator;
use crate::schema::Schema;
use crate::workload::Workload;

/// `pad` of the rows that sysbench 0.4 inserts in place of deleted ones.
const REINSERTED_PAD: &str = "aaaaaaaaaaffffffffffrrrrrrrrrreeeeeeeeeeyyyyyyyyyy";

impl StatementKind {
    /// The statement for table `table`, from 1, with `?` for each parameter. YCSB has one table,
    /// and `table` is the number of the field.
    #[must_use]
    pub fn sql(self, table: u32, workload: &Workload, schema: &Schema) -> String {
        let t = schema.table(table);
        // In sysbench 0.5 the server adds to the lower end, which is sent twice.
        let high = match schema.generator {
            Generator::V05 => format!("?+{}", workload.range_size.saturating_sub(1)),
            _ => "?".into(),
        };
        let range = format!("FROM {t} WHERE id BETWEEN ? AND {high}");
        let list = |count: u32, one: &str, joint: &str| vec![one; count as usize].join(joint);
        match self {
            StatementKind::Begin => "BEGIN".into(),
            StatementKind::Commit => "COMMIT".into(),
            StatementKind::PointSelect => format!("SELECT c FROM {t} WHERE id=?"),
            StatementKind::SimpleRange => format!("SELECT c {range}"),
            StatementKind::SumRange => format!("SELECT SUM(k) {range}"),
            StatementKind::OrderRange => format!("SELECT c {range} ORDER BY c"),
            StatementKind::DistinctRange => format!("SELECT DISTINCT c {range} ORDER BY c"),
            StatementKind::IndexUpdate | StatementKind::UpdateBeforeDelete => {
                format!("UPDATE {t} SET k=k+1 WHERE id=?")
            }
            StatementKind::NonIndexUpdate => format!("UPDATE {t} SET c=? WHERE id=?"),
            StatementKind::Delete | StatementKind::WalkDelete => {
                format!("DELETE FROM {t} WHERE id=?")
            }
            StatementKind::Insert if schema.generator == Generator::V04 => {
                format!("INSERT INTO {t} VALUES (?, 0, ' ', '{REINSERTED_PAD}')")
            }
            StatementKind::Insert | StatementKind::InsertNew => {
                let columns = schema.columns();
                let places = list(columns.split(',').count() as u32, "?", ", ");
                format!("INSERT INTO {t} ({columns}) VALUES ({places})")
            }
            StatementKind::WalkInsert => {
                let id = if schema.auto_inc { "NULL" } else { "?" };
                format!("INSERT INTO {t} VALUES ({id}, ?, ?, ?)")
            }
            StatementKind::PadSelect => format!("SELECT pad FROM {t} WHERE id=?"),
            StatementKind::TextSelect => format!("SELECT data1, data2 FROM {t} WHERE id=?"),
            StatementKind::TextUpdate => format!("UPDATE {t} SET data1=? WHERE id=?"),
            StatementKind::RandomPoints => {
                let places = list(workload.random_points, "?", ", ");
                format!("SELECT id, k, c, pad FROM {t} WHERE k IN ({places})")
            }
            StatementKind::RandomRanges => {
                let ranges = list(workload.number_of_ranges, "k BETWEEN ? AND ?", " OR ");
                format!("SELECT count(k) FROM {t} WHERE {ranges}")
            }
            StatementKind::RecordRead
            | StatementKind::RecordUpdate
            | StatementKind::RecordInsert
            | StatementKind::RecordScan
            | StatementKind::ReadModifyWrite
            | StatementKind::FileRead
            | StatementKind::FileWrite
            | StatementKind::FileFsync => record_sql::sql(self, table - 1, workload, schema),
        }
    }
}
