//! One command on an untrusted file: its answer, and the time and memory that it took.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

use crate::common::World;

/// Largest CPU time and memory of an answer. CPU time, since tests run concurrently; on an idle
/// machine the answer arrives within it.
const CPU_SECONDS_MAX: f64 = 10.0;
const MEMORY_KIB_MAX: i64 = 256 << 10;

static HIGHEST: AtomicI64 = AtomicI64::new(0);

/// Time after which a command counts as endless.
const PATIENCE: Duration = Duration::from_secs(60);

pub const LINE_BYTES_MAX: usize = 8000;

/// Answer of a command.
#[derive(Debug)]
pub struct Answer {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    /// The error's line; panics unless there is exactly one.
    pub fn refusal(&self, name: &str) -> &str {
        assert_eq!(self.code, Some(2), "{name}: {self:?}");
        let mut lines = self.stderr.lines().filter(|line| !line.starts_with("assay: warn: "));
        let line = lines.next().unwrap_or_default();
        assert_eq!(lines.next(), None, "{name}: more than one line");
        assert!(line.starts_with("assay: ") && line.len() < LINE_BYTES_MAX, "{name}: {line}");
        line
    }
}

/// Runs `assay` in `world` and measures it; the kernel keeps the largest resident set of all
/// children.
pub fn answer(world: &World, name: &str, words: &[&str]) -> Answer {
    let out = world.path(".out");
    let err = world.path(".err");
    let mut command = world.command(words);
    command.stdin(Stdio::null());
    command.stdout(std::fs::File::create(&out).unwrap());
    command.stderr(std::fs::File::create(&err).unwrap());
    let began = Instant::now();
    let mut child = command.spawn().unwrap();
    let mut seconds = 0.0;
    let status = loop {
        seconds = cpu_seconds(child.id()).unwrap_or(seconds);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{name}: assay {words:?} goes on for ever");
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let read = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let answer = Answer { code: status.code(), stdout: read(&out), stderr: read(&err) };
    for path in [out, err] {
        std::fs::remove_file(path).unwrap();
    }
    assert!(seconds < CPU_SECONDS_MAX, "{name}: assay {words:?} took {seconds:.1} s: {answer:?}");
    // The value only grows: the child that made it grow is the one that exceeds the limit.
    let kib = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss();
    let is_new = HIGHEST.fetch_max(kib, Ordering::Relaxed) < kib;
    assert!(
        kib < MEMORY_KIB_MAX || !is_new,
        "{name}: assay {words:?} took {kib} KiB: {}",
        answer.stderr
    );
    assert!([Some(0), Some(1), Some(2)].contains(&answer.code), "{name}: {answer:?}");
    for fault in ["panicked", "internal error"] {
        assert!(!answer.stderr.contains(fault), "{name}: {}", answer.stderr);
    }
    for text in [&answer.stdout, &answer.stderr] {
        let raw = text.chars().find(|sign| sign.is_control() && !"\n\t".contains(*sign));
        assert_eq!(raw, None, "{name}: a control character reaches the terminal: {text:?}");
        assert!(!text.contains(['\u{202e}', '\u{2066}']), "{name}: text changes its direction");
    }
    answer
}

/// CPU time of a process so far, or of a zombie (`proc(5)`, fields 14 and 15 of `stat`, in ticks of
/// 10 ms).
fn cpu_seconds(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / 100.0)
}

/// Everything below a directory: files with their contents, links with their targets. Leaves out
/// state and `but`.
pub fn holdings(directory: &Path, but: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(next).unwrap().flatten() {
            let name = entry.path().strip_prefix(directory).unwrap().display().to_string();
            if name == "state" || but.contains(&name.as_str()) {
                continue;
            }
            let kind = entry.file_type().unwrap();
            let held = match () {
                () if kind.is_dir() => {
                    left.push(entry.path());
                    Vec::new()
                }
                () if kind.is_file() => std::fs::read(entry.path()).unwrap(),
                () => format!("{kind:?} {:?}", std::fs::read_link(entry.path()).ok()).into_bytes(),
            };
            all.insert(name, held);
        }
    }
    all
}

/// Runs all cases, and fails with the names of those that fail.
pub fn all_hold(cases: impl Iterator<Item = (&'static str, impl FnOnce())>) {
    let fails = |case| std::panic::catch_unwind(std::panic::AssertUnwindSafe(case)).is_err();
    let failed: Vec<&str> = cases.filter_map(|(name, case)| fails(case).then_some(name)).collect();
    assert!(failed.is_empty(), "{failed:#?}, see above");
}
