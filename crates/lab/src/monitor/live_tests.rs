//! The monitor on the real machine: real devices, a real server where there is one.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;

use super::device_of_path::Device;
use super::series::Sample;
use super::sheet::Moment;
use super::*;
use crate::rig::server::{Flavour, testing};
use assay_study::metrics::Layer;
use assay_study::{Below, Role, Unmonitored, Warning};
use assay_testing::skip;

const MIB: u64 = 1 << 20;

fn targets(data_dir: &Path) -> Targets {
    Targets {
        data_dir: Some(data_dir.to_owned()),
        server_pid: None,
        load_pid: std::process::id(),
        server: None,
        is_server_ours: true,
        drive: None,
        pool: None,
        with_machine: true,
        neighbours: Vec::new(),
        cpus: Vec::new(),
    }
}

fn start(targets: Targets) -> (Monitor, Instant) {
    let origin = Instant::now();
    (Monitor::start(targets, origin).unwrap(), origin)
}

/// Waits until the monitor has a sample after `second` that holds the series `name`.
fn await_sample(monitor: &Monitor, second: u32, name: &str) -> Sample {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let monitored = monitor.monitored.lock();
        let later = monitored.samples.iter().filter(|sample| sample.second > second);
        let found = later
            .filter(|sample| value(&monitored, sample, name).is_some())
            .min_by_key(|sample| sample.second);
        if let Some(sample) = found {
            return sample.clone();
        }
        drop(monitored);
        assert!(Instant::now() < deadline, "no {name} after second {second}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn value(monitored: &Monitored, sample: &Sample, name: &str) -> Option<f64> {
    let id = monitored.series.iter().position(|info| info.name == name)?;
    let id = SeriesId::try_from(id).unwrap();
    sample.values.iter().find(|(series, _)| *series == id).map(|(_, value)| *value)
}

/// Growth of the counter behind `name_per_s` after the sample of `second`. Seconds are as long as
/// the clock says: a late tick makes its second's rate too small and the next one's too large by
/// the same amount.
fn growth(monitored: &Monitored, second: u32, name: &str) -> f64 {
    let name = format!("{name}_per_s");
    let rate = |sample: &Sample| Some((sample.second, value(monitored, sample, &name)?));
    let rates: Vec<_> = monitored.samples.iter().filter_map(rate).collect();
    let after = rates.windows(2).filter(|pair| pair[0].0 >= second);
    after.map(|pair| pair[1].1 * f64::from(pair[1].0 - pair[0].0)).sum()
}

/// A new directory on a file system with a block device.
fn directory_on_a_device() -> Option<tempfile::TempDir> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    [std::env::temp_dir(), target].into_iter().find_map(|parent| {
        let directory = tempfile::Builder::new().prefix("monitor-").tempdir_in(parent).ok()?;
        let device = Device::under(directory.path()).ok().flatten()?;
        device.is_counted().then_some(directory)
    })
}

/// Writes around the page cache, durably.
fn write_direct(path: &Path, bytes: u64) {
    // O_DIRECT wants an aligned buffer: a piece of a vector that begins on a 4 KiB boundary.
    let block = vec![0xA5_u8; 2 * MIB as usize];
    let offset = block.as_ptr().align_offset(4096);
    let piece = &block[offset..offset + MIB as usize];
    let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).unwrap();
    let mut file =
        OpenOptions::new().write(true).create(true).custom_flags(direct).open(path).unwrap();
    for _ in 0..bytes / MIB {
        file.write_all(piece).unwrap();
    }
    file.sync_all().unwrap();
}

/// Bytes that the device under `directory` wrote while `work` ran, exactly: no clock is involved.
fn written_while(directory: &Path, work: &dyn Fn()) -> f64 {
    let mut disk = disk::probes_under(directory, None, &mut Notes::default()).swap_remove(0);
    let [written] = grown_while(&mut disk, ["disk_write_bytes_per_s"], work);
    written
}

/// Exact growth of the counters behind these rates while `work` ran: no clock is involved.
fn grown_while<const N: usize>(
    probe: &mut dyn Probe,
    names: [&str; N],
    work: &dyn Fn(),
) -> [f64; N] {
    let mut notes = Notes::default();
    let place = |name| probe.sheet().infos().position(|info| info.name == name).unwrap();
    let places = names.map(place);
    let mut moment = |at| {
        let mut reading = probe.sheet().blank();
        probe.read(&mut reading, &mut notes);
        Moment { at, reading }
    };
    // One second apart, so that the rate is the growth.
    let at = Instant::now();
    let before = moment(at);
    work();
    let after = moment(at + Duration::from_secs(1));
    let mut grown = [f64::NAN; N];
    probe.sheet().compute(&before, &after, |series, value| {
        if let Some(place) = places.iter().position(|place| *place == series) {
            grown[place] = value;
        }
    });
    grown
}

#[test]
fn the_device_wrote_what_we_wrote() {
    let Some(directory) = directory_on_a_device() else {
        return skip("a file system on a block device");
    };
    let file = directory.path().join("data");
    let bytes = (16 * MIB) as f64;
    // Other programs write to the same device: the quietest of some tries counts.
    let quietest = |work: &dyn Fn()| {
        (0..8).map(|_| written_while(directory.path(), work)).fold(f64::INFINITY, f64::min)
    };
    let written = quietest(&|| write_direct(&file, 16 * MIB));
    let idle = quietest(&|| ());
    assert!(written >= bytes && written < 1.1 * bytes + MIB as f64, "{written} of {bytes}");
    assert!(idle < bytes / 4.0, "{idle} bytes without a write of ours");
}

/// A loop device with a file system on it, taken down when dropped.
struct Loop {
    directory: tempfile::TempDir,
    device: String,
}

impl Loop {
    fn set_up() -> Option<Loop> {
        let directory = directory_on_a_device()?;
        let image = directory.path().join("disk.img");
        File::create(&image).ok()?.set_len(96 * MIB).ok()?;
        run("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0", image.to_str()?])?;
        let direct = ["--find", "--show", "--direct-io=on", image.to_str()?];
        let device = run("losetup", &direct)?.trim().to_owned();
        let rig = Loop { directory, device };
        fs::create_dir(rig.mount_point()).ok()?;
        run("mount", &["-o", "noatime", &rig.device, rig.mount_point().to_str()?])?;
        Some(rig)
    }

    fn mount_point(&self) -> PathBuf {
        self.directory.path().join("mounted")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.mount_point()).status();
        let _ = Command::new("losetup").args(["--detach", &self.device]).status();
    }
}

fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_loop_device_is_monitored_above_and_below() {
    let Some(rig) = Loop::set_up() else {
        return skip("root, loop devices and mkfs.ext4");
    };
    let mounted = rig.mount_point();
    let (monitor, origin) = start(targets(&mounted));
    let first = await_sample(&monitor, 0, "backing_write_bytes_per_s");
    write_direct(&mounted.join("data"), 32 * MIB);
    let written = u32::try_from(origin.elapsed().as_secs()).unwrap();
    await_sample(&monitor, written, "backing_write_bytes_per_s");
    let monitored = monitor.finish();
    let name = rig.device.trim_start_matches("/dev/");
    let label = format!("bytes written ({name})");
    let info = monitored.series.iter().find(|info| info.label == label).unwrap();
    assert_eq!(info.metric.layer, Layer::Disk);
    let bytes = (32 * MIB) as f64;
    for (place, layer) in ["disk", "backing"].into_iter().enumerate() {
        let mut probe =
            disk::probes_under(&mounted, None, &mut Notes::default()).swap_remove(place);
        let name = format!("{layer}_write_bytes_per_s");
        let work = || write_direct(&mounted.join("data"), 32 * MIB);
        let [written] = grown_while(&mut probe, [&name], &work);
        assert!(written >= bytes, "{layer}: {written} of {bytes}");
        let written = growth(&monitored, first.second, &format!("{layer}_write_bytes"));
        // The last tick may be half a second late (`clock::GAP_S_MIN`): then its second shows two
        // thirds of the real rate.
        assert!(written >= 0.6 * bytes, "{layer}: {written} of {bytes}");
    }
    let disk_read = growth(&monitored, first.second, "disk_read_bytes");
    assert!(disk_read < bytes / 4.0, "{disk_read} bytes read by nobody");
}

/// Lateness of the first sample, and the time that the monitor took to end while it waited for the
/// next.
fn latenesses(directory: &Path) -> [f64; 2] {
    let (monitor, origin) = start(targets(directory));
    let first = await_sample(&monitor, 0, "load_rss_bytes");
    let late_s = origin.elapsed().as_secs_f64() - f64::from(first.second);
    assert!(late_s >= 0.0, "sample {} came {late_s} s late", first.second);
    let asked = Instant::now();
    monitor.finish();
    let to_end_s = asked.elapsed().as_secs_f64();
    eprintln!("{late_s} s late, {to_end_s} s to end");
    [late_s, to_end_s]
}

#[test]
fn samples_fall_on_the_clock_and_the_end_is_prompt() {
    let directory = tempfile::tempdir().unwrap();
    // Each may be late on a busy machine; if none is in time, the monitor is at fault.
    let mut all = (0..10).map(|_| latenesses(directory.path()));
    let in_time = |[late_s, to_end_s]: [f64; 2]| late_s < 0.5 && to_end_s < 0.5;
    assert!(all.any(in_time), "none of ten was in time");
}

#[test]
fn the_monitor_sees_the_cpus_and_the_load_each_second_once() {
    let directory = tempfile::tempdir().unwrap();
    let (monitor, _) = start(targets(directory.path()));
    let name = "load_rss_bytes";
    let first = await_sample(&monitor, 0, name);
    let second = await_sample(&monitor, first.second, name);
    let monitored = monitor.finish();
    assert!(monitored.samples.windows(2).all(|pair| pair[0].second < pair[1].second));
    let classes = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
    let percent = |class| value(&monitored, &second, &format!("cpu_{class}_percent"));
    let all: Option<f64> = classes.into_iter().map(percent).sum();
    assert!(all.is_none_or(|all| (all - 100.0).abs() < 0.1), "{all:?}");
    assert!(value(&monitored, &second, name).is_some_and(|rss| rss > 0.0));
}

#[test]
fn what_is_missing_is_noted_and_the_rest_goes_on() {
    assert!(Monitor::start(targets(Path::new("/nonexistent/data")), Instant::now()).is_err());
    let nowhere = crate::rig::snapshot::endpoint(Path::new("/nonexistent/mysql.sock"));
    let targets = Targets {
        server_pid: Some(Followed::new(u32::MAX)),
        server: Some(nowhere),
        ..targets(Path::new("/proc"))
    };
    let (monitor, _) = start(targets);
    await_sample(&monitor, 0, "load_rss_bytes");
    let monitored = monitor.finish();
    let is_told = |is_it: fn(&Unmonitored) -> bool| {
        let told = monitored.warnings.iter();
        told.into_iter().any(|warning| matches!(warning, Warning::Unmonitored(what) if is_it(what)))
    };
    assert!(is_told(|what| matches!(what, Unmonitored::Below { below: Below::Data, .. })));
    assert!(is_told(|what| matches!(what, Unmonitored::Process { role: Role::Server, .. })));
    assert!(is_told(|what| matches!(what, Unmonitored::Server { .. })));
    assert!(monitored.series.iter().any(|info| info.name == "cpu_user_percent"));
    assert!(!monitored.series.iter().any(|info| info.metric.layer == Layer::Innodb));
}

#[test]
fn a_real_server_is_seen_from_inside() {
    let Some(binary) = testing::binary(Flavour::Mysql) else { return };
    let directory = tempfile::tempdir().unwrap();
    let server = testing::running(&binary, directory.path());
    let mut session = mysql::Conn::new(testing::opts(&server)).unwrap();
    session.query_drop("CREATE DATABASE monitored").unwrap();
    session.query_drop("CREATE TABLE monitored.t (id INT PRIMARY KEY, c TEXT)").unwrap();
    let data_dir: String = session.query_first("SELECT @@datadir").unwrap().unwrap();
    let counts_rows: Option<(String, u64)> =
        session.query_first("SHOW GLOBAL STATUS LIKE 'Innodb_rows_read'").unwrap();
    let insert = |ids: std::ops::Range<u32>| {
        let mut session = mysql::Conn::new(testing::opts(&server)).unwrap();
        for id in ids {
            let text = "x".repeat(1000);
            session.exec_drop("INSERT INTO monitored.t VALUES (?, ?)", (id, text)).unwrap();
        }
    };
    let counted = innodb::InnodbProbe::open(&server.endpoint(), None, true, &mut Notes::default());
    let names = ["innodb_rows_inserted_per_s", "innodb_redo_bytes_per_s"];
    let [rows, redo] = grown_while(&mut counted.unwrap(), names, &|| insert(50..100));
    assert!((40.0..60.0).contains(&rows), "{rows} rows of 50");
    assert!(redo >= 40_000.0, "{redo} bytes of redo");
    let (monitor, origin) = start(Targets {
        server_pid: Some(Followed::new(server.pid())),
        server: Some(server.endpoint()),
        ..targets(Path::new(&data_dir))
    });
    let first = await_sample(&monitor, 0, "innodb_dirty_pages");
    insert(0..50);
    let inserted = u32::try_from(origin.elapsed().as_secs()).unwrap();
    let sample = await_sample(&monitor, inserted, "innodb_dirty_pages");
    // A directory in memory, or in the layers of a container, has no disk and says so.
    let has_no_disk =
        |warning: &Warning| matches!(warning, Warning::Unmonitored(Unmonitored::Below { .. }));
    let warnings = |monitored: &Monitored| {
        let others = monitored.warnings.iter().filter(|warning| !has_no_disk(warning));
        others.cloned().collect::<Vec<_>>()
    };
    assert_eq!(warnings(&monitor.monitored.lock()), []);
    // Connections younger than ours: the monitor's. It loses its server, and nothing else.
    let younger = "SELECT ID FROM information_schema.PROCESSLIST \
                   WHERE ID > CONNECTION_ID() AND USER = 'root' AND COMMAND = 'Sleep'";
    let ids: Vec<u64> = session.query(younger).unwrap();
    assert_eq!(ids.len(), 1, "connections of the monitor: {ids:?}");
    session.query_drop(format!("KILL {}", ids[0])).unwrap();
    let always = "space_filesystem_used_bytes";
    let first_without = await_sample(&monitor, sample.second, always);
    let second_without = await_sample(&monitor, first_without.second, always);
    // The other thread of the monitor keeps its own seconds, and may have skipped this one.
    let process_after = await_sample(&monitor, first_without.second, "server_rss_bytes");
    let monitored = monitor.finish();
    assert_eq!(monitored.facts.contains_key("server: rows counted by"), counts_rows.is_none());
    let rows = growth(&monitored, first.second, "innodb_rows_inserted");
    // A tick may be half a second late (`clock::GAP_S_MIN`): then a second shows half or twice the
    // real rate.
    assert!((25.0..100.0).contains(&rows), "{rows} rows of 50");
    assert_eq!(growth(&monitored, first.second, "innodb_rows_deleted"), 0.0);
    let redo = growth(&monitored, first.second, "innodb_redo_bytes");
    assert!(redo >= 25_000.0, "{redo} bytes of redo, of rows of 50,000");
    for name in ["innodb_dirty_pages", "innodb_checkpoint_age_bytes", "space_tables_file_bytes"] {
        assert!(value(&monitored, &sample, name).is_some(), "{name}");
    }
    assert_eq!(value(&monitored, &second_without, "innodb_dirty_pages"), None);
    assert_eq!(value(&monitored, &process_after, "innodb_dirty_pages"), None);
    assert_eq!(warnings(&monitored), [Warning::Unmonitored(Unmonitored::ServerSilent)]);
}
