//! Logs a drive's changes of state and its problems, at a limited rate.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use assay_drive::{State, Status};
use log::Level;

use super::health_text;
use super::source::HealthSource;

/// Polling interval.
const TICK: Duration = Duration::from_secs(1);

/// Lines that may be logged at once, and the interval after which one more is allowed: a drive on
/// the brink of being full does not flood the log.
const LINES_AT_ONCE: u32 = 20;
const LINE_EVERY: Duration = Duration::from_secs(60);

/// The polling thread; it ends when this is dropped.
pub struct Changes {
    _stop: Sender<()>,
}

impl Changes {
    /// Starts polling.
    pub fn watch(source: Arc<HealthSource>) -> std::io::Result<Changes> {
        let (stop, stopped) = channel();
        let mut said = Said::new(&source.status(), Instant::now());
        let look = move || {
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                for (level, line) in said.lines(&source.status(), Instant::now()) {
                    log::log!(level, "{line}");
                }
            }
        };
        std::thread::Builder::new().name("changes".into()).spawn(look)?;
        Ok(Changes { _stop: stop })
    }
}

/// The facts that the log contains already.
struct Said {
    state: State,
    problems: Vec<String>,
    lines_left: u32,
    since: Instant,
}

impl Said {
    fn new(status: &Status, now: Instant) -> Said {
        let problems = status.problems.clone();
        Said { state: status.state, problems, lines_left: LINES_AT_ONCE, since: now }
    }

    fn lines(&mut self, status: &Status, now: Instant) -> Vec<(Level, String)> {
        let mut lines = Vec::new();
        if status.state != self.state && self.take_line(now) {
            let level = if status.state == State::Healthy { Level::Info } else { Level::Warn };
            let (state, before) = (status.state.name(), self.state.name());
            lines.push((level, format!("{state}, was {before}: {}", health_text::room(status))));
            self.state = status.state;
        }
        for problem in &status.problems {
            if !self.problems.contains(problem) && self.take_line(now) {
                lines.push((Level::Warn, format!("problem: {problem}")));
                self.problems.push(problem.clone());
            }
        }
        lines
    }

    /// Takes one of the lines that may be logged now; returns false if there is none.
    fn take_line(&mut self, now: Instant) -> bool {
        while self.lines_left < LINES_AT_ONCE && now.duration_since(self.since) >= LINE_EVERY {
            self.lines_left += 1;
            self.since += LINE_EVERY;
        }
        if self.lines_left == LINES_AT_ONCE {
            self.since = now;
        }
        let may = self.lines_left > 0;
        self.lines_left = self.lines_left.saturating_sub(1);
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::tests::used as used_health;

    fn status(state: State, problems: &[&str]) -> Status {
        let problems = problems.iter().map(ToString::to_string).collect();
        Status { state, problems, ..used_health().status }
    }

    #[test]
    fn each_change_is_said_once() {
        let now = Instant::now();
        let mut said = Said::new(&status(State::Healthy, &["old"]), now);
        assert_eq!(said.lines(&status(State::Healthy, &["old"]), now), []);
        let [(level, line)] = &said.lines(&status(State::LowSpace, &["old"]), now)[..] else {
            panic!("one line");
        };
        assert!(line.starts_with("low_space, was healthy: ") && line.contains(" free ("), "{line}");
        assert_eq!(*level, Level::Warn);
        assert_eq!(said.lines(&status(State::LowSpace, &["old"]), now), []);
        let lines = said.lines(&status(State::Damaged, &["old", "new"]), now);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[1], (Level::Warn, "problem: new".into()));
        assert_eq!(said.lines(&status(State::Healthy, &[]), now)[0].0, Level::Info);
    }

    #[test]
    fn a_drive_that_goes_to_and_fro_says_so_once_a_minute() {
        let began = Instant::now();
        let mut said = Said::new(&status(State::Healthy, &[]), began);
        let mut lines = 0;
        let statuses = [State::LowSpace, State::Full].map(|state| status(state, &[]));
        for second in 0..3600 {
            let status = &statuses[second as usize % 2];
            lines += said.lines(status, began + Duration::from_secs(second)).len();
        }
        assert!((60..=80).contains(&lines), "{lines}");
        // The last line shows the present state.
        let later = began + Duration::from_secs(7200);
        said.lines(&status(State::Healthy, &[]), later);
        assert_eq!(said.state, State::Healthy);
    }
}
