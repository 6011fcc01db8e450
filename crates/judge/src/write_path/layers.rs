//! Bytes and operations of a transaction at each layer, and the factors between layers.

use serde::Serialize;

use super::Results;
use assay_study::metrics::{MetricEntry, metric};

/// A layer that bytes go through, or a part of what it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerName {
    /// InnoDB's pages.
    DataFiles,
    /// Their second copies.
    Doublewrite,
    /// InnoDB's log.
    RedoLog,
    /// The server's log.
    BinaryLog,
    /// Temporary files, which neither keeps.
    TemporaryFiles,
    /// All of those together.
    AllFiles,
    /// Bytes that the file system adds or holds back.
    FileSystem,
    /// The block device under it.
    Device,
    /// The software drive, or the drive inside of a model.
    Drive,
    /// Part of the media writes: compressed data.
    MediaPayload,
    /// headers, tables and padding around them,
    MediaTables,
    /// what is moved to make room,
    MediaGc,
    /// and the map.
    MediaCheckpoints,
    /// All that it writes.
    Media,
    /// The device that the drive's media lie on.
    DeviceBelow,
}

/// Bytes per transaction at one layer. `None`: unknown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransactionLayer {
    /// Which.
    #[serde(skip)]
    pub name: LayerName,
    /// Bytes written for each transaction. Of the file system: what the device wrote beyond what
    /// the files explain; below zero where less reached it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_bytes: Option<f64>,
    /// Write operations for each transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<f64>,
    /// Bytes read for each transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<f64>,
    /// Read operations for each transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<f64>,
    /// Flushes for each transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flushes: Option<f64>,
}

/// Bytes written at one layer for each byte written at another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Boundary {
    /// The layer above.
    pub from: LayerName,
    /// The layer below, or a part of what it wrote.
    pub to: LayerName,
    /// Bytes below for each byte above.
    pub factor: f64,
}

/// Parts of what a drive writes to its media.
const PARTS: [(LayerName, &MetricEntry); 4] = [
    (LayerName::MediaPayload, metric!("drive_write_bytes_payload_per_s")),
    (LayerName::MediaTables, metric!("drive_write_bytes_table_per_s")),
    (LayerName::MediaGc, metric!("drive_write_bytes_gc_per_s")),
    (LayerName::MediaCheckpoints, metric!("drive_write_bytes_checkpoint_per_s")),
];

/// The counters of a layer, as far as there are any.
#[derive(Debug, Clone, Copy)]
struct Counters {
    write_bytes: &'static MetricEntry,
    writes: Option<&'static MetricEntry>,
    read_bytes: Option<&'static MetricEntry>,
    reads: Option<&'static MetricEntry>,
    flushes: Option<&'static MetricEntry>,
}

const fn bytes_alone(write_bytes: &'static MetricEntry) -> Counters {
    Counters { write_bytes, writes: None, read_bytes: None, reads: None, flushes: None }
}

/// The server's writes by kind of file. Pages are InnoDB's; the doublewrite buffer, which writes
/// them again, is a layer of its own.
const FILE_KINDS: [(LayerName, Counters); 5] = [
    (
        LayerName::DataFiles,
        Counters {
            write_bytes: metric!("innodb_file_data_write_bytes_per_s"),
            writes: Some(metric!("innodb_pages_written_per_s")),
            read_bytes: Some(metric!("innodb_file_data_read_bytes_per_s")),
            reads: Some(metric!("innodb_pages_read_per_s")),
            flushes: Some(metric!("innodb_fsyncs_data_per_s")),
        },
    ),
    (
        LayerName::Doublewrite,
        Counters {
            writes: Some(metric!("innodb_doublewrite_writes_per_s")),
            flushes: Some(metric!("innodb_fsyncs_doublewrite_per_s")),
            ..bytes_alone(metric!("innodb_file_doublewrite_write_bytes_per_s"))
        },
    ),
    (
        LayerName::RedoLog,
        Counters {
            writes: Some(metric!("innodb_redo_writes_per_s")),
            flushes: Some(metric!("innodb_fsyncs_redo_per_s")),
            ..bytes_alone(metric!("innodb_file_redo_write_bytes_per_s"))
        },
    ),
    (
        LayerName::BinaryLog,
        Counters {
            flushes: Some(metric!("sql_binlog_fsyncs_per_s")),
            ..bytes_alone(metric!("sql_binlog_write_bytes_per_s"))
        },
    ),
    (LayerName::TemporaryFiles, bytes_alone(metric!("innodb_file_temp_write_bytes_per_s"))),
];

const DEVICE_COUNTERS: Counters = Counters {
    write_bytes: metric!("disk_write_bytes_per_s"),
    writes: Some(metric!("disk_writes_per_s")),
    read_bytes: Some(metric!("disk_read_bytes_per_s")),
    reads: Some(metric!("disk_reads_per_s")),
    flushes: Some(metric!("disk_flushes_per_s")),
};
const DRIVE_COUNTERS: Counters = Counters {
    write_bytes: metric!("drive_write_bytes_host_per_s"),
    writes: Some(metric!("drive_writes_host_per_s")),
    read_bytes: Some(metric!("drive_read_bytes_host_per_s")),
    reads: None,
    flushes: Some(metric!("drive_flushes_per_s")),
};
const MEDIA_COUNTERS: Counters = Counters {
    write_bytes: metric!("drive_write_bytes_media_per_s"),
    writes: Some(metric!("drive_writes_media_per_s")),
    read_bytes: Some(metric!("drive_read_bytes_media_per_s")),
    reads: Some(metric!("drive_reads_media_per_s")),
    flushes: Some(metric!("drive_flushes_media_per_s")),
};
const BELOW_COUNTERS: Counters = Counters {
    write_bytes: metric!("backing_write_bytes_per_s"),
    writes: Some(metric!("backing_writes_per_s")),
    read_bytes: Some(metric!("backing_read_bytes_per_s")),
    reads: Some(metric!("backing_reads_per_s")),
    flushes: Some(metric!("backing_flushes_per_s")),
};

/// Every layer that something is known of.
pub(super) fn of_results(results: &Results, tps: f64) -> Vec<TransactionLayer> {
    let read = |name: LayerName, counters| TransactionLayer::read(results, tps, name, counters);
    let mut layers: Vec<TransactionLayer> =
        FILE_KINDS.into_iter().map(|(name, counters)| read(name, counters)).collect();
    let files = all_files(&layers);
    let device = read(LayerName::Device, DEVICE_COUNTERS);
    let file_system = device.write_bytes.zip(files.write_bytes);
    layers.push(files);
    layers.push(TransactionLayer::written(
        LayerName::FileSystem,
        file_system.map(|(device, files)| device - files),
    ));
    layers.push(device);
    // The model of a device that stores where it is addressed has no drive inside, whose counts
    // stand still.
    if results.get(DRIVE_COUNTERS.write_bytes.name).is_some_and(|bytes| *bytes > 0.0) {
        layers.push(read(LayerName::Drive, DRIVE_COUNTERS));
        layers.extend(PARTS.into_iter().map(|(name, of)| {
            TransactionLayer::written(name, results.get(of.name).map(|bytes| bytes / tps))
        }));
        layers.push(read(LayerName::Media, MEDIA_COUNTERS));
    }
    // A model lies in the page cache and is never synced: what reaches the disk below it is chance.
    if !results.contains_key(metric!("model_commands_per_s").name) {
        layers.push(read(LayerName::DeviceBelow, BELOW_COUNTERS));
    }
    layers.retain(TransactionLayer::is_known);
    layers
}

impl TransactionLayer {
    fn read(results: &Results, tps: f64, name: LayerName, counters: Counters) -> TransactionLayer {
        let figure = |metric: &MetricEntry| Some(results.get(metric.name)? / tps);
        TransactionLayer {
            name,
            write_bytes: figure(counters.write_bytes),
            writes: counters.writes.and_then(figure),
            read_bytes: counters.read_bytes.and_then(figure),
            reads: counters.reads.and_then(figure),
            flushes: counters.flushes.and_then(figure),
        }
    }

    /// One of which nothing is counted but bytes written.
    fn written(name: LayerName, write_bytes: Option<f64>) -> TransactionLayer {
        TransactionLayer {
            name,
            write_bytes,
            writes: None,
            read_bytes: None,
            reads: None,
            flushes: None,
        }
    }

    fn is_known(&self) -> bool {
        [self.write_bytes, self.writes, self.read_bytes, self.reads, self.flushes]
            .iter()
            .any(Option::is_some)
    }
}

/// Pages, their second copies and the redo log, which must be known, and of the others what is.
fn all_files(kinds: &[TransactionLayer]) -> TransactionLayer {
    let of = |name: LayerName| kinds.iter().find(|kind| kind.name == name);
    let bytes = |name: LayerName| of(name).and_then(|kind| kind.write_bytes);
    let of_innodb = [LayerName::DataFiles, LayerName::Doublewrite, LayerName::RedoLog]
        .map(bytes)
        .into_iter()
        .sum::<Option<f64>>();
    let beside: f64 =
        [LayerName::BinaryLog, LayerName::TemporaryFiles].into_iter().filter_map(bytes).sum();
    TransactionLayer::written(LayerName::AllFiles, of_innodb.map(|bytes| bytes + beside))
}

/// Factors between layers that are known, and above zero where it is divided by them.
pub(super) fn boundaries(layers: &[TransactionLayer]) -> Vec<Boundary> {
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
