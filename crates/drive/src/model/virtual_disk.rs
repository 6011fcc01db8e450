//! A modelled disk whose time is set by hand, with what its drive does in the background done in between.

use std::sync::Arc;

use super::clock::{Clock, VirtualClock};
use super::in_hand::{self, Parts};
use super::replay::Replayed;
use super::time::Time;
use super::timing::{Due, Kind};
use super::trace::Event;
use crate::codec::stand_in;
use crate::disk::{BLOCK_BYTES, Disk, Result};
use crate::engine::Drive;
use crate::maintain::Rest;

/// How long the background rests when nothing is due, as it does where a drive is served.
pub const BACKGROUND_REST: Time = Time::from_ns(50_000_000);

/// A disk in virtual time. Commands come in the order of time; each is computed whole when it comes.
pub struct VirtualDisk {
    clock: Arc<VirtualClock>,
    disk: Arc<dyn Disk>,
    drive: Option<Arc<Drive>>,
    background_at: Time,
    data: Vec<u8>,
    blocks_written: u64,
}

impl VirtualDisk {
    /// Over `disk`, which keeps `clock`'s time, with the drive in it whose background work is to be done, if there is one.
    #[must_use]
    pub fn new(
        clock: Arc<VirtualClock>,
        disk: Arc<dyn Disk>,
        drive: Option<Arc<Drive>>,
    ) -> VirtualDisk {
        let background_at = clock.now();
        VirtualDisk { clock, disk, drive, background_at, data: Vec::new(), blocks_written: 0 }
    }

    /// Lets it be `now`, after everything that the background would have done until then.
    ///
    /// # Errors
    /// Those of the drive.
    pub fn advance(&mut self, now: Time) -> Result<()> {
        while let Some(drive) = self.drive.as_ref().filter(|_| self.background_at < now) {
            self.clock.set(self.background_at);
            let (rest, due) = in_hand::with(self.background_at, Parts::InTurn, || drive.maintain());
            self.background_at = match rest? {
                // What took no time still takes some, or it would never end.
                Rest::More => due.when().max(self.background_at + Time::from_ns(1000)),
                Rest::Idle => due.when() + BACKGROUND_REST,
            };
        }
        self.clock.set(now);
        Ok(())
    }

    /// Does `command` at `at`; gives when it is answered.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn run(&mut self, at: Time, command: impl FnOnce(&dyn Disk) -> Result<()>) -> Result<Due> {
        self.advance(at)?;
        let (result, due) = in_hand::with(at, Parts::Together, || command(self.disk.as_ref()));
        result.map(|()| due)
    }

    /// What stands in for the data of a write.
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

impl Replayed for VirtualDisk {
    fn command(&mut self, at: Time, event: &Event) -> Result<Due> {
        let command = event.command;
        if command.kind == Kind::Write {
            self.make_data(event);
        } else {
            self.data.resize(command.length as usize, 0);
        }
        let mut data = std::mem::take(&mut self.data);
        let result = self.run(at, |disk| match command.kind {
            Kind::Read => disk.read(command.offset, &mut data),
            Kind::Write => disk.write(command.offset, &data, command.force_unit_access),
            Kind::Flush => disk.flush(),
            Kind::Discard => disk.discard(command.offset, command.length),
        });
        self.data = data;
        result
    }
}
