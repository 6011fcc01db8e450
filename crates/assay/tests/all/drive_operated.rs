//! Tests a drive in operation: monitoring, units for start and stop, and no access to other
//! resources.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::drives::{Drives, MIB, SMALL, has_drives, noise, system, unmount};
use assay_drive::BlockBuffer;
use assay_testing::skip;
use rustix::process::Signal;

const PATIENCE: Duration = Duration::from_secs(60);

/// Exit code and JSON of `status`.
fn judged(drives: &Drives, name: &str) -> (i32, serde_json::Value) {
    let output = drives.run(&["drive", "status", name, "--json"]);
    let plain = drives.run(&["drive", "status", name]);
    assert_eq!(plain.status.code(), output.status.code(), "plain and JSON alike");
    let value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code().unwrap(), value)
}

/// Runs a shell script with the program as `$0`; it is ended after 20 s.
fn shell(drives: &Drives, script: &str) -> Output {
    let mut command = Command::new("timeout");
    command.args(["20", "bash", "-c", script, crate::common::program()]);
    command.current_dir(drives.path("")).env("ASSAY_STATE", drives.path("state"));
    command.output().unwrap()
}

/// Writes incompressible data past the page cache, from the beginning, until `is_enough` or a write
/// is refused.
fn fill(device: &str, mut is_enough: impl FnMut(u64) -> bool) {
    let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).unwrap();
    let file = OpenOptions::new().write(true).custom_flags(direct).open(device).unwrap();
    let mut buffer = BlockBuffer::zeroed(MIB as usize);
    for number in 0.. {
        buffer.as_mut().copy_from_slice(&noise(MIB as usize, number + 1));
        if is_enough(number) || file.write_all_at(buffer.as_ref(), number * MIB).is_err() {
            return;
        }
    }
}

#[test]
fn exit_codes_and_states_tell_a_monitor_what_a_person_would_see() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let (code, told) = judged(&drives, "vol.img");
    assert_eq!((code, &told["state"], &told["attached"]), (0, &"healthy".into(), &false.into()));
    let device = drives.attach(&[]);
    let (code, told) = judged(&drives, &device);
    assert_eq!((code, &told["state"], &told["attached"]), (0, &"healthy".into(), &true.into()));

    fill(&device, |_| judged(&drives, "vol.img").1["state"] == "low_space");
    assert_eq!(judged(&drives, "vol.img").0, 1);
    fill(&device, |_| false);
    let (code, told) = judged(&drives, "vol.img");
    assert_eq!((code, &told["state"], &told["drive_state"]), (1, &"full".into(), &"full".into()));

    drives.kill_server();
    let (code, told) = judged(&drives, "vol.img");
    assert_eq!((code, &told["state"]), (1, &"died".into()));
    assert_eq!((&told["server_died"], &told["attached"]), (&true.into(), &false.into()));
    assert_ne!(told["drive_state"], "died", "of the drive itself it is told as well");
    let listed: serde_json::Value =
        serde_json::from_str(&drives.done(&["drive", "list", "--json"])).unwrap();
    assert_eq!(listed[0]["state"], "died");
    drives.detach();

    fs::write(drives.path("none.img"), vec![0; MIB as usize]).unwrap();
    assert_eq!(judged(&drives, "none.img").0, 2);
    assert_eq!(judged(&drives, "nowhere.img").0, 2);
}

/// Value of a metric of `vol.img`.
fn metric(text: &str, drives: &Drives, name: &str, more: &str) -> Option<f64> {
    let media = drives.path("vol.img").canonicalize().unwrap();
    let start = format!("assay_drive_{name}{{media=\"{}\"{more}}} ", media.display());
    text.lines().find_map(|line| line.strip_prefix(&start)).map(|value| value.parse().unwrap())
}

#[test]
fn metrics_are_there_for_a_collector_whatever_the_drive_is_like() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let all = || drives.done(&["drive", "status", "--prometheus"]);
    let one = || drives.done(&["drive", "status", "--prometheus", "vol.img"]);
    assert_eq!(metric(&all(), &drives, "up", ""), None, "nobody told of it");
    assert_eq!(metric(&one(), &drives, "up", ""), Some(0.0));
    let healthy = ",state=\"healthy\"";
    assert_eq!(metric(&one(), &drives, "state", healthy), Some(1.0));
    let device = drives.attach(&[]);
    fill(&device, |number| number == 3);
    for text in [all(), one()] {
        assert_eq!(metric(&text, &drives, "up", ""), Some(1.0));
        let written = metric(&text, &drives, "host_written_bytes_total", "").unwrap();
        assert_eq!(written, 3.0 * MIB as f64);
    }
    // A drive that does not answer is down, and the others are exported all the same.
    let server = drives.server();
    server.signal(Signal::STOP).unwrap();
    assert_eq!(judged(&drives, "vol.img").0, 2, "it could not be told");
    let text = all();
    assert_eq!(metric(&text, &drives, "up", ""), Some(0.0));
    assert_eq!(metric(&text, &drives, "state", healthy), None);
    server.signal(Signal::CONT).unwrap();
    drives.kill_server();
    let text = all();
    assert_eq!(metric(&text, &drives, "up", ""), Some(0.0));
    assert_eq!(metric(&text, &drives, "state", ",state=\"died\""), Some(1.0));
    assert_eq!(metric(&text, &drives, "state", healthy), Some(0.0));
    drives.detach();
    drives.refused(&["drive", "status", "--prometheus", "nowhere.img"]);
}

#[test]
fn attached_already_is_as_good_where_it_is_only_needed() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    // Concurrently, as several units and users may.
    let start = || {
        let mut command = drives.command(&["drive", "attach", "vol.img", "--if-needed"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let together: Vec<_> = (0..4).map(|_| start()).collect();
    let devices: Vec<_> = together
        .into_iter()
        .map(|attach| {
            let output = attach.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        })
        .collect();
    assert!(devices.iter().all(|device| *device == devices[0]), "{devices:?}");
    let device = devices[0].trim().to_owned();
    assert!(device.starts_with("/dev/loop"), "{device}");
    let (same, said) = drives.attach_saying(&["--if-needed"]);
    assert_eq!((same, said.as_str()), (device.clone(), ""));
    let (same, said) = drives.attach_saying(&["--if-needed", "--threads", "3", "--read-only"]);
    assert_eq!(same, device);
    let told = "is already attached, with --threads 16 and no --read-only; detach and reattach it";
    assert!(said.contains(told), "{said}");
    let line = drives.refused(&["drive", "attach", "vol.img"]);
    assert!(line.contains("is already attached, as"), "{line}");

    let files = drives.make_files(&device);
    drives.kill_server();
    let line = drives.refused(&["drive", "attach", "vol.img", "--if-needed"]);
    assert!(line.contains(&format!("mounted on {}", files.display())), "{line}");
    drives.unmount();
    let device = drives.attach(&["--if-needed"]);
    drives.mount(&device);
    drives.unmount();
    drives.done(&["drive", "detach", "vol.img", "--if-needed"]);
    let said = drives.done(&["drive", "detach", "vol.img", "--if-needed"]);
    assert_eq!(said, "vol.img is not attached\n");
    drives.assert_nothing_left();
}

#[test]
fn a_server_holds_nothing_of_whoever_attached_it() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let locked = shell(&drives, "exec 9>lock; flock 9; \"$0\" drive attach vol.img");
    assert!(locked.status.success(), "{locked:?}");
    let lock = File::create(drives.path("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    drives.detach();
    let piped = shell(&drives, "\"$0\" drive attach vol.img 9>&1 | cat");
    assert_eq!(piped.status.code(), Some(0), "the pipe ends with the command: {piped:?}");
    drives.detach();
    drives.assert_nothing_left();
}

/// Name and flags (`proc(5)`, field 9 of `stat`) of the process's threads; threads that end
/// meanwhile are left out.
fn threads_of(pid: u64) -> Vec<(String, u64)> {
    let thread = |path: &Path| {
        let name = fs::read_to_string(path.join("comm")).ok()?.trim().to_owned();
        let stat = fs::read_to_string(path.join("stat")).ok()?;
        Some((name, stat.rsplit_once(") ")?.1.split(' ').nth(6)?.parse().ok()?))
    };
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    threads.filter_map(|entry| thread(&entry.unwrap().path())).collect()
}

#[test]
fn every_thread_of_a_server_survives_short_memory() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let device = drives.attach(&[]);
    fill(&device, |number| number == 3);
    let status = drives.status();
    let pid = status["pid"].as_u64().unwrap();
    let adj = fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap();
    assert_eq!(status["oom_score_adj"].as_i64(), adj.trim().parse().ok());
    let is_permitted = status["io_flusher"] == true;
    let named = ["maintain", "fuser-0", "changes"];
    // A thread sets its name when it first runs.
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut threads = threads_of(pid);
    while !named.iter().all(|name| threads.iter().any(|(found, _)| found == name)) {
        assert!(Instant::now() < deadline, "not all of {named:?} in {threads:?}");
        std::thread::yield_now();
        threads = threads_of(pid);
    }
    for (name, flags) in threads {
        // PF_MEMALLOC_NOIO (`include/linux/sched.h`).
        assert_eq!(flags & 0x0008_0000 != 0, is_permitted, "{name}");
    }
    let text = drives.done(&["drive", "status", "vol.img"]);
    let log = drives.server_log();
    match is_permitted && adj.trim() == "-1000" {
        true => assert!(text.contains("when memory is short it is not killed"), "{text}"),
        false => {
            let told = "was not permitted";
            assert!(text.contains(told) && log.contains(told), "{text} {log}");
        }
    }
    drives.detach();
}

/// Time, level and text of a log line.
fn line_of(line: &str) -> (&str, &str, &str) {
    let (time, rest) = line.split_once(' ').unwrap();
    let (level, words) = rest.split_once(' ').unwrap();
    assert!(time.len() == 24 && time.ends_with('Z') && &time[10..11] == "T", "{line}");
    (time, level, words)
}

#[test]
fn the_log_stays_and_says_when_what_was() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    assert_eq!(drives.status()["log"], serde_json::Value::Null);
    let device = drives.attach(&[]);
    let log = drives.status()["log"].as_str().unwrap().to_owned();
    let plain = drives.done(&["drive", "status", "vol.img"]);
    assert!(plain.contains(&log), "{plain}");
    fill(&device, |_| false);
    let deadline = Instant::now() + PATIENCE;
    while !drives.server_log().contains("full, was ") {
        assert!(Instant::now() < deadline, "{}", drives.server_log());
        std::thread::sleep(Duration::from_millis(50));
    }
    drives.kill_server();
    assert_eq!(drives.status()["log"], log.as_str());
    drives.attach(&[]);
    drives.detach();
    let text = fs::read_to_string(&log).unwrap();
    let lines: Vec<_> = text.lines().map(line_of).collect();
    assert!(lines.is_sorted_by_key(|line| line.0), "{text}");
    let attached = "vol.img is attached as /dev/loop";
    assert_eq!(lines.iter().filter(|line| line.2.contains(attached)).count(), 2, "{text}");
    let has = |level: &str, words: &str| {
        lines.iter().any(|line| line.1 == level && line.2.starts_with(words))
    };
    assert!(has("warn", "full, was "), "{text}");
    assert!(has("info", "not closed cleanly; "), "what was replayed: {text}");
    assert_eq!(lines.last().unwrap().2, "detached and closed");
    drives.assert_nothing_left();
}

#[test]
fn what_systemd_starts_tells_the_journal_too() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let journal = File::create_new(drives.path("journal")).unwrap();
    let metadata = journal.metadata().unwrap();
    let named = format!("{}:{}", metadata.dev(), metadata.ino());
    let attach = |stream: &str| {
        let mut command = drives.command(&["drive", "attach", "vol.img"]);
        command.env("JOURNAL_STREAM", stream).stderr(journal.try_clone().unwrap());
        assert!(command.stdout(Stdio::null()).status().unwrap().success());
        drives.detach();
        fs::read_to_string(drives.path("journal")).unwrap()
    };
    assert_eq!(attach("8:1"), "", "another one's journal is not ours");
    let said = attach(&named);
    assert!(said.starts_with("<6>") && said.contains("vol.img is attached as /dev/loop"), "{said}");
    assert!(said.ends_with("<6>detached and closed\n"), "{said}");
}

/// Runs a command line of the unit for this drive.
fn line_of_unit(drives: &Drives, service: &str, key: &str) -> Output {
    let media = drives.path("vol.img").canonicalize().unwrap();
    let words = service.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    let words: Vec<_> = words.trim_start_matches("=:").split(' ').collect();
    let variable = service.lines().find_map(|line| line.strip_prefix("Environment=")).unwrap();
    let (name, value) = variable.split_once('=').unwrap();
    let mut command = Command::new(words[0]);
    command.args(words[1..].iter().map(|word| word.replace("%f", media.to_str().unwrap())));
    // Like a service: without a home, in another directory.
    command.env_clear().env(name, value).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let output = command.current_dir("/").output().unwrap();
    assert!(output.status.success(), "{key}: {output:?}");
    output
}

#[test]
fn what_a_unit_runs_attaches_and_closes_a_drive_whatever_happens_in_between() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let service = drives.done(&["drive", "unit", "vol.img", "--service"]);
    let start = || {
        let output = line_of_unit(&drives, &service, "ExecStart");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let stop = || line_of_unit(&drives, &service, "ExecStop");
    let line = drives.refused(&["drive", "unit", "vol.img", "--mount", "files"]);
    assert!(line.contains("make a file system first"), "{line}");
    let device = start();
    let files = drives.make_files(&device);
    let uuid = Command::new("blkid").args(["-o", "value", "-s", "UUID", &device]).output();
    let fstab = drives.done(&["drive", "unit", "vol.img", "--mount", "files", "--fstab"]);
    if let Ok(uuid) = uuid {
        let uuid = String::from_utf8(uuid.stdout).unwrap();
        assert!(fstab.starts_with(&format!("UUID={} ", uuid.trim())), "{fstab}");
    }
    assert!(
        fstab.contains(" ext4 ") && fstab.contains("x-systemd.requires=assay-drive@"),
        "{fstab}"
    );
    write_synced(&files.join("first"), b"first");

    // SIGTERM does not interrupt the service of a mounted drive: the server ends after the unmount.
    let server = drives.server();
    server.signal(Signal::TERM).unwrap();
    assert!(!server.wait(Some(Duration::from_millis(1500))).unwrap());
    write_synced(&files.join("second"), b"second");
    assert!(drives.server_log().contains("warn asked to end: "), "{}", drives.server_log());
    drives.unmount();
    assert!(server.wait(Some(PATIENCE)).unwrap());
    assert_eq!(drives.status()["recovery_clean"], true);
    stop();
    drives.assert_nothing_left();
    let fstab_at_rest = drives.done(&["drive", "unit", "vol.img", "--mount", "files", "--fstab"]);
    assert_eq!(fstab_at_rest, fstab);

    let files = drives.mount(&start());
    assert_eq!(fs::read(files.join("first")).unwrap(), b"first");
    assert_eq!(fs::read(files.join("second")).unwrap(), b"second");
    write_synced(&files.join("third"), b"third");
    assert_eq!(start(), drives.status()["device"].as_str().unwrap(), "once is enough");
    // SIGKILL costs unflushed data, and nothing else.
    drives.kill_server();
    drives.unmount();
    let files = drives.mount(&start());
    assert_eq!(fs::read(files.join("third")).unwrap(), b"third");
    drives.unmount();
    stop();
    stop();
    drives.assert_nothing_left();
    assert_eq!(drives.status()["recovery_clean"], true);
}

/// The file system below a drive, frozen until this is dropped.
struct Frozen<'a>(&'a str);

impl Frozen<'_> {
    fn freeze(target: &str) -> Frozen<'_> {
        system("fsfreeze", &["-f", target]);
        Frozen(target)
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        system("fsfreeze", &["-u", self.0]);
    }
}

/// Imitates a snapshot by freezing writes while the file is copied, since no snapshot tool need be
/// installed.
#[test]
fn a_snapshot_from_below_is_what_a_crash_leaves_and_a_copy_at_rest_is_the_drive() {
    if !has_drives() {
        return;
    }
    if Command::new("fsfreeze").arg("--version").output().is_err() {
        return skip("fsfreeze");
    }
    let drives = Drives::new();
    let below = drives.path("below");
    fs::create_dir(&below).unwrap();
    let image = drives.path("below.img");
    File::create_new(&image).unwrap().set_len(512 * MIB).unwrap();
    system("mkfs.ext4", &["-q", "-F", image.to_str().unwrap()]);
    system("mount", &["-o", "loop", image.to_str().unwrap(), below.to_str().unwrap()]);
    drives.done(&["drive", "create", "below/vol.img", "--capacity", "128M"]);
    let device = drives.done(&["drive", "attach", "below/vol.img"]);
    let files = drives.make_files(device.trim());

    let written = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    let written_before = std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                // A few files are overwritten, so that the drive collects garbage meanwhile.
                write_synced(&files.join((number % 50).to_string()), &of_version(number));
                written.store(number + 1, Ordering::SeqCst);
            }
        });
        while written.load(Ordering::SeqCst) < 300 {
            std::thread::yield_now();
        }
        let before = written.load(Ordering::SeqCst);
        let frozen = Frozen::freeze(below.to_str().unwrap());
        fs::copy(below.join("vol.img"), drives.path("snapshot.img")).unwrap();
        drop(frozen);
        is_over.store(true, Ordering::Relaxed);
        before
    });
    drives.unmount();
    drives.done(&["drive", "detach", "below/vol.img"]);
    system(
        "cp",
        &[
            "--sparse=always",
            below.join("vol.img").to_str().unwrap(),
            drives.path("copy.img").to_str().unwrap(),
        ],
    );
    unmount(&below);

    for (copy, written) in
        [("snapshot.img", written_before), ("copy.img", written.load(Ordering::SeqCst))]
    {
        let said = drives.done(&["drive", "check", copy]);
        assert!(said.trim_end().ends_with("no damage"), "{copy}: {said}");
        let device = drives.done(&["drive", "attach", copy]);
        let files = drives.mount(device.trim());
        for number in written - 50..written {
            // A newer version may be present, whole or partly written; an older one may not.
            let found = fs::read(files.join((number % 50).to_string())).unwrap();
            let is_newer = copy == "snapshot.img" && found != of_version(number);
            assert!(!is_newer || (0..number).all(|old| found != of_version(old)), "{number}");
            assert!(is_newer || found == of_version(number), "{copy}: {number} of {written}");
        }
        drives.unmount();
        drives.done(&["drive", "detach", copy]);
    }
    drives.assert_nothing_left();
}

fn of_version(number: u64) -> Vec<u8> {
    noise(16 << 10, number + 1)
}

fn write_synced(path: &Path, data: &[u8]) {
    let mut file = File::create(path).unwrap();
    file.write_all(data).unwrap();
    file.sync_all().unwrap();
    File::open(path.parent().unwrap()).unwrap().sync_all().unwrap();
}

#[test]
fn systemd_does_not_kill_a_server_before_it_unmounts() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    drives.attach(&[]);
    let pid = drives.status()["pid"].as_u64().unwrap();
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(command.starts_with(b"@assay\0drive\0serve\0"));
    drives.detach();
}
