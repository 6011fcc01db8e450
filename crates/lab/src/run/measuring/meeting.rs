//! The meeting of loads that take turns: all start at one second of the run's clock.
//!
//! Guarantees: a load that fails before it has met holds no other up; an interrupt calls all off.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_load::Rendezvous;
use parking_lot::{Condvar, Mutex};

/// Interval at which a load that waits for others looks for an interrupt.
const INTERRUPT_SEEN_WITHIN: Duration = Duration::from_millis(100);

/// Time from the last arrival to the start, at least: all have woken by then.
const LEAD_S: f64 = 0.2;

/// Loads that start together.
pub(super) struct Meeting<'a> {
    origin: Instant,
    interrupt: &'a AtomicBool,
    awaited: Mutex<Awaited>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Awaited {
    loads: usize,
    arrived: usize,
    start_s: Option<u64>,
}

/// The place of one load in the meeting, which is waited for until it has met or is dropped.
pub(super) struct Attendance<'a> {
    meeting: &'a Meeting<'a>,
    has_met: AtomicBool,
}

impl<'a> Meeting<'a> {
    /// A meeting of so many loads on a clock that started at `origin`.
    pub(super) fn new(loads: usize, origin: Instant, interrupt: &'a AtomicBool) -> Meeting<'a> {
        let awaited = Mutex::new(Awaited { loads, ..Awaited::default() });
        Meeting { origin, interrupt, awaited, changed: Condvar::new() }
    }

    /// The place of one of the loads.
    pub(super) fn attend(&'a self) -> Attendance<'a> {
        Attendance { meeting: self, has_met: AtomicBool::new(false) }
    }
}

impl Awaited {
    /// Decides the start once all are here.
    fn decide(&mut self, origin: Instant) {
        if self.arrived == self.loads && self.start_s.is_none() {
            self.start_s = Some((origin.elapsed().as_secs_f64() + LEAD_S).ceil() as u64);
        }
    }
}

impl Rendezvous for Attendance<'_> {
    fn meet(&self) -> Option<Instant> {
        let Meeting { origin, interrupt, awaited, changed } = self.meeting;
        let mut awaited = awaited.lock();
        awaited.arrived += 1;
        self.has_met.store(true, Ordering::Relaxed);
        awaited.decide(*origin);
        changed.notify_all();
        while awaited.start_s.is_none() {
            if interrupt.load(Ordering::Relaxed) {
                return None;
            }
            changed.wait_for(&mut awaited, INTERRUPT_SEEN_WITHIN);
        }
        Some(*origin)
    }

    fn start_s(&self) -> Option<u64> {
        self.meeting.awaited.lock().start_s
    }
}

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        if self.has_met.load(Ordering::Relaxed) {
            return;
        }
        let mut awaited = self.meeting.awaited.lock();
        awaited.loads -= 1;
        awaited.decide(self.meeting.origin);
        self.meeting.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn all_start_at_one_second_and_one_that_fails_holds_nobody_up() {
        let interrupt = AtomicBool::new(false);
        let origin = Instant::now();
        let meeting = Meeting::new(3, origin, &interrupt);
        let starts = thread::scope(|scope| {
            let come = || {
                let attendance = meeting.attend();
                scope.spawn(move || (attendance.meet(), attendance.start_s()))
            };
            let (first, second) = (come(), come());
            drop(meeting.attend());
            [first.join().unwrap(), second.join().unwrap()]
        });
        assert_eq!(starts[0], starts[1]);
        assert_eq!(starts[0].0, Some(origin));
        assert!(starts[0].1.is_some_and(|second| second >= 1));
    }

    #[test]
    fn an_interrupt_calls_the_meeting_off() {
        let interrupt = AtomicBool::new(true);
        let meeting = Meeting::new(2, Instant::now(), &interrupt);
        let (one, _other) = (meeting.attend(), meeting.attend());
        assert_eq!((one.meet(), one.start_s()), (None, None));
    }
}
