//! The recipes as data: which statements make one event, in which order, grouped by table.
//!
//! A *group* draws its table once; every statement in it goes there. Sequences and counts are those of sysbench 0.4.12,
//! 0.5 and 1.0.20, each in [`crate::Recipe`]s of its own. YCSB's events are one operation of a mix, and their groups say which
//! there are.

mod groups;
mod kind;
mod record_sql;
mod sql;

pub use groups::{Group, Tables};
pub use kind::Kind;
pub(crate) use record_sql::variants;

#[cfg(test)]
mod tests;
