//! Published figures that agree and that do not, and runs made to do either.

use std::collections::BTreeMap;

use super::*;
use assay_study::{Config, DiskRecord, Media, RigRecord};

fn holds(check: Option<CrossCheck>) -> bool {
    check.unwrap().holds
}

/// STEC's white paper of 2013, Chart 1: 20 threads, 27 and 251 transactions/s (27.2 and 250.6 from
/// 10⁶ in 612 and 66.5 minutes), 735 and 79.8 ms, 517 and 4760 requests/s.
#[test]
fn the_rates_of_stecs_paper_agree_with_each_other() {
    assert!(holds(little(20.0, 1e6 / (612.0 * 60.0), 735.0, 0.01)));
    assert!(holds(little(20.0, 1e6 / (66.5 * 60.0), 79.8, 0.01)));
    assert!(holds(recipe(517.0 / 27.2, 19.0, 0.01)) && holds(recipe(4760.0 / 250.6, 19.0, 0.01)));
    assert!(holds(markov(0.95, 1168.0, 735.0, 0.0)) && holds(markov(0.95, 153.0, 79.8, 0.0)));
    // Negative controls: the other run's latency, another recipe's queries.
    assert!(!holds(little(20.0, 27.2, 79.8, 0.05)));
    assert!(!holds(recipe(517.0 / 27.2, 20.0, 0.01)));
}

/// Percona's report on eXFlash, 2015: response times that cannot be means.
#[test]
fn latencies_that_are_no_means_break_littles_law() {
    let check = little(128.0, 7140.0, 28.8, 0.05).unwrap();
    assert!(!check.holds);
    assert_eq!(check.sides, Sides::Little { busy: 7140.0 * 28.8 / 1000.0, threads: 128.0 });
    assert!(!holds(little(256.0, 2187.0, 305.0, 0.05)));
}

#[test]
fn percentiles_above_markovs_bound_or_the_longest_are_found() {
    assert!(holds(markov(0.99, 999.0, 10.0, 0.0)));
    assert!(!holds(markov(0.99, 1001.0, 10.0, 0.0)));
    assert!(holds(ascending(&[("p50", 1.0), ("p99", 4.0), ("max", 4.0)], 0.0)));
    let check = ascending(&[("p50", 1.0), ("p99", 4.2), ("max", 4.0)], 0.005).unwrap();
    assert!(!check.holds);
    let percentiles = [("p50", 1.0), ("p99", 4.2), ("max", 4.0)];
    let percentiles = percentiles.map(|(name, value)| (name.to_owned(), value));
    assert_eq!(check.sides, Sides::Ascending(percentiles.into()));
}

#[test]
fn rates_are_held_against_what_was_asked_for() {
    assert!(holds(rate(97.0, 100.0, 10_000.0, 0.02)), "three in a hundred are chance");
    assert!(!holds(rate(90.0, 100.0, 10_000.0, 0.02)));
}

#[test]
fn what_a_device_wrote_is_what_files_and_flushes_explain() {
    let wrote = |share: f64| holds(file_bytes(share * 40e6, 40e6, 0.0));
    assert!(wrote(1.0) && wrote(0.9) && wrote(1.3));
    assert!(!wrote(0.8), "less than was written to files");
    assert!(!wrote(1.4), "more than metadata explain");
    assert!(holds(file_bytes(60e6, 40e6, 1000.0)), "flushes explain the rest");
    assert_eq!(file_bytes(0.0, 10.0, 0.0), None, "too little to say anything");
}

#[test]
fn what_is_not_known_checks_nothing() {
    assert_eq!(little(20.0, f64::NAN, 735.0, 0.05), None);
    assert_eq!(of_results(&BTreeMap::new(), 8), Vec::new());
}

fn results(figures: &[(&str, f64)]) -> BTreeMap<String, f64> {
    figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

/// Checks that fail.
fn failing(figures: &[(&str, f64)]) -> Vec<Sides> {
    let checks = of_results(&results(figures), 8);
    checks.into_iter().filter(|check| !check.holds).map(|check| check.sides).collect()
}

#[test]
fn a_trial_is_held_to_littles_law_in_closed_loop_alone() {
    let trial = |tps: f64| [("tps", tps), ("latency_ms_mean", 10.0), ("transactions", tps * 10.0)];
    assert!(failing(&trial(790.0)).is_empty());
    assert_eq!(failing(&trial(700.0)), [Sides::Little { busy: 7.0, threads: 8.0 }]);
    let open = [&trial(700.0)[..], &[("target_rate", 700.0)]].concat();
    assert!(failing(&open).is_empty());
    let missed = [&trial(700.0)[..], &[("target_rate", 800.0)]].concat();
    assert_eq!(failing(&missed), [Sides::Rate { achieved: 700.0, target: 800.0 }]);
}

#[test]
fn a_device_writes_what_files_and_flushes_explain() {
    let written = |device: f64, fsyncs: f64, binlog: Option<f64>| {
        let mut figures = vec![
            ("innodb_file_data_write_bytes_per_s", 3e6),
            ("innodb_file_redo_write_bytes_per_s", 1e6),
            ("innodb_file_doublewrite_write_bytes_per_s", 0.0),
            ("disk_write_bytes_per_s", device),
            ("innodb_fsyncs_per_s", fsyncs),
        ];
        figures.extend(binlog.map(|bytes| ("sql_binlog_write_bytes_per_s", bytes)));
        let found = of_results(&results(&figures), 8);
        found.into_iter().find(|check| !check.holds).map(|check| match check.sides {
            Sides::Device(device) => device,
            other => panic!("{other:?}"),
        })
    };
    // A journal commit for each of 200 fsyncs, as measured.
    assert_eq!(written(4e6 + 200.0 * 25.7e3, 200.0, None), None);
    let device = written(4e6 + 200.0 * 25.7e3, 10.0, None).unwrap();
    assert!(device.written == 9.14e6 && device.written > device.most, "{device:?}");
    assert_eq!(written(7e6, 10.0, Some(1.5e6)), None);
    assert!(written(7e6, 10.0, None).is_some(), "the binary log explains it");
    let device = written(3e6, 200.0, Some(1.5e6)).unwrap();
    assert!(device.written < device.least, "{device:?}");
}

#[test]
fn a_drive_agrees_with_its_device_and_its_parts_with_the_whole() {
    let drive = |told: f64, checkpoint: f64| {
        [
            ("drive_write_bytes_host_per_s", told),
            ("disk_write_bytes_per_s", 10e6),
            ("drive_write_bytes_media_per_s", 6e6),
            ("drive_write_bytes_payload_per_s", 4e6),
            ("drive_write_bytes_table_per_s", 1e6),
            ("drive_write_bytes_gc_per_s", 0.5e6),
            ("drive_write_bytes_checkpoint_per_s", checkpoint),
        ]
    };
    assert!(failing(&drive(10.4e6, 0.5e6)).is_empty());
    assert_eq!(failing(&drive(7e6, 0.5e6)), [Sides::Drive { taken: 7e6, written: 10e6 }]);
    assert!(failing(&drive(0.0, 0.5e6)).is_empty(), "there is none");
    assert_eq!(failing(&drive(10.4e6, 0.9e6)), [Sides::Media { whole: 6e6, parts: 6.4e6 }]);
}

#[test]
fn a_trials_percentiles_are_checked_on_both_clocks() {
    let clock = |clock: &str, p99: f64| {
        let named = |name: &str| format!("{clock}_ms_{name}");
        let figures = [
            ("mean", 2.0),
            ("p50", 1.5),
            ("p95", 4.0),
            ("p99", p99),
            ("p999", 80.0),
            ("max", 90.0),
        ];
        let results: BTreeMap<String, f64> =
            figures.into_iter().map(|(name, value)| (named(name), value)).collect();
        of_results(&results, 8).into_iter().filter(|check| !check.holds).count()
    };
    for name in ["latency", "service"] {
        assert_eq!((clock(name, 9.0), clock(name, 70.0)), (0, 0));
        assert_eq!(clock(name, 85.0), 1, "above p99.9");
        assert_eq!(clock(name, 250.0), 2, "above p99.9 and above 100 × the mean");
    }
}

#[test]
fn factors_between_configs_are_named_once_each() {
    let config = |path: &str, settings: &[(&str, &str)]| Config {
        name: path.into(),
        rig: RigRecord {
            disk: Some(DiskRecord {
                media: Media::Device { path: path.into() },
                ..DiskRecord::default()
            }),
            server: "9.7.0".into(),
            ..RigRecord::default()
        },
        settings: settings.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
    };
    let on = config("/dev/plain", &[("innodb_doublewrite", "ON")]);
    let off = config("/dev/plain", &[("innodb_doublewrite", "OFF")]);
    let drive = config("/dev/drive", &[("innodb_doublewrite", "OFF"), ("sync_binlog", "0")]);
    assert!(super::factors::factors(&on, &on).is_empty());
    assert_eq!(super::factors::factors(&on, &off), ["innodb_doublewrite"]);
    assert_eq!(super::factors::factors(&on, &drive), ["disk", "innodb_doublewrite", "sync_binlog"]);
}
