//! Tests `assay audit` on real file systems, on a drive and on disks that guarantee nothing.

mod fragmented;

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use assay_drive::BlockBuffer;
use mysql::prelude::Queryable;
use serde_json::Value;

use crate::common::{TestServer, World, has_loop_devices, program, root_at};
use crate::drives::{Drives, has_drives};

const KIB: u64 = 1 << 10;

/// A drive of Assay, attached, with a file system.
struct Mounted {
    drives: Drives,
    target: PathBuf,
}

fn run(words: &[&str]) {
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
}

impl Mounted {
    fn new(mkfs: &[&str]) -> Mounted {
        Mounted::attached(mkfs, &[])
    }

    fn attached(mkfs: &[&str], words: &[&str]) -> Mounted {
        let drives = Drives::with(&["--capacity", "1G", "--sparse"]);
        let device = drives.attach(words);
        run(&[mkfs, &[&device]].concat());
        let target = drives.path("mount");
        std::fs::create_dir(&target).unwrap();
        run(&["mount", &device, target.to_str().unwrap()]);
        std::fs::create_dir(target.join("data")).unwrap();
        Mounted { drives, target }
    }

    fn data(&self) -> PathBuf {
        self.target.join("data")
    }

    fn audit(&self) -> (i32, Value) {
        audit(&self.drives, &self.data(), &["--writes", "direct"])
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.target).status();
    }
}

/// Runs the audit; returns exit code and JSON.
fn audit(world: &World, directory: &Path, more: &[&str]) -> (i32, Value) {
    let words = [&["audit", directory.to_str().unwrap(), "--json"], more].concat();
    let output = world.run(&words);
    let code = output.status.code().unwrap();
    let value = serde_json::from_slice(&output.stdout);
    (code, value.unwrap_or_else(|_| panic!("{output:?}")))
}

/// Creates a file that is written past the page cache.
fn direct(path: &Path) -> File {
    const O_DIRECT: i32 = 0x4000;
    File::options().write(true).create_new(true).custom_flags(O_DIRECT).open(path).unwrap()
}

/// Writes blocks to a file in order.
fn append(file: &File, at: u64, bytes: u64) {
    let mut buffer = BlockBuffer::zeroed(bytes as usize);
    buffer.as_mut().fill(7);
    file.write_all_at(buffer.as_mut(), at).unwrap();
}

/// Writes a file as a server fills it: in large pieces.
fn write_fresh(directory: &Path) {
    let file = direct(&directory.join("t.ibd"));
    for piece in 0..64 {
        append(&file, piece << 20, 1 << 20);
    }
    file.sync_all().unwrap();
}

/// Writes two files alternately, in pieces of 4 to 32 KiB.
fn write_fragmented(directory: &Path) {
    let files = ["a.ibd", "b.ibd"].map(|name| direct(&directory.join(name)));
    let mut ends = [0, 0];
    let mut random = assay_load::random::Rng::new(7, 1);
    for step in 0..1500 {
        let place = step % 2;
        let bytes = (random.below(8) + 1) * 4 * KIB;
        append(&files[place], ends[place], bytes);
        ends[place] += bytes;
    }
    files.iter().for_each(|file| file.sync_all().unwrap());
}

/// A running trace.
struct Tracing(Child);

impl Tracing {
    /// Starts the trace and waits until the kernel traces.
    fn begin(mounted: &Mounted) -> Tracing {
        let data = mounted.data();
        let mut command = mounted.drives.command(&["audit", data.to_str().unwrap(), "--json"]);
        command.args(["--writes", "direct", "--trace", "600"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let of_child = |directory: PathBuf, kind: &str| -> Vec<PathBuf> {
            let prefix = format!("assay-{kind}-{}-", child.id());
            let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
            let own = entries.filter(|it| it.file_name().to_string_lossy().starts_with(&prefix));
            own.map(|entry| entry.path()).collect()
        };
        let traces = |tracefs: &PathBuf| {
            of_child(tracefs.join("instances"), "trace").into_iter().any(|instance| {
                let on = instance.join("events/block/block_rq_issue/enable");
                std::fs::read_to_string(on).is_ok_and(|on| on.trim() == "1")
            })
        };
        let is_begun = || {
            let own = of_child(mounted.drives.path("state/traces"), "tracing");
            traces(&"/sys/kernel/tracing".into()) || own.iter().any(traces)
        };
        let until = Instant::now() + Duration::from_secs(60);
        while !is_begun() {
            assert!(Instant::now() < until, "it never began");
            std::thread::sleep(Duration::from_millis(20));
        }
        Tracing(child)
    }

    /// Interrupts the trace as Ctrl-C does; returns its exit code and JSON.
    fn end(self) -> (i32, Value) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let output = self.0.wait_with_output().unwrap();
        let value = serde_json::from_slice(&output.stdout);
        (output.status.code().unwrap(), value.unwrap_or_else(|_| panic!("{output:?}")))
    }
}

/// Traces while each page of the files is written once, in order; returns exit code and JSON.
fn traced(mounted: &Mounted, names: &[&str]) -> (i32, Value) {
    let tracing = Tracing::begin(mounted);
    names.iter().for_each(|name| overwrite(&mounted.data().join(name)));
    tracing.end()
}

/// Writes each page of a file once, in order, past the page cache.
fn overwrite(path: &Path) {
    const O_DIRECT: i32 = 0x4000;
    let file = File::options().write(true).custom_flags(O_DIRECT).open(path).unwrap();
    let pages = file.metadata().unwrap().len() / (16 * KIB);
    (0..pages).for_each(|page| append(&file, page * 16 * KIB, 16 * KIB));
}

fn reasons(audit: &Value) -> Vec<&str> {
    let all = audit["reasons"].as_array().unwrap();
    all.iter().map(|reason| reason["reason"].as_str().unwrap()).collect()
}

fn split(audit: &Value) -> u64 {
    let all = audit["reasons"].as_array().unwrap();
    let split = all.iter().find(|reason| reason["reason"] == "split");
    split.map_or(0, |reason| reason["pages"].as_u64().unwrap())
}

#[test]
fn the_four_layouts_are_told_as_they_are_fresh_and_fragmented() {
    if !has_drives() {
        return;
    }
    // Command that makes the file system; whether new files are laid out in pages; whether later
    // pages may be split.
    let layouts: [(&[&str], bool, bool); 4] = [
        (&["mkfs.ext4", "-q"], false, true),
        (&["mkfs.ext4", "-q", "-O", "bigalloc", "-C", "16384"], false, false),
        (&["mkfs.xfs", "-q"], false, true),
        (&["mkfs.xfs", "-q"], true, false),
    ];
    for (mkfs, has_hint, may_split) in layouts {
        let mounted = Mounted::new(mkfs);
        if has_hint {
            run(&["xfs_io", "-c", "extsize 16k", mounted.data().to_str().unwrap()]);
        }
        write_fresh(&mounted.data());
        let (code, fresh) = mounted.audit();
        let is_kept = mkfs.contains(&"bigalloc");
        let class = if is_kept { "safe_by_layout" } else { "safe_now" };
        assert_eq!((code == 0, fresh["class"].as_str()), (is_kept, Some(class)), "{fresh:#}");
        assert_eq!(fresh["safe"].as_bool(), Some(is_kept));
        assert_eq!(split(&fresh), 0);
        assert!(reasons(&fresh).contains(&"own_drive"), "{fresh:#}");

        std::fs::remove_file(mounted.data().join("t.ibd")).unwrap();
        write_fragmented(&mounted.data());
        let (code, old) = mounted.audit();
        let pages = split(&old);
        let (_, watched) = traced(&mounted, &["a.ibd", "b.ibd"]);
        let trace = &watched["trace"];
        let in_pieces = trace["pages_in_pieces"].as_u64().unwrap();
        println!("{mkfs:?}, hint {has_hint}: {pages} pages split, {in_pieces} came in pieces");
        assert!(trace["pages_whole"].as_u64().unwrap() > 0, "{trace}");
        assert_eq!(trace["events_lost"], 0, "{trace}");
        assert!(
            in_pieces <= pages && (in_pieces > 0) == (pages > 0),
            "{in_pieces} of {pages}: {trace}"
        );
        match may_split {
            true => {
                assert_eq!((code, old["class"].as_str()), (1, Some("unsafe")), "{old:#}");
                assert_eq!(reasons(&old)[0], "split");
                assert!(pages > 0);
                let worst = watched["trace"]["in_pieces"][0].clone();
                assert!(worst["path"].as_str().unwrap().ends_with(".ibd"), "{worst}");
            }
            false => {
                assert_eq!((code == 0, old["class"].as_str()), (is_kept, Some(class)), "{old:#}");
                assert_eq!(pages, 0);
            }
        }
    }
}

#[test]
fn ctrl_c_ends_a_trace_and_what_was_seen_until_then_is_told() {
    if !has_drives() {
        return;
    }
    let mounted = Mounted::new(&["mkfs.ext4", "-q"]);
    write_fresh(&mounted.data());
    let tracing = Tracing::begin(&mounted);
    let ledgers = mounted.drives.path("state/ledgers");
    let held = || {
        std::fs::read_dir(&ledgers).unwrap().flatten().any(|entry| {
            std::fs::read_to_string(entry.path()).is_ok_and(|text| text.contains("assay-tracing-"))
        })
    };
    let is_own = held();
    let (code, audited) = tracing.end();
    assert_eq!((code, audited["class"].as_str()), (1, Some("safe_now")), "{audited:#}");
    assert!(audited["trace"]["length_s"].as_f64().unwrap() < 600.0, "{audited:#}");
    assert!(is_own || Path::new("/sys/kernel/tracing/instances").exists(), "it was written down");
    assert!(!held(), "all of it is gone");
}

#[test]
fn a_drive_that_gives_up_writing_pages_whole_is_told_as_unsafe() {
    if !has_drives() {
        return;
    }
    let mounted = Mounted::attached(&["mkfs.ext4", "-q"], &["--tear"]);
    write_fresh(&mounted.data());
    let (code, audit) = mounted.audit();
    assert_eq!((code, audit["class"].as_str()), (1, Some("unsafe")), "{audit:#}");
    let first = &audit["reasons"][0];
    assert_eq!((&first["reason"], &first["bytes"]), (&"drive_tears".into(), &4096.into()));
}

#[test]
fn a_file_as_a_device_is_told_with_what_lies_below_it() {
    if !has_loop_devices() {
        return;
    }
    let world = World::new();
    let image = world.path("disk.img");
    let file = File::create(&image).unwrap();
    file.set_len(256 << 20).unwrap();
    let target = world.path("mount");
    std::fs::create_dir(&target).unwrap();
    for direct in ["on", "off"] {
        let how = format!("--direct-io={direct}");
        let words = ["--show", "--find", &how, image.to_str().unwrap()];
        let shown = Command::new("losetup").args(words).output().unwrap();
        let device = String::from_utf8(shown.stdout).unwrap().trim().to_owned();
        let _device = Detached(device.clone());
        run(&["mkfs.ext4", "-q", "-F", &device]);
        run(&["mount", &device, target.to_str().unwrap()]);
        let _mount = Unmounted(target.clone());
        let (code, audit) = audit(&world, &target, &["--writes", "direct"]);
        assert_eq!(code, 1, "{audit:#}");
        let below = &audit["stacks"][0]["files"][0];
        assert_eq!(below["file"], image.to_str().unwrap());
        assert!(below["below"]["file_system"]["name"].is_string(), "{below:#}");
        let is_buffered = reasons(&audit).contains(&"buffered_file");
        assert_eq!(is_buffered, direct == "off", "{audit:#}");
    }
}

/// A loop device, detached when dropped.
struct Detached(String);

impl Drop for Detached {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// A mount, unmounted when dropped.
struct Unmounted(PathBuf);

impl Drop for Unmounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Bytes that the command and its shell read by system calls (`proc(5)`, `rchar`, which includes
/// children that were waited for).
fn bytes_read(world: &World, words: &str) -> u64 {
    let mut shell = Command::new("sh");
    shell.current_dir(world.path("")).env("ASSAY_STATE", world.path("state"));
    let script = format!("{words} > audited; grep rchar /proc/$$/io");
    let output = shell.args(["-c", &script]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().strip_prefix("rchar: ").unwrap().parse().unwrap()
}

/// The audit reads headers of 128 and 38 bytes of each table.
#[test]
fn ten_thousand_tables_are_audited_at_once_and_none_of_their_rows_is_read() {
    let world = World::new();
    let directory = world.path("data");
    std::fs::create_dir_all(directory.join("sbtest")).unwrap();
    let mut header = [0; 128];
    header[25] = 8;
    header[56..58].copy_from_slice(&[0x40, 0x21]);
    for table in 0..10_000 {
        let path = directory.join(format!("sbtest/t{table}.ibd"));
        let file = File::create_new(path).unwrap();
        file.write_all_at(&header, 0).unwrap();
        file.set_len(112 << 10).unwrap();
    }
    let began = Instant::now();
    let (code, audit) = audit(&world, &directory, &["--writes", "direct"]);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(code < 2);
    let looked = audit["files"]["looked"].as_array().unwrap();
    assert_eq!(looked.len(), 10_000);
    assert!(looked.iter().all(|file| file["encrypted"] == false));
    let words = |directory: &str| format!("{} audit {directory} --writes direct --json", program());
    std::fs::create_dir(world.path("empty")).unwrap();
    let (most, without) = (10_000 * (128 + 38), bytes_read(&world, &words("empty")));
    let read = bytes_read(&world, &words("data")) - without;
    assert!((1..=most + (64 << 10)).contains(&read), "{read} bytes were read, {most} at most");
    // Control: reads are counted.
    assert!(bytes_read(&world, "cat data/sbtest/t1.ibd") >= 112 << 10);
}

#[test]
fn a_running_server_is_asked_and_what_guarantees_nothing_is_unknown() {
    let world = World::new();
    let elsewhere = world.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let directories = format!("innodb_directories={}", elsewhere.display());
    let settings = ["innodb_flush_method=O_DIRECT", &directories];
    let Some(server) = TestServer::start(&settings) else { return };
    let socket = server.socket.to_str().unwrap();
    let mut root = root_at(&server.socket);
    let create = format!("CREATE TABLE test.t (a INT) DATA DIRECTORY = '{}'", elsewhere.display());
    root.query_drop(create).unwrap();
    let data = server.socket.parent().unwrap().parent().unwrap().join("data");
    let (code, found) = audit(&world, &data, &["--server", socket]);
    // The disk of this machine is unknown to the test, except that it is no drive of Assay.
    assert!(code < 2 && !reasons(&found).contains(&"own_drive"), "{found:#}");
    assert_eq!(found["page_bytes"], 16384);
    assert_eq!(found["server"]["is_direct"], true);
    assert_eq!(found["server"]["doublewrite"], "on");
    assert!(found["files"]["looked"].as_array().unwrap().len() > 5, "{found:#}");
    let words = ["audit", data.to_str().unwrap(), "--server", socket];
    let printed = String::from_utf8(world.run(&words).stdout).unwrap();
    assert!(printed.contains("server    ") && printed.contains("doublewrite on"), "{printed}");
    assert!(printed.lines().all(|line| !line.ends_with(' ')), "{printed}");

    let outside = found["files"]["looked"].as_array().unwrap().iter();
    let outside = outside
        .filter(|file| file["path"].as_str().unwrap().starts_with(elsewhere.to_str().unwrap()));
    assert_eq!(outside.count(), 1, "a table that lies elsewhere: {found:#}");

    let other = world.path("other");
    std::fs::create_dir(&other).unwrap();
    let refused = world.refused(&["audit", other.to_str().unwrap(), "--server", socket]);
    assert!(refused.contains("the server's data directory is "), "{refused}");
    let refused = world.refused(&["audit", "nowhere"]);
    assert!(refused.contains("cannot look at nowhere"), "{refused}");
    let refused = world.refused(&["audit", ".", "--server", "a b"]);
    assert!(refused.contains("`a b` is no address"), "{refused}");
    let refused = world.refused(&["audit", ".", "--page-size", "5K"]);
    assert!(refused.contains("none of InnoDB's"), "{refused}");
}

#[test]
fn where_a_link_leads_is_judged_too() {
    if !has_loop_devices() || !crate::drives::has_drives() {
        return;
    }
    let mounted = Mounted::new(&["mkfs.ext4", "-q", "-O", "bigalloc", "-C", "16384"]);
    append(&direct(&mounted.data().join("here.ibd")), 0, 1 << 20);
    let (code, before) = mounted.audit();
    assert_eq!((code, before["stacks"].as_array().unwrap().len()), (0, 1), "{before:#}");
    // On the disk of the tests, which guarantees nothing.
    let elsewhere = mounted.drives.path("elsewhere");
    std::fs::create_dir_all(elsewhere.join("schema")).unwrap();
    for name in ["there.ibd", "schema/t.ibd"] {
        std::fs::write(elsewhere.join(name), vec![7; 1 << 20]).unwrap();
    }
    for (name, to) in [("there.ibd", "there.ibd"), ("schema", "schema")] {
        let link = mounted.data().join(name);
        std::os::unix::fs::symlink(elsewhere.join(to), &link).unwrap();
        let (code, after) = mounted.audit();
        assert_eq!((code, after["stacks"].as_array().unwrap().len()), (1, 2), "{name}: {after:#}");
        std::fs::remove_file(link).unwrap();
    }
    // A link to a parent is followed once; the target of a dangling link is unknown.
    std::os::unix::fs::symlink(mounted.data(), mounted.data().join("up")).unwrap();
    assert_eq!(mounted.audit().0, 0);
    std::os::unix::fs::symlink("/nonexistent", mounted.data().join("lost.ibd")).unwrap();
    let (code, lost) = mounted.audit();
    assert!(code == 1 && reasons(&lost).contains(&"files_unseen"), "{lost:#}");
}
