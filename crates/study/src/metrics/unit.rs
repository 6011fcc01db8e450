//! Units of stored values.

use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    PerSecond,
    BytesPerSecond,
    /// Concurrent waiting time: 1000 is one waiter all the time.
    MillisecondsPerSecond,
    /// Concurrent waiting time in µs.
    MicrosecondsPerSecond,
    Bytes,
    Milliseconds,
    /// Percent of a whole, or of the time of one CPU.
    Percent,
    /// Pages of InnoDB, usually of 16 KiB.
    Pages,
    Ratio,
    Count,
    BytesPerTransaction,
    PerTransaction,
    MicrosecondsPerQuery,
}

impl Unit {
    pub const ALL: [Unit; 13] = [
        Unit::PerSecond,
        Unit::BytesPerSecond,
        Unit::MillisecondsPerSecond,
        Unit::MicrosecondsPerSecond,
        Unit::Bytes,
        Unit::Milliseconds,
        Unit::Percent,
        Unit::Pages,
        Unit::Ratio,
        Unit::Count,
        Unit::BytesPerTransaction,
        Unit::PerTransaction,
        Unit::MicrosecondsPerQuery,
    ];

    /// The unit's name in stores.
    pub const fn word(self) -> &'static str {
        match self {
            Unit::PerSecond => "1/s",
            Unit::BytesPerSecond => "bytes/s",
            Unit::MillisecondsPerSecond => "ms/s",
            Unit::MicrosecondsPerSecond => "us/s",
            Unit::Bytes => "bytes",
            Unit::Milliseconds => "ms",
            Unit::Percent => "percent",
            Unit::Pages => "pages",
            Unit::Ratio => "ratio",
            Unit::Count => "count",
            Unit::BytesPerTransaction => "bytes/transaction",
            Unit::PerTransaction => "1/transaction",
            Unit::MicrosecondsPerQuery => "us/query",
        }
    }

    /// Returns true for a rate, which grows with the number of devices.
    pub const fn is_rate(self) -> bool {
        matches!(
            self,
            Unit::PerSecond
                | Unit::BytesPerSecond
                | Unit::MillisecondsPerSecond
                | Unit::MicrosecondsPerSecond
        )
    }

    /// Time in µs per second that a value of one stands for; `None` for units other than time. A
    /// percent is of one CPU.
    pub const fn spent_us_per_s(self) -> Option<f64> {
        match self {
            Unit::Percent => Some(1e4),
            Unit::MillisecondsPerSecond => Some(1e3),
            Unit::MicrosecondsPerSecond => Some(1.0),
            _ => None,
        }
    }
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(word: &str) -> Result<Unit, String> {
        let found = Unit::ALL.into_iter().find(|unit| unit.word() == word);
        found.ok_or_else(|| format!("`{word}` is not a known unit"))
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'a> Deserialize<'a> for Unit {
    fn deserialize<D: Deserializer<'a>>(from: D) -> Result<Unit, D::Error> {
        String::deserialize(from)?.parse().map_err(Error::custom)
    }
}
