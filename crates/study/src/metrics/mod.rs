//! The catalogue of metrics: every recorded series and every stored result, with unit, layer,
//! label, aggregation over the window, direction of better, and its place in tables and charts.
//!
//! Everything else looks an entry up by its stored name: `metric!` at compile time, so that an
//! unknown name does not compile; [`find`] at run time, for names from a store, which may be
//! unknown.
//!
//! Guarantees: names are unique; everything that is monitored or stored has an entry, and each
//! entry has a producer (`run/made_tests.rs`).

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

pub use entry::{Aggregation, Gives, MetricEntry};
pub use layer::Layer;
pub use shown::{Chart, Column, Group, Shown};
pub use unit::Unit;
pub use window::{Window, has_ended};

/// The catalogue's entry for this name, looked up at compile time.
#[macro_export]
macro_rules! metric {
    ($name:expr) => {
        const { $crate::metrics::named($name) }
    };
}
pub use crate::metric;

/// All metrics, by layer.
pub fn all() -> impl Iterator<Item = &'static MetricEntry> {
    catalogue::TABLES.iter().copied().flatten()
}

/// The metric with this stored name, if there is one.
pub fn find(name: &str) -> Option<&'static MetricEntry> {
    static BY_NAME: LazyLock<HashMap<&str, &MetricEntry>> =
        LazyLock::new(|| all().map(|metric| (metric.name, metric)).collect());
    BY_NAME.get(name).copied().or_else(|| all().find(|metric| metric.is_called(name)))
}

/// The lookup behind [`metric!`].
pub const fn named(name: &str) -> &'static MetricEntry {
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
