//! Drives in a world of their own, which leaves nothing behind, also when a test fails.

#![allow(dead_code, reason = "each test program uses a part of this")]

use std::fs::File;
use std::ops::Deref;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use assay_ports::child::Process;
use assay_ports::filesystem;
use rustix::process::Signal;
use serde_json::Value;

use crate::common::World;
use assay_testing::skip;

pub const MIB: u64 = 1 << 20;

/// Whether drives can be attached here; if not, the test is skipped.
pub fn has_drives() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    let is_there = |path: &str| Path::new(path).exists();
    let has = is_root && is_there("/dev/fuse") && is_there("/dev/loop-control");
    if !has {
        skip("root, FUSE and loop devices");
    }
    has
}

/// Whether drives can be attached and fio is installed; if not, the test is skipped.
pub fn has_fio() -> bool {
    let has = Command::new("fio").arg("--version").output().is_ok();
    if !has {
        skip("fio");
    }
    has && has_drives()
}

/// Options of a small drive.
pub const SMALL: [&str; 3] = ["--capacity", "64M", "--sparse"];

/// A directory in which a test creates drives.
pub struct Drives {
    world: World,
}

impl Drives {
    pub fn new() -> Drives {
        Drives { world: World::new() }
    }

    /// Creates a small drive `vol.img` with more options.
    pub fn with(words: &[&str]) -> Drives {
        let drives = Drives::new();
        drives.create("vol.img", words);
        drives
    }

    pub fn create(&self, name: &str, words: &[&str]) {
        self.done(&[&["drive", "create", name], words].concat());
    }

    /// Attaches `vol.img`; returns the printed device.
    pub fn attach(&self, words: &[&str]) -> String {
        self.attach_saying(words).0
    }

    /// Attaches `vol.img`; returns the printed device and standard error.
    pub fn attach_saying(&self, words: &[&str]) -> (String, String) {
        let output = self.world.run(&[&["drive", "attach", "vol.img"], words].concat());
        assert!(output.status.success(), "{words:?}: {output:?}");
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed.lines().count(), 1, "nothing but the device: {printed}");
        (printed.trim_end().to_owned(), String::from_utf8(output.stderr).unwrap())
    }

    pub fn detach(&self) {
        self.done(&["drive", "detach", "vol.img"]);
    }

    /// Runs `assay`, which must succeed; returns its output.
    pub fn done(&self, words: &[&str]) -> String {
        let output = self.world.run(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The health log of `vol.img`.
    pub fn status(&self) -> Value {
        self.status_of("vol.img")
    }

    /// The health log of a drive by its name.
    pub fn status_of(&self, name: &str) -> Value {
        serde_json::from_str(&self.told(&["drive", "status", name, "--json"])).unwrap()
    }

    /// Runs `assay`, which must print something whatever its exit code; returns its output.
    pub fn told(&self, words: &[&str]) -> String {
        let output = self.world.run(words);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Contents of `vol.img`.
    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path("vol.img")).unwrap()
    }

    /// Changes a block of `vol.img` on the media.
    pub fn change(&self, offset: u64, change: impl FnOnce(&mut [u8; 4096])) {
        let file = File::options().read(true).write(true).open(self.path("vol.img")).unwrap();
        let mut block = [0; 4096];
        file.read_exact_at(&mut block, offset).unwrap();
        change(&mut block);
        file.write_all_at(&block, offset).unwrap();
    }

    /// The process that serves `vol.img`.
    pub fn server(&self) -> Process {
        let pid = self.status()["pid"].as_u64().unwrap();
        Process::open(u32::try_from(pid).unwrap()).unwrap().unwrap()
    }

    /// Kills the process that serves `vol.img`, and waits for its end.
    pub fn kill_server(&self) {
        let server = self.server();
        server.signal(Signal::KILL).unwrap();
        assert!(server.wait(None).unwrap());
    }

    /// Log of the servers of the only drive.
    pub fn server_log(&self) -> String {
        let logs = std::fs::read_dir(self.path("state/logs")).unwrap();
        let log = logs.map(|log| log.unwrap().path()).next().unwrap();
        std::fs::read_to_string(log).unwrap()
    }

    /// Makes an ext4 on `device` and mounts it.
    pub fn make_files(&self, device: &str) -> PathBuf {
        system("mkfs.ext4", &["-q", "-F", device]);
        self.mount(device)
    }

    pub fn mount(&self, device: &str) -> PathBuf {
        let target = self.path("files");
        let _ = std::fs::create_dir(&target);
        system("mount", &[device, target.to_str().unwrap()]);
        target
    }

    pub fn unmount(&self) {
        unmount(&self.path("files"));
    }

    /// Asserts that there are no mounts, loop devices or processes, and only empty directories in
    /// the state directory.
    pub fn assert_nothing_left(&self) {
        assert_eq!(self.leftovers(), Vec::<String>::new());
        for directory in ["state/ledgers", "state/drives"] {
            let entries = std::fs::read_dir(self.path(directory)).into_iter().flatten();
            let entries: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
            assert_eq!(entries, Vec::<PathBuf>::new());
        }
    }
}

impl Deref for Drives {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Drop for Drives {
    fn drop(&mut self) {
        // Servers first: a server's media may be on one of the mounts.
        for (pid, _) in self.servers() {
            if let Ok(Some(process)) = Process::open(pid) {
                let _ = process.signal(Signal::KILL);
                let _ = process.wait(None);
            }
        }
        let directory = self.path("");
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        for mount in fields.filter(|fields| fields[2] != "fuse.assay") {
            if Path::new(mount[1]).starts_with(&directory) {
                let _ = Command::new("umount").arg(mount[1]).status();
            }
        }
        let _ = self.command(&["clean"]).output();
    }
}

/// Unmounts `target`. Tries again while it is busy: a child that another test has just forked
/// inherits open files until it calls `exec`.
pub fn unmount(target: &Path) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while let Err(error) = filesystem::unmount(target) {
        assert!(error.is_busy() && Instant::now() < deadline, "{error}");
        std::thread::yield_now();
    }
}

/// Runs a program of the system, which must succeed.
pub fn system(program: &str, words: &[&str]) -> Output {
    let output = Command::new(program)
        .args(words)
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .output()
        .unwrap();
    assert!(output.status.success(), "{program} {words:?}: {output:?}");
    output
}

/// Incompressible bytes, the same for each seed.
pub fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        // Marsaglia, "Xorshift RNGs", 2003.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}
