//! Helpers of the tests of the whole tool: the program in a world of its own, small plans, and
//! skipping.

#![allow(dead_code, reason = "each test program uses a part of this")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{LazyLock, OnceLock};

use assay_testing::skip;
use rusqlite::Connection;

/// Path of the tested program: `ASSAY_PROGRAM`, else the one that cargo built next to the tests.
pub fn program() -> &'static str {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| {
        std::env::var("ASSAY_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_assay").to_owned())
    });
    &PROGRAM
}

/// Path of the program for a command of these words: the hidden switch `--tear` is only in the one
/// that cargo builds for tests.
fn program_for(words: &[&str]) -> &'static str {
    if words.contains(&"--tear") { env!("CARGO_BIN_EXE_assay") } else { program() }
}

/// A directory in which a test runs the tool, with its own state directory.
pub struct World {
    directory: tempfile::TempDir,
}

impl World {
    pub fn new() -> World {
        // Not in /tmp, which may be in memory: rigs belong on a disk.
        let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
        World { directory: tempfile::tempdir_in(parent).unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// `assay` with these arguments, not started yet.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program_for(words));
        command.args(words).current_dir(self.directory.path());
        command.env("ASSAY_STATE", self.path("state"));
        // Only a server that a test has looked for: refusals must not wait for a download.
        if let Some(Some(mysql)) = FOUND.get() {
            command.env("ASSAY_SERVER", mysql);
        }
        if words.first() == Some(&"clean") {
            // `clean` lists unfinished downloads, and another test may be downloading into the
            // shared cache.
            command.env("ASSAY_CACHE", self.path("cache"));
        }
        command
    }

    pub fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Runs the command, which must fail; returns the line of the error. Prints standard error for
    /// a failed test.
    pub fn refused(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let said = String::from_utf8(output.stderr).unwrap();
        eprintln!("assay {words:?}\n{said}");
        assert_eq!(output.status.code(), Some(2), "exit code of {words:?}");
        said.lines().last().unwrap_or_default().to_owned()
    }

    /// Names in the directory, without hidden files.
    pub fn listing(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != "state");
        names.sort();
        names
    }

    /// Mounts and loop devices below the directory, and processes with it on their command line.
    pub fn leftovers(&self) -> Vec<String> {
        let directory = self.directory.path().to_str().unwrap().to_owned();
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        // Without mount options: a file system whose device is dead becomes read-only sooner or
        // later.
        let kept = |line: &str| line.split(' ').take(3).collect::<Vec<_>>().join(" ");
        let mut left: Vec<String> =
            mounts.lines().filter(|line| line.contains(&directory)).map(kept).collect();
        let columns = ["--list", "--noheadings", "--output", "NAME,BACK-FILE"];
        let loops = Command::new("losetup").args(columns).output();
        let loops = loops.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        left.extend(
            loops
                .unwrap_or_default()
                .lines()
                .filter(|line| line.contains(&directory))
                .map(str::to_owned),
        );
        left.extend(self.servers().into_iter().map(|(_, command)| command));
        left
    }

    /// Servers with the directory on their command line or in their environment: process id and
    /// command line.
    pub fn servers(&self) -> Vec<(u32, String)> {
        let directory = self.directory.path().to_str().unwrap();
        let mut servers = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let text = |name| {
                let bytes = std::fs::read(entry.path().join(name)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).replace('\0', " ")
            };
            let command = text("cmdline");
            let names = ["mysqld", "drive serve", "pool serve", "bin/ceph-"];
            let is_server = names.iter().any(|name| command.contains(name));
            if is_server && (command + " " + &text("environ")).contains(directory) {
                let number = entry.file_name().to_str().unwrap().parse().unwrap();
                servers.push((number, text("cmdline")));
            }
        }
        servers
    }
}

/// Runs of a study: key, state, reason, start time.
pub fn trials(study: &Path) -> Vec<(String, String, Option<String>, Option<String>)> {
    let db = Connection::open(study.join("study.sqlite")).unwrap();
    let sql = "SELECT config || '/' || workload || '/' || threads, state, reason, started_at FROM \
        runs ORDER BY position";
    let mut statement = db.prepare(sql).unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .unwrap();
    rows.map(Result::unwrap).collect()
}

/// A plan with two configurations, one workload and two thread counts, on this kind of rig.
pub fn small_plan(rig: &str) -> String {
    format!(
        r#"
title = "small"
noise_floor = false
extra_runs = 0
threads = [1, 2]
seconds = 2
[data]
table_size = 2000
[settings]
innodb_buffer_pool_size = "16M"
skip_log_bin = true
[rig]
{rig}
[workloads.write_only]
recipe = "oltp_write_only"
[configs.on.settings]
innodb_doublewrite = true
[configs.off.settings]
innodb_doublewrite = false
"#
    )
}

pub const DIRECTORY: &str = "kind = \"directory\"";
pub const IMAGE: &str =
    "kind = \"image\"\nsize = \"600M\"\nmount_options = [\"noatime\", \"data=writeback\"]";

/// Whether a line of `assay server list --json` is the MySQL that the tests use: the downloaded
/// one,
/// whatever is installed.
pub fn is_ours(server: &serde_json::Value) -> bool {
    server["usable"] == true && server["origin"] == "cache" && server["flavour"] == "mysql"
}

static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();

/// Path of the downloaded MySQL, which is downloaded first if needed.
pub fn mysql() -> Option<&'static Path> {
    let listed = || {
        let output = Command::new(program()).args(["server", "list", "--json"]).output().ok()?;
        let servers: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).ok()?;
        servers.iter().find(|server| is_ours(server))?["program"].as_str().map(PathBuf::from)
    };
    let fetch = || {
        let fetched = Command::new(program()).args(["server", "fetch", "mysql"]).status();
        fetched.is_ok_and(|status| status.success()).then(listed).flatten()
    };
    FOUND.get_or_init(|| listed().or_else(fetch)).as_deref()
}

/// Whether there is a MySQL, which is downloaded first if needed; if not, the test is skipped.
pub fn has_server() -> bool {
    let has = mysql().is_some();
    if !has {
        skip("a downloaded MySQL");
    }
    has
}

/// Whether loop devices can be attached and mounted here; if not, the test is skipped.
pub fn has_loop_devices() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    let has = is_root && Path::new("/dev/loop-control").exists();
    if !has {
        skip("root and loop devices");
    }
    has
}

/// A private server, stopped when dropped: `assay server run` with a `cat`, which ends when its
/// input is closed.
pub struct TestServer {
    process: std::process::Child,
    pub socket: PathBuf,
    /// Port on loopback.
    pub port: u16,
    _world: World,
}

impl TestServer {
    /// Starts the server; `None`, with a SKIPPED line, if there is none.
    pub fn start(settings: &[&str]) -> Option<TestServer> {
        if !has_server() {
            return None;
        }
        let world = World::new();
        let mut command = world.command(&["server", "run"]);
        let port = assay_testing::free_port();
        command.args(["--port", &port.to_string()]);
        for setting in settings {
            command.args(["--set", setting]);
        }
        command.args(["--", "sh", "-c", "echo $ASSAY_SOCKET; exec cat"]);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with('/'), "the server did not start");
        Some(TestServer { process, socket: line.trim().into(), port, _world: world })
    }
}

/// Connects as root through the socket.
pub fn root_at(socket: &Path) -> mysql::Conn {
    let options =
        mysql::OptsBuilder::new().user(Some("root")).socket(socket.to_str()).prefer_socket(false);
    mysql::Conn::new(options).unwrap()
}

impl Drop for TestServer {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
