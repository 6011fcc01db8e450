//! Bytes and operations of a transaction at each layer, and the factors between layers.

use serde::Serialize;

use super::Results;

/// A layer that bytes go through, or a part of what it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LayerName {
    /// InnoDB's pages.
    DataFiles,
    /// Their second copies.
    Doublewrite,
    /// InnoDB's log.
    RedoLog,
    /// The server's log.
    BinaryLog,
    /// What neither keeps.
    TemporaryFiles,
    /// All of those together.
    AllFiles,
    /// What the file system adds or keeps back.
    FileSystem,
    /// The block device under it.
    Device,
    /// The software drive, or the drive inside of a model.
    Drive,
    /// Of what that writes: compressed data,
    MediaPayload,
    /// headers, tables and padding around them,
    MediaTables,
    /// what is moved to make room,
    MediaCollection,
    /// and the map.
    MediaCheckpoints,
    /// All that it writes.
    Media,
    /// The device that the drive's media lie on.
    DeviceBelow,
}

/// What a transaction was at one layer. Absent is not known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Layer {
    /// Which.
    #[serde(skip)]
    pub(crate) name: LayerName,
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Boundary {
    /// The layer above.
    pub(crate) from: LayerName,
    /// The layer below, or a part of what it wrote.
    pub(crate) to: LayerName,
    /// Bytes below for each byte above.
    pub(crate) factor: f64,
}

/// Parts of what a drive writes to its media, by the middle of their results' names.
const PARTS: [(LayerName, &str); 4] = [
    (LayerName::MediaPayload, "payload"),
    (LayerName::MediaTables, "table"),
    (LayerName::MediaCollection, "collection"),
    (LayerName::MediaCheckpoints, "checkpoint"),
];

/// Series of the counters of a layer, without `_per_s`: bytes written, writes, bytes read, reads, flushes.
type Names = [&'static str; 5];

/// What the server writes, by kind of file. Pages are InnoDB's; that a doublewrite buffer writes them again is its own layer.
const FILE_KINDS: [(LayerName, Names); 5] = [
    (
        LayerName::DataFiles,
        [
            "innodb_file_data_write_bytes",
            "innodb_pages_written",
            "innodb_file_data_read_bytes",
            "innodb_pages_read",
            "innodb_fsyncs_data",
        ],
    ),
    (
        LayerName::Doublewrite,
        [
            "innodb_file_doublewrite_write_bytes",
            "innodb_doublewrite_writes",
            "",
            "",
            "innodb_fsyncs_doublewrite",
        ],
    ),
    (
        LayerName::RedoLog,
        ["innodb_file_redo_write_bytes", "innodb_redo_writes", "", "", "innodb_fsyncs_redo"],
    ),
    (LayerName::BinaryLog, ["sql_binlog_write_bytes", "", "", "", "sql_binlog_fsyncs"]),
    (LayerName::TemporaryFiles, ["innodb_file_temp_write_bytes", "", "", "", ""]),
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
    let read = |name: LayerName, names: Names| Layer::read(results, tps, name, names);
    let mut layers: Vec<Layer> =
        FILE_KINDS.into_iter().map(|(name, names)| read(name, names)).collect();
    let files = all_files(&layers);
    let device = read(LayerName::Device, DEVICE_NAMES);
    let file_system = device.write_bytes.zip(files.write_bytes);
    layers.push(files);
    layers.push(Layer::written(
        LayerName::FileSystem,
        file_system.map(|(device, files)| device - files),
    ));
    layers.push(device);
    // The model of a device that stores where it is addressed has no drive inside, whose counts stand still.
    if results.get("drive_write_bytes_host_per_s").is_some_and(|bytes| *bytes > 0.0) {
        layers.push(read(LayerName::Drive, DRIVE_NAMES));
        let part = |part| format!("drive_write_bytes_{part}_per_s");
        layers.extend(PARTS.into_iter().map(|(name, of)| {
            Layer::written(name, results.get(&part(of)).map(|bytes| bytes / tps))
        }));
        layers.push(read(LayerName::Media, MEDIA_NAMES));
    }
    // A model lies in the page cache and is never synced: what reaches the disk below it is chance.
    if !results.contains_key("model_commands_per_s") {
        layers.push(read(LayerName::DeviceBelow, BELOW_NAMES));
    }
    layers.retain(Layer::is_known);
    layers
}

impl Layer {
    fn read(results: &Results, tps: f64, name: LayerName, names: Names) -> Layer {
        let figure = |series: &str| Some(results.get(&format!("{series}_per_s"))? / tps);
        let [write_bytes, writes, read_bytes, reads, flushes] = names.map(figure);
        Layer { name, write_bytes, writes, read_bytes, reads, flushes }
    }

    /// One of which nothing is counted but bytes written.
    fn written(name: LayerName, write_bytes: Option<f64>) -> Layer {
        Layer { name, write_bytes, writes: None, read_bytes: None, reads: None, flushes: None }
    }

    fn is_known(&self) -> bool {
        [self.write_bytes, self.writes, self.read_bytes, self.reads, self.flushes]
            .iter()
            .any(Option::is_some)
    }
}

/// Pages, their second copies and the redo log, which must be known, and of the others what is.
fn all_files(kinds: &[Layer]) -> Layer {
    let of = |name: LayerName| kinds.iter().find(|kind| kind.name == name);
    let bytes = |name: LayerName| of(name).and_then(|kind| kind.write_bytes);
    let of_innodb = [LayerName::DataFiles, LayerName::Doublewrite, LayerName::RedoLog]
        .map(bytes)
        .into_iter()
        .sum::<Option<f64>>();
    let beside: f64 =
        [LayerName::BinaryLog, LayerName::TemporaryFiles].into_iter().filter_map(bytes).sum();
    Layer::written(LayerName::AllFiles, of_innodb.map(|bytes| bytes + beside))
}

/// Factors between layers that are known, and above zero where it is divided by them.
pub(super) fn boundaries(layers: &[Layer]) -> Vec<Boundary> {
    let bytes = |name: LayerName| layers.iter().find(|layer| layer.name == name)?.write_bytes;
    let chain = [
        (LayerName::DataFiles, LayerName::AllFiles),
        (LayerName::AllFiles, LayerName::Device),
        (LayerName::Device, LayerName::Drive),
        (LayerName::Drive, LayerName::Media),
    ];
    let parts = PARTS.map(|(part, _)| (LayerName::Drive, part));
    let whole =
        [(LayerName::DataFiles, LayerName::Device), (LayerName::DataFiles, LayerName::Media)];
    let factor = |(from, to): (LayerName, LayerName)| {
        let (above, below) = (bytes(from).filter(|above| *above > 0.0)?, bytes(to)?);
        Some(Boundary { from, to, factor: below / above })
    };
    chain.into_iter().chain(parts).chain(whole).filter_map(factor).collect()
}
