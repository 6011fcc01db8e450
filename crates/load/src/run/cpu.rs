//! CPU time of single threads, from `/proc/self/task/TID/schedstat`, whose first number is ns on a
//! CPU (kernel documentation, `scheduler/sched-stats`).

use rustix::thread::Pid;

/// The kernel's number of a thread.
pub(super) type Tid = Pid;

/// This thread.
pub(super) fn tid() -> Tid {
    rustix::thread::gettid()
}

/// The CPU time of all `tids` so far, in seconds; `None` if the kernel does not report it.
pub(super) fn seconds_of(tids: &[Tid]) -> Option<f64> {
    let mut total_ns = 0;
    for tid in tids {
        let path = format!("/proc/self/task/{}/schedstat", tid.as_raw_nonzero());
        // The file of an ended thread is gone: the sum would be too low.
        let text = std::fs::read_to_string(path).ok()?;
        total_ns += text.split_ascii_whitespace().next()?.parse::<u64>().ok()?;
    }
    Some(total_ns as f64 / 1e9)
}

/// The CPU time of this thread so far, in seconds.
pub(super) fn own_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Makes this thread's timers as precise as the kernel allows (`prctl(2)`, `PR_SET_TIMERSLACK`).
pub(super) fn sharpen_timers() -> rustix::io::Result<()> {
    rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))
}

/// Gives this thread, which serves `workers` connections, the share of a busy CPU that one thread
/// for each would have. Without permission it keeps one thread's share. Each step of niceness is a
/// factor of 1.25 (kernel documentation, `scheduler/sched-nice-design`).
pub(super) fn take_share_of(workers: usize) -> rustix::io::Result<()> {
    let steps = (workers.max(1) as f64).ln() / 1.25f64.ln();
    // Applies to a thread, in spite of its name: 0 is the calling one (`setpriority(2)`, "C
    // library/kernel differences").
    rustix::process::setpriority_process(None, -(steps.round().min(15.0) as i32))
}
