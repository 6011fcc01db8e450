//! A real server on a data directory that outlives it: initialised, started, killed, started again,
//! shut down.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use assay_ports::child::{Child, spawn};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use rustix::process::Signal;
use serde_json::Value;

/// Longest time of a start with recovery, or of a shutdown.
const PATIENCE: Duration = Duration::from_secs(120);

/// The drive writes pages atomically, so doublewrite is off; a small buffer pool and a small redo
/// log cause many page writes.
const SETTINGS: [&str; 8] = [
    "--innodb-doublewrite=OFF",
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-buffer-pool-size=16M",
    "--innodb-redo-log-capacity=16M",
    "--innodb-io-capacity=10000",
    "--performance-schema=OFF",
    "--skip-networking",
    "--mysqlx=OFF",
];

/// A server program of this machine, with its directories.
pub struct Program {
    loader: Option<PathBuf>,
    program: PathBuf,
    basedir: PathBuf,
    datadir: PathBuf,
    /// Options in addition to [`SETTINGS`], which they override.
    pub more_settings: Vec<&'static str>,
    /// Directory of socket and log; its path is short, because a socket's path is limited to 107
    /// bytes.
    directory: tempfile::TempDir,
}

/// A running server, killed when dropped.
pub struct Server {
    process: Child,
    socket: PathBuf,
}

impl Program {
    /// The MySQL that the tests downloaded, from the output of `assay server list --json`.
    pub fn find(list: &str, datadir: &Path) -> Option<Program> {
        let servers: Vec<Value> = serde_json::from_str(list).unwrap();
        let found = servers.iter().find(|server| crate::common::is_ours(server))?;
        let path = |name: &str| found[name].as_str().map(PathBuf::from);
        Some(Program {
            loader: path("loader"),
            program: path("program")?,
            basedir: path("basedir")?,
            datadir: datadir.into(),
            more_settings: Vec::new(),
            directory: tempfile::tempdir().unwrap(),
        })
    }

    /// Initialises the data directory.
    pub fn initialise(&self) {
        let mut command = self.command(&self.program);
        command.args(self.places()).args(["--initialize-insecure", "--user=root"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}\n{}", self.log());
    }

    /// Starts the server and waits until it answers.
    ///
    /// # Errors
    /// The log, if the server ended first or found a damaged page.
    pub fn start(&self) -> Result<Server, String> {
        let socket = self.directory.path().join("socket");
        let mut command = self.command(&self.program);
        command.args(self.places()).args(SETTINGS).args(&self.more_settings).arg("--user=root");
        command.arg(format!("--socket={}", socket.display()));
        let known = self.log_lines().len();
        let log = File::options().create(true).append(true).open(self.log_file()).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let mut server = Server { process: spawn(command, &[]).unwrap(), socket };
        let deadline = Instant::now() + PATIENCE;
        while Conn::new(server.opts()).is_err() {
            let ended = server.process.wait(Duration::from_millis(20)).unwrap();
            if let Some(status) = ended {
                return Err(format!("the server ended at its start with {status}: {}", self.log()));
            }
            // MySQL 9.7 hangs after this message.
            let corrupt = |line: &String| line.contains("corruption on disk");
            if let Some(line) = self.log_lines().iter().skip(known).find(|line| corrupt(line)) {
                return Err(line.clone());
            }
            assert!(Instant::now() < deadline, "the server is not ready: {}", self.log());
        }
        Ok(server)
    }

    /// Verifies the checksum of each page of each tablespace; no server may have them open.
    ///
    /// # Errors
    /// The first tablespace that is not clean.
    pub fn innochecksum(&self) -> Result<usize, String> {
        let program = self.program.parent().unwrap().parent().unwrap().join("bin/innochecksum");
        let files = tablespaces(&self.datadir);
        for file in &files {
            let output = self.bare(&program).arg(file).output().unwrap();
            if !output.status.success() {
                return Err(format!("{}: {output:?}", file.display()));
            }
        }
        Ok(files.len())
    }

    fn places(&self) -> Vec<String> {
        let places = [
            ("datadir", self.datadir.clone()),
            ("log-error", self.log_file()),
            ("pid-file", self.directory.path().join("pid")),
            ("secure-file-priv", self.directory.path().into()),
        ];
        places.iter().map(|(name, place)| format!("--{name}={}", place.display())).collect()
    }

    /// The program without option files, with its own message catalogue.
    fn command(&self, program: &Path) -> Command {
        let mut command = self.bare(program);
        command.args(["--no-defaults", &format!("--basedir={}", self.basedir.display())]);
        let share = self.basedir.join("share/mysql");
        if share.is_dir() {
            command.arg(format!("--lc-messages-dir={}", share.display()));
            command.arg(format!("--character-sets-dir={}", share.join("charsets").display()));
        }
        command
    }

    /// A downloaded tree has its own loader and libraries (`ld.so(8)`).
    fn bare(&self, program: &Path) -> Command {
        let Some(loader) = &self.loader else { return Command::new(program) };
        let mut command = Command::new(loader);
        command.arg("--library-path").arg(loader.parent().unwrap()).arg(program);
        command
    }

    fn log_file(&self) -> PathBuf {
        self.directory.path().join("log.err")
    }

    /// The end of the server's log.
    pub fn log(&self) -> String {
        let lines = self.log_lines();
        lines[lines.len().saturating_sub(25)..].join("\n")
    }

    /// The server's log without dumps of pages.
    fn log_lines(&self) -> Vec<String> {
        let log = std::fs::read(self.log_file()).unwrap_or_default();
        let lines = log.split(|byte| *byte == b'\n').filter(|line| line.len() < 1000);
        lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }
}

/// Tablespaces below `directory`.
fn tablespaces(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            files.extend(tablespaces(&path));
        } else if name.ends_with(".ibd") || name.starts_with("ibdata") || name.starts_with("undo_")
        {
            files.push(path);
        }
    }
    files
}

impl Server {
    pub fn opts(&self) -> OptsBuilder {
        OptsBuilder::new().socket(self.socket.to_str()).user(Some("root")).prefer_socket(false)
    }

    pub fn connect(&self) -> Conn {
        Conn::new(self.opts()).unwrap()
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Waits for the end of a killed server.
    pub fn wait(mut self) {
        assert!(self.process.wait(PATIENCE).unwrap().is_some(), "the killed server does not end");
    }

    /// Shuts the server down, and checks its exit code.
    pub fn stop(mut self) {
        self.process.signal(Signal::TERM).unwrap();
        let status = self.process.wait(PATIENCE).unwrap().expect("the server does not shut down");
        assert!(status.success(), "{status}");
    }

    /// Runs `CHECK TABLE` on every InnoDB table.
    ///
    /// # Errors
    /// The output for the first table that is not clean.
    pub fn check_tables(&self) -> Result<usize, String> {
        let mut conn = self.connect();
        let sql = "SELECT CONCAT('`', table_schema, '`.`', table_name, '`') FROM \
            information_schema.tables \
                   WHERE engine = 'InnoDB' AND table_type = 'BASE TABLE'";
        let tables: Vec<String> = conn.query(sql).map_err(|error| error.to_string())?;
        for table in &tables {
            let checked: Result<Vec<(String, String, String, String)>, _> =
                conn.query(format!("CHECK TABLE {table}"));
            match checked {
                Ok(rows) if rows.iter().all(|row| row.3 == "OK") => {}
                other => return Err(format!("{table}: {other:?}")),
            }
        }
        Ok(tables.len())
    }
}
