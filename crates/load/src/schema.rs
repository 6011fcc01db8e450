//! The tables: their columns, their SQL, and the bytes of a row.
//!
//! Tables are sysbench 1.0's `sbtest1` … `sbtestN`. Schema `text` adds two columns of English, so that a row about
//! doubles and compresses as prose does, as in ScaleFlux's papers (which do not print their statements).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Bytes of column `c`: ten groups of eleven digits, joined by `-`.
pub const C_BYTES: usize = 119;
/// Bytes of column `pad`: five such groups.
pub const PAD_BYTES: usize = 59;
/// Longest line of text in `data1` or `data2`, in bytes.
pub const TEXT_BYTES_MAX: usize = 160;

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
    /// Columns.
    #[serde(rename = "schema")]
    pub kind: SchemaKind,
    /// Number of tables.
    pub tables: u32,
    /// Rows in each table.
    pub table_size: u64,
    /// Whether the server numbers inserted rows.
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
            kind: SchemaKind::Default,
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
    /// Checks what cannot work: no tables, no rows, identifiers beyond 31 bits.
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
        Ok(())
    }

    /// The columns an insert names.
    pub(crate) fn columns(&self) -> &'static str {
        match self.kind {
            SchemaKind::Default => "id, k, c, pad",
            SchemaKind::Text => "id, k, c, pad, data1, data2",
        }
    }

    /// `CREATE TABLE` for the table numbered `table`, from 1.
    pub(crate) fn create_table(&self, table: u32) -> String {
        let id = if self.auto_inc { "NOT NULL AUTO_INCREMENT" } else { "NOT NULL" };
        let key = if self.secondary { "KEY xid (id)" } else { "PRIMARY KEY (id)" };
        let text = match self.kind {
            SchemaKind::Default => "",
            SchemaKind::Text => {
                " data1 VARCHAR(255) NOT NULL DEFAULT '', data2 VARCHAR(255) NOT NULL DEFAULT '',"
            }
        };
        format!(
            "CREATE TABLE sbtest{table} (id INTEGER {id}, k INTEGER NOT NULL DEFAULT 0, \
             c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '',{text} {key}) ENGINE={} {}",
            self.mysql_storage_engine, self.create_table_options
        )
        .trim_end()
        .to_owned()
    }

    /// `CREATE INDEX` on `k` for the table numbered `table`.
    pub(crate) fn create_index(table: u32) -> String {
        format!("CREATE INDEX k_{table} ON sbtest{table} (k)")
    }

    /// Bytes of tablespace a row takes after loading, index on `k` included: measured after loading some
    /// hundred thousand rows on MySQL 9.7 with 16 KiB pages.
    #[must_use]
    pub fn row_bytes(&self) -> u64 {
        match self.kind {
            SchemaKind::Default => 265,
            SchemaKind::Text => 545,
        }
    }
}
