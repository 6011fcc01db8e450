//! A process with its children, counted as one: the processes of a private cluster, of which one may die and another come.
//!
//! CPU time of children that have ended is counted at their parent once it has waited for them (`proc_pid_stat(5)`, `cutime`), so
//! the sum never falls for good when one dies; while a dead one is not waited for yet it may, which is a gap. Children are listed by the kernel
//! (`/proc/PID/task/TID/children`, `CONFIG_PROC_CHILDREN`).

use std::path::PathBuf;

use super::cpu::TICKS_PER_SECOND;
use super::probe::{Notes, Probe, number};
use super::process::threads_and_rss;
use super::sheet::{Field, Sheet};
use assay_study::metrics::metric;

/// A process and its children, by the process's number.
#[derive(Debug, Clone)]
pub(super) struct Family {
    pid: u32,
}

/// What all of them together have taken.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Taken {
    /// CPU time in user mode, in seconds.
    pub(super) user_s: f64,
    /// The same in the kernel.
    pub(super) system_s: f64,
    /// Memory that they have in hand now, in bytes.
    pub(super) rss_bytes: f64,
}

impl Family {
    pub(super) fn new(pid: u32) -> Family {
        Family { pid }
    }

    /// The process and its children of now.
    pub(super) fn members(&self) -> Vec<u32> {
        let tasks = std::fs::read_dir(self.place("task")).into_iter().flatten().flatten();
        let of_task = |task: std::fs::DirEntry| {
            std::fs::read_to_string(task.path().join("children")).unwrap_or_default()
        };
        let children: Vec<u32> = tasks
            .map(of_task)
            .flat_map(|text| {
                text.split_ascii_whitespace().filter_map(|one| one.parse().ok()).collect::<Vec<_>>()
            })
            .collect();
        [self.pid].into_iter().chain(children).collect()
    }

    /// What they have taken; nothing once the process itself has ended.
    pub(super) fn taken(&self) -> Option<Taken> {
        let mut all = Taken::default();
        for (place, pid) in self.members().into_iter().enumerate() {
            match (taken_by(pid, place == 0), place) {
                (Some(one), _) => all.add(one),
                (None, 0) => return None,
                // It has just ended; its parent will count it.
                (None, _) => {}
            }
        }
        Some(all)
    }

    fn place(&self, name: &str) -> PathBuf {
        format!("/proc/{}/{name}", self.pid).into()
    }
}

impl Taken {
    fn add(&mut self, one: Taken) {
        self.user_s += one.user_s;
        self.system_s += one.system_s;
        self.rss_bytes += one.rss_bytes;
    }
}

fn taken_by(pid: u32, is_parent: bool) -> Option<Taken> {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
    let (user_s, system_s) = cpu_seconds(&read("stat")?, is_parent)?;
    let (_, rss_bytes) = threads_and_rss(&read("status")?);
    // One that has ended and was not waited for has none.
    Some(Taken { user_s, system_s, rss_bytes: if rss_bytes.is_nan() { 0.0 } else { rss_bytes } })
}

/// User and system time of a text of `/proc/PID/stat`: fields 14 and 15, of the parent 16 and 17 too.
fn cpu_seconds(stat: &str, is_parent: bool) -> Option<(f64, f64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    let seconds = |place: usize| number(words.get(place).copied()) / TICKS_PER_SECOND;
    let of_ended = |place: usize| if is_parent { seconds(place) } else { 0.0 };
    Some((seconds(11) + of_ended(13), seconds(12) + of_ended(14)))
}

/// The processes of a private cluster.
pub(super) struct FamilyProbe {
    sheet: Sheet,
    family: Family,
    cpu: Field,
    rss: Field,
}

impl FamilyProbe {
    pub(super) fn new(family: Family) -> FamilyProbe {
        let mut sheet = Sheet::default();
        let cpu = sheet.seconds(metric!("pool_cpu_percent"));
        let rss = sheet.gauge(metric!("pool_rss_bytes"), "");
        FamilyProbe { sheet, family, cpu, rss }
    }
}

impl Probe for FamilyProbe {
    fn sheet(&self) -> &Sheet {
        &self.sheet
    }

    fn read(&mut self, reading: &mut [f64], _: &mut Notes) {
        if let Some(taken) = self.family.taken() {
            reading[self.cpu] = taken.user_s + taken.system_s;
            reading[self.rss] = taken.rss_bytes;
        }
    }
}

/// All that can be declared.
#[cfg(test)]
pub(super) fn whole_sheet() -> Sheet {
    FamilyProbe::new(Family::new(1)).sheet
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn children_that_ended_are_counted_at_their_parent_alone() {
        let stat = "7 (a b) S 1 1 1 0 -1 0 0 0 0 0 100 50 20 10 20 0 1 0 5 0 3";
        assert_eq!(cpu_seconds(stat, true), Some((1.2, 0.6)));
        assert_eq!(cpu_seconds(stat, false), Some((1.0, 0.5)));
    }

    #[test]
    fn a_child_is_a_member_and_what_it_took_stays_when_it_has_ended() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; read line";
        let (hear, tell) = std::io::pipe().unwrap();
        // A parent of our own, for tests beside this one have children too.
        let script = format!("sh -c '{busy}'; echo ended; exec sleep 600");
        let mut parent = Command::new("sh")
            .args(["-c", &script])
            .stdin(hear)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let family = Family::new(parent.id());
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while family.members().len() < 2 || family.taken().unwrap().user_s < 0.05 {
            assert!(std::time::Instant::now() < deadline, "{family:?}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let before = family.taken().unwrap();
        drop(tell);
        let mut line = String::new();
        let out = parent.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
        let after = family.taken().unwrap();
        parent.kill().unwrap();
        parent.wait().unwrap();
        assert_eq!(line, "ended\n");
        assert!(after.user_s >= before.user_s, "{before:?} {after:?}");
        assert_eq!(family.taken(), None, "it is gone");
    }
}
