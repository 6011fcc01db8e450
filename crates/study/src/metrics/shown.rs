//! The places of metrics in tables and charts, and the units that readers see.

use std::borrow::Cow;

#[cfg(test)]
use super::unit::Unit;
use crate::events::Events;

/// Unit of a shown value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// No unit.
    Bare,
    PerSecond,
    TransactionsPerSecond,
    RowsPerSecond,
    BytesPerSecond,
    MegabytesPerSecond,
    Bytes,
    Megabytes,
    /// Kilobytes of a transaction, in lines that name it.
    Kilobytes,
    KilobytesPerTransaction,
    PerTransaction,
    MicrosecondsPerQuery,
    Milliseconds,
    Percent,
    PercentOfProcessor,
    /// A share between 0 and 1.
    ShareInPercent,
    BytesPerByte,
    Pages,
}

impl Shown {
    /// The unit in a study whose load counts `events`.
    #[must_use]
    pub fn text(self, events: Events) -> Cow<'static, str> {
        events.fill(self.template())
    }

    /// The unit as a template of [`Events::fill`].
    #[must_use]
    pub const fn template(self) -> &'static str {
        match self {
            Shown::Bare => "",
            Shown::PerSecond => "1/s",
            Shown::TransactionsPerSecond => "{events}/s",
            Shown::RowsPerSecond => "rows/s",
            Shown::BytesPerSecond => "B/s",
            Shown::MegabytesPerSecond => "MB/s",
            Shown::Bytes => "B",
            Shown::Megabytes => "MB",
            Shown::Kilobytes => "kB",
            Shown::KilobytesPerTransaction => "kB/{trx}",
            Shown::PerTransaction => "/{trx}",
            Shown::MicrosecondsPerQuery => "µs/query",
            Shown::Milliseconds => "ms",
            Shown::Percent | Shown::ShareInPercent => "%",
            Shown::PercentOfProcessor => "% of a CPU",
            Shown::BytesPerByte => "bytes/byte",
            Shown::Pages => "pages",
        }
    }

    /// Stored value × scale = shown value.
    pub const fn scale(self) -> f64 {
        match self {
            Shown::MegabytesPerSecond | Shown::Megabytes => 1e-6,
            Shown::Kilobytes | Shown::KilobytesPerTransaction => 1e-3,
            Shown::ShareInPercent => 100.0,
            _ => 1.0,
        }
    }

    /// Returns true if values of `unit` can be shown in this unit.
    #[cfg(test)]
    pub(super) fn fits(self, unit: Unit) -> bool {
        let units: &[Unit] = match self {
            Shown::Bare => &[Unit::Ratio, Unit::Count],
            Shown::PerSecond | Shown::TransactionsPerSecond | Shown::RowsPerSecond => {
                &[Unit::PerSecond]
            }
            Shown::BytesPerSecond | Shown::MegabytesPerSecond => &[Unit::BytesPerSecond],
            Shown::Bytes | Shown::Megabytes => &[Unit::Bytes],
            Shown::Kilobytes | Shown::KilobytesPerTransaction => &[Unit::BytesPerTransaction],
            Shown::PerTransaction => &[Unit::PerTransaction],
            Shown::MicrosecondsPerQuery => &[Unit::MicrosecondsPerQuery],
            Shown::Milliseconds => &[Unit::Milliseconds],
            Shown::Percent | Shown::PercentOfProcessor => &[Unit::Percent],
            Shown::ShareInPercent | Shown::BytesPerByte => &[Unit::Ratio],
            Shown::Pages => &[Unit::Pages],
        };
        units.contains(&unit)
    }
}

/// Group of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Transactions and queries per second.
    Throughput,
    /// Response times of transactions.
    Latency,
    /// Use of the machine.
    Machine,
    /// Columns that are shown on request.
    More,
    /// The software drive's table.
    Drive,
    /// The models' table.
    Model,
    /// The pools' table.
    Pool,
    /// The table of runs on several servers.
    Servers,
    /// Space at the end of a run, from the files down to the media.
    Space,
    /// The same for a model of a drive, whose flash also holds the preconditioning data.
    Preconditioned,
    /// Resources of a transaction on the first screen, the one nearest to the media first.
    Taken,
}

/// A metric as a column of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    pub group: Group,
    /// Order within the group.
    pub place: u8,
    pub head: &'static str,
    pub shown: Shown,
    /// Definition and place of measurement.
    pub title: &'static str,
    /// Metric whose value is added.
    pub plus: Option<&'static str>,
}

/// Charts of the second-by-second page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Chart {
    Throughput,
    Latency,
    Cpu,
    CpuByProcess,
    DiskLatency,
    DiskOperations,
    DiskBytes,
    RowsWritten,
    RowsRead,
    DirtyPages,
    CheckpointAge,
    ModelLatency,
    ModelWaits,
    ModelMissedDeadlines,
    DriveBytes,
    DriveOperations,
    DriveAmplification,
    DriveGc,
    DriveFree,
    PoolSpace,
    PoolCommit,
    PoolDegraded,
    PoolRecovery,
}

/// A series as a line of a chart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    pub chart: Chart,
    /// Order within the chart, from the bottom up in stacked charts.
    pub place: u8,
    /// Name in the legend.
    pub role: &'static str,
}
