//! A modelled disk whose time is set by hand, with the background work of its drive in between.

use std::sync::Arc;

use super::clock::{Clock, VirtualClock};
use super::in_hand::{self, Parts};
use super::modelled::Modelled;
use super::replay::Replayed;
use super::time::Time;
use super::timing::{Command, Due, Kind, Timing};
use super::trace::Event;
use assay_disk::{BLOCK_BYTES, Disk, Result};
use assay_drive::Drive;
use assay_drive::Rest;
use assay_drive::stand_in;

/// Pause of the background when nothing is due, as in a served drive.
pub const BACKGROUND_REST: Time = Time::from_ns(50_000_000);

/// A disk in virtual time. Commands come in order of time, and each is carried out on arrival.
pub struct VirtualDisk<T> {
    clock: Arc<VirtualClock>,
    disk: Arc<Modelled<T>>,
    drive: Option<Arc<Drive>>,
    background_at: Time,
    data: Vec<u8>,
    blocks_written: u64,
}

impl<T: Timing> VirtualDisk<T> {
    /// A virtual `disk` on `clock`, with the drive in it whose background work is to be done, if
    /// there is one.
    #[must_use]
    pub fn new(
        clock: Arc<VirtualClock>,
        disk: Arc<Modelled<T>>,
        drive: Option<Arc<Drive>>,
    ) -> VirtualDisk<T> {
        let background_at = clock.now();
        VirtualDisk { clock, disk, drive, background_at, data: Vec::new(), blocks_written: 0 }
    }

    /// Sets the time to `now`, after all background work until then.
    ///
    /// # Errors
    /// Those of the drive.
    pub fn advance(&mut self, now: Time) -> Result<()> {
        while let Some(drive) = self.drive.as_ref().filter(|_| self.background_at < now) {
            self.clock.set(self.background_at);
            let (rest, due) = in_hand::with(self.background_at, Parts::InTurn, || drive.maintain());
            self.background_at = match rest? {
                // Work without any duration would never end.
                Rest::More => due.when().max(self.background_at + Time::from_ns(1000)),
                Rest::Idle => due.when() + BACKGROUND_REST,
            };
        }
        self.clock.set(now);
        Ok(())
    }

    /// Runs `command` at `at`; returns its answer time if nothing comes before that.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn run(&mut self, at: Time, command: impl FnOnce(&dyn Disk) -> Result<()>) -> Result<Due> {
        self.advance(at)?;
        let (result, due) = in_hand::with(at, Parts::Together, || command(self.disk.as_ref()));
        result.map(|()| due)
    }

    /// Makes stand-ins for the data of a write.
    fn make_data(&mut self, event: &Event) {
        let length = event.command.length as usize;
        self.data.resize(length, 0);
        for (index, block) in self.data.chunks_mut(BLOCK_BYTES as usize).enumerate() {
            let stored_bytes =
                event.stored_bytes.get(index).map_or(block.len(), |size| (*size).into());
            self.blocks_written += 1;
            match stored_bytes {
                0 => block.fill(0),
                size => stand_in(size, self.blocks_written, block),
            }
        }
    }
}

impl<T: Timing> Replayed for VirtualDisk<T> {
    fn command(&mut self, at: Time, event: &Event) -> Result<Due> {
        self.advance(at)?;
        let command = Command { arrival: at, ..event.command };
        match command.kind {
            Kind::Write => self.make_data(event),
            Kind::Read => self.data.resize(command.length as usize, 0),
            Kind::Flush | Kind::Discard => self.data.clear(),
        }
        self.disk.submit(&command, &mut self.data)
    }

    fn settle(&mut self, at: Time, event: &Event, due: &mut Due) -> Result<bool> {
        // A settled answer does not depend on commands until then.
        if due.ticket().is_some() {
            self.advance(due.when())?;
        }
        Ok(self.disk.settle(&Command { arrival: at, ..event.command }, due))
    }
}
