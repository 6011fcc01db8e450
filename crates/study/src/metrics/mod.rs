//! The one catalogue of metrics: every series that is recorded and every result that is stored, with its unit, layer and label, what
//! becomes of its seconds over the measuring window, which way it is better, and how tables and charts show it.
//!
//! A metric is said once, as an entry of a table in [`catalogue`]; everything else asks for it by its stored name. Where that name stands in
//! the code, `metric!` looks it up while compiling, so that one nobody knows is no program; a name from a store is asked for with [`find`],
//! and may be unknown.
//!
//! Guarantees: each name is there once; whatever is monitored or stored of a run has an entry, and each entry has somebody who makes it
//! (`run/made_tests.rs`).

mod catalogue;
mod entry;
mod layer;
mod shown;
mod unit;
mod window;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use entry::{Aggregation, Gives, Metric};
pub use layer::Layer;
pub use shown::{Chart, Column, Group, Shown};
pub use unit::Unit;
pub use window::{Window, has_ended};

/// The entry of this stored name, found while compiling.
#[macro_export]
macro_rules! metric {
    ($name:expr) => {
        const { $crate::metrics::named($name) }
    };
}
pub use crate::metric;

/// Every metric, layer by layer.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    catalogue::TABLES.iter().copied().flatten()
}

/// The metric of a stored name, if the catalogue has it.
pub fn find(name: &str) -> Option<&'static Metric> {
    static BY_NAME: LazyLock<HashMap<&str, &Metric>> =
        LazyLock::new(|| all().map(|one| (one.name, one)).collect());
    BY_NAME.get(name).copied().or_else(|| all().find(|one| one.is_called(name)))
}

/// What [`metric!`] calls.
pub const fn named(name: &str) -> &'static Metric {
    let mut table = 0;
    while table < catalogue::TABLES.len() {
        let entries = catalogue::TABLES[table];
        let mut entry = 0;
        while entry < entries.len() {
            if is_same(entries[entry].name.as_bytes(), name.as_bytes()) {
                return &entries[entry];
            }
            entry += 1;
        }
        table += 1;
    }
    assert!(table < catalogue::TABLES.len(), "no metric of the catalogue has this name");
    &catalogue::TABLES[0][0]
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}
