//! Bytes and operations of a transaction at each layer, and the factors between layers.

use serde::Serialize;

use super::Results;

/// What a transaction was at one layer. Absent is not known.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Layer {
    /// Which.
    pub(crate) name: &'static str,
    /// Bytes written for each transaction. Of the file system: what the device wrote beyond what the files explain; below zero
    /// where less reached it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) write_bytes: Option<f64>,
    /// Write operations for each transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) writes: Option<f64>,
    /// Bytes read for each transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) read_bytes: Option<f64>,
    /// Read operations for each transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reads: Option<f64>,
    /// Flushes for each transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) flushes: Option<f64>,
}

/// Bytes written at one layer for each byte written at another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Boundary {
    /// The layer above.
    pub(crate) from: &'static str,
    /// The layer below, or a part of what it wrote.
    pub(crate) to: &'static str,
    /// Bytes below for each byte above.
    pub(crate) factor: f64,
}

pub(super) const PAGES: &str = "data files";
pub(super) const DOUBLEWRITE: &str = "doublewrite";
pub(super) const REDO: &str = "redo log";
pub(super) const BINARY_LOG: &str = "binary log";
const TEMPORARY: &str = "temporary files";
pub(super) const FILES: &str = "all files";
pub(super) const FILE_SYSTEM: &str = "file system";
pub(super) const DEVICE: &str = "device";
pub(super) const DRIVE: &str = "drive";
pub(super) const MEDIA: &str = "media";
const BELOW: &str = "device below";

/// Parts of what a drive writes to its media.
const PARTS: [(&str, &str); 4] = [
    ("media: payload", "payload"),
    ("media: tables", "table"),
    ("media: collection", "collection"),
    ("media: checkpoints", "checkpoint"),
];

/// Series of the counters of a layer, without `_per_s`: bytes written, writes, bytes read, reads, flushes.
type Names = [&'static str; 5];

/// What the server writes, by kind of file. Pages are InnoDB's; that a doublewrite buffer writes them again is its own layer.
const FILE_KINDS: [(&str, Names); 5] = [
    (
        PAGES,
        [
            "innodb_file_data_write_bytes",
            "innodb_pages_written",
            "innodb_file_data_read_bytes",
            "innodb_pages_read",
            "innodb_fsyncs_data",
        ],
    ),
    (
        DOUBLEWRITE,
        [
            "innodb_file_doublewrite_write_bytes",
            "innodb_doublewrite_writes",
            "",
            "",
            "innodb_fsyncs_doublewrite",
        ],
    ),
    (REDO, ["innodb_file_redo_write_bytes", "innodb_redo_writes", "", "", "innodb_fsyncs_redo"]),
    (BINARY_LOG, ["sql_binlog_write_bytes", "", "", "", "sql_binlog_fsyncs"]),
    (TEMPORARY, ["innodb_file_temp_write_bytes", "", "", "", ""]),
];

const DEVICE_NAMES: Names =
    ["disk_write_bytes", "disk_writes", "disk_read_bytes", "disk_reads", "disk_flushes"];
const DRIVE_NAMES: Names =
    ["drive_write_bytes_host", "drive_writes_host", "drive_read_bytes_host", "", "drive_flushes"];
const MEDIA_NAMES: Names = [
    "drive_write_bytes_media",
    "drive_writes_media",
    "drive_read_bytes_media",
    "drive_reads_media",
    "drive_flushes_media",
];
const BELOW_NAMES: Names = [
    "backing_write_bytes",
    "backing_writes",
    "backing_read_bytes",
    "backing_reads",
    "backing_flushes",
];

/// Every layer that something is known of.
pub(super) fn of_results(results: &Results, tps: f64) -> Vec<Layer> {
    let read = |name: &'static str, names: Names| Layer::read(results, tps, name, names);
    let mut layers: Vec<Layer> =
        FILE_KINDS.into_iter().map(|(name, names)| read(name, names)).collect();
    let files = all_files(&layers);
    let device = read(DEVICE, DEVICE_NAMES);
    let file_system = device.write_bytes.zip(files.write_bytes);
    layers.push(files);
    layers.push(Layer {
        name: FILE_SYSTEM,
        write_bytes: file_system.map(|(device, files)| device - files),
        ..Layer::default()
    });
    layers.push(device);
    // The model of a device that stores where it is addressed has no drive inside, whose counts stand still.
    if results.get("drive_write_bytes_host_per_s").is_some_and(|bytes| *bytes > 0.0) {
        layers.push(read(DRIVE, DRIVE_NAMES));
        let part = |part| format!("drive_write_bytes_{part}_per_s");
        layers.extend(PARTS.into_iter().map(|(name, of)| Layer {
            name,
            write_bytes: results.get(&part(of)).map(|bytes| bytes / tps),
            ..Layer::default()
        }));
        layers.push(read(MEDIA, MEDIA_NAMES));
    }
    // A model lies in the page cache and is never synced: what reaches the disk below it is chance.
    if !results.contains_key("model_commands_per_s") {
        layers.push(read(BELOW, BELOW_NAMES));
    }
    layers.retain(Layer::is_known);
    layers
}

impl Layer {
    fn read(results: &Results, tps: f64, name: &'static str, names: Names) -> Layer {
        let figure = |series: &str| Some(results.get(&format!("{series}_per_s"))? / tps);
        let [write_bytes, writes, read_bytes, reads, flushes] = names.map(figure);
        Layer { name, write_bytes, writes, read_bytes, reads, flushes }
    }

    fn is_known(&self) -> bool {
        [self.write_bytes, self.writes, self.read_bytes, self.reads, self.flushes]
            .iter()
            .any(Option::is_some)
    }
}

/// Pages, their second copies and the redo log, which must be known, and of the others what is.
fn all_files(kinds: &[Layer]) -> Layer {
    let of = |name: &str| kinds.iter().find(|kind| kind.name == name);
    let bytes = |name: &str| of(name).and_then(|kind| kind.write_bytes);
    let of_innodb = [PAGES, DOUBLEWRITE, REDO].map(bytes).into_iter().sum::<Option<f64>>();
    let beside: f64 = [BINARY_LOG, TEMPORARY].into_iter().filter_map(bytes).sum();
    Layer { name: FILES, write_bytes: of_innodb.map(|bytes| bytes + beside), ..Layer::default() }
}

/// Factors between layers that are known, and above zero where it is divided by them.
pub(super) fn boundaries(layers: &[Layer]) -> Vec<Boundary> {
    let bytes = |name: &str| layers.iter().find(|layer| layer.name == name)?.write_bytes;
    let chain = [(PAGES, FILES), (FILES, DEVICE), (DEVICE, DRIVE), (DRIVE, MEDIA)];
    let parts = PARTS.map(|(part, _)| (DRIVE, part));
    let whole = [(PAGES, DEVICE), (PAGES, MEDIA)];
    let factor = |(from, to): (&'static str, &'static str)| {
        let (above, below) = (bytes(from).filter(|above| *above > 0.0)?, bytes(to)?);
        Some(Boundary { from, to, factor: below / above })
    };
    chain.into_iter().chain(parts).chain(whole).filter_map(factor).collect()
}
