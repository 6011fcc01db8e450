//! fio with its own verification: it writes synchronously, kills the server by its trigger, which
//! saves its state, and verifies later up to that state.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use assay_ports::child::{Child, spawn};

use crate::drives::MIB;

/// Number of fio jobs that write concurrently.
const JOBS: u64 = 4;

/// A part of a device that fio writes.
pub struct Job {
    /// Directory of its files.
    pub directory: PathBuf,
    pub device: PathBuf,
    pub offset: u64,
    pub bytes: u64,
    pub seed: u64,
}

/// A running fio.
pub struct Writing {
    process: Child,
    trigger: PathBuf,
    log: PathBuf,
}

impl Job {
    /// Each write has 4 to 256 KiB, is compressible by half, and is synchronous. Several jobs write
    /// with one command in flight each: with more, the state that fio saves misses a slow command,
    /// since it keeps the last ones acknowledged.
    fn command(&self) -> Command {
        let mut command = Command::new("fio");
        command.args(["--name=job", "--rw=randwrite", "--bsrange=4k-256k", "--blockalign=4k"]);
        command.args(["--direct=1", "--ioengine=psync", "--sync=dsync"]);
        command.args(["--verify=crc32c", "--verify_interval=4k", "--verify_fatal=1"]);
        command.args(["--refill_buffers", "--buffer_compress_percentage=50"]);
        command.args(["--buffer_compress_chunk=4k", "--eta=never"]);
        command.arg(format!("--filename={}", self.device.display()));
        let bytes = self.bytes / JOBS;
        command.arg(format!("--numjobs={JOBS}")).arg(format!("--size={bytes}"));
        command.arg(format!("--offset={}", self.offset));
        command.arg(format!("--offset_increment={bytes}"));
        command.arg(format!("--randseed={}", self.seed));
        command
            .arg(format!("--aux-path={}", self.directory.display()))
            .current_dir(&self.directory);
        command
    }

    /// Starts writing; `then` is the command that the trigger runs.
    pub fn start(&self, then: &str) -> Writing {
        let (trigger, log) = (self.directory.join("trigger"), self.directory.join("fio.log"));
        let states =
            (0..JOBS).map(|job| self.directory.join(format!("local-job-{job}-verify.state")));
        for old in states.chain([trigger.clone()]) {
            let _ = std::fs::remove_file(old);
        }
        let mut command = self.command();
        command.args(["--do_verify=0", "--verify_state_save=1"]);
        command.arg(format!("--trigger-file={}", trigger.display()));
        command.arg(format!("--trigger={then}"));
        let output = File::create(&log).unwrap();
        command.stdout(output.try_clone().unwrap()).stderr(output);
        Writing { process: spawn(command, &[]).unwrap(), trigger, log }
    }

    /// Verifies the writes that had been acknowledged when the trigger fired.
    ///
    /// # Errors
    /// fio's output if data differ.
    pub fn verify(&self) -> Result<u64, String> {
        let mut command = self.command();
        command.args(["--verify_only", "--verify_state_load=1", "--output-format=json"]);
        let Output { status, stdout, stderr } = command.output().unwrap();
        let (said, complaint) = (text(&stdout), text(&stderr));
        // fio prints a note on its state file before the JSON object.
        let report = said.find('{').map_or("", |start| &said[start..]);
        let report = serde_json::Deserializer::from_str(report).into_iter().next();
        let report: serde_json::Value =
            report.unwrap().map_err(|error| format!("{error}: {said}"))?;
        let jobs = report["jobs"].as_array().unwrap();
        match status.success() && jobs.iter().all(|job| job["error"] == 0) {
            true => Ok(jobs.iter().map(|job| job["read"]["io_bytes"].as_u64().unwrap()).sum()),
            false => Err(format!("fio found other data than it wrote: {complaint}")),
        }
    }
}

impl Writing {
    /// Waits until fio has written to the device.
    pub fn wait_until_it_writes(&self, device: &Path, deadline: Instant) {
        let stat = Path::new("/sys/block").join(device.file_name().unwrap()).join("stat");
        // Field 7: sectors written (`Documentation/admin-guide/abi-stable`,
        // /sys/block/<disk>/stat).
        let written = || -> u64 {
            let fields = std::fs::read_to_string(&stat).unwrap();
            fields.split_whitespace().nth(6).unwrap().parse().unwrap()
        };
        let before = written();
        while written() < before + MIB / 512 {
            assert!(Instant::now() < deadline, "fio does not write: {}", self.said());
            std::thread::yield_now();
        }
    }

    /// Fires the trigger: fio saves its state and runs the command.
    pub fn pull_trigger(&self) {
        File::create(&self.trigger).unwrap();
    }

    pub fn end(mut self, deadline: Instant) {
        let left = deadline.saturating_duration_since(Instant::now());
        assert!(self.process.wait(left).unwrap().is_some(), "fio hangs: {}", self.said());
    }

    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
