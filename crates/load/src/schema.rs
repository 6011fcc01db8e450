//! The tables: their columns, their SQL, and the bytes of a row.
//!
//! Tables are sysbench 1.0's `sbtest1` … `sbtestN`, or those of an older sysbench: 0.5 counts without sign, 0.4 has one
//! table `sbtest`, whose rows are all alike. Schema `text` adds two columns of English, so that a row about
//! doubles and compresses as prose does, as in ScaleFlux's papers (which do not print their statements).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::generator::Generator;

/// Bytes of column `c`: ten groups of eleven digits, joined by `-`.
pub const C_BYTES: usize = 119;
/// Bytes of column `pad`: five such groups.
pub const PAD_BYTES: usize = 59;
/// Longest line of text in `data1` or `data2`, in bytes.
pub const TEXT_BYTES_MAX: usize = 160;

/// The comment a table bears from its making until `prepare` has loaded it to its end.
pub(crate) const LOADING: &str = "not loaded to its end: run cleanup, then prepare";

/// Which columns a table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SchemaKind {
    /// sysbench's four: id, k, c, pad.
    #[default]
    Default,
    /// Two columns of English more: data1, data2.
    Text,
}

/// What the tables look like and how many rows they hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schema {
    /// The sysbench whose tables they are.
    #[serde(skip_serializing_if = "Generator::is_default")]
    pub generator: Generator,
    /// Columns.
    #[serde(rename = "schema")]
    pub kind: SchemaKind,
    /// Name of the one table of sysbench 0.4, if not its own `sbtest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_name: Option<String>,
    /// Number of tables.
    pub tables: u32,
    /// Rows in each table.
    pub table_size: u64,
    /// Whether use AUTO_INCREMENT.
    pub auto_inc: bool,
    /// A plain index on `id` in place of the primary key.
    pub secondary: bool,
    /// Whether to index column `k` once the rows are in.
    pub create_secondary: bool,
    /// Storage engine.
    pub mysql_storage_engine: String,
    /// Further options of `CREATE TABLE`, such as `COMPRESSION='zlib'`.
    pub create_table_options: String,
    /// A book whose lines fill the text columns, in place of the built-in generator.
    pub text: Option<PathBuf>,
}

impl Default for Schema {
    fn default() -> Schema {
        Schema {
            generator: Generator::default(),
            kind: SchemaKind::Default,
            table_name: None,
            tables: 1,
            table_size: 10_000,
            auto_inc: true,
            secondary: false,
            create_secondary: true,
            mysql_storage_engine: "innodb".into(),
            create_table_options: String::new(),
            text: None,
        }
    }
}

impl Schema {
    /// Checks what cannot work: no tables, no rows, identifiers beyond 31 bits, what an old sysbench does not have.
    ///
    /// # Errors
    /// [`Error::Config`] with what to change.
    pub fn check(&self) -> Result<()> {
        let refuse = |message: &str| Err(Error::Config(message.into()));
        if self.tables == 0 {
            return refuse("`tables` is 0; give at least 1");
        }
        if self.table_size == 0 {
            return refuse("`table_size` is 0; give at least 1");
        }
        if self.table_size > i32::MAX as u64 {
            return refuse("`table_size` exceeds 2147483647, the largest `id`; use more tables");
        }
        if self.text.is_some() && self.kind != SchemaKind::Text {
            return refuse(
                "a text file is given but the schema has no text columns; set `schema` to `text`",
            );
        }
        self.check_generator()
    }

    fn check_generator(&self) -> Result<()> {
        let name = self.generator.name();
        let refuse = |message: String| Err(Error::Config(message));
        if self.generator != Generator::V10 && self.kind != SchemaKind::Default {
            return refuse(format!("tables of {name} have no text columns; remove `schema`"));
        }
        if self.generator == Generator::V04 && self.tables > 1 {
            return refuse(format!("`tables` is {}; {name} has one table", self.tables));
        }
        match &self.table_name {
            Some(_) if self.generator != Generator::V04 => {
                refuse(format!("tables of {name} have names of their own; remove `table_name`"))
            }
            Some(given) if !is_plain_name(given) => refuse(format!(
                "`table_name` is `{given}`; give letters, digits and underscores, at most 64"
            )),
            _ => Ok(()),
        }
    }

    /// The name of the table numbered `table`, from 1.
    pub(crate) fn table(&self, table: u32) -> String {
        match self.generator {
            Generator::V04 => self.table_name.clone().unwrap_or_else(|| "sbtest".into()),
            Generator::V05 | Generator::V10 => format!("sbtest{table}"),
        }
    }

    /// What `LIKE` finds all tables by in the server's catalogue, among others perhaps.
    pub(crate) fn pattern(&self) -> &str {
        self.table_name.as_deref().unwrap_or("sbtest%")
    }

    /// The columns an insert names.
    pub(crate) fn columns(&self) -> &'static str {
        match self.kind {
            SchemaKind::Default => "id, k, c, pad",
            SchemaKind::Text => "id, k, c, pad, data1, data2",
        }
    }

    /// `CREATE TABLE` for the table numbered `table`, from 1, as it is once it is loaded.
    #[cfg(test)]
    pub(crate) fn create_table(&self, table: u32) -> String {
        self.create_table_with(table, "")
    }

    /// `CREATE TABLE` of a table that is to be loaded: with the sign that it is not yet.
    pub(crate) fn create_table_to_load(&self, table: u32) -> String {
        let sign = format!(" COMMENT='{LOADING}'");
        self.create_table_with(table, if self.bears_sign() { &sign } else { "" })
    }

    /// Takes the sign away; nothing where there is none. Changes the catalogue alone.
    pub(crate) fn loaded(&self, table: u32) -> Option<String> {
        self.bears_sign().then(|| format!("ALTER TABLE {} COMMENT=''", self.table(table)))
    }

    /// Options that may bring a comment of their own keep it.
    fn bears_sign(&self) -> bool {
        !self.create_table_options.to_ascii_lowercase().contains("comment")
    }

    fn create_table_with(&self, table: u32, sign: &str) -> String {
        let name = self.table(table);
        let integer = match self.generator {
            Generator::V04 | Generator::V05 => "INTEGER UNSIGNED",
            Generator::V10 => "INTEGER",
        };
        let id = if self.auto_inc { "NOT NULL AUTO_INCREMENT" } else { "NOT NULL" };
        let key = if self.secondary { "KEY xid (id)" } else { "PRIMARY KEY (id)" };
        let text = match self.kind {
            SchemaKind::Default => "",
            SchemaKind::Text => {
                " data1 VARCHAR(255) NOT NULL DEFAULT '', data2 VARCHAR(255) NOT NULL DEFAULT '',"
            }
        };
        format!(
            "CREATE TABLE {name} (id {integer} {id}, k {integer} NOT NULL DEFAULT 0, \
             c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '',{text} {key}) ENGINE={}{sign} {}",
            self.mysql_storage_engine, self.create_table_options
        )
        .trim_end()
        .to_owned()
    }

    /// `CREATE INDEX` on `k` for the table numbered `table`.
    pub(crate) fn create_index(&self, table: u32) -> String {
        let name = self.table(table);
        match self.generator {
            Generator::V04 => format!("CREATE INDEX k ON {name} (k)"),
            Generator::V05 | Generator::V10 => format!("CREATE INDEX k_{table} ON {name} (k)"),
        }
    }

    /// Bytes of tablespace a row takes after loading, index on `k` included: measured after loading some
    /// hundred thousand rows on MySQL 9.7 with 16 KiB pages. Rows of sysbench 0.4 all have the same `k`, and their index is
    /// smaller.
    #[must_use]
    pub fn row_bytes(&self) -> u64 {
        match (self.kind, self.generator) {
            (SchemaKind::Default, Generator::V04) => 240,
            (SchemaKind::Default, _) => 265,
            (SchemaKind::Text, _) => 545,
        }
    }
}

/// Whether statements may have it as it is, without quotes.
fn is_plain_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    (1..=64).contains(&name.len())
        && name.chars().all(is_plain)
        && !name.chars().all(|letter| letter.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_table_of_old_may_have_another_name() {
        let named = |name: &str, generator| Schema {
            table_name: Some(name.into()),
            generator,
            ..Schema::default()
        };
        let stest = named("stest", Generator::V04);
        stest.check().unwrap();
        assert!(stest.create_table(1).starts_with("CREATE TABLE stest (id"));
        assert_eq!(
            (stest.create_index(1).as_str(), stest.pattern()),
            ("CREATE INDEX k ON stest (k)", "stest")
        );
        assert!(named("stest", Generator::V10).check().is_err());
        for bad in ["", "a b", "a;drop", "`a`", "12", "ä"] {
            assert!(named(bad, Generator::V04).check().is_err(), "{bad}");
        }
    }

    #[test]
    fn each_generator_has_tables_of_its_own() {
        let schema = |generator| Schema { generator, ..Schema::default() };
        let (old, newer, new) =
            (schema(Generator::V04), schema(Generator::V05), schema(Generator::V10));
        assert_eq!(
            old.create_table(1),
            "CREATE TABLE sbtest (id INTEGER UNSIGNED NOT NULL AUTO_INCREMENT, k INTEGER UNSIGNED NOT NULL DEFAULT 0, \
             c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id)) ENGINE=innodb"
        );
        assert_eq!(old.create_index(1), "CREATE INDEX k ON sbtest (k)");
        assert!(newer.create_table(3).starts_with("CREATE TABLE sbtest3 (id INTEGER UNSIGNED NOT"));
        assert!(new.create_table(3).starts_with("CREATE TABLE sbtest3 (id INTEGER NOT NULL"));
        assert_eq!(new.create_index(3), "CREATE INDEX k_3 ON sbtest3 (k)");
    }

    #[test]
    fn a_table_to_load_bears_a_sign_before_options_that_must_come_last() {
        let schema =
            |options: &str| Schema { create_table_options: options.into(), ..Schema::default() };
        let partitioned = schema("PARTITION BY KEY (id)");
        let told = "ENGINE=innodb COMMENT='not loaded to its end: run cleanup, then prepare' PARTITION BY KEY (id)";
        assert!(partitioned.create_table_to_load(2).ends_with(told));
        assert_eq!(partitioned.loaded(2).unwrap(), "ALTER TABLE sbtest2 COMMENT=''");
        let own = schema("comment 'mine'");
        assert_eq!((own.create_table_to_load(1), own.loaded(1)), (own.create_table(1), None));
    }

    #[test]
    fn what_an_old_sysbench_does_not_have_is_refused() {
        let two = Schema { generator: Generator::V04, tables: 2, ..Schema::default() };
        assert!(two.check().unwrap_err().to_string().contains("sysbench-0.4 has one table"));
        let text = SchemaKind::Text;
        let text = Schema { generator: Generator::V05, kind: text, ..Schema::default() };
        assert!(text.check().unwrap_err().to_string().contains("no text columns"));
        Schema { generator: Generator::V05, tables: 2, ..Schema::default() }.check().unwrap();
    }
}
