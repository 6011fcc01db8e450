//! Programs that used CPU time between two snapshots of all processes.
//!
//! Walking `/proc` takes about ten microseconds a process, so it is done at the ends of a window
//! and not within. A process that started and ended in between is in neither snapshot; its time is
//! found at the parent that waited for it (`proc_pid_stat(5)`, `cutime`), less the time that it had
//! used before the first.

use std::collections::{BTreeMap, HashMap};

use super::cpu::TICKS_PER_SECOND;
use super::probe::number;
use assay_study::Program;

/// A program, with the CPU time of its processes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TopUser {
    /// The kernel's name: 15 bytes of the file's name, or a name that the process gave itself.
    pub(crate) name: String,
    /// The process that used most.
    pub(crate) pid: u32,
    /// Number of processes of that name that used any.
    pub(crate) processes: usize,
    /// User time of all of them and of children they waited for.
    pub(crate) user_s: f64,
}

impl TopUser {
    pub(crate) fn program(&self) -> Program {
        Program { name: self.name.clone(), pid: self.pid, processes: self.processes }
    }
}

/// CPU time that every process had used at one instant.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessSnapshot {
    processes: HashMap<u32, Process>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Process {
    name: String,
    parent: u32,
    start_ticks: f64,
    user_s: f64,
    children_user_s: f64,
}

impl ProcessSnapshot {
    /// Reads all processes of `/proc`.
    pub(crate) fn take() -> ProcessSnapshot {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let processes = entries.filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read(entry.path().join("stat")).ok()?;
            Some((pid, Process::of(&String::from_utf8_lossy(&stat))?))
        });
        ProcessSnapshot { processes: processes.collect() }
    }

    /// Programs other than `own` that used user time since `before`, largest first.
    pub(crate) fn top_users_since(&self, before: &ProcessSnapshot, own: &[u32]) -> Vec<TopUser> {
        let ended = self.ended_since(before);
        let mut top_users: BTreeMap<&str, (TopUser, f64)> = BTreeMap::new();
        for (pid, process) in self.processes.iter().filter(|(pid, _)| !own.contains(pid)) {
            let known = ended.get(pid).copied().unwrap_or(0.0);
            let took_s = process.since(before.processes.get(pid), known);
            if took_s <= 0.0 {
                continue;
            }
            let none = TopUser { name: process.name.clone(), pid: *pid, processes: 0, user_s: 0.0 };
            let (top_user, most_s) = top_users.entry(&process.name).or_insert((none, 0.0));
            if took_s > *most_s {
                (top_user.pid, *most_s) = (*pid, took_s);
            }
            top_user.processes += 1;
            top_user.user_s += took_s;
        }
        let mut top_users: Vec<TopUser> =
            top_users.into_values().map(|(top_user, _)| top_user).collect();
        top_users.sort_by(|a, b| b.user_s.total_cmp(&a.user_s));
        top_users
    }

    /// CPU time that children which have ended since had used before, by parent.
    fn ended_since(&self, before: &ProcessSnapshot) -> HashMap<u32, f64> {
        let mut ended = HashMap::new();
        for (pid, old) in &before.processes {
            let lives = self.processes.get(pid).is_some_and(|now| now.is(old));
            if !lives {
                *ended.entry(old.parent).or_insert(0.0) += old.user_s + old.children_user_s;
            }
        }
        ended
    }
}

impl Process {
    /// Parses `/proc/PID/stat`: fields 4, 14, 16 and 22.
    pub(super) fn of(stat: &str) -> Option<Process> {
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let ticks = |place: usize| number(words.get(place).copied());
        Some(Process {
            name: name.to_owned(),
            parent: words.get(1)?.parse().ok()?,
            start_ticks: ticks(19),
            user_s: ticks(11) / TICKS_PER_SECOND,
            children_user_s: ticks(13) / TICKS_PER_SECOND,
        })
    }

    /// Returns true if both are one process, whose number was not reused.
    fn is(&self, other: &Process) -> bool {
        self.start_ticks == other.start_ticks
    }

    /// CPU time of the process and its ended children since `before`, when those had used
    /// `known_s`.
    fn since(&self, before: Option<&Process>, known_s: f64) -> f64 {
        let before = before.filter(|before| self.is(before));
        let (user_s, children_s) = before.map_or((0.0, 0.0), |b| (b.user_s, b.children_user_s));
        self.user_s - user_s + (self.children_user_s - children_s - known_s).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: u32, name: &str, parent: u32, user: u32, children: u32, start: u32) -> String {
        format!(
            "{pid} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 {user} 7 {children} 0 20 0 1 0 {start} \
             0 0"
        )
    }

    fn process_snapshot(stats: &[String]) -> ProcessSnapshot {
        let process = |stat: &String| {
            let pid = stat.split_once(' ').unwrap().0.parse().unwrap();
            (pid, Process::of(stat).unwrap())
        };
        ProcessSnapshot { processes: stats.iter().map(process).collect() }
    }

    #[test]
    fn programs_are_told_by_name_with_what_their_processes_took() {
        let before = process_snapshot(&[
            stat(10, "cc) 1", 1, 100, 0, 5),
            stat(11, "cc) 1", 1, 900, 0, 5),
            stat(12, "idle", 1, 50, 0, 5),
            stat(13, "mysqld", 1, 0, 0, 5),
        ]);
        let after = process_snapshot(&[
            stat(10, "cc) 1", 1, 120, 0, 5),
            // A reused number.
            stat(11, "cc) 1", 1, 30, 0, 6),
            stat(12, "idle", 1, 50, 0, 5),
            stat(13, "mysqld", 1, 700, 0, 5),
            stat(14, "new", 1, 400, 0, 7),
        ]);
        let top_users = after.top_users_since(&before, &[13]);
        let told: Vec<_> =
            top_users.iter().map(|user| (user.name.as_str(), user.pid, user.processes)).collect();
        assert_eq!(told, [("new", 14, 1), ("cc) 1", 11, 2)]);
        assert!((top_users[1].user_s - 0.5).abs() < 1e-9, "{top_users:?}");
    }

    #[test]
    fn what_ended_is_found_at_its_parent_less_what_it_had_used_before() {
        let before =
            process_snapshot(&[stat(10, "make", 1, 10, 100, 5), stat(11, "cc1", 10, 5000, 0, 5)]);
        // cc1 used 3 s more and ended; another used 2 s and is in neither snapshot.
        let after = process_snapshot(&[stat(10, "make", 1, 10, 100 + 5300 + 200, 5)]);
        let top_users = after.top_users_since(&before, &[]);
        assert_eq!((top_users.len(), top_users[0].name.as_str()), (1, "make"));
        assert!((top_users[0].user_s - 5.0).abs() < 1e-9, "{top_users:?}");
    }

    #[test]
    fn this_process_is_in_a_process_snapshot_and_left_out_as_one_of_ours() {
        let me = std::process::id();
        let start = std::time::Instant::now();
        let mut spins = 0_u64;
        while start.elapsed().as_millis() < 100 {
            spins = std::hint::black_box(spins + 1);
        }
        let now = ProcessSnapshot::take();
        let has_me = |top_users: &[TopUser]| top_users.iter().any(|user| user.pid == me);
        let name = now.processes[&me].name.clone();
        let alone = ProcessSnapshot { processes: [(me, now.processes[&me].clone())].into() };
        assert!(has_me(&alone.top_users_since(&ProcessSnapshot::default(), &[])), "{name}");
        assert!(!has_me(&alone.top_users_since(&ProcessSnapshot::default(), &[me])));
    }
}
