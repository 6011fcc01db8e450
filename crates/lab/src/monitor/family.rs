//! A process with its children, counted as one: the processes of a private cluster, which may end
//! and be replaced.
//!
//! CPU time of ended children is counted at their parent once it has waited for them
//! (`proc_pid_stat(5)`, `cutime`), so the sum does not fall for good; until then it may, which is a
//! gap. The kernel lists children in `/proc/PID/task/TID/children` (`CONFIG_PROC_CHILDREN`).

use super::probe::{Notes, Probe};
use super::process::{cpu_seconds, ended_children_cpu_seconds, threads_and_rss};
use super::sheet::{Field, Sheet};
use assay_study::metrics::metric;

#[derive(Debug, Clone)]
pub(super) struct Family {
    pid: u32,
}

impl Family {
    pub(super) fn new(pid: u32) -> Family {
        Family { pid }
    }

    /// The process and its current children.
    pub(super) fn members(&self) -> Vec<u32> {
        std::iter::once(self.pid).chain(self.children()).collect()
    }

    fn children(&self) -> Vec<u32> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid));
        let of_task = |task: std::fs::DirEntry| {
            let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            text.split_ascii_whitespace()
                .filter_map(|number| number.parse().ok())
                .collect::<Vec<u32>>()
        };
        tasks.into_iter().flatten().flatten().flat_map(of_task).collect()
    }

    /// User and system seconds; `None` once the process itself has ended.
    pub(super) fn cpu_seconds(&self) -> Option<(f64, f64)> {
        let own = Family::stat_of(self.pid)?;
        let (mut user_s, mut system_s) = ended_children_cpu_seconds(&own);
        // A child that has just ended has no file; its parent will count it.
        let children = self.children().into_iter().filter_map(Family::stat_of);
        for stat in std::iter::once(own).chain(children) {
            let (user, system) = cpu_seconds(&stat);
            (user_s, system_s) = (user_s + user, system_s + system);
        }
        Some((user_s, system_s))
    }

    /// Resident memory in bytes, without processes that have ended.
    fn rss_bytes(&self) -> f64 {
        let of_one = |pid: u32| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            Some(threads_and_rss(&status).1).filter(|bytes| !bytes.is_nan())
        };
        self.members().into_iter().filter_map(of_one).sum()
    }

    fn stat_of(pid: u32) -> Option<String> {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()
    }
}

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
        if let Some((user_s, system_s)) = self.family.cpu_seconds() {
            reading[self.cpu] = user_s + system_s;
            reading[self.rss] = self.family.rss_bytes();
        }
    }
}

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
        assert_eq!(cpu_seconds(stat), (1.0, 0.5));
        assert_eq!(ended_children_cpu_seconds(stat), (0.2, 0.1));
    }

    #[test]
    fn a_child_is_a_member_and_what_it_took_stays_when_it_has_ended() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; read line";
        let (hear, tell) = std::io::pipe().unwrap();
        // A parent of our own: concurrent tests have children too.
        let script = format!("sh -c '{busy}'; echo ended; exec sleep 600");
        let mut parent = Command::new("sh")
            .args(["-c", &script])
            .stdin(hear)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let family = Family::new(parent.id());
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while family.members().len() < 2 || family.cpu_seconds().unwrap().0 < 0.05 {
            assert!(std::time::Instant::now() < deadline, "{family:?}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let before = family.cpu_seconds().unwrap().0;
        drop(tell);
        let mut line = String::new();
        let out = parent.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
        let after = family.cpu_seconds().unwrap().0;
        parent.kill().unwrap();
        parent.wait().unwrap();
        assert_eq!(line, "ended\n");
        assert!(after >= before, "{before} {after}");
        assert_eq!(family.cpu_seconds(), None, "it is gone");
    }
}
