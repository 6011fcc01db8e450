//! One process: CPU time, threads, memory, and the bytes that it read and wrote.
//!
//! CPU time is in percent of one CPU, so four busy threads are 400. `read_bytes` and `write_bytes`
//! of `/proc/PID/io` count the storage layer; writes are counted when a page of the cache is
//! dirtied, whether or not they reach the device later (`proc_pid_io(5)`). The kernel keeps context
//! switches for each thread; they are summed while there are few threads, for the walk costs time.

use std::collections::HashMap;
use std::fs;
use std::io;

use super::cpu::TICKS_PER_SECOND;
use super::followed::{Followed, Turn};
use super::probe::{Notes, Probe, number};
use super::procfile::ProcFile;
use super::sheet::{Field, Sheet};
use assay_study::metrics::{MetricEntry, metric};
use assay_study::{Role, Unmonitored};

/// Threads above which context switches are not summed: 100 take about 1.5 ms.
const THREADS_WALKED_MAX: f64 = 100.0;

pub(super) struct ProcessProbe {
    sheet: Sheet,
    followed: Followed,
    pid: u32,
    role: Role,
    files: Files,
    fields: Fields,
    switches: Switches,
}

/// The kernel's files of one process.
struct Files {
    stat: ProcFile,
    status: ProcFile,
    io: Option<ProcFile>,
}

impl Files {
    fn open(role: Role, pid: u32, notes: &mut Notes) -> io::Result<Files> {
        let stat = ProcFile::open(format!("/proc/{pid}/stat"))?;
        let status = ProcFile::open(format!("/proc/{pid}/status"))?;
        let io = ProcFile::open(format!("/proc/{pid}/io")).and_then(|mut io| {
            io.read()?;
            Ok(io)
        });
        let io = io
            .inspect_err(|error| {
                notes.unmonitored(Unmonitored::ProcessIo { role, pid, error: error.to_string() });
            })
            .ok();
        Ok(Files { stat, status, io })
    }
}

struct Fields {
    user: Field,
    system: Field,
    both: Field,
    threads: Field,
    rss: Field,
    read: Field,
    write: Field,
    cancelled: Field,
    switches: Field,
}

impl ProcessProbe {
    /// Opens the counters of process `pid`, and follows it to its successors.
    ///
    /// # Errors
    /// There is no such process.
    pub(super) fn open(
        role: Role,
        followed: Followed,
        pid: u32,
        notes: &mut Notes,
    ) -> io::Result<ProcessProbe> {
        let files = Files::open(role, pid, notes)?;
        let (sheet, fields) = declare(role);
        let switches = Switches::default();
        Ok(ProcessProbe { sheet, followed, pid, role, files, fields, switches })
    }

    /// Returns true if the process is still the same; otherwise turns to the new one.
    fn follow(&mut self, notes: &mut Notes) -> bool {
        match self.followed.since(self.pid) {
            Turn::Same => return true,
            Turn::Gone => {}
            Turn::Other(pid) => {
                if let Ok(files) = Files::open(self.role, pid, notes) {
                    (self.files, self.pid, self.switches) = (files, pid, Switches::default());
                }
            }
        }
        false
    }
}

impl Probe for ProcessProbe {
    fn sheet(&self) -> &Sheet {
        &self.sheet
    }

    fn read(&mut self, reading: &mut [f64], notes: &mut Notes) {
        if !self.follow(notes) {
            return;
        }
        let fields = &self.fields;
        match self.files.stat.read() {
            Ok(text) => {
                let (user, system) = cpu_seconds(&text);
                (reading[fields.user], reading[fields.system]) = (user, system);
                reading[fields.both] = user + system;
            }
            // A restart may be imminent, or the process has ended by itself.
            Err(_) if self.followed.pid() != Some(self.pid) => return,
            Err(_) => return notes.unmonitored(Unmonitored::ProcessEnded { role: self.role }),
        }
        if let Ok(text) = self.files.status.read() {
            (reading[fields.threads], reading[fields.rss]) = threads_and_rss(&text);
        }
        if let Some(Ok(text)) = self.files.io.as_mut().map(ProcFile::read) {
            reading[fields.read] = value_of(&text, "read_bytes:");
            reading[fields.write] = value_of(&text, "write_bytes:");
            reading[fields.cancelled] = value_of(&text, "cancelled_write_bytes:");
        }
        if reading[fields.threads] <= THREADS_WALKED_MAX {
            reading[fields.switches] = self.switches.walk(self.pid);
        } else {
            let threads_max = THREADS_WALKED_MAX as u64;
            notes.unmonitored(Unmonitored::Switches { role: self.role, threads_max });
        }
    }
}

/// The metrics of a process, in the order of [`Fields`].
type Metrics = [&'static MetricEntry; 9];

macro_rules! metrics_of {
    ($of:literal) => {
        [
            metric!(concat!($of, "_cpu_user_percent")),
            metric!(concat!($of, "_cpu_system_percent")),
            metric!(concat!($of, "_cpu_percent")),
            metric!(concat!($of, "_read_bytes_per_s")),
            metric!(concat!($of, "_write_bytes_per_s")),
            metric!(concat!($of, "_cancelled_write_bytes_per_s")),
            metric!(concat!($of, "_context_switches_per_s")),
            metric!(concat!($of, "_threads")),
            metric!(concat!($of, "_rss_bytes")),
        ]
    };
}

const SERVER: Metrics = metrics_of!("server");
const DAEMON: Metrics = metrics_of!("daemon");
const LOAD: Metrics = metrics_of!("load");

fn metrics_of(role: Role) -> Metrics {
    match role {
        Role::Server => SERVER,
        Role::Daemon => DAEMON,
        Role::Load => LOAD,
    }
}

fn declare(role: Role) -> (Sheet, Fields) {
    let mut sheet = Sheet::default();
    let [user, system, both, read, write, cancelled, switches, threads, rss] = metrics_of(role);
    let fields = Fields {
        user: sheet.seconds(user),
        system: sheet.seconds(system),
        both: sheet.seconds(both),
        read: sheet.counter(read, ""),
        write: sheet.counter(write, ""),
        cancelled: sheet.counter(cancelled, ""),
        switches: sheet.counter(switches, ""),
        threads: sheet.gauge(threads, ""),
        rss: sheet.gauge(rss, ""),
    };
    (sheet, fields)
}

/// User and system seconds of `/proc/PID/stat`, fields 14 and 15 (`proc_pid_stat(5)`).
pub(super) fn cpu_seconds(stat: &str) -> (f64, f64) {
    seconds_from(stat, 14)
}

/// The same of ended children that were waited for, fields 16 and 17.
pub(super) fn ended_children_cpu_seconds(stat: &str) -> (f64, f64) {
    seconds_from(stat, 16)
}

/// Two fields that follow each other, counted from 1, in seconds.
fn seconds_from(stat: &str, field: usize) -> (f64, f64) {
    // The command's name may hold spaces and parentheses: fields are counted from the last ')',
    // state is field 3.
    let rest = stat.rfind(')').map_or("", |end| &stat[end + 1..]);
    let mut words = rest.split_ascii_whitespace().skip(field - 3);
    (number(words.next()) / TICKS_PER_SECOND, number(words.next()) / TICKS_PER_SECOND)
}

/// Number of threads, and resident memory in bytes, of `/proc/PID/status`.
pub(super) fn threads_and_rss(status: &str) -> (f64, f64) {
    // The kernel writes "kB" and means 1024 bytes.
    (value_of(status, "Threads:"), value_of(status, "VmRSS:") * 1024.0)
}

/// The number after `key` at the beginning of a line.
fn value_of(text: &str, key: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    number(line.and_then(|rest| rest.split_ascii_whitespace().next()))
}

/// Context switches of all threads together, never falling when one of them ends.
#[derive(Default)]
struct Switches {
    total: f64,
    by_thread: HashMap<u32, f64>,
    text: Vec<u8>,
}

impl Switches {
    fn walk(&mut self, pid: u32) -> f64 {
        let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return f64::NAN };
        let mut seen = HashMap::with_capacity(self.by_thread.len());
        for thread in threads.flatten() {
            let number = thread.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
            let switches = self.of_thread(&thread.path());
            if let (Some(number), Some(switches)) = (number, switches) {
                seen.insert(number, switches);
            }
        }
        self.add(seen)
    }

    fn of_thread(&mut self, directory: &std::path::Path) -> Option<f64> {
        use std::io::Read;
        self.text.clear();
        fs::File::open(directory.join("status")).ok()?.read_to_end(&mut self.text).ok()?;
        let text = String::from_utf8_lossy(&self.text);
        let switches = value_of(&text, "voluntary_ctxt_switches:")
            + value_of(&text, "nonvoluntary_ctxt_switches:");
        (!switches.is_nan()).then_some(switches)
    }

    fn add(&mut self, seen: HashMap<u32, f64>) -> f64 {
        for (thread, switches) in &seen {
            let before = self.by_thread.get(thread).copied().unwrap_or(0.0);
            // Fewer than before: the number was reused for another thread.
            self.total += if *switches >= before { switches - before } else { *switches };
        }
        self.by_thread = seen;
        self.total
    }
}

#[cfg(test)]
pub(super) fn whole_sheets() -> [Sheet; 3] {
    [Role::Server, Role::Daemon, Role::Load].map(|role| declare(role).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "10018 (my sql) d) S 1 10018 8000 0 -1 4194560 25123 0 12 0 4321 1234 \
        0 0 20 0 41 0 30000 \
                        1843200000 98304 18446744073709551615 1 1 0 0 0";

    #[test]
    fn cpu_time_is_found_behind_any_name() {
        assert_eq!(cpu_seconds(STAT), (43.21, 12.34));
        assert!(cpu_seconds("nonsense").0.is_nan());
    }

    #[test]
    fn status_and_io_are_read_by_key() {
        let status = "Name:\tmysqld\nVmRSS:\t  409600 kB\nThreads:\t41\n";
        assert_eq!(threads_and_rss(status), (41.0, 419_430_400.0));
        let io = "rchar: 1\nwchar: 2\nread_bytes: 3\nwrite_bytes: 4\ncancelled_write_bytes: 5\n";
        assert_eq!(value_of(io, "write_bytes:"), 4.0);
        assert!(value_of(io, "missing:").is_nan());
    }

    #[test]
    fn context_switches_never_fall_when_threads_end() {
        let mut switches = Switches::default();
        assert_eq!(switches.add(HashMap::from([(1, 10.0), (2, 100.0)])), 110.0);
        assert_eq!(switches.add(HashMap::from([(1, 15.0)])), 115.0);
        assert_eq!(switches.add(HashMap::from([(1, 15.0), (2, 3.0)])), 118.0);
    }

    #[test]
    fn a_process_that_gives_way_to_another_leaves_a_gap_and_no_warning() {
        let mut notes = Notes::default();
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let followed = Followed::new(child.id());
        let mut probe =
            ProcessProbe::open(Role::Server, followed.clone(), child.id(), &mut notes).unwrap();
        let read = |probe: &mut ProcessProbe, notes: &mut Notes| {
            let mut reading = probe.sheet.blank();
            probe.read(&mut reading, notes);
            reading[probe.fields.threads]
        };
        assert_eq!(read(&mut probe, &mut notes), 1.0);
        followed.turn_to(None);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(read(&mut probe, &mut notes).is_nan(), "none is there");
        followed.turn_to(Some(std::process::id()));
        assert!(read(&mut probe, &mut notes).is_nan(), "no growth from one to the other");
        assert!(read(&mut probe, &mut notes) >= 1.0);
        assert_eq!(notes.take_new(), []);
        // The negative control: a process that ends by itself is reported.
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let alone = Followed::new(child.id());
        let opened = ProcessProbe::open(Role::Server, alone, child.id(), &mut notes);
        child.wait().unwrap();
        if let Ok(mut probe) = opened {
            assert!(read(&mut probe, &mut notes).is_nan());
            let ended = Unmonitored::ProcessEnded { role: Role::Server };
            assert!(notes.take_new().contains(&assay_study::Warning::Unmonitored(ended)));
        }
    }

    #[test]
    fn our_own_work_is_seen() {
        let mut notes = Notes::default();
        let me = std::process::id();
        let mut probe = ProcessProbe::open(Role::Load, Followed::new(me), me, &mut notes).unwrap();
        let mut read = |probe: &mut ProcessProbe| {
            let mut reading = probe.sheet.blank();
            probe.read(&mut reading, &mut notes);
            reading
        };
        let before = read(&mut probe);
        let start = std::time::Instant::now();
        let mut spins = 0_u64;
        while start.elapsed().as_millis() < 300 {
            spins = std::hint::black_box(spins + 1);
        }
        let after = read(&mut probe);
        let used = after[probe.fields.user] - before[probe.fields.user]
            + (after[probe.fields.system] - before[probe.fields.system]);
        assert!(used > 0.05, "{used} s of CPU in 300 ms of spinning");
        assert!(after[probe.fields.rss] > 100_000.0 && after[probe.fields.threads] >= 1.0);
    }
}
