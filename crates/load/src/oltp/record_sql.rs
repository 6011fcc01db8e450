//! The statements of YCSB's JDBC binding.

use super::StatementKind;
use crate::schema::Schema;
use crate::workload::Workload;

/// Number of statements of this kind: an update has one for each field, or one for all.
pub(crate) fn variants(kind: StatementKind, workload: &Workload, schema: &Schema) -> u32 {
    match kind {
        StatementKind::RecordUpdate if !workload.ycsb.write_all_fields => schema.field_count,
        _ => 1,
    }
}

/// The statement of this kind for a variant, from 0; empty for kinds that are not YCSB's.
pub(crate) fn sql(
    kind: StatementKind,
    variant: u32,
    workload: &Workload,
    schema: &Schema,
) -> String {
    let table = schema.table(1);
    match kind {
        StatementKind::RecordRead => format!("SELECT * FROM {table} WHERE YCSB_KEY = ?"),
        StatementKind::RecordScan => {
            format!("SELECT * FROM {table} WHERE YCSB_KEY >= ? ORDER BY YCSB_KEY LIMIT ?")
        }
        StatementKind::RecordUpdate if workload.ycsb.write_all_fields => {
            let fields: Vec<String> =
                (0..schema.field_count).map(|field| format!("FIELD{field}=?")).collect();
            format!("UPDATE {table} SET {} WHERE YCSB_KEY = ?", fields.join(","))
        }
        StatementKind::RecordUpdate => {
            format!("UPDATE {table} SET FIELD{variant}=? WHERE YCSB_KEY = ?")
        }
        StatementKind::RecordInsert => {
            let places = vec!["?"; schema.field_count as usize + 1].join(",");
            format!("INSERT INTO {table} ({}) VALUES ({places})", schema.record_columns())
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::Generator;
    use crate::ycsb::YcsbOptions;

    #[test]
    fn statements_are_those_of_the_jdbc_binding() {
        let schema = Schema { generator: Generator::Ycsb, field_count: 2, ..Schema::default() };
        let workload = Workload::default();
        let sql = |kind, variant| sql(kind, variant, &workload, &schema);
        assert_eq!(sql(StatementKind::RecordRead, 0), "SELECT * FROM usertable WHERE YCSB_KEY = ?");
        assert_eq!(
            sql(StatementKind::RecordScan, 0),
            "SELECT * FROM usertable WHERE YCSB_KEY >= ? ORDER BY YCSB_KEY LIMIT ?"
        );
        assert_eq!(
            sql(StatementKind::RecordUpdate, 1),
            "UPDATE usertable SET FIELD1=? WHERE YCSB_KEY = ?"
        );
        assert_eq!(
            sql(StatementKind::RecordInsert, 0),
            "INSERT INTO usertable (YCSB_KEY,FIELD0,FIELD1) VALUES (?,?,?)"
        );
        assert_eq!(
            schema.create_table(1),
            "CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY, FIELD0 TEXT, FIELD1 TEXT) \
             ENGINE=innodb"
        );
    }

    #[test]
    fn all_fields_are_one_statement() {
        let schema = Schema { generator: Generator::Ycsb, field_count: 2, ..Schema::default() };
        let ycsb = YcsbOptions { write_all_fields: true, ..YcsbOptions::default() };
        let all = Workload { ycsb, ..Workload::default() };
        assert_eq!(variants(StatementKind::RecordUpdate, &all, &schema), 1);
        assert_eq!(variants(StatementKind::RecordUpdate, &Workload::default(), &schema), 2);
        assert_eq!(
            sql(StatementKind::RecordUpdate, 0, &all, &schema),
            "UPDATE usertable SET FIELD0=?,FIELD1=? WHERE YCSB_KEY = ?"
        );
    }
}
