//! `assay run` on a simulated site: a test's script decides what happens in each run.
//!
//! Everything above [`assay_lab::run::Site`] is the program's own: arguments, resuming, extra runs,
//! the store, progress, the live view, the report, exit codes. A study needs no server and no rig,
//! so it takes a fraction of a second. Signals, terminals and exit codes belong to a process, so
//! the test executable starts itself again for the one test, and that process carries the command
//! out (see [`World::playing`]).

mod live;
mod looks;
#[path = "../../../tests/common/pty.rs"]
mod pty;
mod repeated;
mod resumed;
mod sessions;
mod site;
mod told;
mod turns;

use std::any::type_name;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use assay_study::{RunState, Store, Study, Trial};
use clap::Parser;

use crate::args::{Arguments, Command as Typed};
use crate::messages;
use site::{Simulated, Stage};

/// How long anything may take before it counts as stuck.
const PATIENCE: Duration = Duration::from_secs(120);

/// Interval at which a file of another process is polled.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Arguments of the command, as JSON; set in the process of a command alone.
const ARGUMENTS: &str = "ASSAY_SIMULATED_ARGUMENTS";

/// File to which the command's standard output goes; unset, it goes where the process's does.
const STDOUT: &str = "ASSAY_SIMULATED_STDOUT";

const RUN: [&str; 4] = ["run", "plan.toml", "--out", "study"];

/// Two configurations, one workload, two thread counts: four runs.
const PLAN: &str = r#"
title = "small"
noise_floor = false
extra_runs = 0
threads = [1, 2]
seconds = 2
[data]
table_size = 2000
[rig]
kind = "directory"
[workloads.write_only]
recipe = "oltp_write_only"
[configs.on.settings]
innodb_doublewrite = true
[configs.off.settings]
innodb_doublewrite = false
"#;

/// A directory in which one test runs commands, with a state directory of its own.
struct World {
    directory: tempfile::TempDir,
    /// Full name of the test, as `--exact` takes it.
    test: String,
}

/// A command that has ended.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ended {
    /// The last line of standard error.
    fn last(&self) -> &str {
        self.stderr.lines().last().unwrap_or_default()
    }
}

impl World {
    /// Makes a world with [`PLAN`] in it, whose commands play each run by `script`. A test calls
    /// this first. In the process of a command it carries the command out and does not return.
    fn playing<F: Fn(&Stage<'_>) -> assay_study::Outcome>(script: F) -> World {
        if let Ok(arguments) = std::env::var(ARGUMENTS) {
            carry_out(&arguments, script);
        }
        // The name of a closure: `assay::run_command::simulated::live::a_test::{{closure}}`.
        let name = type_name::<F>();
        let test = name.split_once("::").and_then(|(_, name)| name.split_once("::{{"));
        let (test, _) = test.expect("the script is a closure of the test itself");
        let world = World { directory: tempfile::tempdir().unwrap(), test: test.to_owned() };
        world.write("plan.toml", PLAN);
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Returns the command with these arguments, ready to start.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([&*self.test, "--exact", "--include-ignored", "--nocapture", "--quiet"]);
        command.args(["--test-threads", "2"]).current_dir(self.directory.path());
        // A cache of its own: `clean` lists unfinished downloads in the shared one.
        command.env("ASSAY_STATE", self.path("state")).env("ASSAY_CACHE", self.path("cache"));
        command.env_remove("ASSAY_LOG");
        command.env(ARGUMENTS, serde_json::to_string(arguments).unwrap());
        command
    }

    /// Starts the command with standard error piped.
    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        ended(self.command(arguments), &self.path("stdout"))
    }

    /// Runs a command that fails with exit code 2, and returns the line of the error.
    fn refused(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
        ended.last().to_owned()
    }

    /// Opens a gate at which runs wait (see [`Stage::wait_for`]).
    fn open(&self, gate: &str) {
        self.write(gate, "");
    }

    /// Waits until `count` attempts at runs have begun, those of earlier commands included.
    fn wait_for_attempts(&self, count: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.attempts().len() < count {
            assert!(Instant::now() < deadline, "only {:?} began", self.attempts());
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Positions of the attempted runs, in the order in which they began.
    fn attempts(&self) -> Vec<u32> {
        site::attempts(self.directory.path())
    }

    fn study(&self) -> Study {
        Store::open(&self.path("study")).unwrap().study().unwrap()
    }

    /// The study's runs in the order in which the plan has them made.
    fn trials(&self) -> Vec<Trial> {
        let mut trials = self.study().trials;
        trials.sort_by_key(|trial| trial.position);
        trials
    }

    fn states(&self) -> Vec<RunState> {
        self.trials().into_iter().map(|trial| trial.state).collect()
    }
}

/// Runs a command to its end.
fn ended(mut command: Command, stdout: &Path) -> Ended {
    command.env(STDOUT, stdout).stdin(Stdio::null()).stdout(Stdio::null());
    if !stdout.starts_with("/dev") {
        std::fs::write(stdout, "").unwrap();
    }
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let stdout = if stdout.starts_with("/dev") { String::new() } else { read(stdout) };
    Ended { code: output.status.code(), stdout, stderr }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Does what `main` does, on the simulated site, and exits.
fn carry_out(arguments: &str, script: impl Fn(&Stage<'_>) -> assay_study::Outcome) -> ! {
    if let Some(path) = std::env::var_os(STDOUT) {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        rustix::stdio::dup2_stdout(file).unwrap();
    }
    let arguments: Vec<String> = serde_json::from_str(arguments).unwrap();
    messages::set_up();
    let code = messages::exit_code(AssertUnwindSafe(|| {
        let words = std::iter::once("assay").chain(arguments.iter().map(String::as_str));
        match Arguments::try_parse_from(words)?.command {
            Typed::Run(args) => super::run_on(&Simulated::playing(&script), &args),
            other => crate::carry_out(other),
        }
    }));
    let number = (0..=u8::MAX).find(|number| ExitCode::from(*number) == code);
    std::process::exit(number.unwrap().into())
}
