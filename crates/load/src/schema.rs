//! The tables: their columns, their SQL, and the bytes of a row.
//!
//! Tables are sysbench 1.0's `sbtest1` … `sbtestN`, or those of an older sysbench: 0.5 uses
//! unsigned integers, 0.4 has one table `sbtest` of equal rows. YCSB has one table `usertable` of
//! keys and fields. Schema `text` adds two columns of English, so that a row about doubles in size
//! and compresses as prose does, as in ScaleFlux's papers (which do not print their statements).

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

/// YCSB's defaults.
const FIELD_COUNT: u32 = 10;
const FIELD_LENGTH: u32 = 100;
const ZERO_PADDING: u32 = 1;
/// Longest value of a `TEXT` column, in bytes.
const FIELD_LENGTH_MAX: u32 = 65_535;
/// Columns that InnoDB allows next to the key and its own three.
const FIELD_COUNT_MAX: u32 = 1013;
/// Digits of the longest key that fits its column.
const ZERO_PADDING_MAX: u32 = 250;

/// The comment of a table until `prepare` has loaded it completely.
pub(crate) const LOADING: &str = "not loaded to its end: run cleanup, then prepare";

/// The columns of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SchemaKind {
    /// sysbench's four: id, k, c, pad.
    #[default]
    Default,
    /// With two more columns of English: data1, data2.
    Text,
}

/// The order of keys relative to the numbers of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InsertOrder {
    /// Hashed: inserts fall anywhere in the index.
    #[default]
    Hashed,
    /// Ascending: inserts append.
    Ordered,
}

/// The tables' form and size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schema {
    /// The program that has such tables.
    #[serde(skip_serializing_if = "Generator::is_default")]
    pub generator: Generator,
    /// Columns.
    #[serde(rename = "schema")]
    pub kind: SchemaKind,
    /// Name of the one table of sysbench 0.4 or YCSB, if not its own `sbtest` or `usertable`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_name: Option<String>,
    /// Number of tables.
    pub tables: u32,
    /// Rows in each table; records of YCSB.
    pub table_size: u64,
    /// Fields of a record (YCSB).
    #[serde(skip_serializing_if = "is::<FIELD_COUNT>")]
    pub field_count: u32,
    /// Bytes of a field (YCSB).
    #[serde(skip_serializing_if = "is::<FIELD_LENGTH>")]
    pub field_length: u32,
    /// Order of keys (YCSB).
    #[serde(skip_serializing_if = "is_default")]
    pub insert_order: InsertOrder,
    /// Least digits of ascending keys (YCSB).
    #[serde(skip_serializing_if = "is::<ZERO_PADDING>")]
    pub zero_padding: u32,
    /// True for AUTO_INCREMENT.
    pub auto_inc: bool,
    /// A plain index on `id` in place of the primary key.
    pub secondary: bool,
    /// True for an index on column `k`, built once the rows are in.
    pub create_secondary: bool,
    /// Storage engine.
    pub mysql_storage_engine: String,
    /// Further options of `CREATE TABLE`, such as `COMPRESSION='zlib'`.
    pub create_table_options: String,
    /// A text file whose lines fill the text columns, in place of the built-in generator.
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
            field_count: FIELD_COUNT,
            field_length: FIELD_LENGTH,
            insert_order: InsertOrder::default(),
            zero_padding: ZERO_PADDING,
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
    /// Checks the schema: tables, rows, identifiers within 31 bits, features of an old sysbench.
    ///
    /// # Errors
    /// [`Error::Config`] with what to change.
    pub fn check(&self) -> Result<()> {
        let refuse = |message: &str| Err(Error::Config(message.into()));
        if self.table_size == 0 {
            return refuse("`table_size` is 0; give at least 1");
        }
        self.check_tables()
    }

    /// Checks a schema for creating or dropping tables, which may be empty.
    ///
    /// # Errors
    /// [`Error::Config`] with what to change.
    pub fn check_tables(&self) -> Result<()> {
        let refuse = |message: &str| Err(Error::Config(message.into()));
        if self.tables == 0 {
            return refuse("`tables` is 0; give at least 1");
        }
        if self.table_size > i32::MAX as u64 && self.generator != Generator::Ycsb {
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
        if self.generator.has_one_table() && self.tables > 1 {
            return refuse(format!("`tables` is {}; {name} has one table", self.tables));
        }
        if self.generator == Generator::Ycsb {
            self.check_records()?;
        }
        match &self.table_name {
            Some(_) if !self.generator.has_one_table() => {
                refuse(format!("tables of {name} have names of their own; remove `table_name`"))
            }
            Some(given) if !is_plain_name(given) => refuse(format!(
                "`table_name` is `{given}`; give letters, digits and underscores, at most 64"
            )),
            _ => Ok(()),
        }
    }

    fn check_records(&self) -> Result<()> {
        let limits = [
            ("field_count", self.field_count, 1, FIELD_COUNT_MAX),
            ("field_length", self.field_length, 1, FIELD_LENGTH_MAX),
            ("zero_padding", self.zero_padding, 0, ZERO_PADDING_MAX),
        ];
        match limits.iter().find(|(_, value, least, most)| value < least || value > most) {
            Some((name, value, least, most)) => {
                Err(Error::Config(format!("`{name}` is {value}; give {least} to {most}")))
            }
            None => Ok(()),
        }
    }

    /// The name of the table numbered `table`, from 1.
    #[must_use]
    pub fn table(&self, table: u32) -> String {
        match self.generator {
            Generator::V04 => self.table_name.clone().unwrap_or_else(|| "sbtest".into()),
            Generator::Ycsb => self.table_name.clone().unwrap_or_else(|| "usertable".into()),
            Generator::V05 | Generator::Legacy | Generator::V10 => format!("sbtest{table}"),
        }
    }

    /// The pattern by which `LIKE` finds all tables in the server's catalogue, possibly with
    /// others.
    pub(crate) fn pattern(&self) -> &str {
        let own = if self.generator == Generator::Ycsb { "usertable" } else { "sbtest%" };
        self.table_name.as_deref().unwrap_or(own)
    }

    /// The columns an insert names.
    pub(crate) fn columns(&self) -> &'static str {
        match self.kind {
            SchemaKind::Default => "id, k, c, pad",
            SchemaKind::Text => "id, k, c, pad, data1, data2",
        }
    }

    /// `CREATE TABLE` for the table numbered `table`, from 1, in its final form.
    #[cfg(test)]
    pub(crate) fn create_table(&self, table: u32) -> String {
        self.create_table_with(table, "")
    }

    /// `CREATE TABLE` of a table to load, with the comment [`LOADING`].
    pub(crate) fn create_table_to_load(&self, table: u32) -> String {
        let sign = format!(" COMMENT='{LOADING}'");
        self.create_table_with(table, if self.bears_sign() { &sign } else { "" })
    }

    /// The statement that removes the comment, if there is one. It changes the catalogue alone.
    pub(crate) fn loaded(&self, table: u32) -> Option<String> {
        self.bears_sign().then(|| format!("ALTER TABLE {} COMMENT=''", self.table(table)))
    }

    /// Returns false if the options may hold a comment, which is kept.
    fn bears_sign(&self) -> bool {
        !self.create_table_options.to_ascii_lowercase().contains("comment")
    }

    fn create_table_with(&self, table: u32, sign: &str) -> String {
        let (name, engine) = (self.table(table), &self.mysql_storage_engine);
        let options = &self.create_table_options;
        let integer = match self.generator {
            Generator::V04 | Generator::V05 | Generator::Legacy => "INTEGER UNSIGNED",
            Generator::V10 => "INTEGER",
            Generator::Ycsb => {
                let columns = self.record_definition();
                return format!("CREATE TABLE {name} {columns} ENGINE={engine}{sign} {options}")
                    .trim_end()
                    .to_owned();
            }
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
             c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '',{text} {key}) \
             ENGINE={engine}{sign} {options}"
        )
        .trim_end()
        .to_owned()
    }

    /// A record of YCSB: its key, then every field.
    fn record_definition(&self) -> String {
        let field = |field| format!(", FIELD{field} TEXT");
        let fields: String = (0..self.field_count).map(field).collect();
        format!("(YCSB_KEY VARCHAR(255) PRIMARY KEY{fields})")
    }

    /// The columns of a record of YCSB.
    pub(crate) fn record_columns(&self) -> String {
        let fields = (0..self.field_count).map(|field| format!(",FIELD{field}"));
        std::iter::once("YCSB_KEY".to_owned()).chain(fields).collect()
    }

    /// Returns true if an index on `k` is built once the rows are in.
    pub(crate) fn has_index(&self) -> bool {
        self.create_secondary && self.generator != Generator::Ycsb
    }

    /// `CREATE INDEX` on `k` for the table numbered `table`.
    pub(crate) fn create_index(&self, table: u32) -> String {
        let name = self.table(table);
        match self.generator {
            Generator::V04 => format!("CREATE INDEX k ON {name} (k)"),
            Generator::V05 | Generator::Legacy | Generator::V10 | Generator::Ycsb => {
                format!("CREATE INDEX k_{table} ON {name} (k)")
            }
        }
    }

    /// Bytes of a YCSB record in the tablespace, measured on MySQL 9.7 after 40 000 to 100 000
    /// hashed inserts: 2 013 bytes of 10 × 100, 8 668 of 10 × 400, 49 772 of 10 × 1000. Pages
    /// filled in random order are about half full. A record above half a page has its longest
    /// fields in pages of their own (MySQL manual, "DYNAMIC row format").
    fn record_bytes(&self) -> u64 {
        const HEAD_BYTES: u64 = 43;
        const HALF_PAGE_BYTES: u64 = 8126;
        const POINTER_BYTES: u64 = 20;
        const PAGE_BYTES: u64 = 16_384;
        const PAGE_FILL: f64 = 0.53;
        let (count, length) = (u64::from(self.field_count), u64::from(self.field_length));
        let inside = HEAD_BYTES + count * (length + 2);
        let saved = length.saturating_sub(POINTER_BYTES).max(1);
        let moved = inside.saturating_sub(HALF_PAGE_BYTES).div_ceil(saved).min(count);
        let left = inside.saturating_sub(moved * saved);
        (left as f64 / PAGE_FILL) as u64 + moved * length.div_ceil(PAGE_BYTES) * PAGE_BYTES
    }

    /// Bytes of a row in the tablespace after loading, index on `k` included: measured with several
    /// hundred thousand rows on MySQL 9.7 with 16 KiB pages. The rows of sysbench 0.4 have equal
    /// `k`, and a smaller index.
    #[must_use]
    pub fn row_bytes(&self) -> u64 {
        match (self.kind, self.generator) {
            (_, Generator::Ycsb) => self.record_bytes(),
            (SchemaKind::Default, Generator::V04) => 240,
            (SchemaKind::Default, _) => 265,
            (SchemaKind::Text, _) => 545,
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is<const DEFAULT: u32>(value: &u32) -> bool {
    *value == DEFAULT
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Returns true if the name needs no quotes in statements.
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
            "CREATE TABLE sbtest (id INTEGER UNSIGNED NOT NULL AUTO_INCREMENT, k INTEGER UNSIGNED \
             NOT NULL DEFAULT 0, \
             c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id)) \
             ENGINE=innodb"
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
        let told = "ENGINE=innodb COMMENT='not loaded to its end: run cleanup, then prepare' \
                    PARTITION BY KEY (id)";
        assert!(partitioned.create_table_to_load(2).ends_with(told));
        assert_eq!(partitioned.loaded(2).unwrap(), "ALTER TABLE sbtest2 COMMENT=''");
        let own = schema("comment 'mine'");
        assert_eq!((own.create_table_to_load(1), own.loaded(1)), (own.create_table(1), None));
    }

    #[test]
    fn records_take_what_was_measured() {
        let record = |field_length| {
            let generator = Generator::Ycsb;
            Schema { generator, field_length, ..Schema::default() }.row_bytes() as f64
        };
        for (field_length, measured) in [(100, 2013.0), (400, 8668.0), (1000, 49_772.0)] {
            let share = record(field_length) / measured;
            assert!((0.85..1.15).contains(&share), "{field_length}: {share}");
        }
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
