//! Tests a drive whose server is killed and replaced at once or stopped, whose media's file system
//! fills up, and which several commands attach at the same time.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use crate::drives::{Drives, MIB, has_drives, noise, system, unmount};
use assay_ports::child::{Process, is_stopped};
use rustix::process::Signal;

#[test]
fn a_killed_server_is_followed_at_once() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "64M"]);
    let data = noise(4 * MIB as usize, 1);
    for round in 0..15 {
        let device = File::options().write(true).open(drives.attach(&[])).unwrap();
        device.write_all_at(&data, round * MIB).unwrap();
        // Unflushed data are lost with the server; closing the device would wait for them.
        drop(device);
        // Its threads may still be ending when the next command looks.
        drives.server().signal(Signal::KILL).unwrap();
        if round % 2 == 0 {
            drives.attach(&[]);
        }
        drives.detach();
        drives.assert_nothing_left();
    }
}

#[test]
fn of_several_that_attach_one_does() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "64M"]);
    for _ in 0..5 {
        let attaches: Vec<_> = (0..3)
            .map(|_| {
                let mut attach = drives.command(&["drive", "attach", "vol.img"]);
                attach.stderr(std::process::Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let outputs = attaches.into_iter().map(|attach| attach.wait_with_output().unwrap());
        let (done, refused): (Vec<_>, Vec<_>) = outputs.partition(|output| output.status.success());
        assert_eq!(done.len(), 1, "{refused:?}");
        for output in refused {
            let line = String::from_utf8(output.stderr).unwrap();
            let is_told = line.contains("is already attached") || line.contains("is in use");
            assert!(is_told && line.lines().count() == 1, "{line}");
        }
        drives.detach();
        drives.assert_nothing_left();
    }
}

/// A stopped process, continued when dropped; until then, access to its device hangs.
struct Stopped(Process);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.signal(Signal::CONT);
    }
}

#[test]
fn a_stopped_server_is_named_and_not_waited_for() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "64M"]);
    drives.attach(&[]);
    let pid = u32::try_from(drives.status()["pid"].as_u64().unwrap()).unwrap();
    let server = stop(drives.server(), pid);
    for action in ["status", "detach"] {
        let line = drives.refused(&["drive", action, "vol.img"]);
        assert!(line.contains("is stopped; continue it with `kill -CONT "), "{line}");
    }
    let line = drives.refused(&["drive", "attach", "vol.img"]);
    assert!(line.contains("is already attached"), "{line}");
    drop(server);
    drives.detach();
    drives.assert_nothing_left();
}

/// Threads of the process in uninterruptible sleep (`proc(5)`, field 3 of `stat`).
fn waiting_for_io(pid: u32) -> HashSet<OsString> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let waits = |thread: &fs::DirEntry| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" D"))
    };
    threads.filter(waits).map(|thread| thread.file_name()).collect()
}

/// Stops the process and waits until all its threads have stopped.
fn stop(process: Process, pid: u32) -> Stopped {
    let stopped = Stopped(process);
    stopped.0.signal(Signal::STOP).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_stopped(pid) {
        assert!(Instant::now() < deadline, "it does not stop");
        std::thread::yield_now();
    }
    stopped
}

#[test]
fn a_killed_server_is_waited_for_until_its_media_answer() {
    if !has_drives() {
        return;
    }
    // A drive whose media are on another drive, whose server can be stopped.
    let drives = Drives::new();
    drives.create("below.img", &["--capacity", "256M"]);
    let files = drives.make_files(drives.done(&["drive", "attach", "below.img"]).trim_end());
    std::os::unix::fs::symlink(files.join("vol.img"), drives.path("vol.img")).unwrap();
    drives.create("files/vol.img", &["--capacity", "64M"]);
    let device = File::options().write(true).open(drives.attach(&[])).unwrap();
    let pid_of = |name| u32::try_from(drives.status_of(name)["pid"].as_u64().unwrap()).unwrap();
    let (pid, below) = (pid_of("vol.img"), pid_of("below.img"));
    let server = drives.server();
    let below = stop(Process::open(below).unwrap().unwrap(), below);
    let writer = std::thread::spawn(move || {
        device.write_all_at(&noise(4 * MIB as usize, 3), 0).and_then(|()| device.sync_data())
    });
    // Any thread sleeps so for a moment; the one that writes to the media keeps sleeping.
    let deadline = Instant::now() + Duration::from_secs(20);
    let (mut since, mut waiting) = (Instant::now(), waiting_for_io(pid));
    while since.elapsed() < Duration::from_millis(300) {
        assert!(Instant::now() < deadline, "nothing was written to its media");
        waiting.retain(|thread| waiting_for_io(pid).contains(thread));
        if waiting.is_empty() {
            (since, waiting) = (Instant::now(), waiting_for_io(pid));
        }
        std::thread::yield_now();
    }
    server.signal(Signal::KILL).unwrap();
    let mut attach = drives.command(&["drive", "attach", "vol.img"]).spawn().unwrap();
    // The server cannot end, so nothing is attached or refused.
    assert!(!server.wait(Some(Duration::from_millis(1500))).unwrap(), "it was not held");
    assert!(attach.try_wait().unwrap().is_none(), "it was not waited for");
    drop(below);
    assert!(attach.wait().unwrap().success());
    assert!(writer.join().unwrap().is_err(), "what was not flushed went with the server");
    drives.detach();
    drives.unmount();
    drives.done(&["drive", "detach", "below.img"]);
    drives.assert_nothing_left();
}

#[test]
fn media_whose_place_fills_up_keeps_what_was_flushed() {
    if !has_drives() {
        return;
    }
    let drives = Drives::new();
    let place = drives.path("small");
    fs::create_dir(&place).unwrap();
    let small = place.to_str().unwrap();
    system("mount", &["-t", "tmpfs", "-o", "size=32M", "tmpfs", small]);
    drives.create("small/vol.img", &["--capacity", "64M", "--sparse"]);
    std::os::unix::fs::symlink(place.join("vol.img"), drives.path("vol.img")).unwrap();
    let data = noise(MIB as usize, 2);
    let device = File::options().read(true).write(true).open(drives.attach(&[])).unwrap();
    let kept = (0..48)
        .take_while(|index| {
            device.write_all_at(&data, index * MIB).and_then(|()| device.sync_data()).is_ok()
        })
        .count();
    assert!((8..32).contains(&kept), "{kept} MiB fitted in 32");
    drop(device);
    let status = drives.status();
    assert_eq!(status["state"], "stopped", "{status}");
    let line = drives.refused(&["drive", "detach", "vol.img"]);
    assert!(line.contains("could not be closed"), "{line}");
    drives.done(&["clean"]);
    system("mount", &["-o", "remount,size=96M", small]);
    let device = File::open(drives.attach(&[])).unwrap();
    let mut back = vec![0; data.len()];
    for index in 0..kept as u64 {
        device.read_exact_at(&mut back, index * MIB).unwrap();
        assert!(back == data, "MiB {index}");
    }
    drop(device);
    let server = drives.server();
    drives.detach();
    assert!(server.wait(Some(Duration::from_secs(10))).unwrap());
    unmount(&place);
    drives.assert_nothing_left();
}

/// A program in its own mount namespace, like a container or a service: it has copies of all
/// mounts.
struct Namespace(std::process::Child);

impl Namespace {
    fn start() -> Namespace {
        let mut command = std::process::Command::new("unshare");
        command.args([
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            "echo in; exec sleep 600",
        ]);
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut word = [0; 3];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut word).unwrap();
        Namespace(child)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_drive_whose_mount_another_namespace_has_is_detached_and_attached_again() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "64M"]);
    let data = noise(4 * MIB as usize, 5);
    let device = File::options().write(true).open(drives.attach(&[])).unwrap();
    device.write_all_at(&data, MIB).unwrap();
    device.sync_all().unwrap();
    drop(device);
    let namespace = Namespace::start();
    let server = drives.server();
    let began = Instant::now();
    drives.detach();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(server.wait(Some(Duration::ZERO)).unwrap(), "the server has ended");
    let device = File::open(drives.attach(&[])).unwrap();
    let mut read = vec![0; data.len()];
    device.read_exact_at(&mut read, MIB).unwrap();
    assert!(read == data, "what was flushed is there");
    drop(device);
    drop(namespace);
    drives.detach();
    drives.assert_nothing_left();
}
