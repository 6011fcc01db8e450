//! The clock of phase events: the start of the window, which the load decides, and the end of the
//! load.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

use assay_load::Endpoint;
use assay_mysql::{ClientSession, Interrupter, SessionError};
use parking_lot::{Condvar, Mutex};

use assay_study::metrics::Window;

/// Later ends of a window are cut to this.
const LATEST_S: f64 = 1e9;

/// State that the threads of phase events share with the load.
pub(crate) struct EventClock {
    origin: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    window: Option<Window>,
    is_over: bool,
    /// Closes open connections, each by its number.
    open: BTreeMap<u64, Interrupter>,
    /// Number of connections made.
    made: u64,
}

/// The connection of a phase event, closed when dropped: the load would wait for anything that it
/// still holds on the server, such as a snapshot and the locks of its tables.
pub(super) struct Connected<'a> {
    session: ClientSession,
    clock: &'a EventClock,
    number: u64,
}

impl Deref for Connected<'_> {
    type Target = ClientSession;

    fn deref(&self) -> &ClientSession {
        &self.session
    }
}

impl DerefMut for Connected<'_> {
    fn deref_mut(&mut self) -> &mut ClientSession {
        &mut self.session
    }
}

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        // The interrupter is a handle of the connection too, which keeps it open.
        if let Some(interrupter) = self.clock.state.lock().open.remove(&self.number) {
            interrupter.cut();
        }
    }
}

pub(super) struct Ends<'a>(&'a EventClock);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl EventClock {
    pub(super) fn new(origin: Instant) -> EventClock {
        EventClock { origin, state: Mutex::default(), changed: Condvar::new() }
    }

    pub(super) fn ends_with_this(&self) -> Ends<'_> {
        Ends(self)
    }

    /// In seconds of the run's clock.
    pub(crate) fn set_window(&self, window: Window) {
        self.state.lock().window = Some(window);
        self.changed.notify_all();
    }

    /// Ends the load: wakes all waiting events and closes every connection.
    fn end(&self) {
        let mut state = self.state.lock();
        state.is_over = true;
        std::mem::take(&mut state.open).values().for_each(Interrupter::cut);
        drop(state);
        self.changed.notify_all();
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.lock().is_over
    }

    /// In seconds of the run's clock; `None` before it started.
    pub(super) fn now_s(&self) -> Option<f64> {
        Some(Instant::now().checked_duration_since(self.origin)?.as_secs_f64())
    }

    /// Waits until `offset_s` seconds of the window have passed. Returns the time in seconds of the
    /// run's clock, or `None` if the load ended first.
    pub(super) fn wait_for(&self, offset_s: f64) -> Option<f64> {
        let mut state = self.state.lock();
        while !state.is_over {
            match state.window {
                None => self.changed.wait(&mut state),
                Some(window) => {
                    let due = self.at(window.from_s + offset_s);
                    if Instant::now() >= due {
                        return self.now_s();
                    }
                    self.changed.wait_until(&mut state, due);
                }
            }
        }
        None
    }

    /// Waits; returns true if the load ended meanwhile.
    pub(super) fn pause(&self, length: Duration) -> bool {
        let until = Instant::now() + length;
        let mut state = self.state.lock();
        while !state.is_over && !self.changed.wait_until(&mut state, until).timed_out() {}
        state.is_over
    }

    pub(super) fn end_of_window(&self) -> Instant {
        self.state.lock().window.map_or_else(Instant::now, |window| self.at(window.to_s))
    }

    fn at(&self, second: f64) -> Instant {
        self.origin + Duration::from_secs_f64(second.clamp(0.0, LATEST_S))
    }

    /// Connects; the connection is closed when the load ends, if not before.
    pub(super) fn connect(&self, endpoint: &Endpoint) -> Result<Connected<'_>, SessionError> {
        let session = ClientSession::open(endpoint)?;
        let mut state = self.state.lock();
        state.made += 1;
        let number = state.made;
        match session.interrupter() {
            interrupter if state.is_over => interrupter.cut(),
            interrupter => drop(state.open.insert(number, interrupter)),
        }
        drop(state);
        Ok(Connected { session, clock: self, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { from_s: 0.05, to_s: 9.0 };

    #[test]
    fn a_happening_waits_for_the_window_and_then_for_its_phase() {
        let clock = EventClock::new(Instant::now());
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| clock.wait_for(0.1));
            clock.set_window(WINDOW);
            let began_s = thread.join().unwrap().unwrap();
            assert!((0.15..5.0).contains(&began_s), "{began_s}");
        });
    }

    #[test]
    fn nothing_begins_when_the_load_has_ended() {
        let clock = EventClock::new(Instant::now());
        std::thread::scope(|scope| {
            let early = scope.spawn(|| clock.wait_for(0.0));
            let pausing = scope.spawn(|| clock.pause(Duration::from_secs(600)));
            drop(clock.ends_with_this());
            assert_eq!((early.join().unwrap(), pausing.join().unwrap()), (None, true));
        });
        clock.set_window(WINDOW);
        assert_eq!(clock.wait_for(0.0), None);
        assert!(clock.is_over() && clock.pause(Duration::ZERO));
    }
}
