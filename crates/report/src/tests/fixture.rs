//! Invented studies that look like real ones, with everything that can go wrong in them.

use std::collections::BTreeMap;

use super::drive;
use assay_study::metrics::{Layer, Unit, Window, find};
use assay_study::{
    Config, DiskRecord, FileSystem, Histogram, LatencyClock, Media, Note, Outcome, RigRecord,
    Series, Store, StudyHead, Timed, TrialKey, Warning, WorkloadRecord,
};

/// A name that closes scripts, opens tags and ends attributes wherever it is not escaped.
pub(super) const HOSTILE: &str = "a</script><b>&\"";

/// Size of an invented study.
pub(super) struct Shape {
    pub(super) configs: Vec<&'static str>,
    pub(super) workloads: Vec<&'static str>,
    pub(super) threads: Vec<u32>,
    pub(super) repeats: u32,
    pub(super) seconds: u32,
    /// Series beyond those that stand in charts.
    pub(super) other_series: u32,
    /// One run failed, one flagged, one without disk series, one not run.
    pub(super) has_trouble: bool,
}

impl Shape {
    /// Three configurations, one with a hostile name, two workloads, three thread counts, two
    /// repeats.
    pub(super) fn small() -> Shape {
        Shape {
            configs: vec!["doublewrite on", "doublewrite off", HOSTILE],
            workloads: vec!["read_write", "write_only"],
            threads: vec![1, 8, 32],
            repeats: 2,
            seconds: 30,
            other_series: 4,
            has_trouble: true,
        }
    }

    /// 200 runs of two minutes with 72 series each.
    pub(super) fn large() -> Shape {
        Shape {
            configs: vec!["csd", "plain", "plain-dw", "zlib", "lz4"],
            workloads: vec!["read_write", "write_only", "read_only", "text"],
            threads: vec![1, 8, 32, 64, 128],
            repeats: 2,
            seconds: 120,
            other_series: 52,
            has_trouble: false,
        }
    }
}

/// Numbers that look random and are the same each time (SplitMix64).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ (bits >> 31)) as f64 / u64::MAX as f64
    }

    /// Around `value`, by up to `part` of it either way.
    fn near(&mut self, value: f64, part: f64) -> f64 {
        value * (1.0 + part * (2.0 * self.next() - 1.0))
    }
}

/// Writes an invented study into `directory`.
pub(super) fn study(directory: &std::path::Path, shape: &Shape) -> Store {
    let mut store = Store::open_or_create(directory).unwrap();
    write_head(&mut store, shape);
    let mut keys = Vec::new();
    for workload in &shape.workloads {
        for &threads in &shape.threads {
            for repeat in 1..=shape.repeats {
                for config in &shape.configs {
                    let (config, workload) = ((*config).into(), (*workload).into());
                    keys.push(TrialKey { config, workload, threads, repeat });
                }
            }
        }
    }
    for (place, key) in keys.iter().enumerate() {
        store.plan_trial(key, place as u32 + 1, "f").unwrap();
    }
    for (place, key) in keys.iter().enumerate() {
        if shape.has_trouble && place + 1 == keys.len() {
            continue;
        }
        store.begin_trial(key).unwrap();
        store.end_trial(key, &outcome(place, key, shape)).unwrap();
    }
    store
}

/// Text of a server that closes tags.
pub(super) const ADJUSTED: &str = "device bytes are 14 % more than InnoDB & redo wrote";

/// Image files with one file system or another.
fn rig(place: usize) -> RigRecord {
    let media = Media::Image { bytes: 40 << 30, directory: "/data".into() };
    let ext4 = FileSystem {
        name: "ext4".into(),
        mount_options: ["noatime", "data=writeback"].map(str::to_owned).into(),
        ..FileSystem::default()
    };
    let xfs =
        FileSystem { name: "xfs".into(), extsize_bytes: Some(16 << 10), ..FileSystem::default() };
    RigRecord {
        disk: Some(DiskRecord { media, ..DiskRecord::default() }),
        existing: None,
        file_system: Some(if place == 2 { xfs } else { ext4 }),
        in_effect: None,
        servers: None,
        server: "MySQL 9.7.0".into(),
        data: Vec::new(),
    }
}

fn write_head(store: &mut Store, shape: &Shape) {
    let config = |(place, name): (usize, &&str)| Config {
        name: (*name).into(),
        rig: rig(place),
        settings: [
            ("innodb_doublewrite", if place == 1 { "OFF" } else { "ON" }),
            ("innodb_buffer_pool_size", "2G"),
            ("innodb_flush_log_at_trx_commit", "1"),
            ("innodb_io_capacity", if place == 0 { "2000" } else { "8000" }),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into(),
    };
    let workload = |name: &&str| WorkloadRecord {
        name: (*name).into(),
        workload: (*name).into(),
        data_profile: None,
        recipe: format!("oltp_{name}"),
        options: [
            ("tables", "4"),
            ("table_size", "1000000"),
            ("rand_type", if name.contains("write_only") { "zipf" } else { "uniform" }),
            ("schema", "text"),
            ("mode", "strict"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into(),
    };
    let facts: BTreeMap<String, String> = [
        ("cpu", "2 × AMD EPYC 7B13, 2.45 GHz"),
        ("memory", "24 GB"),
        ("kernel", "6.12.43 #1 SMP <x86_64>"),
        ("disk", "/dev/vda, 252 GB, rotational 0, scheduler none"),
        ("server", "MySQL 9.7.0"),
        ("assay", "0.1.0"),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into();
    let title = if shape.has_trouble {
        "What does the doublewrite buffer cost on this disk? <img src=x onerror=alert(1)>"
    } else {
        "A large study"
    };
    let head = StudyHead {
        title,
        question: Some(
            "How much throughput and how many bytes does writing every page twice take, and does \
            a file system with 16 KiB extents change that?",
        ),
        plan_toml: "title = \"What does the doublewrite buffer cost?\"\nthreads = [1, 8, \
            32]\nseconds = 24\nwarm_up = 5\nrepeats = 2\n\n[[configs]]\nname = \"doublewrite \
            on\" # </pre></details><script>alert(2)</script>\n",
        facts: &facts,
        configs: &shape.configs.iter().enumerate().map(config).collect::<Vec<_>>(),
        workloads: &shape.workloads.iter().map(workload).collect::<Vec<_>>(),
        ..StudyHead::default()
    };
    store.write_head(&head).unwrap();
    store.note(Note::OnMeasuredDisk).unwrap();
}

/// How a server of this configuration does under this workload: a rate that levels off, a latency
/// that does not.
struct Load {
    tps: f64,
    latency_ms: f64,
    write_bytes: f64,
    busy: f64,
}

impl Load {
    fn of(key: &TrialKey, shape: &Shape, noise: &mut Noise) -> Load {
        let config = shape.configs.iter().position(|config| *config == key.config).unwrap() as f64;
        let workload = shape.workloads.iter().position(|one| *one == key.workload).unwrap() as f64;
        let threads = f64::from(key.threads);
        let top = 900.0 * (1.0 + 0.16 * config) * (1.0 + 0.5 * workload);
        let tps = noise.near(top * threads / (threads + 6.0), 0.04);
        Load {
            tps,
            latency_ms: threads / tps * 1000.0,
            write_bytes: if config == 1.0 { 21_400.0 } else { 38_900.0 - 2_000.0 * config },
            busy: threads / (threads + 6.0),
        }
    }
}

fn outcome(place: usize, key: &TrialKey, shape: &Shape) -> Outcome {
    let mut noise = Noise(place as u64 * 7919 + 1);
    let load = Load::of(key, shape, &mut noise);
    let variables = [
        ("innodb_doublewrite", if key.config.contains("off") { "OFF" } else { "ON" }),
        ("version", "9.7.0"),
        ("innodb_flush_method", "O_DIRECT"),
        ("pid_file", if place.is_multiple_of(2) { "/tmp/a.pid" } else { "/tmp/b.pid" }),
    ];
    let mut outcome = Outcome {
        window: Some(Window { from_s: 5.0, to_s: f64::from(shape.seconds) - 1.0 }),
        facts: [("server_cpus".into(), "0".into()), ("load_cpus".into(), "1".into())].into(),
        results: results(&load, drive::is_under(&key.config), &mut noise),
        series: series(&load, shape, drive::is_under(&key.config), &mut noise),
        histograms: vec![
            Histogram {
                kind: Timed::Transaction,
                clock: LatencyClock::Response,
                buckets: vec![(1_000_000, 90), (20_000_000, 10)],
            },
            Histogram {
                kind: Timed::named("point_select"),
                clock: LatencyClock::Service,
                buckets: vec![(100_000, 900), (2_000_000, 100)],
            },
        ],
        variables: variables.map(|(name, value)| (name.into(), value.into())).into(),
        ..Outcome::default()
    };
    if shape.has_trouble {
        make_trouble(place, key, &mut outcome);
    }
    outcome
}

fn make_trouble(place: usize, key: &TrialKey, outcome: &mut Outcome) {
    if key.config == "doublewrite off" && key.threads == 8 && key.workload == "read_write" {
        *outcome = Outcome {
            reason: Some(
                "the server vanished: [ERROR] <InnoDB> \"Operating system error number 28\"".into(),
            ),
            ..Outcome::default()
        };
    }
    if place == 0 {
        outcome.warnings.push(Warning::SettingAdjusted { line: ADJUSTED.into() });
        outcome.errors = [(1213, 17)].into();
    }
    if key.config == HOSTILE {
        outcome.series.retain(|series| !series.name.starts_with("disk_"));
        outcome.results.remove("disk_read_bytes_per_s");
    }
}

fn results(load: &Load, has_drive: bool, noise: &mut Noise) -> BTreeMap<String, f64> {
    let Load { tps, latency_ms, write_bytes, busy } = *load;
    let mut results: BTreeMap<String, f64> = [
        ("tps", tps),
        ("qps", tps * 20.0),
        ("latency_ms_mean", latency_ms),
        ("latency_ms_p50", latency_ms * 0.9),
        ("latency_ms_p95", noise.near(latency_ms * 2.1, 0.05)),
        ("latency_ms_p99", noise.near(latency_ms * 3.7, 0.1)),
        ("latency_ms_p999", noise.near(latency_ms * 9.0, 0.2)),
        ("latency_ms_max", noise.near(latency_ms * 30.0, 0.3)),
        ("service_ms_p50", latency_ms * 0.9),
        ("queries_per_transaction", 20.0),
        ("cpu_user_percent", 46.0 * busy),
        ("cpu_system_percent", 15.0 * busy),
        ("cpu_iowait_percent", noise.near(19.0 * busy, 0.2)),
        ("disk_read_bytes_per_s", tps * 18_000.0),
        ("disk_write_bytes_per_s", tps * write_bytes),
        ("disk_reads_per_s", tps * 1.1),
        ("disk_writes_per_s", tps * 2.6),
        ("disk_write_latency_ms", noise.near(0.8, 0.2)),
        ("write_bytes_per_transaction", write_bytes),
        ("fsyncs_per_transaction", 1.8),
        ("innodb_hit_ratio", 0.962),
        ("server_cpu_us_per_query", 41.0),
        ("load_cpu_us_per_query", 7.3),
        ("space_file_bytes", 1.12e9),
        ("space_allocated_bytes", noise.near(0.9e9, 0.1)),
        ("a_result_nobody_knows_yet", 3.0),
    ]
    .map(|(name, value)| (name.into(), value))
    .into();
    let physical = if has_drive { 0.43e9 } else { results["space_allocated_bytes"] };
    results.insert("space_physical_bytes".into(), physical);
    if has_drive {
        results.extend(drive::results(load.tps, load.write_bytes));
    }
    results
}

fn series(load: &Load, shape: &Shape, has_drive: bool, noise: &mut Noise) -> Vec<Series> {
    let Load { tps, latency_ms, write_bytes, busy } = *load;
    let kinds = [
        ("tps", tps, 0.07),
        ("qps", tps * 20.0, 0.07),
        ("latency_ms_p50", latency_ms * 0.9, 0.1),
        ("latency_ms_p95", latency_ms * 2.1, 0.2),
        ("latency_ms_p99", latency_ms * 3.7, 0.3),
        ("cpu_user_percent", 46.0 * busy, 0.1),
        ("cpu_system_percent", 15.0 * busy, 0.1),
        ("cpu_iowait_percent", 19.0 * busy, 0.4),
        ("server_cpu_percent", 71.0 * busy, 0.1),
        ("load_cpu_percent", 20.0 * busy, 0.1),
        ("disk_reads_per_s", tps * 1.1, 0.1),
        ("disk_writes_per_s", tps * 2.6, 0.2),
        ("disk_read_bytes_per_s", tps * 18_000.0, 0.1),
        ("disk_write_bytes_per_s", tps * write_bytes, 0.2),
        ("disk_read_latency_ms", 0.4, 0.3),
        ("disk_write_latency_ms", 0.8, 0.4),
        ("innodb_rows_inserted_per_s", tps, 0.07),
        ("innodb_rows_updated_per_s", tps * 2.0, 0.07),
        ("innodb_rows_deleted_per_s", tps, 0.07),
        ("innodb_rows_read_per_s", tps * 414.0, 0.07),
        ("innodb_dirty_pages", 31_000.0, 0.02),
        ("space_allocated_bytes", 0.9e9, 0.001),
    ];
    let drive = drive::kinds(tps, write_bytes);
    let serving = [("daemon_cpu_percent", 31.0 * busy, 0.2)];
    let of_drive = drive.into_iter().chain(serving).filter(|_| has_drive);
    let mut all: Vec<Series> = Vec::new();
    for (name, value, part) in kinds.into_iter().chain(of_drive) {
        let (label, points) = (name.replace('_', " "), points(shape.seconds, value, part, noise));
        all.push(Series { label, points, ..Series::of(find(name).unwrap()) });
    }
    for number in 0..shape.other_series {
        // As in life: some counters stand still, some are hardly ever anything but zero.
        let (value, part) = if number % 3 == 0 { (0.0, 0.0) } else { (1000.0, 0.5) };
        all.push(Series {
            name: format!("other_{number}_per_s"),
            unit: Unit::PerSecond,
            label: format!("other counter <{number}>"),
            layer: if number % 2 == 0 { Layer::Drive } else { Layer::Backing },
            points: points(shape.seconds, value, part, noise),
        });
    }
    all
}

fn points(seconds: u32, value: f64, part: f64, noise: &mut Noise) -> Vec<(u32, f64)> {
    let warm = |second: u32| (f64::from(second) / 4.0).min(1.0).sqrt();
    let dip = |second: u32| if second % 23 == 17 { 0.55 } else { 1.0 };
    (1..=seconds)
        .map(|second| (second, noise.near(value, part) * warm(second) * dip(second)))
        .collect()
}
