//! The layers that metrics belong to.

use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Part of the machine at which a metric is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// All CPUs, and the kernel's pressure figures.
    Cpu,
    /// The block device that holds the data's file system.
    Disk,
    /// The block device under the image file, or under the drive's media.
    Backing,
    /// The software drive, by its own counters.
    Drive,
    /// The model of a device, by its own counters.
    Model,
    /// The pool below a server, and the processes of a private cluster.
    Pool,
    /// The process that serves the drive.
    Daemon,
    /// The server's process.
    Server,
    /// The load generator: its counters and its process.
    Load,
    /// The server's statements, threads and network bytes.
    Sql,
    /// The storage engine.
    Innodb,
    /// Files and file system.
    Space,
    /// The cost of monitoring.
    Monitor,
}

impl Layer {
    pub const ALL: [Layer; 13] = [
        Layer::Cpu,
        Layer::Disk,
        Layer::Backing,
        Layer::Drive,
        Layer::Model,
        Layer::Pool,
        Layer::Daemon,
        Layer::Server,
        Layer::Load,
        Layer::Sql,
        Layer::Innodb,
        Layer::Space,
        Layer::Monitor,
    ];

    /// The layer's name in stores and reports, and the prefix of most of its metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Layer::Cpu => "cpu",
            Layer::Disk => "disk",
            Layer::Backing => "backing",
            Layer::Drive => "drive",
            Layer::Model => "model",
            Layer::Pool => "pool",
            Layer::Daemon => "daemon",
            Layer::Server => "server",
            Layer::Load => "load",
            Layer::Sql => "sql",
            Layer::Innodb => "innodb",
            Layer::Space => "space",
            Layer::Monitor => "monitor",
        }
    }
}

impl FromStr for Layer {
    type Err = String;

    fn from_str(word: &str) -> Result<Layer, String> {
        let found = Layer::ALL.into_iter().find(|layer| layer.word() == word);
        found.ok_or_else(|| format!("`{word}` is not a known layer"))
    }
}

impl Serialize for Layer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'a> Deserialize<'a> for Layer {
    fn deserialize<D: Deserializer<'a>>(from: D) -> Result<Layer, D::Error> {
        String::deserialize(from)?.parse().map_err(Error::custom)
    }
}
