//! Waiting that has a name: what takes longer than a few seconds says for what it waits, again and again until it ends.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Shorter waits are not reported.
const TOLD_AFTER: Duration = Duration::from_secs(5);

/// How often it is said again.
const TOLD_AGAIN: Duration = Duration::from_secs(60);

/// Something is waited for until this is dropped.
#[derive(Debug)]
#[must_use = "it says nothing once it is dropped"]
pub struct Waiting {
    _over: Option<Sender<()>>,
}

impl Waiting {
    /// Warns, once that has taken 5 s and each minute from then on, that this process waits for `what`, asked for at the time.
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
        // Without a thread it waits without a word.
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
        // The thread ends, and with it the last who could tell.
        while told.recv().is_ok() {}
    }
}
