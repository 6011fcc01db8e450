//! Tests every command that connects to a server against hostile and broken servers: one clear line
//! within 10 s and 256 MiB, and nothing left behind.

mod remote;
mod server;

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use crate::common::World;
use server::{Behaviour, listen};

/// Time within which a command must give up.
const LIMIT: Duration = Duration::from_secs(10);

/// Largest resident set of a command, in KiB.
const MEMORY_KIB_MAX: u64 = 256 << 10;

/// Longest line of an error, in bytes.
const LINE_BYTES_MAX: usize = 1200;

/// Number of concurrent commands: most of them wait.
const AT_A_TIME: usize = 5;

const PASSWORD: &str = "pw-51ab-hostile";

/// A command that connects to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Audit,
    LoadRun,
    LoadPrepare,
    Ycsb,
    Study,
}

const WAYS: [Way; 5] = [Way::Audit, Way::LoadRun, Way::LoadPrepare, Way::Ycsb, Way::Study];

impl Way {
    fn words(self, world: &World, port: u16, behaviour: Behaviour) -> Vec<String> {
        let is_encrypted = matches!(behaviour, Behaviour::TlsGarbage | Behaviour::TlsMute);
        let load = |command: &str| {
            let tls = if is_encrypted { "--mysql-ssl" } else { "--mysql-get-server-public-key" };
            format!(
                "load oltp_read_only --mysql-host=127.0.0.1 --mysql-port={port} --mysql-user=u \
                 {tls} {command}"
            )
        };
        let line = match self {
            Way::Audit => format!("audit . --server 127.0.0.1:{port} --user u"),
            Way::LoadRun => load("run"),
            Way::LoadPrepare => load("prepare"),
            Way::Ycsb => {
                let more =
                    if is_encrypted { "sslMode=REQUIRED" } else { "allowPublicKeyRetrieval=true" };
                format!(
                    "load ycsb run jdbc -P workloada -p \
                     db.url=jdbc:mysql://127.0.0.1:{port}/ycsb?{more} -p db.user=u -p \
                     db.passwd={PASSWORD}"
                )
            }
            Way::Study => {
                world.write(
                    "my.cnf",
                    &format!(
                        "[client]\nhost=127.0.0.1\nport={port}\nuser=u\npassword={PASSWORD}\n\
                         get-server-public-key\n"
                    ),
                );
                world.write(
                    "plan.toml",
                    "title = \"t\"\nnoise_floor = false\nextra_runs = 0\nrepeats = 1\nthreads = \
                     [1]\nseconds = 1\n\
                     data.table_size = 100\n[rig]\nkind = \"endpoint\"\nendpoint = \
                     { option_file = \"my.cnf\" }\n\
                     [workloads.w]\nrecipe = \"oltp_read_only\"\n[configs.theirs]\n",
                );
                "run plan.toml --out study".into()
            }
        };
        line.split(' ').map(str::to_owned).collect()
    }
}

/// End of a command.
struct Ended {
    code: Option<i32>,
    said: String,
    took: Duration,
    memory_kib: u64,
}

fn run(command: Command) -> Ended {
    run_and(command, |_| {})
}

/// Runs the command, and calls `act` with its process id meanwhile.
fn run_and(mut command: Command, act: impl FnOnce(u32) + Send + 'static) -> Ended {
    command.env("MYSQL_PWD", PASSWORD).stdout(Stdio::null()).stderr(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn().unwrap();
    let pid = child.id();
    std::thread::spawn(move || act(pid));
    let mut stderr = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        stderr.read_to_end(&mut said).unwrap();
        String::from_utf8_lossy(&said).into_owned()
    });
    // The kernel keeps the peak while the process exists.
    let mut memory_kib = 0;
    let status = loop {
        // Before `exec` the child is a copy of this process, with all its memory.
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()))
            .ok()
            .filter(|status| status.starts_with("Name:\tassay\n"));
        let most = status
            .unwrap_or_default()
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
        memory_kib = memory_kib.max(most.unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > 2 * LIMIT {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let took = began.elapsed();
    Ended { code: status.code(), said: reader.join().unwrap(), took, memory_kib }
}

fn command_of(world: &World, words: &[String]) -> Command {
    world.command(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Describes a violation in the end of a command; `None` if there is none.
fn wrong(world: &World, ended: &Ended) -> Option<String> {
    let last = ended.said.lines().last().unwrap_or_default();
    let has_controls = ended.said.chars().any(|sign| sign.is_control() && sign != '\n');
    let left = world.listing().into_iter().find(|name| name == "study");
    let ledgers = std::fs::read_dir(world.path("state/ledgers")).into_iter().flatten().count();
    if ended.code != Some(2) {
        Some(format!("exit code {:?}", ended.code))
    } else if ended.took > LIMIT {
        Some(format!("took {:?}", ended.took))
    } else if ended.memory_kib > MEMORY_KIB_MAX {
        Some(format!("held {} KiB", ended.memory_kib))
    } else if has_controls || ended.said.contains(PASSWORD) || ended.said.contains("panicked") {
        Some("said what it must not".into())
    } else if !last.starts_with("assay: ") || last.len() > LINE_BYTES_MAX {
        Some("no clear line".into())
    } else if left.is_some() || ledgers > 0 {
        Some(format!("left {left:?} and {ledgers} ledgers"))
    } else {
        None
    }
}

#[test]
fn whatever_a_server_does_a_command_ends_in_a_clear_line() {
    let cases = Behaviour::ALL.into_iter().flat_map(|it| WAYS.map(|way| (it, way)));
    let cases = Mutex::new(cases);
    let failures = Mutex::new(Vec::new());
    let most = Mutex::new((Duration::ZERO, 0u64));
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                let next = || cases.lock().unwrap().next();
                while let Some((behaviour, way)) = next() {
                    let world = World::new();
                    let words = way.words(&world, listen(behaviour), behaviour);
                    let ended = run(command_of(&world, &words));
                    println!(
                        "{behaviour:?} {way:?}: {:.1} s, {} MiB: {}",
                        ended.took.as_secs_f64(),
                        ended.memory_kib >> 10,
                        ended.said.trim()
                    );
                    let mut most = most.lock().unwrap();
                    *most = (most.0.max(ended.took), most.1.max(ended.memory_kib));
                    if let Some(wrong) = wrong(&world, &ended) {
                        failures
                            .lock()
                            .unwrap()
                            .push(format!("{behaviour:?} {way:?}: {wrong}: {}", ended.said));
                    }
                }
            });
        }
    });
    let (took, memory_kib) = most.into_inner().unwrap();
    // Some commands end before they are sampled, but not all.
    assert!(memory_kib > 0);
    println!("longest {:.1} s, most {} MiB", took.as_secs_f64(), memory_kib >> 10);
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_password_on_the_command_line_is_gone_from_it_and_the_process_leaves_no_core() {
    let world = World::new();
    let port = listen(Behaviour::MuteAfterLogin);
    let url = format!("db.url=jdbc:mysql://127.0.0.1:{port}/ycsb?allowPublicKeyRetrieval=true");
    let passwd = format!("db.passwd={PASSWORD}");
    let (host, given) = (format!("--mysql-port={port}"), format!("--mysql-password={PASSWORD}"));
    let sysbench = ["load", "oltp_insert", "--mysql-host=127.0.0.1", &host, &given, "cleanup"];
    let ycsb = ["load", "ycsb", "run", "jdbc", "-P", "workloada", "-p", &url, "-p", &passwd];
    // Negative control: another program leaves a process.
    let mut other = Command::new("sleep");
    let other = other.arg("1000").current_dir(world.path("")).spawn().unwrap();
    let can_dump = rustix::process::geteuid().is_root() && dumps(other);
    if !can_dump {
        assay_testing::note("no core dumps here: they are not looked at");
    }
    for words in [&sysbench[..], &ycsb[..]] {
        let mut command = world.command(words);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let about = |what: &str| std::fs::read(format!("/proc/{}/{what}", child.id())).unwrap();
        let has = |bytes: &[u8], word: &str| {
            bytes.windows(word.len()).any(|part| part == word.as_bytes())
        };
        // Waits until it has connected, which takes a password.
        let deadline = Instant::now() + LIMIT;
        let is_connected = || has(&about("net/tcp"), &format!(":{port:04X} 01 "));
        while !is_connected() {
            assert!(Instant::now() < deadline, "it does not connect");
            std::thread::yield_now();
        }
        let line = about("cmdline");
        assert!(!has(&line, PASSWORD), "{}", String::from_utf8_lossy(&line));
        assert!(has(&line, "xxx") && has(&line, "load"), "{}", String::from_utf8_lossy(&line));
        let dumped = dumps(child);
        assert!(!(can_dump && dumped), "a core with the password");
    }
}

/// Whether the process leaves a core dump when it is aborted.
fn dumps(mut child: Child) -> bool {
    let pid = Pid::from_child(&child);
    let all = Rlimit { current: None, maximum: None };
    prlimit(Some(pid), Resource::Core, all).unwrap();
    kill_process(pid, Signal::ABORT).unwrap();
    child.wait().unwrap().core_dumped()
}

#[test]
fn loading_waits_for_its_server_until_ctrl_c() {
    let world = World::new();
    let port = listen(Behaviour::MuteAfterQuestion);
    let words = Way::LoadPrepare.words(&world, port, Behaviour::MuteAfterQuestion);
    let command = command_of(&world, &words);
    let asked = move |pid: u32| {
        // Longer than any answer is waited for.
        std::thread::sleep(LIMIT);
        kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::INT).unwrap();
    };
    let ended = run_and(command, asked);
    assert_eq!(ended.code, Some(2), "{}", ended.said);
    assert!(ended.said.contains("loading was interrupted"), "{}", ended.said);
    assert!(ended.took > LIMIT && ended.took < LIMIT + Duration::from_secs(5), "{:?}", ended.took);
}
