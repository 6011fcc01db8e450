//! The write path per transaction: what its layers are called, and the write path as JSON has it.

use serde::Serialize;

use assay_judge::write_path::{Activity, Held, LayerName, TransactionLayer, WritePath};
use assay_study::{Events, TrialKey};

use super::reconcile::CheckView;

/// A layer that bytes go through.
pub fn layer(name: LayerName) -> &'static str {
    match name {
        LayerName::DataFiles => "data files",
        LayerName::Doublewrite => "doublewrite",
        LayerName::RedoLog => "redo log",
        LayerName::BinaryLog => "binary log",
        LayerName::TemporaryFiles => "temporary files",
        LayerName::AllFiles => "all files",
        LayerName::FileSystem => "file system",
        LayerName::Device => "device",
        LayerName::Drive => "drive",
        LayerName::MediaPayload => "media: payload",
        LayerName::MediaTables => "media: tables",
        LayerName::MediaGc => "media: GC",
        LayerName::MediaCheckpoints => "media: checkpoints",
        LayerName::Media => "media",
        LayerName::DeviceBelow => "device below",
    }
}

/// A use of time.
pub fn activity(events: Events, what: Activity) -> &'static str {
    match what {
        Activity::Transaction => events.noun(),
        Activity::ServerCpu => "CPU: server",
        Activity::LoadCpu => "CPU: load",
        Activity::DriveCpu => "CPU: drive",
        Activity::DataFileWaits => "server waits: data files",
        Activity::DoublewriteWaits => "server waits: doublewrite",
        Activity::RedoLogWaits => "server waits: redo log",
        Activity::BinaryLogWaits => "server waits: binary log",
        Activity::RowLockWaits => "server waits: row locks",
        Activity::DeviceReads => "device: reads",
        Activity::DeviceWrites => "device: writes",
        Activity::DeviceFlushes => "device: flushes",
        Activity::ModelledReads => "as modelled: reads",
        Activity::ModelledWrites => "as modelled: writes",
        Activity::ModelledFlushes => "as modelled: flushes",
    }
}

/// Where data are held.
pub fn held(held: Held) -> &'static str {
    match held {
        Held::DataFiles => "data files",
        Held::Allocated => "allocated",
        Held::OnDrive => "on the drive",
        Held::Media => "media",
    }
}

/// One run's write path as JSON has it.
#[derive(Debug, Serialize)]
pub struct WritePathView<'a> {
    #[serde(flatten)]
    key: &'a TrialKey,
    layers: Vec<LayerView<'a>>,
    amplification: Vec<BoundaryView>,
    spent: Vec<SpentView>,
    space: Vec<SpaceView>,
    checks: Vec<CheckView>,
}

#[derive(Debug, Serialize)]
struct LayerView<'a> {
    name: &'static str,
    #[serde(flatten)]
    figures: &'a TransactionLayer,
}

#[derive(Debug, Serialize)]
struct BoundaryView {
    from: &'static str,
    to: &'static str,
    factor: f64,
}

#[derive(Debug, Serialize)]
struct SpentView {
    what: &'static str,
    us: f64,
}

#[derive(Debug, Serialize)]
struct SpaceView {
    layer: &'static str,
    bytes: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_byte_above: Option<f64>,
}

impl<'a> WritePathView<'a> {
    pub fn of(write_path: &'a WritePath) -> WritePathView<'a> {
        let layers = write_path.layers.iter();
        let boundaries = write_path.amplification.iter();
        let spent = write_path.spent.iter();
        let space = write_path.space.iter();
        WritePathView {
            key: &write_path.key,
            layers: layers.map(|one| LayerView { name: layer(one.name), figures: one }).collect(),
            amplification: boundaries
                .map(|one| BoundaryView {
                    from: layer(one.from),
                    to: layer(one.to),
                    factor: one.factor,
                })
                .collect(),
            spent: spent
                .map(|one| SpentView { what: activity(Events::Transactions, one.what), us: one.us })
                .collect(),
            space: space
                .map(|one| SpaceView {
                    layer: held(one.layer),
                    bytes: one.bytes,
                    per_byte_above: one.per_byte_above,
                })
                .collect(),
            checks: write_path.checks.iter().map(CheckView::of).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::testing::key;

    #[test]
    fn what_nobody_counted_has_no_key() {
        let layer = TransactionLayer {
            name: LayerName::DataFiles,
            write_bytes: Some(26_214.4),
            writes: Some(1.6),
            read_bytes: None,
            reads: None,
            flushes: None,
        };
        let write_path = WritePath {
            key: key("a", 1),
            layers: vec![layer],
            amplification: vec![],
            spent: vec![],
            space: vec![],
            checks: vec![],
        };
        let json = serde_json::to_value(WritePathView::of(&write_path)).unwrap();
        assert_eq!(json["config"], "a");
        let expected =
            serde_json::json!({"name": "data files", "write_bytes": 26214.4, "writes": 1.6});
        assert_eq!(json["layers"][0], expected);
    }
}
