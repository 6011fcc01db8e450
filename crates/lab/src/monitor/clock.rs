//! The monitor's ticks: one thread, its probes, and absolute deadlines.
//!
//! A tick is due at the origin plus a whole number of seconds on the monotonic clock. A thread that
//! is late skips to the next tick ahead. It waits for its end with that deadline, so it ends at
//! once.
//!
//! A second clock, which includes the time that the machine sleeps (`clock_gettime(2)`,
//! `CLOCK_BOOTTIME`), shows whether the thread ran at all: if far more time passed between two
//! ticks than the thread meant to wait, this process was stopped (Ctrl-Z, `SIGSTOP`), or the
//! machine was.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::probe::{Notes, Probe};
use super::series::{Gap, Monitored, SeriesId};
use super::sheet::Moment;
use assay_study::Unmonitored;

/// A first sample that covers less time is noise and left to the second after.
const FIRST_SPAN_MIN: Duration = Duration::from_millis(500);

/// In seconds; a later tick is a gap: a busy machine is late by hundredths. A stop up to a second
/// longer can begin before a tick and remain undetected.
const GAP_S_MIN: f64 = 0.5;

/// A probe and its reading before.
pub(super) struct Meter {
    probe: Box<dyn Probe>,
    first: SeriesId,
    before: Moment,
    now: Moment,
}

pub(super) struct Clock {
    pub(super) origin: Instant,
    pub(super) monitored: Arc<Mutex<Monitored>>,
    pub(super) meters: Vec<Meter>,
    pub(super) notes: Notes,
    /// True if its probes never wait, so that a late tick is a gap.
    pub(super) tells_gaps: bool,
}

impl Meter {
    /// Assigns each probe the next free positions in the list of series.
    ///
    /// # Errors
    /// There are more series than a `SeriesId` can number.
    pub(super) fn line_up(
        probes: Vec<Box<dyn Probe>>,
        first: &mut SeriesId,
    ) -> anyhow::Result<Vec<Meter>> {
        let place = |probe: Box<dyn Probe>| {
            let series = SeriesId::try_from(probe.sheet().len())?;
            let blank = Moment { at: Instant::now(), reading: probe.sheet().blank() };
            let meter = Meter { probe, first: *first, before: blank.clone(), now: blank };
            *first = first
                .checked_add(series)
                .ok_or_else(|| anyhow::anyhow!("more series than can be numbered; report this"))?;
            Ok(meter)
        };
        probes.into_iter().map(place).collect()
    }

    fn read(&mut self, notes: &mut Notes) {
        std::mem::swap(&mut self.before, &mut self.now);
        self.now.reading.fill(f64::NAN);
        self.probe.read(&mut self.now.reading, notes);
        // After the reading: the time until a slow server answers counts.
        self.now.at = Instant::now();
    }

    fn values(&self, values: &mut Vec<(SeriesId, f64)>) {
        self.probe.sheet().compute(&self.before, &self.now, |place, value| {
            // `line_up` has checked that every position fits.
            let id = SeriesId::try_from(place).map_or(SeriesId::MAX, |place| self.first + place);
            values.push((id, value));
        });
    }
}

impl Clock {
    /// Ticks until the sender to `stop` is gone.
    pub(super) fn run(mut self, stop: &Receiver<()>, cpus: &[usize]) {
        if let Err(error) = assay_ports::cpu::bind_thread(cpus) {
            self.notes.unmonitored(Unmonitored::Unbound { error: error.to_string() });
        }
        for meter in &mut self.meters {
            meter.read(&mut self.notes);
        }
        self.hand_over_notes();
        let mut values = Vec::new();
        let mut second = second_after(self.origin, Instant::now() + FIRST_SPAN_MIN);
        let mut seen = Seen::now();
        loop {
            let due = self.origin + Duration::from_secs(second.into());
            let left = due.saturating_duration_since(Instant::now());
            let waited = stop.recv_timeout(left);
            let now = Seen::now();
            if let Some(gap) = gap(self.origin, seen, now, left).filter(|_| self.tells_gaps) {
                self.monitored.lock().gaps.push(gap);
            }
            seen = now;
            if waited != Err(RecvTimeoutError::Timeout) {
                return;
            }
            self.tick(second, &mut values);
            second = second_after(self.origin, Instant::now()).max(second + 1);
        }
    }

    fn tick(&mut self, second: u32, values: &mut Vec<(SeriesId, f64)>) {
        values.clear();
        for meter in &mut self.meters {
            meter.read(&mut self.notes);
            meter.values(values);
        }
        self.monitored.lock().add(second, values);
        self.hand_over_notes();
    }

    fn hand_over_notes(&mut self) {
        let new = self.notes.take_new();
        if !new.is_empty() {
            self.monitored.lock().warnings.extend(new);
        }
    }
}

/// The same instant on both clocks.
#[derive(Debug, Clone, Copy)]
struct Seen {
    at: Instant,
    /// Since boot, including sleep.
    since_boot: Duration,
}

impl Seen {
    fn now() -> Seen {
        let now = clock_gettime(ClockId::Boottime);
        let since_boot = Duration::try_from(now).unwrap_or_default();
        Seen { at: Instant::now(), since_boot }
    }
}

/// The gap between two instants between which the thread waited for `left`.
fn gap(origin: Instant, before: Seen, now: Seen, left: Duration) -> Option<Gap> {
    let second = |at: Instant| at.saturating_duration_since(origin).as_secs_f64();
    let passed = now.since_boot.saturating_sub(before.since_boot);
    let length_s = passed.saturating_sub(left).as_secs_f64();
    (length_s >= GAP_S_MIN).then(|| Gap {
        from_s: second(before.at),
        to_s: second(now.at),
        length_s,
    })
}

/// The first whole second of the origin's clock that lies after `now`, at least 1.
fn second_after(origin: Instant, now: Instant) -> u32 {
    let passed = now.saturating_duration_since(origin).as_secs();
    u32::try_from(passed).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_lie_ahead_on_whole_seconds() {
        let origin = Instant::now();
        let at = |millis| second_after(origin, origin + Duration::from_millis(millis));
        assert_eq!([at(0), at(999), at(1000), at(3400)], [1, 1, 2, 4]);
        assert_eq!(second_after(origin + Duration::from_secs(9), origin), 1);
    }
    #[test]
    fn what_is_missing_between_two_ticks_is_a_gap_and_being_late_is_none() {
        let origin = Instant::now();
        let s = Duration::from_secs_f64;
        let moment = |clock: f64, boot: f64| Seen { at: origin + s(clock), since_boot: s(boot) };
        let before = moment(4.0, 104.0);
        assert_eq!(gap(origin, before, moment(5.0, 105.0), s(1.0)), None);
        assert_eq!(gap(origin, before, moment(5.4, 105.4), s(1.0)), None, "a busy machine");
        let stopped = gap(origin, before, moment(17.0, 117.0), s(1.0)).unwrap();
        assert_eq!(stopped, Gap { from_s: 4.0, to_s: 17.0, length_s: 12.0 });
        let slept = gap(origin, before, moment(5.0, 3705.0), s(1.0)).unwrap();
        assert_eq!(slept, Gap { from_s: 4.0, to_s: 5.0, length_s: 3600.0 });
        assert_eq!(gap(origin, before, moment(4.1, 104.1), s(1.0)), None, "its end came first");
    }
}
