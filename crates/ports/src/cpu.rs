//! The CPUs on which threads and children may run.
//!
//! Lists are in the kernel's format, `0-3,8` (`cpuset(7)`, "List format").

use std::collections::BTreeSet;
use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs that this process may use, ascending.
///
/// # Errors
/// The error of `sched_getaffinity`.
pub fn available() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// Binds the calling thread to `cpus`; an empty list changes nothing.
///
/// # Errors
/// `InvalidInput` for a number beyond the kernel's set, else the error of `sched_setaffinity`.
pub fn bind_thread(cpus: &[usize]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    Ok(sched_setaffinity(None, &set_of(cpus)?)?)
}

/// The CPUs to which binding a thread to `cpus` leads: the kernel silently removes those that the
/// process may not use, as long as one is left (`sched_setaffinity(2)`). The calling thread is
/// unchanged.
///
/// # Errors
/// As for [`bind_thread`].
pub fn bound(cpus: &[usize]) -> io::Result<Vec<usize>> {
    let bind = || bind_thread(cpus).and_then(|()| available());
    let bound = std::thread::scope(|scope| scope.spawn(bind).join());
    bound.unwrap_or_else(|_| Err(io::Error::other("the thread that was to be bound has panicked")))
}

/// The CPUs that any thread of a process may use, ascending (`Cpus_allowed_list` in
/// `/proc/PID/task/TID/status`, `proc(5)`).
///
/// # Errors
/// The process has ended, or the caller may not inspect it.
pub fn allowed_of(pid: u32) -> io::Result<Vec<usize>> {
    let mut all = BTreeSet::new();
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may have ended meanwhile.
        let Ok(status) = std::fs::read_to_string(task?.path().join("status")) else { continue };
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        all.extend(parse_list(list.unwrap_or_default())?);
    }
    Ok(all.into_iter().collect())
}

/// Parses a list such as `0-3,8`; an empty text is an empty list.
///
/// # Errors
/// `InvalidInput`, naming the part that is not a number or a range.
pub fn parse_list(text: &str) -> io::Result<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let bad = || invalid(format!("`{part}` is not a CPU or a range such as 0-3"));
        let first: usize = first.trim().parse().map_err(|_| bad())?;
        let last: usize = last.trim().parse().map_err(|_| bad())?;
        if first > last || last >= CpuSet::MAX_CPU {
            return Err(bad());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

pub(crate) fn set_of(cpus: &[usize]) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(invalid(format!("CPU {cpu} is beyond what the kernel can name")));
        }
        set.set(cpu);
    }
    Ok(set)
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_process_may_run_is_read_back() {
        let there = available().unwrap();
        let (last, none) = (&there[there.len() - 1..], CpuSet::MAX_CPU - 1);
        assert_eq!(bound(last).unwrap(), last);
        assert_eq!(bound(&[last[0], none]).unwrap(), last, "without a word");
        assert_eq!(available().unwrap(), there, "the caller stays as it is");
        let mut sleep = std::process::Command::new("taskset");
        let list = last[0].to_string();
        let mut child = sleep.args(["--cpu-list", &list, "sleep", "60"]).spawn().unwrap();
        let started = std::time::Instant::now();
        // The program binds itself some time after its start.
        while allowed_of(child.id()).unwrap() != last && started.elapsed().as_secs() < 20 {
            std::thread::yield_now();
        }
        let found = allowed_of(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, last);
    }

    #[test]
    fn lists_read_as_the_kernel_writes_them() {
        assert_eq!(parse_list("0-2,5").unwrap(), [0, 1, 2, 5]);
        assert_eq!(parse_list("").unwrap(), [0usize; 0]);
        for bad in ["a", "3-1", "1-", "99999"] {
            assert!(parse_list(bad).is_err(), "{bad}");
        }
    }
}
