//! A server without doublewrite on a drive with a file system: loaded, killed together with the
//! drive, recovered, verified.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use assay_drive::{Codec, Format};
use assay_ports::child::{Child, Process, spawn};
use rustix::process::Signal;

use super::ledger::{self, Committed};
use super::server::{Program, Server};
use crate::drive_killed::Sabotage;
use crate::drives::{Drives, MIB, system};
use crate::power::{Fault, Power};
use crate::simulated::random::Random;

const CAPACITY: u64 = 768 * MIB;
const LOGICAL: u64 = 1536 * MIB;

/// Number of writes in flight that shows a batch of the page cleaner.
const PAGES_ON_THEIR_WAY: u64 = 8;

/// Time after which a step counts as stuck.
const PATIENCE: Duration = Duration::from_secs(120);

/// File system between drive and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    Ext4,
    Xfs,
}

/// The arrangement between two kills.
pub struct Bench {
    program: Program,
    server: Option<Server>,
    // Unmounts and detaches when dropped, after the server has ended.
    drives: Drives,
    power: Option<Power>,
    sabotage: Sabotage,
    file_system: FileSystem,
    committed: Committed,
    random: Random,
}

/// Result of a round.
#[derive(Debug)]
pub struct Round {
    /// Transactions of the ledger committed in the round.
    pub committed: u64,
    /// Transactions that were committed, but whose answer was lost.
    pub unanswered: u64,
    pub tables: usize,
    pub files: usize,
}

impl Bench {
    /// On a drive in a file.
    pub fn on_a_file(seed: u64, file_system: FileSystem) -> Option<Bench> {
        let size = |bytes: u64| format!("{}M", bytes / MIB);
        let drives =
            Drives::with(&["--capacity", &size(CAPACITY), "--logical", &size(LOGICAL), "--sparse"]);
        Bench::new(drives, None, seed, file_system)
    }

    /// On a drive whose media lose unflushed writes.
    pub fn on_power(seed: u64, file_system: FileSystem) -> Option<Bench> {
        let drives = Drives::new();
        let format = Format {
            drive_id: seed,
            logical_bytes: LOGICAL,
            codec: Codec::Zstd,
            units: true,
            dictionary: false,
            segment_bytes: None,
        };
        let power = Power::with_drive(CAPACITY, &format);
        std::os::unix::fs::symlink(power.file(), drives.path("vol.img")).unwrap();
        Bench::new(drives, Some(power), seed, file_system)
    }

    /// `None` without a server.
    fn new(
        drives: Drives,
        power: Option<Power>,
        seed: u64,
        file_system: FileSystem,
    ) -> Option<Bench> {
        let list = drives.done(&["server", "list", "--json"]);
        let program = Program::find(&list, &drives.path("files/data"))?;
        let device = drives.attach(&[]);
        match file_system {
            FileSystem::Ext4 => system("mkfs.ext4", &["-q", "-F", &device]),
            FileSystem::Xfs => system("mkfs.xfs", &["-q", "-f", &device]),
        };
        drives.mount(&device);
        program.initialise();
        let server = program.start().unwrap();
        let mut conn = server.connect();
        ledger::make(&mut conn);
        let (server, random) = (Some(server), Random::new(seed));
        let committed = Committed::default();
        let sabotage = Sabotage::None;
        let bench =
            Bench { program, server, drives, power, sabotage, file_system, committed, random };
        let prepared = bench.load("prepare").wait(PATIENCE).unwrap().expect("the load is stuck");
        assert!(prepared.success());
        Some(bench)
    }

    /// From now on the media acknowledge flushes without flushing.
    pub fn lie(&mut self) {
        self.sabotage = Sabotage::LyingFlush;
        system("sync", &["--file-system", self.drives.path("files").to_str().unwrap()]);
        self.power.as_ref().unwrap().inject(Fault::LyingFlush);
    }

    /// Splits writes of pages from the next attach on. The server flushes only its pages, not each
    /// commit: with a flushed log, a kill rarely falls within a page. The ledger is not checked
    /// then. The buffer pool keeps no dirty pages, so that pages are in flight at every kill.
    pub fn tear(&mut self) {
        self.sabotage = Sabotage::Tear;
        self.program.more_settings = vec![
            "--innodb-flush-log-at-trx-commit=0",
            "--skip-log-bin",
            "--innodb-max-dirty-pages-pct=0",
            "--innodb-max-dirty-pages-pct-lwm=0",
        ];
    }

    /// Loads the server, kills it and the drive, restarts both and verifies them.
    ///
    /// # Errors
    /// The first finding.
    pub fn round(&mut self) -> Result<Round, String> {
        let before: u64 = self.committed.iter().sum();
        self.load_and_kill();
        let committed: u64 = self.committed.iter().sum();
        self.bring_back()?;
        let server = self.program.start()?;
        let there = match self.sabotage {
            Sabotage::Tear => self.committed,
            _ => ledger::check(&mut server.connect(), &self.committed)?,
        };
        self.committed = there;
        let tables = server.check_tables()?;
        server.stop();
        let files = self.program.innochecksum()?;
        self.server = Some(self.program.start()?);
        let unanswered = there.iter().sum::<u64>() - committed;
        Ok(Round { committed: committed - before, unanswered, tables, files })
    }

    /// Shuts everything down, and checks that file system and drive are clean and nothing is left.
    pub fn end(mut self) {
        self.server.take().unwrap().stop();
        self.drives.unmount();
        let device = self.drives.status()["device"].as_str().unwrap().to_owned();
        match self.file_system {
            FileSystem::Ext4 => system("e2fsck", &["-f", "-n", &device]),
            FileSystem::Xfs => system("xfs_repair", &["-n", &device]),
        };
        self.drives.detach();
        self.drives.done(&["drive", "check", "vol.img"]);
        self.drives.assert_nothing_left();
    }

    /// Starts `assay load` on the server.
    fn load(&self, what: &str) -> Child {
        let socket = self.server.as_ref().unwrap().socket().display().to_string();
        let mut command = self.drives.command(&["load", "oltp_write_only", "--tables=2"]);
        command.args(["--table-size=30000", "--threads=4", "--time=0", "--mysql-user=root"]);
        command.args([&format!("--mysql-socket={socket}"), "--mysql-db=ledger", what]);
        spawn_quietly(command)
    }

    /// Kills server and drive, in either order, after some transactions of the ledger.
    fn load_and_kill(&mut self) {
        let mut load = self.load("run");
        let server = self.server.take().unwrap();
        let (tell, answers) = channel();
        let writers: Vec<_> = (0..)
            .zip(self.committed)
            .map(|(lane, next)| {
                let (opts, tell) = (server.opts(), tell.clone());
                std::thread::spawn(move || ledger::write(opts, lane, next, &tell))
            })
            .collect();
        drop(tell);
        let deadline = Instant::now() + PATIENCE;
        let answers_before = match self.sabotage {
            // Transactions are faster without flushes.
            Sabotage::Tear => 1000 + self.random.below(2000),
            _ => 100 + self.random.below(600),
        };
        for _ in 0..answers_before {
            let left = deadline.saturating_duration_since(Instant::now());
            answers.recv_timeout(left).expect("a transaction of the ledger");
        }
        if self.sabotage == Sabotage::Tear {
            self.wait_for_writes();
        }
        let mut victims = [self.drives.server(), Process::open(server.pid()).unwrap().unwrap()];
        if self.random.chance(50) {
            victims.reverse();
        }
        victims.iter().for_each(|victim| victim.signal(Signal::KILL).unwrap());
        server.wait();
        victims.iter().for_each(|victim| assert!(victim.wait(Some(PATIENCE)).unwrap()));
        // All writers end when their server is gone.
        while answers.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Disconnected) {
            assert!(Instant::now() < deadline, "a connection to a killed server hangs");
        }
        for (committed, writer) in self.committed.iter_mut().zip(writers) {
            *committed = writer.join().unwrap();
        }
        assert!(load.wait(PATIENCE).unwrap().is_some(), "the load hangs");
    }

    /// Waits until several pages are in flight to the drive
    /// (`Documentation/ABI/stable/sysfs-block`, `inflight`).
    fn wait_for_writes(&self) {
        let device = self.drives.status()["device"].as_str().unwrap().to_owned();
        let device = device.strip_prefix("/dev/").unwrap().to_owned();
        let path = format!("/sys/block/{device}/inflight");
        let deadline = Instant::now() + PATIENCE;
        let writes = || -> u64 {
            let text = std::fs::read_to_string(&path).unwrap();
            text.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        while writes() < PAGES_ON_THEIR_WAY {
            assert!(Instant::now() < deadline, "the server writes no pages");
        }
    }

    /// Attaches the drive and mounts its file system, which replays its journal.
    fn bring_back(&mut self) -> Result<(), String> {
        self.drives.unmount();
        match (&mut self.power, self.sabotage) {
            (Some(power), Sabotage::LyingFlush) => power.cut_losing_all(),
            (Some(power), _) => power.cut(&mut self.random),
            (None, _) => {}
        }
        let output = self.drives.run(&["drive", "check", "vol.img"]);
        if !output.status.success() {
            return Err(format!("{output:?}"));
        }
        let words: &[&str] = if self.sabotage == Sabotage::Tear { &["--tear"] } else { &[] };
        let device = PathBuf::from(self.drives.attach(words));
        self.drives.mount(device.to_str().unwrap());
        Ok(())
    }
}

fn spawn_quietly(mut command: std::process::Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    spawn(command, &[]).unwrap()
}
