//! Runs in progress, and the events that their tests wait for.

#![allow(dead_code, reason = "each test program uses a part of this")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};

use crate::common::World;

/// Starts the run of `plan.toml` into `study`.
pub fn start_run(world: &World) -> Child {
    let mut run = world.command(&["run", "plan.toml", "--out", "study"]);
    run.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

/// Starts a run and returns when its first run has ended; the second is then under way.
pub fn run_past_the_first_trial(world: &World) -> (Child, ChildStderr) {
    let mut run = start_run(world);
    let mut said = BufReader::new(run.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("[1/4]") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "the run ended before its first run");
    }
    (run, said.into_inner())
}

/// Waits until the run has resources on the machine.
pub fn wait_for_leftovers(world: &World) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(600);
    while world.leftovers().is_empty() {
        assert!(std::time::Instant::now() < deadline, "the second run built no rig");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Process id of a run's server, once transactions of the load have committed there.
pub fn server_under_load(world: &World, trial: u32) -> i32 {
    server_under_load_below(&world.path("study"), trial)
}

/// The same for a run whose rigs are below `directory`.
pub fn server_under_load_below(directory: &Path, trial: u32) -> i32 {
    let rig = format!("/rig-{trial}/");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(600);
    loop {
        assert!(std::time::Instant::now() < deadline, "no server came under load");
        // Polling takes CPU time from the run.
        std::thread::sleep(std::time::Duration::from_millis(20));
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words: Vec<String> = command
                .split(|&byte| byte == 0)
                .map(|w| String::from_utf8_lossy(w).into_owned())
                .collect();
            let option = |name: &str| words.iter().find_map(|word| word.strip_prefix(name));
            let is_trial = option("--datadir=").is_some_and(|data| {
                data.starts_with(directory.to_str().unwrap()) && data.contains(&rig)
            });
            let socket = option("--socket=").filter(|_| is_trial);
            if socket.and_then(commits).is_some_and(|commits| commits > 20) {
                return entry.file_name().to_str().unwrap().parse().unwrap();
            }
        }
    }
}

fn commits(socket: &str) -> Option<u64> {
    use mysql::prelude::Queryable;
    let opts = mysql::OptsBuilder::new().socket(Some(socket)).user(Some("root"));
    let mut connection = mysql::Conn::new(opts).ok()?;
    let row: Option<(String, u64)> =
        connection.query_first("SHOW GLOBAL STATUS LIKE 'Com_commit'").ok()?;
    Some(row?.1)
}
