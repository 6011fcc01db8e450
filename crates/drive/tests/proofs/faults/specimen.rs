//! Drives to be damaged: with something of everything on their media, and with what should be read
//! from them known.

use std::sync::{Arc, OnceLock};

use assay_drive::{BLOCK_BYTES, Codec, Disk, Drive, DriveOptions, Format};

use crate::common::media::{Fate, SimulatedMedia};
use crate::common::model::Model;
use crate::common::random::Random;

const SEGMENT_BYTES: u32 = 512 << 10;
const SEGMENTS: u64 = 36;

/// Ranges that the host writes: across leaves of the map and into a second directory.
const RANGES: [(u64, u64); 3] = [(0, 1100), (262_100, 90), (500_000, 64)];

/// The end of a drive's last life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Closed properly.
    Closed,
    /// A power cut after a flush and a rest.
    Flushed,
    /// A power cut that tore the writes since the last flush.
    Torn,
}

/// A drive at rest.
pub struct Specimen {
    pub name: String,
    pub ending: Ending,
    pub media: SimulatedMedia,
    /// The same media at some earlier moment.
    pub older: SimulatedMedia,
    pub model: Model,
}

/// Options of the specimens' drives: checkpoints only when needed, so that there is a log to
/// replay.
pub fn options() -> DriveOptions {
    DriveOptions { checkpoint_bytes: Some(u64::MAX), ..DriveOptions::default() }
}

/// A drive in work.
pub struct Life {
    pub drive: Drive,
    pub model: Model,
    pub random: Random,
}

impl Life {
    /// A new drive on media of the specimens' size.
    pub fn begin(media: &Arc<dyn Disk>, codec: Codec, units: bool, seed: u64) -> Life {
        let format = Format {
            drive_id: 0xDA7A_6E00 + seed,
            logical_bytes: 3 << 30,
            codec,
            units,
            dictionary: false,
            segment_bytes: Some(SEGMENT_BYTES),
        };
        Drive::format(media.clone(), &format).unwrap();
        let drive = Drive::open(media.clone(), options()).unwrap();
        Life { drive, model: Model::new(), random: Random::new(seed) }
    }

    /// Somewhere to write or discard: first block and number of blocks.
    pub fn somewhere(&mut self) -> (u64, u64) {
        let (start, length) = RANGES[[0, 0, 0, 1, 2][self.random.below(5) as usize]];
        let blocks = *self.random.pick(&[1, 2, 4, 4, 16, 64]);
        let first = start + self.random.below(length);
        if self.random.chance(50) { (first & !3, blocks.max(4)) } else { (first, blocks) }
    }

    pub fn write(&mut self) -> assay_drive::Result<()> {
        let (first, blocks) = self.somewhere();
        let data = self.model.write(first, blocks);
        self.drive.write(first * BLOCK_BYTES, &data, false)
    }

    pub fn discard(&mut self) -> assay_drive::Result<()> {
        let (first, blocks) = self.somewhere();
        self.model.discard(first, blocks);
        self.drive.discard(first * BLOCK_BYTES, blocks * BLOCK_BYTES)
    }

    pub fn flush(&mut self) -> assay_drive::Result<()> {
        self.drive.flush()?;
        self.model.flushed();
        Ok(())
    }

    /// Runs commands of a host, and the background's work.
    pub fn work(&mut self, commands: u64) {
        for number in 0..commands {
            match self.random.below(20) {
                0 => self.discard().unwrap(),
                1 | 2 => self.flush().unwrap(),
                _ => self.write().unwrap(),
            }
            if number % 4 == 0 {
                self.drive.maintain().unwrap();
            }
        }
    }

    /// The host rests: what was flushed is told on media to be durable.
    pub fn rest(&mut self) {
        self.flush().unwrap();
        for _ in 0..4 {
            self.drive.maintain().unwrap();
        }
    }
}

pub fn media() -> Arc<SimulatedMedia> {
    let bytes = (1 << 20) + BLOCK_BYTES + SEGMENTS * u64::from(SEGMENT_BYTES);
    Arc::new(SimulatedMedia::new(bytes))
}

impl Specimen {
    pub fn new(codec: Codec, units: bool, ending: Ending, seed: u64) -> Specimen {
        let media = media();
        let mut life = Life::begin(&(media.clone() as Arc<dyn Disk>), codec, units, seed);
        life.work(700);
        life.rest();
        life.drive.close().unwrap();
        let older = media.copy();
        life.work(40);
        // A checkpoint in the midst of it: the log goes on behind its own chunks.
        life.drive.resize(life.drive.size()).unwrap();
        life.work(20);
        life.rest();
        match ending {
            Ending::Closed => life.drive.close().unwrap(),
            Ending::Flushed => {}
            Ending::Torn => (0..8).for_each(|_| life.write().unwrap()),
        }
        let Life { drive, model, mut random } = life;
        drop(drive);
        let media = media.after_power_cut(|_| match ending {
            Ending::Torn if random.chance(60) => Fate::Torn(random.next()),
            _ => Fate::Whole,
        });
        let name = format!("{codec}, units {units}, {ending:?}");
        Specimen { name, ending, media, older, model }
    }

    /// One of each kind of ending, codec and unit that differ in what can break; made once.
    pub fn all() -> &'static [Specimen] {
        static ALL: OnceLock<Vec<Specimen>> = OnceLock::new();
        let kinds = [(Codec::None, false), (Codec::Zstd, true), (Codec::Lz4, false)];
        ALL.get_or_init(|| {
            let endings = [Ending::Closed, Ending::Flushed, Ending::Torn];
            let of_kind = |(seed, (codec, units)): (u64, (Codec, bool))| {
                endings.map(|ending| Specimen::new(codec, units, ending, seed))
            };
            (0..).zip(kinds).flat_map(of_kind).collect()
        })
    }
}
