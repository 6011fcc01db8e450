//! CPU time of programs that do not belong to the run.
//!
//! It is the user time of the CPUs that this process may use, less that of server, load and drive.
//! Time in the kernel is left out: much of it is work for the run that no process is charged for
//! (interrupts, the block layer, writeback). The kernel's own threads have no user time, so the
//! rest is a lower bound of the interference.
//!
//! The kernel may sample the time of CPUs while it measures that of processes and splits it by
//! samples (`cputime_adjust` in the kernel's `kernel/sched/cputime.c`), so their difference
//! jitters. The largest difference so far is recorded: it never falls, and over a window it grows
//! by as much as the difference.

use std::io;

use super::family::Family;
use super::followed::{Followed, Turn};
use super::process::cpu_seconds;
use super::procfile::ProcFile;
use super::{probe, sheet};
use assay_study::metrics::metric;

/// Processes that belong to the run.
#[derive(Debug, Clone, Default)]
pub(super) struct Own {
    pub(super) pids: Vec<u32>,
    /// The one of them that may be replaced.
    pub(super) followed: Option<Followed>,
    /// A process with its children.
    pub(super) family: Option<Family>,
}

/// The counter of other programs' time.
pub(super) struct Interference {
    own: Vec<(u32, ProcFile)>,
    family: Option<Family>,
    /// The own process that may be replaced, and its last known number.
    followed: Option<(Followed, u32)>,
    cpus: Vec<usize>,
    largest_s: f64,
    field: sheet::Field,
}

impl Interference {
    /// Declares `others_cpu_percent`: time on these CPUs that is not of `own`.
    ///
    /// # Errors
    /// One of the processes does not exist: its time would count as interference.
    pub(super) fn declare(
        sheet: &mut sheet::Sheet,
        own: Own,
        cpus: Vec<usize>,
    ) -> io::Result<Interference> {
        let Own { pids, followed, family } = own;
        let own = pids.iter().map(|pid| Ok((*pid, stat_of(*pid)?))).collect::<io::Result<_>>()?;
        let followed = followed.and_then(|process| Some((process.clone(), process.pid()?)));
        let field = declare(sheet);
        Ok(Interference { own, family, followed, cpus, largest_s: f64::NEG_INFINITY, field })
    }

    /// Returns false if an own process was replaced; counting then starts anew, so that the time of
    /// the ended process does not count as interference.
    fn are_same(&mut self) -> bool {
        let Some((followed, known)) = &mut self.followed else { return true };
        match followed.since(*known) {
            Turn::Same => return true,
            Turn::Gone => {}
            Turn::Other(pid) => {
                if let Ok(file) = stat_of(pid) {
                    self.own.retain(|(one, _)| one != known);
                    self.own.push((pid, file));
                    *known = pid;
                    self.largest_s = f64::NEG_INFINITY;
                }
            }
        }
        false
    }

    /// Adds a reading; `stat` is the text of `/proc/stat`, read just now. An ended process leaves a
    /// gap.
    pub(super) fn fill(&mut self, stat: &str, reading: &mut [f64]) {
        if !self.are_same() {
            return;
        }
        let own = |file: &mut ProcFile| file.read().map_or(f64::NAN, |text| cpu_seconds(&text).0);
        let family_s =
            self.family.as_ref().map_or(Some(0.0), |family| Some(family.cpu_seconds()?.0));
        let own_s = self.own.iter_mut().map(|(_, file)| own(file)).sum::<f64>()
            + family_s.unwrap_or(f64::NAN);
        reading[self.field] = self.count(user_seconds(stat, &self.cpus), own_s);
    }

    fn count(&mut self, all_s: f64, own_s: f64) -> f64 {
        let others_s = all_s - own_s;
        if others_s.is_nan() {
            return f64::NAN;
        }
        self.largest_s = self.largest_s.max(others_s);
        self.largest_s
    }
}

fn stat_of(pid: u32) -> io::Result<ProcFile> {
    ProcFile::open(format!("/proc/{pid}/stat"))
}

pub(super) fn declare(sheet: &mut sheet::Sheet) -> sheet::Field {
    sheet.seconds(metric!("others_cpu_percent"))
}

/// Seconds in user mode, niced or not, of these CPUs (`proc_stat(5)`, the first two columns of
/// each).
pub(super) fn user_seconds(stat: &str, cpus: &[usize]) -> f64 {
    let is_ours = |word: &str| {
        let number = word.strip_prefix("cpu").and_then(|number| number.parse().ok());
        number.is_some_and(|number| cpus.contains(&number))
    };
    let lines = stat.lines().filter_map(|line| line.split_once(' '));
    let ticks = lines.filter(|(word, _)| is_ours(word)).map(|(_, rest)| {
        let mut words = rest.split_ascii_whitespace();
        probe::number(words.next()) + probe::number(words.next())
    });
    ticks.sum::<f64>() / super::cpu::TICKS_PER_SECOND
}

#[cfg(test)]
mod tests {
    use super::super::process_snapshot::ProcessSnapshot;
    use super::*;

    const STAT: &str = "cpu  1050 10 520 8100 225 5 15 20 340 0\n\
        cpu0 550 5 270 4000 125 5 15 10 190 0\n\
        cpu1 500 5 250 4100 100 0 0 10 150 0\n\
        intr 350355 0 0\nctxt 537203\n";

    #[test]
    fn user_time_is_of_our_cpus_and_niced_work_counts() {
        assert_eq!(user_seconds(STAT, &[0, 1]), 10.6);
        assert_eq!(user_seconds(STAT, &[1]), 5.05);
        assert_eq!(user_seconds("nonsense", &[0]), 0.0);
    }

    /// A shell that only uses CPU time, under a name of its own; killed when dropped.
    struct Busy {
        process: std::process::Child,
        _directory: tempfile::TempDir,
    }

    impl Busy {
        const NAME: &str = "assay-busy";

        fn start() -> Busy {
            let directory = tempfile::tempdir().unwrap();
            let program = directory.path().join(Busy::NAME);
            std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
            let mut command = std::process::Command::new(program);
            let process = command.args(["-c", "while :; do :; done"]).spawn().unwrap();
            Busy { process, _directory: directory }
        }

        /// Waits until the shell has used `user_s`.
        fn until(&self, user_s: f64) -> f64 {
            let stat = format!("/proc/{}/stat", self.process.id());
            let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
            loop {
                let took_s = cpu_seconds(&std::fs::read_to_string(&stat).unwrap()).0;
                if took_s >= user_s {
                    return took_s;
                }
                assert!(std::time::Instant::now() < deadline, "{took_s} s of {user_s}");
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
    }

    impl Drop for Busy {
        fn drop(&mut self) {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }

    /// A process of our own is the negative control: other work of this machine is in both figures.
    #[test]
    fn a_busy_program_is_seen_and_one_of_ours_is_not() {
        let busy = Busy::start();
        let (me, child) = (std::process::id(), busy.process.id());
        let mut sheet = sheet::Sheet::default();
        let mut declare = |own: &[u32]| {
            let own = Own { pids: own.to_vec(), ..Own::default() };
            Interference::declare(&mut sheet, own, assay_ports::cpu::available().unwrap()).unwrap()
        };
        let (mut all, mut without) = (declare(&[me]), declare(&[me, child]));
        let mut look = || {
            let stat = std::fs::read_to_string("/proc/stat").unwrap();
            let mut reading = [f64::NAN; 2];
            all.fill(&stat, &mut reading);
            without.fill(&stat, &mut reading);
            (reading, ProcessSnapshot::take())
        };
        let began_s = busy.until(0.1);
        let (before, process_snapshot) = look();
        let took_s = busy.until(began_s + 1.0) - began_s;
        let (after, process_snapshot_after) = look();
        let told_s = (after[0] - before[0]) - (after[1] - before[1]);
        assert!(
            (0.6 * took_s..1.5 * took_s).contains(&told_s),
            "{told_s} s told, {took_s} s taken"
        );
        let is_named = |own: &[u32]| {
            let top_users = process_snapshot_after.top_users_since(&process_snapshot, own);
            top_users.iter().any(|user| user.name == Busy::NAME && user.user_s > 0.5 * took_s)
        };
        assert!(is_named(&[me]) && !is_named(&[me, child]));
    }

    #[test]
    fn what_others_took_adds_up_over_jitter_and_never_falls() {
        let mut interference = Interference {
            own: Vec::new(),
            family: None,
            followed: None,
            cpus: Vec::new(),
            largest_s: f64::NEG_INFINITY,
            field: 0,
        };
        // The machine's counter jitters by two hundredths around 0.5 s a second, ours grows by 0.4.
        let all = [10.0, 10.52, 10.98, 11.5, 12.02];
        let own = [4.0, 4.4, 4.8, 5.2, 5.6];
        let counted: Vec<f64> =
            all.iter().zip(own).map(|(a, o)| interference.count(*a, o)).collect();
        assert!(counted.windows(2).all(|pair| pair[0] <= pair[1]), "{counted:?}");
        assert!((counted[4] - counted[0] - 0.42).abs() < 1e-9, "{counted:?}");
        assert!(interference.count(12.5, f64::NAN).is_nan(), "a process of ours has ended");
        // All CPU time is our own: nothing grows.
        let before = interference.count(12.02, 5.6);
        assert_eq!(interference.count(13.02, 6.6), before);
    }
}
