//! Reports long waits: after a few seconds a wait logs its reason, repeatedly until it ends.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Shorter waits are not reported.
const TOLD_AFTER: Duration = Duration::from_secs(5);

/// Interval between reports.
const TOLD_AGAIN: Duration = Duration::from_secs(60);

/// A wait, which ends when this is dropped.
#[derive(Debug)]
#[must_use = "it says nothing once it is dropped"]
pub struct Waiting {
    _over: Option<Sender<()>>,
}

impl Waiting {
    /// Logs a warning after 5 s, and every minute from then on, that this process waits for `what`,
    /// which is evaluated each time.
    pub fn on(what: impl Fn() -> String + Send + 'static) -> Waiting {
        Waiting::telling(TOLD_AFTER, TOLD_AGAIN, move |waited| {
            log::warn!("waiting for {} ({} s so far)", what(), waited.as_secs());
        })
    }

    fn telling(
        after: Duration,
        again: Duration,
        tell: impl Fn(Duration) + Send + 'static,
    ) -> Waiting {
        let (over, is_over) = channel::<()>();
        let began = Instant::now();
        let watch = move || {
            let mut patience = after;
            while is_over.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                tell(began.elapsed());
                patience = again;
            }
        };
        // Without a thread, the wait is not reported.
        let thread = std::thread::Builder::new().name("waiting".into()).spawn(watch);
        Waiting { _over: thread.is_ok().then_some(over) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_is_told_again_until_it_is_over_and_what_does_not_is_not() {
        let (tell, told) = channel();
        let short = Waiting::telling(Duration::from_secs(60), TOLD_AGAIN, |_| unreachable!());
        let step = Duration::from_millis(1);
        let long = Waiting::telling(step, step, move |waited| tell.send(waited).unwrap());
        assert!(told.recv().unwrap() < told.recv().unwrap());
        drop(short);
        drop(long);
        // The thread ends, and drops the last sender.
        while told.recv().is_ok() {}
    }
}
