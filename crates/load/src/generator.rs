//! The program whose tables and transactions are used: a generation of sysbench, or YCSB.
//!
//! [`crate::Schema::generator`] is the generator of tables, [`crate::Recipe::generator`] that of a
//! recipe; [`crate::Workload::check_tables`] checks that they agree.

use serde::{Deserialize, Serialize};

/// A benchmark program: a generation of sysbench, or YCSB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Generator {
    /// sysbench 0.4.12, test `oltp` (2006 to 2013): one table `sbtest` of equal rows, requests
    /// built before they run.
    #[serde(rename = "sysbench-0.4")]
    V04,
    /// sysbench 0.5, `oltp.lua` (2012 to 2016): text only, one table to a transaction.
    #[serde(rename = "sysbench-0.5")]
    V05,
    /// The scripts of sysbench 0.5 as run by 1.0.20 (`tests/include/oltp_legacy`): text only.
    #[serde(rename = "sysbench-1.0-legacy")]
    Legacy,
    /// sysbench 1.0.20.
    #[default]
    #[serde(rename = "sysbench-1.0")]
    V10,
    /// YCSB 0.17.0's core workloads over its JDBC binding: one table `usertable`, one operation at
    /// a time.
    #[serde(rename = "ycsb")]
    Ycsb,
}

impl Generator {
    /// All of them, sysbench's oldest first.
    pub const ALL: [Generator; 5] =
        [Generator::V04, Generator::V05, Generator::Legacy, Generator::V10, Generator::Ycsb];

    /// The name in plans, on command lines and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Generator::V04 => "sysbench-0.4",
            Generator::V05 => "sysbench-0.5",
            Generator::Legacy => "sysbench-1.0-legacy",
            Generator::V10 => "sysbench-1.0",
            Generator::Ycsb => "ycsb",
        }
    }

    /// Returns true if all rows are in one table.
    #[must_use]
    pub fn has_one_table(self) -> bool {
        matches!(self, Generator::V04 | Generator::Ycsb)
    }

    /// Returns true for the default.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Generator::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_plans_say() {
        for generator in Generator::ALL {
            let name =
                serde::de::value::StrDeserializer::<serde::de::value::Error>::new(generator.name());
            assert_eq!(Generator::deserialize(name), Ok(generator));
        }
    }
}
