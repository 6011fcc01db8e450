//! Priorities of threads: those that keep a device's time run before everything that waits for
//! them.
//!
//! A thread that is woken late makes its command late. Under the default scheduler it waits not
//! only for other threads: a burst of commands is run in slices of milliseconds, so each of them
//! ends late. Threads with a rank run first come, first served, each until it waits (`sched(7)`,
//! `SCHED_FIFO`); the kernel reserves a part of each second for all others (`sched_rt_runtime_us`).

use std::io;

use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// The best niceness of a process without a rank (`setpriority(2)`).
const MOST_FAVOURED: i32 = -20;

/// The urgency of a thread. Threads without a rank come after both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Rank {
    /// Work that others rarely wait for.
    Background = 1,
    /// Answers that somebody waits for.
    Answers = 2,
}

/// Gives a rank to the calling thread and to every thread that it starts from now on. Without
/// permission for that, they get the best niceness.
///
/// # Errors
/// The system's error if neither is permitted.
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

    /// Policy, rank and niceness of the calling thread: fields 41, 40 and 19 of its `stat`
    /// (`proc(5)`).
    fn scheduling() -> [i32; 3] {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        [41, 40, 19].map(|field| fields[field - 3].parse().unwrap())
    }

    #[test]
    fn a_rank_is_taken_and_handed_on() {
        const SCHED_FIFO: i32 = 1;
        let seen = std::thread::spawn(|| {
            take(Rank::Background).ok()?;
            let before = scheduling();
            take(Rank::Answers).ok()?;
            Some((before, std::thread::spawn(scheduling).join().unwrap()))
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
