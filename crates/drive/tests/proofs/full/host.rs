//! A host that fills a small drive, and holds it to what a full drive guarantees.

use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Codec, Disk, DiskError, Drive, DriveOptions, Format, State};

use crate::common::media::{Fate, SimulatedMedia};
use crate::common::model::{Flavour, Model};
use crate::common::random::Random;

const SEGMENT_BYTES: u32 = 512 << 10;

/// A drive and who writes to it.
pub struct Host {
    media: Arc<SimulatedMedia>,
    pub drive: Drive,
    pub model: Model,
    pub random: Random,
    options: DriveOptions,
}

impl Host {
    pub fn new(codec: Codec, units: bool, segments: u64, seed: u64) -> Host {
        let bytes = (1 << 20) + BLOCK_BYTES + segments * u64::from(SEGMENT_BYTES);
        let media = Arc::new(SimulatedMedia::new(bytes));
        let format = Format {
            drive_id: 0xF011 + seed,
            logical_bytes: 1 << 30,
            codec,
            units,
            dictionary: false,
            segment_bytes: Some(SEGMENT_BYTES),
        };
        Drive::format(media.clone(), &format).unwrap();
        let options = DriveOptions::default();
        let drive = Drive::open(media.clone(), options.clone()).unwrap();
        Host { media, drive, model: Model::new(), random: Random::new(seed), options }
    }

    /// Writes; false if it was refused. A refusal is for lack of space and nothing else, and
    /// changes nothing.
    pub fn write(&mut self, first: u64, blocks: u64, flavour: Flavour) -> bool {
        let data = self.model.write_as(first, blocks, |_, _| flavour);
        let before = self.drive.status().counts;
        match self.drive.write(first * BLOCK_BYTES, &data, false) {
            Ok(()) => true,
            Err(DiskError::Full) => {
                self.model.take_back();
                self.model.check_now(&self.drive, first..first + blocks).unwrap();
                let after = self.drive.status().counts;
                assert_eq!(after.refused_writes, before.refused_writes + 1, "it is counted once");
                let kinds = |counts: assay_drive::Counts| {
                    (counts.write_bytes_raw, counts.write_bytes_zero, counts.write_bytes_host)
                };
                assert_eq!(kinds(after), kinds(before), "what was refused counts as written");
                false
            }
            Err(other) => panic!("a write to a full drive: {other}"),
        }
    }

    pub fn discard(&mut self, first: u64, blocks: u64) {
        self.model.discard(first, blocks);
        self.drive.discard(first * BLOCK_BYTES, blocks * BLOCK_BYTES).unwrap();
    }

    /// Accepted data can always be flushed.
    pub fn flush(&mut self) {
        self.drive.flush().unwrap();
        self.model.flushed();
    }

    pub fn maintain(&self, most: u64) {
        for _ in 0..most {
            self.drive.maintain().unwrap();
        }
    }

    /// Fills from block 0 on until not one more block is taken; gives how many were, and the states
    /// on the way.
    pub fn fill(&mut self, flavour: Flavour) -> (u64, Vec<State>) {
        let mut next = 0;
        let mut states = vec![self.drive.status().state];
        for blocks in [64, 16, 4, 1] {
            while self.write(next, blocks, flavour) {
                next += blocks;
                let state = self.drive.status().state;
                if states.last() != Some(&state) {
                    states.push(state);
                }
                if self.random.chance(20) {
                    self.maintain(2);
                }
            }
        }
        (next, states)
    }

    /// Everything that was accepted is there, and the books are in order.
    pub fn check(&self) {
        for blocks in crate::common::model::runs(&self.model.touched()) {
            self.model.check_now(&self.drive, blocks).unwrap();
        }
        let check = self.drive.check(&mut |_, _| {}).unwrap();
        assert_eq!(check.damages, [], "{:?}", self.drive.status());
    }

    /// Closes it and opens it with or without the reserve for rescue.
    pub fn reopen_for_rescue(&mut self, rescue: bool) {
        self.options.rescue = rescue;
        self.reopen();
    }

    pub fn reopen(&mut self) {
        self.drive.close().unwrap();
        self.model.flushed();
        self.drive = Drive::open(self.media.clone(), self.options.clone()).unwrap();
    }

    /// Cuts the power and opens what is left, which must equal a prefix of what was accepted.
    pub fn crash(&mut self) {
        let random = &mut self.random;
        let media = self.media.after_power_cut(|_| match random.below(3) {
            0 => Fate::Lost,
            1 => Fate::Whole,
            _ => Fate::Torn(random.next()),
        });
        self.media = Arc::new(media);
        self.drive = Drive::open(self.media.clone(), self.options.clone()).unwrap();
        self.model.check_prefix(&self.drive).unwrap();
        assert_ne!(self.drive.status().state, State::ReadOnly, "{:?}", self.drive.status());
    }
}
