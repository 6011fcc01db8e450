//! A disk that answers at the time of a model.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::clock::Clock;
use super::in_hand::{self, Parts};
use super::tally::{CommandTally, Counters, Passed};
use super::time::Time;
use super::timing::{Command, Due, Kind, Timing};
use super::trace::CommandObserver;
use assay_disk::{Disk, Guarantees, Result};

/// A disk over a disk, with the timing of a device.
///
/// Under another model it does not wait: the answer time goes to the one above, see [`in_hand`].
pub struct Modelled<T> {
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    timing: Mutex<T>,
    guarantees: Guarantees,
    port_ns: AtomicU64,
    counters: Counters,
    observer: Option<Box<dyn CommandObserver>>,
}

impl<T: Timing> Modelled<T> {
    /// Gives `disk` the timing of a device with these `guarantees`.
    pub fn new(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        timing: T,
        guarantees: Guarantees,
    ) -> Modelled<T> {
        Modelled {
            disk,
            clock,
            timing: Mutex::new(timing),
            guarantees,
            port_ns: AtomicU64::new(0),
            counters: Counters::default(),
            observer: None,
        }
    }

    /// Reports each command that waits here to `observer`.
    #[must_use]
    pub fn observed_by(self, observer: Box<dyn CommandObserver>) -> Modelled<T> {
        Modelled { observer: Some(observer), ..self }
    }

    /// Deducts `round_trip`, the port's own time, from the waits of all further commands.
    pub fn take_off(&self, round_trip: Time) {
        self.port_ns.store(round_trip.as_ns(), Ordering::Relaxed);
    }

    /// Counts so far.
    pub fn tally(&self) -> CommandTally {
        self.counters.tally()
    }

    /// Carries out `command` at its arrival time, without waiting, for a caller that keeps the
    /// time. `data`, of the command's length, are what is read or written, and empty otherwise.
    /// Returns the answer time as far as it is known; [`Modelled::settle`] tells whether it is
    /// final once that time has come.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn submit(&self, command: &Command, data: &mut [u8]) -> Result<Due> {
        let (due, _) = self.pass(command, || {
            let Command { kind, offset, length, force_unit_access, .. } = *command;
            match kind {
                Kind::Read => self.disk.read(offset, data),
                Kind::Write => self.disk.write(offset, data, force_unit_access),
                Kind::Flush => self.disk.flush(),
                Kind::Discard => self.disk.discard(offset, length),
            }
        })?;
        Ok(due)
    }

    /// Returns true if `command` is answered, now that the time of `due` has come and no command
    /// can arrive before it. Otherwise others were put before it, and `due` is later. Must not be
    /// called again for an answered command.
    pub fn settle(&self, command: &Command, due: &mut Due) -> bool {
        let is_answered = !self.is_put_off(due);
        if is_answered {
            self.count(command, *due, due.when(), [Time::ZERO; 2]);
        }
        is_answered
    }

    fn run(
        &self,
        (kind, offset, length, force_unit_access): (Kind, u64, u64, bool),
        work: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let under = in_hand::next_start();
        let arrival = under.unwrap_or_else(|| self.clock.now());
        let command = Command { kind, offset, length, force_unit_access, arrival };
        let worked = self.clock.worked();
        let (mut due, stored) = self.pass(&command, work)?;
        let worked = self.clock.worked() - worked;
        if under.is_some() {
            while self.is_put_off(&mut due) {}
            self.count(&command, due, due.when(), [Time::ZERO, worked]);
            in_hand::part_done(due);
        } else {
            let answered = self.wait(&command, &mut due, worked);
            if let Some(observer) = &self.observer {
                observer.answered(&command, due, answered, &stored);
            }
        }
        Ok(())
    }

    /// Runs `work` on the disk below and computes the time of its end, with the stored sizes of a
    /// write.
    fn pass(
        &self,
        command: &Command,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<(Due, Vec<u16>)> {
        let mut due = Due::at(command.arrival);
        self.timing(|timing| timing.begin(command, &mut due));
        let start = due.when();
        let ((result, below), stored) =
            self.with_stored_sizes(command, || in_hand::with(start, Parts::Together, work));
        result?;
        due.join(below);
        self.timing(|timing| timing.end(command, &mut due));
        Ok((due, stored))
    }

    fn count(&self, command: &Command, due: Due, answered: Time, [port, worked]: [Time; 2]) {
        self.counters.add(&Passed {
            kind: command.kind,
            modelled: due.when() - command.arrival,
            resource: due.resource(),
            achieved: answered - command.arrival + port,
            port,
            worked,
        });
    }

    /// Runs `work`; returns the stored sizes of a write, if anybody asks for them.
    fn with_stored_sizes<R>(&self, command: &Command, work: impl FnOnce() -> R) -> (R, Vec<u16>) {
        let mut sizes = Vec::new();
        let is_wanted = self.observer.is_some() && command.kind == Kind::Write;
        match is_wanted {
            true => (in_hand::with_stored_sizes(&mut sizes, work), sizes),
            false => (work(), sizes),
        }
    }

    /// Waits until the command is due; returns the answer time, including the port's way back.
    fn wait(&self, command: &Command, due: &mut Due, worked: Time) -> Time {
        let port = Time::from_ns(self.port_ns.load(Ordering::Relaxed));
        let answer_at = loop {
            let answer_at = command.arrival + (due.when() - command.arrival - port);
            self.clock.wait_until(answer_at);
            if !self.is_put_off(due) {
                break answer_at;
            }
        };
        let answered = self.clock.now().max(answer_at);
        self.count(command, *due, answered, [port, worked]);
        answered + port
    }

    /// Whether other commands were put before this one since, so that `due` is later now.
    fn is_put_off(&self, due: &mut Due) -> bool {
        let told = due.when();
        if due.ticket().is_some() {
            self.timing(|timing| timing.settle(due));
        }
        due.when() > told
    }

    fn timing(&self, ask: impl FnOnce(&mut T)) {
        ask(&mut self.timing.lock());
    }
}

impl<T: Timing> Disk for Modelled<T> {
    fn size(&self) -> u64 {
        self.disk.size()
    }

    fn guarantees(&self) -> Guarantees {
        self.guarantees
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        let command = (Kind::Read, offset, data.len() as u64, false);
        self.run(command, || self.disk.read(offset, data))
    }

    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        let command = (Kind::Write, offset, data.len() as u64, force_unit_access);
        self.run(command, || self.disk.write(offset, data, force_unit_access))
    }

    fn flush(&self) -> Result<()> {
        self.run((Kind::Flush, 0, 0, false), || self.disk.flush())
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        self.run((Kind::Discard, offset, length, false), || self.disk.discard(offset, length))
    }
}
