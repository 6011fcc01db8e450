//! The recipes as data: the statements of one event, in order, grouped by table.
//!
//! A *group* draws its table once; every statement in it uses that table. Sequences and counts are
//! those of sysbench 0.4.12, 0.5 and 1.0.20, each in [`crate::Recipe`]s of its own. YCSB's events
//! are one operation of a mix, and their groups list the operations.

mod groups;
mod kind;
mod record_sql;
mod sql;

pub use groups::{StatementGroup, TableChoice};
pub use kind::StatementKind;
pub(crate) use record_sql::variants;

#[cfg(test)]
mod tests;
