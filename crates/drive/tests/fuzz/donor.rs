//! Whole drives whose images are mutated: of every codec, with and without units, closed, crashed,
//! rebuilt.

use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Codec, Disk, Drive, DriveOptions, Format};

use crate::common::anatomy::{Geometry, Piece, geometry, pieces};
use crate::common::media::{Fate, SimulatedMedia};
use crate::common::model::{Flavour, Model};
use crate::common::random::Random;

const SEGMENT_BYTES: u32 = 512 << 10;
const SEGMENTS: u64 = 44;

/// Ranges that most hosts write: first block and number of blocks.
const RANGES: [(u64, u64); 2] = [(0, 800), (262_100, 90)];

/// Blocks from which a dictionary can be learnt.
const DICTIONARY_BLOCKS: u64 = 8000;

/// A drive's media, at its end and at an earlier moment, and what was written to it.
pub struct Donor {
    pub image: Arc<[u8]>,
    pub older: Arc<[u8]>,
    pub pieces: Vec<Piece>,
    pub geometry: Geometry,
    pub model: Model,
    /// Commands and bytes of media that opening, checking and working on take without damage.
    pub work: (u64, u64),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Closed,
    Crashed,
    Rebuilt,
}

struct Making {
    media: Arc<SimulatedMedia>,
    drive: Drive,
    model: Model,
    random: Random,
}

fn options() -> DriveOptions {
    DriveOptions { checkpoint_bytes: Some(u64::MAX), ..DriveOptions::default() }
}

impl Making {
    fn new(codec: Codec, units: bool, dictionary: bool, number: u64) -> Making {
        let bytes = (1 << 20) + BLOCK_BYTES + SEGMENTS * u64::from(SEGMENT_BYTES);
        let media = Arc::new(SimulatedMedia::new(bytes));
        let format = Format {
            drive_id: 0xF0_22ED + number,
            logical_bytes: 3 << 30,
            codec,
            units,
            dictionary,
            segment_bytes: Some(SEGMENT_BYTES),
        };
        Drive::format(media.clone(), &format).unwrap();
        let drive = Drive::open(media.clone(), options()).unwrap();
        // Each drive's commands have numbers of their own, so that another drive's data are known
        // for what they are.
        let model = Model::after_command(number * 1_000_000);
        Making { media, drive, model, random: Random::new(number) }
    }

    fn work(&mut self, commands: u64) {
        for _ in 0..commands {
            let (start, length) = *self.random.pick(&RANGES);
            let blocks = *self.random.pick(&[1, 4, 4, 16, 64]);
            let first = start + self.random.below(length);
            if self.random.chance(8) {
                self.model.discard(first, blocks);
                self.drive.discard(first * BLOCK_BYTES, blocks * BLOCK_BYTES).unwrap();
            } else {
                let data = self.model.write(first, blocks);
                self.drive.write(first * BLOCK_BYTES, &data, false).unwrap();
            }
            if self.random.chance(30) {
                self.drive.maintain().unwrap();
            }
        }
        self.drive.flush().unwrap();
    }

    fn learn(&mut self) {
        for first in (0..DICTIONARY_BLOCKS).step_by(64) {
            let data = self.model.write_as(first, 64, |_, _| Flavour::Words);
            self.drive.write(first * BLOCK_BYTES, &data, false).unwrap();
        }
        let learnt = (0..1000).any(|_| {
            self.drive.maintain().unwrap();
            self.drive.status().dictionary_versions > 0
        });
        assert!(learnt, "no dictionary was learnt");
    }

    fn end(mut self, ending: Ending) -> Donor {
        self.drive.close().unwrap();
        let older = self.media.image().into();
        self.work(40);
        if ending == Ending::Closed {
            self.drive.close().unwrap();
        }
        let random = &mut self.random;
        let mut media = self.media.after_power_cut(|_| match random.below(3) {
            0 => Fate::Torn(random.next()),
            _ => Fate::Whole,
        });
        if ending == Ending::Rebuilt {
            crate::common::roots::destroy_roots(&media);
            let rebuilt = Arc::new(media);
            let drive = Drive::open(rebuilt.clone(), options()).unwrap();
            assert!(drive.status().recovery.rebuilt);
            drop(drive);
            media = rebuilt.copy();
        }
        let image = media.image();
        let (pieces, geometry) = (pieces(&image), geometry(&image));
        Donor { image: image.into(), older, pieces, geometry, model: self.model, work: (0, 0) }
    }
}

impl Donor {
    /// All of them; the first has its map's nodes as they are, so that they can be forged.
    pub fn all() -> Vec<Donor> {
        let kinds = [
            (Codec::None, false, Ending::Crashed),
            (Codec::None, true, Ending::Closed),
            (Codec::Lz4, false, Ending::Rebuilt),
            (Codec::Deflate, true, Ending::Crashed),
            (Codec::Zstd, true, Ending::Closed),
        ];
        let make = |(number, (codec, units, ending)): (u64, (Codec, bool, Ending))| {
            let mut making = Making::new(codec, units, false, number);
            making.work(250);
            making.end(ending)
        };
        let mut all: Vec<_> = (1..).zip(kinds).map(make).collect();
        let mut learner = Making::new(Codec::Zstd, false, true, 9);
        learner.learn();
        all.push(learner.end(Ending::Crashed));
        all
    }
}
