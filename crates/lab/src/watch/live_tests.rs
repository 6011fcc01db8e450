//! The watch on the real machine: real devices, a real server where there is one.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::*;

const MIB: u64 = 1 << 20;

/// Says that a test could not run, and fails where everything is required.
fn skip(what: &str, needs: &str) {
    eprintln!("SKIPPED: {what} needs {needs}");
    assert!(std::env::var_os("ASSAY_REQUIRE_ALL").is_none(), "{what} needs {needs}");
}

fn targets(data_dir: &Path) -> Targets {
    Targets {
        data_dir: data_dir.to_owned(),
        server_pid: None,
        load_pid: std::process::id(),
        mysql: None,
        cpus: Vec::new(),
    }
}

fn start(targets: Targets) -> (Watch, Instant) {
    let origin = Instant::now();
    (Watch::start(targets, origin).unwrap(), origin)
}

/// Waits until the watch has a complete sample after `second`.
fn await_sample(watch: &Watch, second: u32) -> Sample {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(sample) = watch.since(second).into_iter().next() {
            return sample;
        }
        assert!(Instant::now() < deadline, "no sample after second {second}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn value(watched: &Watched, sample: &Sample, name: &str) -> Option<f64> {
    let id = watched.series.iter().position(|info| info.name == name)?;
    sample.get(SeriesId::try_from(id).unwrap())
}

/// A folder of ours on a file system with a block device, or nothing.
fn folder_on_a_device() -> Option<tempfile::TempDir> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    [std::env::temp_dir(), target].into_iter().find_map(|parent| {
        let folder = tempfile::Builder::new().prefix("watch-").tempdir_in(parent).ok()?;
        let device = Device::under(folder.path()).ok().flatten()?;
        device.is_counted().then_some(folder)
    })
}

/// Writes past the page cache and makes it durable.
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

/// Bytes that `layer` wrote while `work` ran, by the marks.
fn written_while(folder: &Path, layer: &str, work: impl Fn()) -> f64 {
    let (watch, _) = start(targets(folder));
    watch.mark("begin");
    work();
    watch.mark("end");
    watch.totals("begin", "end").unwrap()[&format!("{layer}_write_bytes")]
}

#[test]
fn the_device_wrote_what_we_wrote() {
    let Some(folder) = folder_on_a_device() else {
        return skip("counting a device's bytes", "a file system on a block device");
    };
    let file = folder.path().join("data");
    let bytes = (16 * MIB) as f64;
    // Others write to the same device: the quietest of some tries tells.
    let quietest = |work: &dyn Fn()| {
        (0..8).map(|_| written_while(folder.path(), "disk", work)).fold(f64::INFINITY, f64::min)
    };
    let written = quietest(&|| write_direct(&file, 16 * MIB));
    let idle = quietest(&|| ());
    assert!(written >= bytes && written < 1.1 * bytes + MIB as f64, "{written} of {bytes}");
    assert!(idle < bytes / 4.0, "{idle} bytes without a write of ours");
}

/// A loop device with a file system on it, taken down when dropped.
struct Loop {
    folder: tempfile::TempDir,
    device: String,
}

impl Loop {
    fn set_up() -> Option<Loop> {
        let folder = folder_on_a_device()?;
        let image = folder.path().join("disk.img");
        File::create(&image).ok()?.set_len(96 * MIB).ok()?;
        run("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0", image.to_str()?])?;
        let direct = ["--find", "--show", "--direct-io=on", image.to_str()?];
        let device = run("losetup", &direct)?.trim().to_owned();
        let rig = Loop { folder, device };
        fs::create_dir(rig.mount_point()).ok()?;
        run("mount", &["-o", "noatime", &rig.device, rig.mount_point().to_str()?])?;
        Some(rig)
    }

    fn mount_point(&self) -> PathBuf {
        self.folder.path().join("mounted")
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
fn a_loop_device_is_watched_above_and_below() {
    let Some(rig) = Loop::set_up() else {
        return skip("watching under a loop device", "root, loop devices and mkfs.ext4");
    };
    let mounted = rig.mount_point();
    let (watch, _) = start(targets(&mounted));
    let labels: Vec<_> = watch.series().into_iter().map(|info| info.label).collect();
    let name = rig.device.trim_start_matches("/dev/");
    assert!(labels.contains(&format!("bytes written ({name})")), "{labels:?}");
    drop(watch);
    let bytes = (32 * MIB) as f64;
    for layer in ["disk", "backing"] {
        let written = written_while(&mounted, layer, || {
            let _ = fs::remove_file(mounted.join("data"));
            write_direct(&mounted.join("data"), 32 * MIB);
        });
        assert!(written >= bytes, "{layer}: {written} of {bytes}");
    }
}

#[test]
fn samples_fall_on_the_clock_and_the_end_is_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let (watch, origin) = start(targets(folder.path()));
    let first = await_sample(&watch, 0);
    let taken = origin.elapsed().as_secs_f64() - f64::from(first.second);
    assert!((0.0..0.5).contains(&taken), "sample {} came {taken} s late", first.second);
    let second = await_sample(&watch, first.second);
    assert_eq!(watch.latest().map(|sample| sample.second), Some(second.second));
    let asked = Instant::now();
    let watched = watch.finish();
    assert!(asked.elapsed() < Duration::from_millis(300), "{:?} to stop", asked.elapsed());
    assert!(watched.samples.windows(2).all(|pair| pair[0].second < pair[1].second));
    let classes = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
    let percent = |class| value(&watched, &second, &format!("cpu_{class}_percent"));
    let all: Option<f64> = classes.into_iter().map(percent).sum();
    assert!(all.is_none_or(|all| (all - 100.0).abs() < 0.1), "{all:?}");
    assert!(value(&watched, &second, "load_rss_bytes").is_some_and(|rss| rss > 0.0));
}

#[test]
fn what_is_missing_is_noted_and_the_rest_goes_on() {
    assert!(Watch::start(targets(Path::new("/nonexistent/data")), Instant::now()).is_err());
    let socket = Some("/nonexistent/mysql.sock");
    let mysql = mysql::OptsBuilder::new().socket(socket).prefer_socket(false).into();
    let targets =
        Targets { server_pid: Some(u32::MAX), mysql: Some(mysql), ..targets(Path::new("/proc")) };
    let (watch, _) = start(targets);
    await_sample(&watch, 0);
    let watched = watch.finish();
    for part in ["no disk is watched", "server process", "not watched from inside"] {
        assert!(
            watched.notes.iter().any(|note| note.contains(part)),
            "{part}: {:?}",
            watched.notes
        );
    }
    assert!(watched.series.iter().any(|info| info.name == "cpu_user_percent"));
    assert!(!watched.series.iter().any(|info| info.layer == Layer::Innodb));
}

/// The server of `ASSAY_TEST_SOCKET`, as root without a password.
fn test_server() -> Option<mysql::Opts> {
    let socket = std::env::var("ASSAY_TEST_SOCKET").ok()?;
    Some(mysql::OptsBuilder::new().socket(Some(socket)).user(Some("root")).into())
}

#[test]
fn a_real_server_is_seen_from_inside() {
    use mysql::prelude::Queryable;
    let Some(opts) = test_server() else {
        return skip("watching a server", "a running server; set ASSAY_TEST_SOCKET to its socket");
    };
    let mut session = mysql::Conn::new(opts.clone()).unwrap();
    let data_dir: String = session.query_first("SELECT @@datadir").unwrap().unwrap();
    session.query_drop("DROP DATABASE IF EXISTS assay_watch_test").unwrap();
    session.query_drop("CREATE DATABASE assay_watch_test").unwrap();
    session.query_drop("CREATE TABLE assay_watch_test.t (id INT PRIMARY KEY, c TEXT)").unwrap();
    let (watch, _) = start(Targets { mysql: Some(opts), ..targets(Path::new(&data_dir)) });
    watch.mark("begin");
    for id in 0..50 {
        let text = "x".repeat(1000);
        session.exec_drop("INSERT INTO assay_watch_test.t VALUES (?, ?)", (id, text)).unwrap();
    }
    watch.mark("end");
    let totals = watch.totals("begin", "end").unwrap();
    let sample = await_sample(&watch, 0);
    assert_eq!(watch.notes(), [""; 0]);
    // Connections younger than ours: the watch's. It loses its server, and nothing else.
    let younger = "SELECT ID FROM information_schema.PROCESSLIST \
                   WHERE ID > CONNECTION_ID() AND USER = 'root' AND COMMAND = 'Sleep'";
    let ids: Vec<u64> = session.query(younger).unwrap();
    assert_eq!(ids.len(), 1, "connections of the watch: {ids:?}");
    session.query_drop(format!("KILL {}", ids[0])).unwrap();
    let first_without = await_sample(&watch, sample.second);
    let second_without = await_sample(&watch, first_without.second);
    let watched = watch.finish();
    session.query_drop("DROP DATABASE assay_watch_test").unwrap();
    assert_eq!(totals["innodb_rows_inserted"], 50.0);
    assert!(totals["innodb_redo_bytes"] >= 50_000.0, "{}", totals["innodb_redo_bytes"]);
    for name in ["innodb_dirty_pages", "innodb_checkpoint_age_bytes", "space_tables_file_bytes"] {
        assert!(value(&watched, &sample, name).is_some(), "{name}");
    }
    assert_eq!(value(&watched, &second_without, "innodb_dirty_pages"), None);
    assert!(value(&watched, &second_without, "space_file_bytes").is_some());
    assert_eq!(watched.notes.len(), 1, "{:?}", watched.notes);
}
