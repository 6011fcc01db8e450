//! Protects a process through which other processes' data pass against a shortage of memory.
//!
//! If the kernel killed it, a mounted file system would be lost. If its allocations had to wait for
//! dirty pages, it would wait for itself.

use std::io;

/// The file with the kernel's preference for killing this process (`proc(5)`,
/// `/proc/PID/oom_score_adj`).
const OOM_SCORE_ADJ: &str = "/proc/self/oom_score_adj";

/// Exempts a process from being killed.
pub const NEVER: i32 = -1000;

/// Step between the values tried without the right to [`NEVER`]: a process may lower its value to
/// one set by a privileged process before.
const STEP: usize = 100;

/// Makes the kernel spare this process when memory is short, with [`NEVER`] or the lowest permitted
/// value; returns that value. Programs started from now on inherit it.
///
/// # Errors
/// The system's error in reading the present value.
pub fn be_spared() -> io::Result<i32> {
    let now = score()?;
    let tried = (NEVER..now).step_by(STEP);
    let reached =
        tried.into_iter().find(|adj| std::fs::write(OOM_SCORE_ADJ, adj.to_string()).is_ok());
    Ok(reached.unwrap_or(now))
}

fn score() -> io::Result<i32> {
    std::fs::read_to_string(OOM_SCORE_ADJ)?.trim().parse().map_err(io::Error::other)
}

/// Exempts the calling thread, and threads that it starts, from waiting for write-back when they
/// allocate memory (`prctl(2)`, `PR_SET_IO_FLUSHER`, made for FUSE servers).
///
/// # Errors
/// Missing permission: it takes `CAP_SYS_RESOURCE`.
pub fn stay_out_of_write_back() -> io::Result<()> {
    Ok(rustix::process::configure_io_flusher_behavior(true)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if this process has `CAP_SYS_RESOURCE`, bit 24 (`capabilities(7)`,
    /// `include/uapi/linux/capability.h`).
    fn is_permitted() -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap() & (1 << 24) != 0
    }

    /// `PF_MEMALLOC_NOIO` in the flags of a thread (`include/linux/sched.h`), field 9 of its `stat`
    /// (`proc(5)`).
    fn stays_out() -> bool {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let flags = stat.rsplit_once(") ").unwrap().1.split(' ').nth(6).unwrap();
        flags.parse::<u64>().unwrap() & 0x0008_0000 != 0
    }

    #[test]
    fn threads_that_are_started_later_stay_out_of_write_back_too_where_that_is_permitted() {
        let seen = std::thread::spawn(|| {
            let before = stays_out();
            let result = stay_out_of_write_back().map_err(|error| error.kind());
            (before, result, stays_out(), std::thread::spawn(stays_out).join().unwrap())
        });
        let expected = match is_permitted() {
            true => (false, Ok(()), true, true),
            false => (false, Err(io::ErrorKind::PermissionDenied), false, false),
        };
        assert_eq!(seen.join().unwrap(), expected);
    }

    #[test]
    fn a_process_is_spared_as_far_as_is_permitted() {
        let before = score().unwrap();
        // Raising the value is always permitted, and so is returning from it.
        std::fs::write(OOM_SCORE_ADJ, (before + 200).to_string()).unwrap();
        let reached = be_spared().unwrap();
        let after = score().unwrap();
        let _ = std::fs::write(OOM_SCORE_ADJ, before.to_string());
        assert!(reached == after && reached <= before, "{reached} of {before}");
        assert!(!is_permitted() || reached == NEVER, "{reached}");
    }
}
