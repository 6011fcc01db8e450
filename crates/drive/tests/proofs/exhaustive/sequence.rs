//! One sequence: the commands, then every crash in the last of them.

use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Codec, Disk, Drive, DriveOptions, Format, Rest};

use super::cuts::fates;
use crate::common::media::{Fate, Moment, SimulatedMedia};
use crate::common::model::Model;

const SEGMENT_BYTES: u32 = 512 << 10;
const MEDIA_BYTES: u64 = (1 << 20) + 4096 + 24 * SEGMENT_BYTES as u64;
const LOGICAL_BYTES: u64 = 8 << 20;

/// Every so many crashes of a sequence the drive lives on and crashes again.
const LIVES_AGAIN_EACH: u64 = 4;

/// A step of a host, or of the port's thread. Ranges are first block and blocks; block 512 begins a
/// leaf of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Write(u64, u64),
    ForcedWrite(u64, u64),
    Discard(u64, u64),
    Flush,
    /// Reads everything that was ever touched and compares.
    Read,
    /// Maintenance while the host rests: writes out what is in memory.
    Rest,
    Checkpoint,
    Reopen,
}

/// Every command that a sequence is made of.
pub const COMMANDS: [Command; 13] = [
    Command::Write(510, 1),
    Command::Write(508, 4),
    Command::Write(510, 4),
    Command::Write(480, 64),
    Command::ForcedWrite(511, 1),
    Command::ForcedWrite(508, 4),
    Command::Discard(509, 2),
    Command::Discard(480, 64),
    Command::Flush,
    Command::Read,
    Command::Rest,
    Command::Checkpoint,
    Command::Reopen,
];

/// Counts over all sequences.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    pub sequences: u64,
    pub crashes: u64,
    /// Chunks that recoveries replayed, and torn ones that they found behind the end.
    pub replayed: u64,
    pub torn: u64,
}

impl Seen {
    pub fn add(&mut self, other: Seen) {
        self.sequences += other.sequences;
        self.crashes += other.crashes;
        self.replayed += other.replayed;
        self.torn += other.torn;
    }
}

/// A fresh drive, from which each sequence starts.
pub struct Bench {
    fresh: SimulatedMedia,
    options: DriveOptions,
    tear: bool,
}

struct Run {
    media: Arc<SimulatedMedia>,
    drive: Drive,
    model: Model,
    tear: bool,
}

impl Bench {
    pub fn new(codec: Codec, units: bool, tear: bool) -> Bench {
        let fresh = Arc::new(SimulatedMedia::new(MEDIA_BYTES));
        let format = Format {
            drive_id: 0x0E11_A057,
            logical_bytes: LOGICAL_BYTES,
            codec,
            units,
            dictionary: false,
            segment_bytes: Some(SEGMENT_BYTES),
        };
        Drive::format(fresh.clone(), &format).unwrap();
        // Checkpoints come only when a command asks for one.
        let checkpoint_bytes = Some(u64::MAX);
        let options = DriveOptions { checkpoint_bytes, ..DriveOptions::default() };
        Bench { fresh: fresh.copy(), options, tear }
    }

    /// Runs a sequence and every crash in its last command.
    pub fn run(&self, commands: &[Command]) -> Result<Seen, String> {
        let media = Arc::new(self.fresh.copy());
        let drive = open(&media, &self.options)?;
        let mut run = Run { media, drive, model: Model::new(), tear: self.tear };
        let Some((last, before)) = commands.split_last() else { return Ok(Seen::default()) };
        for command in before {
            run.execute(*command, &self.options)?;
        }
        let durable = run.model.durable;
        run.media.keep_moments();
        run.execute(*last, &self.options)?;
        run.model.check_now(&run.drive, 440..576)?;
        let moments = run.media.take_moments();
        let mut seen = Seen { sequences: 1, ..Seen::default() };
        for moment in &moments {
            let mut model = run.model.clone();
            model.durable = durable;
            self.cut(moment, &model, true, &mut seen)?;
        }
        self.cut(&run.media.moment(), &run.model, false, &mut seen)?;
        Ok(seen)
    }

    /// Every crash at a moment. Where the last write was in flight, without it is the moment
    /// before.
    fn cut(
        &self,
        moment: &Moment,
        model: &Model,
        in_flight: bool,
        seen: &mut Seen,
    ) -> Result<(), String> {
        for fates in fates(moment.unflushed()) {
            if in_flight && fates.last() == Some(&Fate::Lost) {
                continue;
            }
            let media = Arc::new(moment.after_power_cut(|write| fates[write]));
            let goes_on = seen.crashes.is_multiple_of(LIVES_AGAIN_EACH);
            let recovered = self.recover(media, model.clone(), goes_on);
            let recovered = recovered.map_err(|problem| {
                let of = moment.unflushed();
                format!("a cut with {of} writes not flushed, of which {fates:?}: {problem}")
            })?;
            seen.add(recovered);
        }
        Ok(())
    }

    /// Opens what is left and holds it against the model; if it `goes_on`, once more after a cut in
    /// its next life.
    fn recover(
        &self,
        media: Arc<SimulatedMedia>,
        mut model: Model,
        goes_on: bool,
    ) -> Result<Seen, String> {
        let drive = open(&media, &self.options)?;
        model.check_prefix(&drive)?;
        let check = drive.check(&mut |_, _| {}).map_err(|error| error.to_string())?;
        if let Some(damage) = check.damages.first() {
            return Err(format!("the check finds: {}", damage.what));
        }
        let recovery = drive.status().recovery;
        let (replayed, torn) = (recovery.chunks, recovery.torn_chunks);
        let recovered = Seen { crashes: 1, replayed, torn, ..Seen::default() };
        if !goes_on {
            return Ok(recovered);
        }
        let mut run = Run { media, drive, model, tear: self.tear };
        run.execute(Command::ForcedWrite(511, 1), &self.options)?;
        run.execute(Command::Write(510, 4), &self.options)?;
        let media = Arc::new(run.media.after_power_cut(|_| Fate::Lost));
        run.model.check_prefix(&open(&media, &self.options)?)?;
        Ok(recovered)
    }
}

fn open(media: &Arc<SimulatedMedia>, options: &DriveOptions) -> Result<Drive, String> {
    let drive = Drive::open(media.clone(), options.clone());
    let drive = drive.map_err(|error| format!("it cannot be opened: {error}"))?;
    // A power cut may tear one superblock; that is told, and is no fault.
    match drive.status().problems.iter().find(|problem| !problem.contains("superblock")) {
        Some(problem) => Err(format!("it opened with a problem: {problem}")),
        None => Ok(drive),
    }
}

impl Run {
    fn execute(&mut self, command: Command, options: &DriveOptions) -> Result<(), String> {
        let failed = |error| format!("{command:?} failed: {error}");
        match command {
            Command::Write(first, blocks) => self.write(first, blocks, false).map_err(failed)?,
            Command::ForcedWrite(first, blocks) => {
                self.write(first, blocks, true).map_err(failed)?;
                self.model.flushed();
            }
            Command::Discard(first, blocks) => {
                self.model.discard(first, blocks);
                let (offset, length) = (first * BLOCK_BYTES, blocks * BLOCK_BYTES);
                self.drive.discard(offset, length).map_err(failed)?;
            }
            Command::Flush => {
                self.drive.flush().map_err(failed)?;
                self.model.flushed();
            }
            Command::Read => self.model.check_now(&self.drive, 440..576)?,
            Command::Rest => {
                for _ in 0..2 {
                    while self.drive.maintain().map_err(failed)? == Rest::More {}
                }
            }
            Command::Checkpoint => {
                self.drive.resize(LOGICAL_BYTES).map_err(failed)?;
                self.model.flushed();
            }
            Command::Reopen => {
                self.drive.close().map_err(failed)?;
                self.model.flushed();
                self.drive = open(&self.media, options)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, first: u64, blocks: u64, force: bool) -> assay_drive::Result<()> {
        let data = self.model.write(first, blocks);
        if self.tear {
            return crate::common::torn::write_torn(&self.drive, first, &data, force);
        }
        self.drive.write(first * BLOCK_BYTES, &data, force)
    }
}
