//! Which threads of a process go before others: those that keep a device's time go before everything that waits for it.
//!
//! A thread that is woken late makes its command late. Under the usual scheduler it is not only others that it waits for: a
//! burst of commands is dealt out in slices of milliseconds, so each of them ends late. Threads with a rank are served first come,
//! first served, each until it waits (`sched(7)`, `SCHED_FIFO`); the kernel keeps a part of each second for all others
//! (`sched_rt_runtime_us`).

use std::io;

use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// The best of the priorities that a process can have without a rank (`setpriority(2)`).
const MOST_FAVOURED: i32 = -20;

/// How urgent a thread is. What has no rank comes after both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Rank {
    /// Work that others rarely wait for.
    Background = 1,
    /// Answers that somebody waits for.
    Answers = 2,
}

/// Gives the calling thread a rank, and with it every thread that it starts from now on. Where that is not allowed they get the
/// best of the usual priorities.
///
/// # Errors
/// What the system answered where neither is allowed.
pub fn take(rank: Rank) -> io::Result<()> {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let value = ThreadPriorityValue::try_from(rank as u8).map_err(io::Error::other)?;
    let priority = ThreadPriority::Crossplatform(value);
    if set_thread_priority_and_policy(thread_native_id(), priority, policy).is_ok() {
        return Ok(());
    }
    Ok(rustix::process::setpriority_process(None, MOST_FAVOURED)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Policy, rank and niceness of the calling thread: fields 41, 40 and 19 of its `stat` (`proc(5)`).
    fn told() -> [i32; 3] {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        [41, 40, 19].map(|field| fields[field - 3].parse().unwrap())
    }

    #[test]
    fn a_rank_is_taken_and_handed_on() {
        const SCHED_FIFO: i32 = 1;
        let seen = std::thread::spawn(|| {
            take(Rank::Background).ok()?;
            let before = told();
            take(Rank::Answers).ok()?;
            Some((before, std::thread::spawn(told).join().unwrap()))
        });
        match seen.join().unwrap() {
            Some((before @ [SCHED_FIFO, ..], after)) => {
                assert_eq!((before[1], after), (1, [SCHED_FIFO, 2, before[2]]));
            }
            Some((before, after)) => assert_eq!((before[2], after), (MOST_FAVOURED, before)),
            None => assay_testing::skip("the right to go first"),
        }
    }
}
