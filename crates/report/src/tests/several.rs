//! Tests a study on several servers and on pools: each server's figures, its loss as others join,
//! statements by kind, the pool's own figures, and the limits of a private pool.

use std::collections::BTreeMap;

use super::*;
use assay_base::protection::Protection;
use assay_study::metrics::Window;
use assay_study::{
    Config, DiskRecord, Histogram, Judging, LatencyClock, Media, OfServer, Outcome, Pool,
    PoolCluster, RigRecord, Servers, Timed, TrialKey, WorkloadRecord,
};

fn rig(servers: u32, neighbour: Option<&str>) -> RigRecord {
    let cluster = PoolCluster::Private {
        stores: 3,
        protection: Protection::ErasureCoded { data: 2, coding: 1 },
        compression: None,
        image_iops: Some(500),
        image_bytes_per_s: None,
    };
    let media = Media::Pool(Pool { cluster, bytes: 2 << 30 });
    let several = Servers { count: servers, neighbour: neighbour.map(str::to_owned) };
    RigRecord {
        disk: Some(DiskRecord { media, ..DiskRecord::default() }),
        servers: (servers > 1).then_some(several),
        server: "MySQL 9.7.0".into(),
        ..RigRecord::default()
    }
}

fn outcome(each: &[f64], neighbour: Option<&str>, repeat: u32) -> Outcome {
    let own = &each[..each.len() - usize::from(neighbour.is_some())];
    let total: f64 = own.iter().sum();
    let mean = total / own.len() as f64;
    let mut results: BTreeMap<String, f64> = [
        ("tps", total),
        ("transactions", total * 30.0),
        ("latency_ms_p99", 4.0),
        ("pool_stored_bytes", 3e8),
        ("pool_used_bytes", 4.5e8),
        ("pool_used_ratio", 1.5),
        ("space_tables_file_bytes", 180e6 * each.len() as f64),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let server = |(place, tps): (usize, &f64)| OfServer {
        server: place as u32 + 1,
        neighbour: neighbour.filter(|_| place + 1 == each.len()).map(str::to_owned),
        results: [
            ("tps", *tps + f64::from(repeat)),
            ("latency_ms_p99", 4.0),
            ("space_tables_file_bytes", 180e6),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into(),
    };
    if each.len() > 1 {
        results.insert("servers".into(), own.len() as f64);
        results.insert("tps_of_servers_mean".into(), mean + f64::from(repeat) / 10.0);
        results.insert("fairness_ratio".into(), 0.875);
        results.insert("latency_ms_p99_of_servers_worst".into(), 6.5);
    }
    let histogram = |kind: &str, ms: u64| Histogram {
        kind: Timed::named(kind),
        clock: LatencyClock::Service,
        buckets: vec![(ms * 1_000_000, 2000), (40 * ms * 1_000_000, 20)],
    };
    Outcome {
        window: Some(Window { from_s: 0.0, to_s: 30.0 }),
        results,
        servers: if each.len() > 1 {
            each.iter().enumerate().map(server).collect()
        } else {
            vec![]
        },
        histograms: vec![histogram("read", 2), histogram("update", 3)],
        ..Outcome::default()
    }
}

/// One server, three that share, and two beside a noisy one.
pub(super) fn report_of_servers() -> Report {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(directory.path()).unwrap();
    let configs: Vec<Config> =
        [("one", 1, None), ("three", 3, None), ("noisy", 3, Some("noise <b>"))]
            .map(|(name, servers, neighbour)| Config {
                name: name.into(),
                rig: rig(servers, neighbour),
                settings: BTreeMap::new(),
            })
            .into();
    let workload = WorkloadRecord {
        name: "A".into(),
        data_profile: None,
        workload: "A".into(),
        recipe: "ycsb_a".into(),
        options: BTreeMap::new(),
    };
    let judging = Judging {
        percentiles_by_statement: vec!["read".into(), "update".into()],
        ..Judging::default()
    };
    store
        .write_head(&StudyHead {
            title: "servers",
            configs: &configs,
            workloads: &[workload],
            judging: &judging,
            ..StudyHead::default()
        })
        .unwrap();
    let runs: [(&str, &[f64], Option<&str>); 3] = [
        ("one", &[100.0], None),
        ("three", &[40.0, 50.0, 60.0], None),
        ("noisy", &[30.0, 31.0, 900.0], Some("noise <b>")),
    ];
    for (config, each, neighbour) in runs {
        for repeat in 1..=2 {
            let key = TrialKey { config: config.into(), workload: "A".into(), threads: 4, repeat };
            store.plan_trial(&key, repeat, "f").unwrap();
            store.begin_trial(&key).unwrap();
            store.end_trial(&key, &outcome(each, neighbour, repeat)).unwrap();
        }
    }
    let written = write(&store, directory.path()).unwrap();
    Report { _directory: directory, written }
}

#[test]
fn servers_statements_and_pools_are_told_on_the_page() {
    let page = report_of_servers().html();
    for told in [
        "Pools in this study belong to a private Ceph cluster on the machine that is measured",
        "RBD image of 2G on a private Ceph cluster of 3 stores on this machine: erasure-coded \
        2+1, at most 500 IOPS",
        "3 at once",
        "A, 4 threads each",
        "Each of 3 servers does 50",
        " of what one alone does",
        "1 server 4.00 ms; 3 servers 6.50 ms",
        "server 3, neighbour: noise &lt;b&gt;",
        "read p99, ms",
        "update p99.9, ms",
        "180 MB of data",
        "Pools: what the stores kept, and their state",
        "87.5",
    ] {
        assert!(page.contains(told), "{told}");
    }
    assert!(!page.contains("noise <b>"), "a name is a text");
}
