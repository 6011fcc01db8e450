//! A server that is killed, or stuck, while its disk is in use: all remains can be removed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::common::testing::{has_fuse, run};
use crate::common::{MIB, open, options, pattern};
use assay_disk::MemoryDisk;
use assay_ports::fuse::{DISK_FILE, FuseError, FuseMount, abort, abort_and_unmount};
use assay_ports::{filesystem, loopdev};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};

const MOUNT_POINT: &str = "ASSAY_TEST_MOUNT_POINT";

/// The server of the other tests, which start this program again with the variable set.
#[test]
fn serves_when_it_is_asked_to() {
    let Some(mount_point) = std::env::var_os(MOUNT_POINT) else { return };
    // It ends with the thread that started it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let disk = Arc::new(MemoryDisk::new(128 * MIB).unwrap());
    let mount = FuseMount::serve(options(Path::new(&mount_point)), disk, vec![], None).unwrap();
    println!("\nserving");
    mount.wait().unwrap();
}

/// A server in a process of its own.
struct Server {
    process: Child,
    directory: tempfile::TempDir,
}

impl Server {
    fn start() -> Server {
        let directory = tempfile::tempdir().unwrap();
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::serves_when_it_is_asked_to", "--nocapture"])
            .env(MOUNT_POINT, directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let is_serving = lines.any(|line| line.unwrap() == "serving");
        let server = Server { process, directory };
        assert!(is_serving, "the server did not begin");
        server
    }

    fn mount_point(&self) -> &Path {
        self.directory.path()
    }

    fn disk(&self) -> PathBuf {
        self.mount_point().join(DISK_FILE)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.process.id().cast_signed()).unwrap(), signal).unwrap();
    }

    fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.process.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        for device in loopdev::attached_under(self.mount_point()).unwrap_or_default() {
            let _ = loopdev::detach(&device, self.mount_point());
        }
        let _ = abort_and_unmount(self.mount_point());
    }
}

fn assert_nothing_left(mount_point: &Path, device: &Path) {
    let mounts = filesystem::mounts().unwrap();
    assert!(!mounts.iter().any(|mount| mount.target.starts_with(mount_point)));
    // The number may be another test's by now. Without the mount the kernel's name of its file is
    // relative to the former mount.
    let number = device.file_name().unwrap();
    let shown = loopdev::backing(&Path::new("/sys/block").join(number)).unwrap_or_default();
    assert!(
        !shown.starts_with(mount_point) && shown != Path::new("/").join(DISK_FILE),
        "{shown:?}"
    );
}

/// Writes to `path` repeatedly on a thread of its own until that fails; sends a message after the
/// first success.
fn write_until_it_fails(path: PathBuf) -> (Receiver<()>, std::thread::JoinHandle<()>) {
    let (sender, first) = channel();
    let writer = std::thread::spawn(move || {
        let file = open(&path, OFlags::DIRECT.bits().cast_signed());
        let data = pattern(64 * 1024);
        while file.write_all_at(data.as_ref(), MIB).is_ok() {
            let _ = sender.send(());
        }
    });
    (first, writer)
}

#[test]
fn a_killed_server_leaves_nothing_that_cannot_be_removed() {
    if !has_fuse() {
        return;
    }
    let mut server = Server::start();
    let mount_point = server.mount_point().to_owned();
    let device = loopdev::attach_disk(&server.disk(), 1 << 20).unwrap();
    run("mkfs.ext4", &["-q", "-F", device.to_str().unwrap()]);
    let files = tempfile::tempdir().unwrap();
    filesystem::mount("ext4", &device, files.path(), &[]).unwrap();
    fs::write(files.path().join("file"), vec![1; 2 * MIB as usize]).unwrap();
    let (first, writer) = write_until_it_fails(files.path().join("file"));
    first.recv().unwrap();
    server.kill();
    writer.join().unwrap();

    abort(&mount_point).unwrap();
    filesystem::unmount(files.path()).unwrap();
    assert_eq!(loopdev::attached_under(&mount_point).unwrap(), std::slice::from_ref(&device));
    loopdev::detach(&device, &mount_point).unwrap();
    abort_and_unmount(&mount_point).unwrap();
    assert_nothing_left(&mount_point, &device);
    // A missing mount is no error, and the place is free for the next.
    abort_and_unmount(&mount_point).unwrap();
    let disk = Arc::new(MemoryDisk::new(MIB).unwrap());
    FuseMount::serve(options(&mount_point), disk, vec![], None).unwrap();
}

#[test]
fn a_dead_mount_is_named_when_the_place_is_wanted() {
    if !has_fuse() {
        return;
    }
    let mut server = Server::start();
    server.kill();
    let disk = Arc::new(MemoryDisk::new(MIB).unwrap());
    let error = FuseMount::serve(options(server.mount_point()), disk, vec![], None).unwrap_err();
    assert!(matches!(error, FuseError::Taken { .. }), "{error}");
}

#[test]
fn a_stuck_server_holds_nobody() {
    if !has_fuse() {
        return;
    }
    let mut server = Server::start();
    let mount_point = server.mount_point().to_owned();
    let device = loopdev::attach_disk(&server.disk(), 1 << 20).unwrap();
    let (first, writer) = write_until_it_fails(device.clone());
    first.recv().unwrap();
    server.signal(Signal::STOP);

    // Calls that must not wait for the server run on another thread, so that a hang becomes a
    // failure.
    let (sender, done) = channel();
    let place = mount_point.clone();
    std::thread::spawn(move || {
        abort(&place).unwrap();
        writer.join().unwrap();
        let devices = loopdev::attached_under(&place).unwrap();
        devices.iter().for_each(|device| loopdev::detach(device, &place).unwrap());
        abort_and_unmount(&place).unwrap();
        sender.send(devices).unwrap();
    });
    let devices = done.recv_timeout(Duration::from_secs(60));
    server.kill();
    assert_eq!(devices.expect("it waited for the server"), std::slice::from_ref(&device));
    assert_nothing_left(&mount_point, &device);
}
