//! Concurrent jobs, with a progress report once a second.

use parking_lot::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Runs `jobs` on `threads` threads, in order; calls `show` once a second and at the end. The first
/// failure ends all.
pub(super) fn in_parallel<J: Send>(
    threads: u32,
    jobs: Vec<J>,
    work: impl Fn(J) -> Result<()> + Sync,
    show: impl Fn(Instant),
) -> Result<()> {
    let started = Instant::now();
    let queue = Mutex::new(jobs.into_iter());
    let (sender, results) = channel();
    let outcome = thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, queue, work) = (sender.clone(), &queue, &work);
            let loader = move || {
                let mut next = || queue.lock().next();
                let result = std::iter::from_fn(&mut next).try_for_each(work);
                if result.is_err() {
                    // The other threads end after their current piece.
                    queue.lock().by_ref().for_each(drop);
                }
                let _ = sender.send(result);
            };
            thread::Builder::new()
                .name("load prepare".into())
                .spawn_scoped(scope, loader)
                .map_err(|error| Error::system("cannot start a thread", error))?;
        }
        drop(sender);
        let mut outcome = Ok(());
        loop {
            match results.recv_timeout(Duration::from_secs(1)) {
                Ok(result) => outcome = outcome.and(result),
                Err(RecvTimeoutError::Timeout) => show(started),
                Err(RecvTimeoutError::Disconnected) => return outcome,
            }
        }
    });
    show(started);
    outcome
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn the_first_failure_ends_the_rest() {
        let done = AtomicU64::new(0);
        let work = |job: u64| {
            done.fetch_add(1, Ordering::Relaxed);
            if job == 3 { Err(Error::Config("three".into())) } else { Ok(()) }
        };
        let error = in_parallel(1, (0..100).collect(), work, |_| {}).unwrap_err();
        assert_eq!(error.to_string(), "three");
        assert_eq!(done.into_inner(), 4);
    }
}
