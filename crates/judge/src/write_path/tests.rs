//! Chains of runs whose bytes are known beforehand.

use super::LayerName::{
    AllFiles, BinaryLog, DataFiles, Device, DeviceBelow, Doublewrite, Drive, FileSystem, Media,
    MediaCheckpoints, MediaGc, MediaPayload, MediaTables, RedoLog, TemporaryFiles,
};
use super::*;
use assay_study::metrics::Window;

fn trial(figures: &[(&str, f64)]) -> Trial {
    let key = TrialKey { config: "a".into(), workload: "w".into(), threads: 8, repeat: 1 };
    Trial { window: Some(Window { from_s: 5.0, to_s: 25.0 }), ..Trial::done(key, figures) }
}

/// 100 transactions a second: 16 pages of 16 KiB written twice, 4 KB of redo and 1 KB of binary log
/// for each ten.
const SERVER: [(&str, f64); 8] = [
    ("tps", 100.0),
    ("innodb_file_data_write_bytes_per_s", 2_621_440.0),
    ("innodb_pages_written_per_s", 160.0),
    ("innodb_file_doublewrite_write_bytes_per_s", 2_621_440.0),
    ("innodb_file_redo_write_bytes_per_s", 400_000.0),
    ("innodb_fsyncs_redo_per_s", 90.0),
    ("sql_binlog_write_bytes_per_s", 100_000.0),
    ("disk_write_bytes_per_s", 6_000_000.0),
];

/// A drive that shrinks what it is given to 0.6 and writes 0.3 of it again.
const DRIVE_BELOW: [(&str, f64); 6] = [
    ("drive_write_bytes_host_per_s", 6_000_000.0),
    ("drive_write_bytes_media_per_s", 5_400_000.0),
    ("drive_write_bytes_payload_per_s", 3_000_000.0),
    ("drive_write_bytes_table_per_s", 600_000.0),
    ("drive_write_bytes_gc_per_s", 1_740_000.0),
    ("drive_write_bytes_checkpoint_per_s", 60_000.0),
];

fn chain(figures: &[&[(&str, f64)]]) -> WritePath {
    of_trial(&trial(&figures.concat())).unwrap()
}

fn bytes(chain: &WritePath, layer: LayerName) -> Option<f64> {
    chain.layer(layer)?.write_bytes
}

#[test]
fn a_transaction_is_followed_from_pages_to_media() {
    let chain = chain(&[&SERVER, &DRIVE_BELOW]);
    for (layer, expected) in [
        (DataFiles, 26_214.4),
        (Doublewrite, 26_214.4),
        (RedoLog, 4000.0),
        (BinaryLog, 1000.0),
        (AllFiles, 57_428.8),
        (FileSystem, 2571.2),
        (Device, 60_000.0),
        (Drive, 60_000.0),
        (MediaGc, 17_400.0),
        (Media, 54_000.0),
    ] {
        let found = bytes(&chain, layer).unwrap();
        assert!((found - expected).abs() < 1e-6, "{layer:?}: {found}");
    }
    assert_eq!(chain.layer(DataFiles).unwrap().writes, Some(1.6));
    assert_eq!(chain.layer(RedoLog).unwrap().flushes, Some(0.9));
}

/// The first test of a chain: an amplification that is known comes back, whole and in its parts.
#[test]
fn an_amplification_that_is_known_comes_back() {
    for (collection, expected) in [(0.0, 0.61), (1_740_000.0, 0.9), (12_000_000.0, 2.61)] {
        let mut drive = DRIVE_BELOW;
        drive[1].1 = expected * 6e6;
        drive[4].1 = collection;
        let chain = chain(&[&SERVER, &drive]);
        let found = chain.amplified(Drive, Media).unwrap();
        assert!((found / expected - 1.0).abs() < 0.03, "{found} for {expected}");
        let parts: f64 = [MediaPayload, MediaTables, MediaGc, MediaCheckpoints]
            .into_iter()
            .map(|part| chain.amplified(Drive, part).unwrap())
            .sum();
        assert!((parts / expected - 1.0).abs() < 0.03, "{parts} for {expected}");
        assert!(chain.checks.iter().all(|check| check.holds), "{:?}", chain.checks);
    }
    let chain = chain(&[&SERVER, &DRIVE_BELOW]);
    let whole = chain.amplified(DataFiles, Media).unwrap();
    assert!((whole - 5_400_000.0 / 2_621_440.0).abs() < 1e-9);
}

#[test]
fn a_count_that_is_four_percent_off_is_found() {
    let mut drive = DRIVE_BELOW;
    drive[1].1 *= 1.04;
    let chain = chain(&[&SERVER, &drive]);
    let failing: Vec<_> = chain.checks.iter().filter(|check| !check.holds).collect();
    assert_eq!(failing.len(), 1);
    assert!(matches!(failing[0].sides, reconcile::Sides::Media { .. }), "{failing:?}");
}

#[test]
fn what_nobody_counted_is_absent_and_never_zero() {
    let plain = chain(&[&SERVER]);
    for layer in [Drive, Media, MediaPayload, DeviceBelow, TemporaryFiles] {
        assert_eq!(plain.layer(layer), None, "{layer:?}");
    }
    let pages = plain.layer(DataFiles).unwrap();
    assert_eq!((pages.read_bytes, pages.flushes), (None, None));
    assert_eq!(plain.amplified(Drive, Media), None);
    // Without the redo log's bytes nothing is said of all files, nor of the file system.
    let some: Vec<_> = SERVER.into_iter().filter(|(name, _)| !name.contains("redo")).collect();
    let blind = chain(&[&some]);
    assert_eq!((bytes(&blind, AllFiles), bytes(&blind, FileSystem)), (None, None));
    assert_eq!(bytes(&blind, Device), Some(60_000.0));
    // What was counted and did not happen is zero.
    let still = chain(&[&SERVER, &[("innodb_file_temp_write_bytes_per_s", 0.0)]]);
    assert_eq!(bytes(&still, TemporaryFiles), Some(0.0));
}

#[test]
fn a_model_without_a_drive_inside_has_no_media_and_none_has_a_device_below() {
    let below = ("backing_write_bytes_per_s", 7e6);
    assert!(chain(&[&SERVER, &[below]]).layer(DeviceBelow).is_some());
    let disks = [below, ("model_commands_per_s", 50.0), ("drive_write_bytes_host_per_s", 0.0)];
    let chain = chain(&[&SERVER, &disks]);
    assert_eq!((chain.layer(Drive), chain.layer(DeviceBelow)), (None, None));
}

#[test]
fn time_is_of_a_transaction_and_space_of_a_byte_above() {
    let figures = [
        ("service_ms_mean", 80.0),
        ("server_cpu_percent", 50.0),
        ("disk_reads_per_s", 300.0),
        ("disk_read_latency_ms", 2.0),
        ("disk_writes_per_s", 10.0),
        ("innodb_file_redo_wait_us_per_s", 400_000.0),
        ("space_file_bytes", 2e9),
        ("space_physical_bytes", 1e9),
    ];
    let chain = chain(&[&SERVER, &figures]);
    let spent: BTreeMap<Activity, f64> = chain.spent.iter().map(|one| (one.what, one.us)).collect();
    let expected = [
        (Activity::Transaction, 80_000.0),
        (Activity::ServerCpu, 5000.0),
        (Activity::DeviceReads, 6000.0),
        (Activity::RedoLogWaits, 4000.0),
    ];
    assert_eq!(spent, expected.into(), "writes have no latency, so nothing is said of them");
    let space = |figures: &[(&str, f64)]| {
        let chain = super::tests::chain(&[&SERVER, figures]);
        chain.space.iter().map(|one| (one.layer, one.per_byte_above)).collect::<Vec<_>>()
    };
    assert_eq!(space(&figures), [(Held::DataFiles, None), (Held::Media, Some(0.5))]);
    let mut preconditioned = figures.to_vec();
    preconditioned.extend([("drive_logical_bytes_used", 4e9), ("model_commands_per_s", 1.0)]);
    let expected = [(Held::DataFiles, None), (Held::OnDrive, None), (Held::Media, Some(0.25))];
    assert_eq!(space(&preconditioned), expected, "what wore a model in is no data of its files");
}

#[test]
fn trials_that_failed_or_did_nothing_have_no_write_path() {
    assert_eq!(of_trial(&trial(&[])), None);
    assert_eq!(of_trial(&trial(&[("tps", 0.0)])), None);
    assert_eq!(of_trial(&Trial { state: RunState::Failed, ..trial(&SERVER) }), None);
}
