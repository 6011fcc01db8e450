//! What the watch hands on: series, samples, marks.
//!
//! A *sample* is one second of every counter; a *series* is one counter's values in order. A value that could not
//! be known is absent, never zero: a counter that went backwards, a latency in a second without I/O, a layer that
//! has gone. Samples name their series by position in the list of `SeriesInfo`, which is fixed when the watch
//! starts.

use std::collections::BTreeMap;

/// The part of the machine that a series belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Layer {
    /// All processors, and the kernel's pressure figures.
    Cpu,
    /// The block device that holds the data's file system.
    Disk,
    /// The block device under the image file, where the disk is a loop device.
    Backing,
    /// The server's process.
    Server,
    /// The load generator's process.
    Load,
    /// The server's statements, threads and network bytes.
    Sql,
    /// The storage engine.
    Innodb,
    /// Files and file system.
    Space,
    /// What watching costs.
    Watch,
}

impl Layer {
    /// The word for this layer in series names, the store and the report.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Layer::Cpu => "cpu",
            Layer::Disk => "disk",
            Layer::Backing => "backing",
            Layer::Server => "server",
            Layer::Load => "load",
            Layer::Sql => "sql",
            Layer::Innodb => "innodb",
            Layer::Space => "space",
            Layer::Watch => "watch",
        }
    }
}

/// What one series is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeriesInfo {
    /// The one word for it in store and report, unit last, e.g. `disk_write_bytes_per_s`.
    pub(crate) name: String,
    /// The unit: `percent`, `1/s`, `bytes/s`, `bytes`, `ms`, `ms/s`, `pages`, `ratio` or `count`.
    pub(crate) unit: &'static str,
    /// What a person reads, e.g. "bytes written (vda)".
    pub(crate) label: String,
    /// Where it was measured.
    pub(crate) layer: Layer,
}

/// Position in the list of series.
pub(crate) type SeriesId = u16;

/// One second of every counter.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sample {
    /// Taken this many seconds after the origin; it covers the time since the sample before, commonly one second.
    pub(crate) second: u32,
    /// Values in no particular order; an absent series is a gap.
    pub(crate) values: Vec<(SeriesId, f64)>,
}

impl Sample {
    /// The value of one series, if it is known for this second.
    pub(crate) fn get(&self, id: SeriesId) -> Option<f64> {
        self.values.iter().find(|(series, _)| *series == id).map(|(_, value)| *value)
    }
}

/// Every cumulative counter at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Mark {
    /// Which moment, e.g. `measuring-begins`.
    pub(crate) name: String,
    /// When it was asked for, in seconds since the origin.
    pub(crate) at_seconds: f64,
    /// Counters since boot or server start, by name, e.g. `disk_write_bytes`, `server_cpu_user_seconds`.
    pub(crate) counters: BTreeMap<String, f64>,
}

/// Everything that was seen.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Watched {
    /// What the samples' positions mean.
    pub(crate) series: Vec<SeriesInfo>,
    /// Samples, ascending by second; seconds that were missed are not there.
    pub(crate) samples: Vec<Sample>,
    /// What could not be watched and why, in plain words.
    pub(crate) notes: Vec<String>,
    /// The marks, in order.
    pub(crate) marks: Vec<Mark>,
}

impl Watched {
    /// What every counter grew by between two marks; see `totals_between`.
    pub(crate) fn totals(&self, from: &str, to: &str) -> Option<BTreeMap<String, f64>> {
        let mark = |name: &str| self.marks.iter().find(|mark| mark.name == name);
        Some(totals_between(mark(from)?, mark(to)?))
    }
}

/// What every counter grew by between two marks, in the counter's unit. A counter that is missing from either, or
/// that went backwards (the server was started again), is absent.
pub(crate) fn totals_between(from: &Mark, to: &Mark) -> BTreeMap<String, f64> {
    let grown = |(name, end): (&String, &f64)| {
        let difference = end - from.counters.get(name)?;
        (difference >= 0.0).then(|| (name.clone(), difference))
    };
    to.counters.iter().filter_map(grown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(name: &str, counters: &[(&str, f64)]) -> Mark {
        let counters = counters.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Mark { name: name.into(), counters, ..Mark::default() }
    }

    #[test]
    fn totals_are_differences_and_resets_are_absent() {
        let begin = mark("begin", &[("disk_writes", 10.0), ("innodb_rows_read", 500.0)]);
        let end = mark("end", &[("disk_writes", 25.0), ("innodb_rows_read", 3.0), ("new", 1.0)]);
        let watched = Watched { marks: vec![begin, end], ..Watched::default() };
        let totals = watched.totals("begin", "end").unwrap();
        assert_eq!(totals.into_iter().collect::<Vec<_>>(), [("disk_writes".to_owned(), 15.0)]);
        assert!(watched.totals("begin", "nowhere").is_none());
    }
}
