//! The SQL of each kind of statement, as each generator words it.

use super::{Kind, record_sql};
use crate::generator::Generator;
use crate::schema::Schema;
use crate::workload::Workload;

/// `pad` of the rows that sysbench 0.4 inserts in the place of those it deletes.
const REINSERTED_PAD: &str = "aaaaaaaaaaffffffffffrrrrrrrrrreeeeeeeeeeyyyyyyyyyy";

impl Kind {
    /// The statement for table `table`, from 1, with `?` for each parameter. YCSB's have one table, and `table` says which field
    /// they are about.
    #[must_use]
    pub fn sql(self, table: u32, workload: &Workload, schema: &Schema) -> String {
        let t = schema.table(table);
        // sysbench 0.5 has the server add to the lower end, which is sent twice.
        let high = match schema.generator {
            Generator::V05 => format!("?+{}", workload.range_size.saturating_sub(1)),
            _ => "?".into(),
        };
        let range = format!("FROM {t} WHERE id BETWEEN ? AND {high}");
        let list = |count: u32, one: &str, joint: &str| vec![one; count as usize].join(joint);
        match self {
            Kind::Begin => "BEGIN".into(),
            Kind::Commit => "COMMIT".into(),
            Kind::PointSelect => format!("SELECT c FROM {t} WHERE id=?"),
            Kind::SimpleRange => format!("SELECT c {range}"),
            Kind::SumRange => format!("SELECT SUM(k) {range}"),
            Kind::OrderRange => format!("SELECT c {range} ORDER BY c"),
            Kind::DistinctRange => format!("SELECT DISTINCT c {range} ORDER BY c"),
            Kind::IndexUpdate | Kind::UpdateBeforeDelete => {
                format!("UPDATE {t} SET k=k+1 WHERE id=?")
            }
            Kind::NonIndexUpdate => format!("UPDATE {t} SET c=? WHERE id=?"),
            Kind::Delete | Kind::WalkDelete => format!("DELETE FROM {t} WHERE id=?"),
            Kind::Insert if schema.generator == Generator::V04 => {
                format!("INSERT INTO {t} VALUES (?, 0, ' ', '{REINSERTED_PAD}')")
            }
            Kind::Insert | Kind::InsertNew => {
                let columns = schema.columns();
                let places = list(columns.split(',').count() as u32, "?", ", ");
                format!("INSERT INTO {t} ({columns}) VALUES ({places})")
            }
            Kind::WalkInsert => {
                let id = if schema.auto_inc { "NULL" } else { "?" };
                format!("INSERT INTO {t} VALUES ({id}, ?, ?, ?)")
            }
            Kind::PadSelect => format!("SELECT pad FROM {t} WHERE id=?"),
            Kind::TextSelect => format!("SELECT data1, data2 FROM {t} WHERE id=?"),
            Kind::TextUpdate => format!("UPDATE {t} SET data1=? WHERE id=?"),
            Kind::RandomPoints => {
                let places = list(workload.random_points, "?", ", ");
                format!("SELECT id, k, c, pad FROM {t} WHERE k IN ({places})")
            }
            Kind::RandomRanges => {
                let ranges = list(workload.number_of_ranges, "k BETWEEN ? AND ?", " OR ");
                format!("SELECT count(k) FROM {t} WHERE {ranges}")
            }
            Kind::RecordRead
            | Kind::RecordUpdate
            | Kind::RecordInsert
            | Kind::RecordScan
            | Kind::ReadModifyWrite
            | Kind::FileRead
            | Kind::FileWrite
            | Kind::FileFsync => record_sql::sql(self, table - 1, workload, schema),
        }
    }
}
