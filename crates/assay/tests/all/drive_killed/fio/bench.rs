//! A drive that is killed repeatedly under load; judged by fio's verification and by our own
//! writers' histories.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_drive::{BLOCK_BYTES, Codec, Format};
use assay_ports::child::Process;
use rustix::process::Signal;
use serde_json::Value;

use super::history::{Lane, check};
use super::job::Job;
use super::writers::{Shared, Writers, read_lanes};
use crate::drive_killed::Sabotage;
use crate::drives::{Drives, MIB};
use crate::power::{Fault, Power};
use crate::simulated::random::Random;

/// Size of the drive, of each writer's lane and of fio's area: small enough that garbage is
/// collected after some rounds.
const CAPACITY: u64 = 160 * MIB;
const LANES: u64 = 4;
const LANE_BYTES: u64 = 16 * MIB;
const FIO_BYTES: u64 = 96 * MIB;

/// Time after which a step counts as stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// The drive, and the expected contents of its blocks.
pub struct Bench {
    // Dropped first.
    drives: Drives,
    power: Option<Power>,
    sabotage: Sabotage,
    device: PathBuf,
    /// Whether each write is durable once it is acknowledged.
    is_writethrough: bool,
    lanes: Vec<Lane>,
    shared: Arc<Shared>,
    random: Random,
}

/// Result of a round.
#[derive(Debug, Default)]
pub struct Round {
    pub commands: usize,
    /// Commands acknowledged, not flushed, and lost, which the contract permits.
    pub lost: usize,
    /// Bytes written by fio and verified.
    pub fio_bytes: u64,
    /// Whether the server was killed during the next attach, too.
    pub killed_again: bool,
}

/// Reasons why a round failed, by judge.
#[derive(Debug, Default)]
pub struct Verdict {
    pub contract: Option<String>,
    pub fio: Option<String>,
    pub check: Option<String>,
}

impl Bench {
    /// A drive on a file.
    pub fn on_a_file(seed: u64, sabotage: Sabotage) -> Bench {
        let logical = (LANES * LANE_BYTES + FIO_BYTES) / MIB;
        let (capacity, logical) = (format!("{}M", CAPACITY / MIB), format!("{logical}M"));
        let drives = Drives::with(&["--capacity", &capacity, "--logical", &logical]);
        Bench::new(drives, None, seed, sabotage)
    }

    /// A drive on media that lose unflushed writes.
    pub fn on_power(seed: u64, sabotage: Sabotage) -> Bench {
        let drives = Drives::new();
        let format = Format {
            drive_id: seed,
            logical_bytes: LANES * LANE_BYTES + FIO_BYTES,
            codec: Codec::Zstd,
            units: true,
            dictionary: true,
            segment_bytes: None,
        };
        let power = Power::with_drive(CAPACITY, &format);
        std::os::unix::fs::symlink(power.file(), drives.path("vol.img")).unwrap();
        Bench::new(drives, Some(power), seed, sabotage)
    }

    fn new(drives: Drives, power: Option<Power>, seed: u64, sabotage: Sabotage) -> Bench {
        let lane = |index| {
            Lane::new(index * LANE_BYTES / BLOCK_BYTES, (LANE_BYTES / BLOCK_BYTES) as usize)
        };
        let lanes = (0..LANES).map(lane).collect();
        let (shared, random) = (Arc::default(), Random::new(seed));
        let mut bench = Bench {
            drives,
            power,
            sabotage,
            device: PathBuf::new(),
            is_writethrough: false,
            lanes,
            shared,
            random,
        };
        bench.attach();
        if let (Some(power), Sabotage::LyingFlush) = (&bench.power, sabotage) {
            power.inject(Fault::LyingFlush);
        }
        bench
    }

    /// Loads the drive, kills its server during writes, attaches it again and verifies it.
    ///
    /// # Errors
    /// The judges' findings.
    pub fn round(&mut self) -> Result<Round, Verdict> {
        let job = self.job();
        self.load_and_kill(&job);
        self.cut_power();
        let mut round = Round {
            commands: self.lanes.iter().map(|lane| lane.commands.len()).sum(),
            killed_again: self.random.chance(30),
            ..Round::default()
        };
        if round.killed_again {
            self.attach_and_kill();
            self.cut_power();
        }
        let mut verdict = Verdict { check: self.check_drive().err(), ..Verdict::default() };
        // Attaching must succeed at once, whatever the killed server left.
        self.attach();
        let job = Job { device: self.device.clone(), ..job };
        job.verify().map_or_else(|said| verdict.fio = Some(said), |bytes| round.fio_bytes = bytes);
        self.judge().map_or_else(|said| verdict.contract = Some(said), |lost| round.lost = lost);
        if verdict.is_clean() { Ok(round) } else { Err(verdict) }
    }

    /// Detaches the drive, checks that it is whole and nothing is left, and returns the bytes that
    /// garbage collection moved.
    pub fn end(self) -> u64 {
        let moved = self.drives.status()["write_bytes_gc"].as_u64().unwrap();
        self.drives.detach();
        self.check_drive().unwrap();
        self.drives.assert_nothing_left();
        moved
    }

    fn attach(&mut self) {
        let mut words = Vec::new();
        self.is_writethrough = self.random.chance(20);
        for (is_chosen, chosen) in [
            (self.is_writethrough, "--cache=writethrough"),
            (self.random.chance(30), "--memory=256K"),
            (self.random.chance(30), "--gc=greedy"),
            (self.sabotage == Sabotage::Tear, "--tear"),
        ] {
            words.extend(is_chosen.then_some(chosen));
        }
        self.device = self.drives.attach(&words).into();
    }

    fn job(&mut self) -> Job {
        Job {
            directory: self.drives.path(""),
            device: self.device.clone(),
            offset: LANES * LANE_BYTES,
            bytes: FIO_BYTES,
            // fio takes 0 for no seed.
            seed: 1 + self.random.below(1 << 31),
        }
    }

    fn load_and_kill(&mut self, job: &Job) {
        let deadline = Instant::now() + PATIENCE;
        let pid = self.drives.status()["pid"].as_u64().unwrap();
        let server = Process::open(u32::try_from(pid).unwrap()).unwrap().unwrap();
        let fio = job.start(&format!("kill -9 {pid}"));
        fio.wait_until_it_writes(&self.device, deadline);
        let lanes = std::mem::take(&mut self.lanes);
        let writers = Writers::start(
            &self.device,
            lanes,
            self.is_writethrough,
            &self.shared,
            &mut self.random,
        );
        writers.wait_for(self.random.below(1500), deadline);
        fio.pull_trigger();
        fio.end(deadline);
        // Runs only if fio had written everything before.
        server.signal(Signal::KILL).unwrap();
        assert!(server.wait(Some(PATIENCE)).unwrap(), "the server does not die");
        self.lanes = writers.end(deadline);
    }

    /// Attaches the drive and kills the server at a random moment of that.
    fn attach_and_kill(&mut self) {
        let mut attach = self.drives.command(&["drive", "attach", "vol.img"]);
        let mut attach = attach.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let deadline = Instant::now() + PATIENCE;
        let pid = loop {
            // A child that the server is just starting has the same command line, but the server is
            // its parent.
            let all: Vec<u32> = self.drives.servers().into_iter().map(|(pid, _)| pid).collect();
            let is_server = |pid: &u32| parent(*pid).is_some_and(|parent| !all.contains(&parent));
            if let Some(pid) = all.iter().copied().find(is_server) {
                break pid;
            }
            assert!(Instant::now() < deadline, "nothing serves the drive");
        };
        let moment = Instant::now() + Duration::from_micros(self.random.below(60_000));
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
        if let Some(server) = Process::open(pid).unwrap() {
            server.signal(Signal::KILL).unwrap();
            server.wait(None).unwrap();
        }
        attach.wait().unwrap();
    }

    fn cut_power(&mut self) {
        match (&mut self.power, self.sabotage) {
            (Some(power), Sabotage::LyingFlush) => power.cut_losing_all(),
            (Some(power), _) => power.cut(&mut self.random),
            (None, _) => {}
        }
    }

    /// Runs `assay drive check` on the drive after the kill. The only permitted damage is one of
    /// the two superblocks, if the power was cut while it was written.
    fn check_drive(&self) -> Result<(), String> {
        let output = self.drives.run(&["drive", "check", "vol.img", "--json"]);
        let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let is_expected = match found["damages"].as_array().map(Vec::as_slice) {
            Some([]) => output.status.success(),
            Some([one]) => self.power.is_some() && is_superblock(one),
            _ => false,
        };
        if is_expected { Ok(()) } else { Err(format!("{output:?}")) }
    }

    fn judge(&mut self) -> Result<usize, String> {
        let found = read_lanes(&self.device, &self.lanes)?;
        let lost = check(&self.lanes, &found).map_err(|breach| format!("{breach:?}"))?;
        self.lanes.iter_mut().zip(found).for_each(|(lane, found)| lane.go_on(found));
        Ok(lost)
    }
}

/// Process id of the parent (`proc(5)`, field 4 of `stat`); the command's name before it may
/// contain spaces.
fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Whether the damage is one of two superblocks, which the next write repairs.
fn is_superblock(damage: &Value) -> bool {
    let what = damage["what"].as_str().unwrap_or_default();
    what.contains(" superblock is ") && what.ends_with("; the next write mends it")
}

impl Verdict {
    fn is_clean(&self) -> bool {
        self.contract.is_none() && self.fio.is_none() && self.check.is_none()
    }
}
