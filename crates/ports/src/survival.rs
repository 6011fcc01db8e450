//! What keeps a process alive and unblocked, when memory is short, through which other processes' data pass.
//!
//! Killed for its memory it would take a mounted file system with it. Asked to write out dirty pages before it gets memory, it
//! would wait for itself.

use std::io;

/// The file that says how willingly the kernel kills this process (`proc(5)`, `/proc/PID/oom_score_adj`).
const OOM_SCORE_ADJ: &str = "/proc/self/oom_score_adj";

/// Never killed for its memory.
pub const NEVER: i32 = -1000;

/// Without the right to be spared altogether, a process may go down to where one with that right left it: these are tried.
const STEP: usize = 100;

/// Makes the kernel spare this process when it kills for want of memory, [`NEVER`] or as far as is permitted; gives what was
/// reached. Programs that it starts from now on inherit this.
///
/// # Errors
/// What the system answered when asked how it is.
pub fn be_spared() -> io::Result<i32> {
    let now = told()?;
    let tried = (NEVER..now).step_by(STEP);
    let reached =
        tried.into_iter().find(|adj| std::fs::write(OOM_SCORE_ADJ, adj.to_string()).is_ok());
    Ok(reached.unwrap_or(now))
}

fn told() -> io::Result<i32> {
    std::fs::read_to_string(OOM_SCORE_ADJ)?.trim().parse().map_err(io::Error::other)
}

/// From now on the calling thread, and those that it starts, do not wait, when they ask for memory, until the kernel has written
/// dirty pages through them (`prctl(2)`, `PR_SET_IO_FLUSHER`, made for servers of FUSE).
///
/// # Errors
/// That it is not permitted: it takes `CAP_SYS_RESOURCE`. Then it is as for any program.
pub fn stay_out_of_write_back() -> io::Result<()> {
    Ok(rustix::process::configure_io_flusher_behavior(true)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether this process has `CAP_SYS_RESOURCE`, bit 24 (`capabilities(7)`, `include/uapi/linux/capability.h`).
    fn is_permitted() -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap() & (1 << 24) != 0
    }

    /// `PF_MEMALLOC_NOIO` in the flags of a thread (`include/linux/sched.h`), field 9 of its `stat` (`proc(5)`).
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
        let before = told().unwrap();
        // Anyone may be killed more willingly, and come back from that.
        std::fs::write(OOM_SCORE_ADJ, (before + 200).to_string()).unwrap();
        let reached = be_spared().unwrap();
        let after = told().unwrap();
        let _ = std::fs::write(OOM_SCORE_ADJ, before.to_string());
        assert!(reached == after && reached <= before, "{reached} of {before}");
        assert!(!is_permitted() || reached == NEVER, "{reached}");
    }
}
