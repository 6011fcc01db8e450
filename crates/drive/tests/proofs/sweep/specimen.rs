//! Drives to be damaged: with everything on their media that a drive can have, and with what lies
//! where known.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use assay_drive::{BLOCK_BYTES, Codec, Disk, Drive, DriveOptions, Format, Rest};

use super::scarred::Scarred;
use crate::common::anatomy::{Part, Piece, geometry, pieces, u64_at};
use crate::common::media::{Fate, SimulatedMedia};
use crate::common::model::{Flavour, Model};
use crate::common::random::Random;

const SEGMENT_BYTES: u32 = 512 << 10;
const SEGMENTS: u64 = 44;

/// Ranges that the host writes: across leaves of the map and into a second directory.
const RANGES: [(u64, u64); 3] = [(0, 1300), (262_090, 110), (500_000, 64)];

/// Blocks from which a dictionary is learnt, behind those; they are discarded then.
const LEARN_FROM: Range<u64> = 4096..12_288;

/// The end of a drive's last life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Closed properly.
    Closed,
    /// A power cut right after a flush: nothing proves yet that the last chunks are durable.
    Flushed,
    /// A power cut after a flush and a rest.
    Rested,
}

/// A drive at rest.
pub struct Specimen {
    pub name: String,
    pub ending: Ending,
    pub image: Arc<[u8]>,
    /// The same media some time earlier.
    pub older: Arc<[u8]>,
    pub model: Model,
    /// Blocks that are looked at.
    pub blocks: Vec<u64>,
    /// Commands that were durable at the two flushes before the last, the older first.
    pub floors: [u64; 2],
    pub pieces: Vec<Piece>,
    /// Blocks of the drive whose record lies in a block of media.
    pub homes: HashMap<u64, BTreeSet<u64>>,
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
    pub fn begin(
        media: &Arc<SimulatedMedia>,
        codec: Codec,
        units: bool,
        dictionary: bool,
        seed: u64,
    ) -> Life {
        let format = Format {
            drive_id: 0x5EE9_0000 + seed,
            logical_bytes: 3 << 30,
            codec,
            units,
            dictionary,
            segment_bytes: Some(SEGMENT_BYTES),
        };
        Drive::format(media.clone(), &format).unwrap();
        let drive = Drive::open(media.clone(), options()).unwrap();
        Life { drive, model: Model::new(), random: Random::new(seed) }
    }

    /// Somewhere to write or discard: first block and number of blocks.
    pub fn somewhere(random: &mut Random) -> (u64, u64) {
        let (start, length) = RANGES[[0, 0, 0, 0, 1, 2][random.below(6) as usize]];
        let blocks = *random.pick(&[1, 2, 4, 4, 16, 32, 64]);
        let first = start + random.below(length);
        if random.chance(50) { (first & !3, blocks.max(4)) } else { (first, blocks) }
    }

    pub fn write(&mut self) {
        let (first, blocks) = Life::somewhere(&mut self.random);
        let data = self.model.write(first, blocks);
        self.drive.write(first * BLOCK_BYTES, &data, false).unwrap();
    }

    pub fn discard(&mut self) {
        let (first, blocks) = Life::somewhere(&mut self.random);
        self.model.discard(first, blocks);
        self.drive.discard(first * BLOCK_BYTES, blocks * BLOCK_BYTES).unwrap();
    }

    pub fn flush(&mut self) {
        self.drive.flush().unwrap();
        self.model.flushed();
    }

    pub fn work(&mut self, commands: u64) {
        for number in 0..commands {
            match self.random.below(20) {
                0 => self.discard(),
                1 | 2 => self.flush(),
                _ => self.write(),
            }
            if number % 4 == 0 {
                self.drive.maintain().unwrap();
            }
        }
    }

    pub fn rest(&mut self) {
        self.flush();
        // Until nothing is left to do, and once more: then it tells what is durable.
        let mut idle = 0;
        while idle < 3 {
            idle += u64::from(self.drive.maintain().unwrap() == Rest::Idle);
        }
    }

    /// Lets the drive learn a dictionary, from blocks that are given up again.
    pub fn learn(&mut self) {
        for first in LEARN_FROM.step_by(64) {
            let data = self.model.write_as(first, 64, |_, _| Flavour::Words);
            self.drive.write(first * BLOCK_BYTES, &data, false).unwrap();
        }
        let learnt = (0..1000).any(|_| {
            self.drive.maintain().unwrap();
            self.drive.status().dictionary_versions > 0
        });
        assert!(learnt, "no dictionary was learnt");
        let blocks = LEARN_FROM.end - LEARN_FROM.start;
        self.model.discard(LEARN_FROM.start, blocks);
        self.drive.discard(LEARN_FROM.start * BLOCK_BYTES, blocks * BLOCK_BYTES).unwrap();
    }
}

pub fn media(segments: u64) -> Arc<SimulatedMedia> {
    let bytes = (1 << 20) + BLOCK_BYTES + segments * u64::from(SEGMENT_BYTES);
    Arc::new(SimulatedMedia::new(bytes))
}

impl Specimen {
    pub fn new(codec: Codec, rich: bool, ending: Ending, seed: u64) -> Specimen {
        let media = media(SEGMENTS);
        let mut life = Life::begin(&media, codec, rich, rich, seed);
        if rich {
            life.learn();
        }
        life.work(900);
        life.rest();
        life.drive.close().unwrap();
        let older = media.image().into();
        life.work(30);
        // A checkpoint in the midst of it: the log goes on behind its own chunks.
        life.drive.resize(life.drive.size()).unwrap();
        let floor = life.model.commands;
        life.work(60);
        life.rest();
        let mut floors = [0; 2];
        for floor in &mut floors {
            (0..3).for_each(|_| life.write());
            life.flush();
            *floor = life.model.durable;
        }
        (0..3).for_each(|_| life.write());
        match ending {
            Ending::Closed => life.drive.close().unwrap(),
            Ending::Flushed => life.flush(),
            Ending::Rested => life.rest(),
        }
        let Life { drive, mut model, .. } = life;
        model.flushed();
        drop(drive);
        let image: Arc<[u8]> = media.after_power_cut(|_| Fate::Whole).image().into();
        // Some of the blocks that served for learning.
        let learnt = LEARN_FROM.filter(|block| block % 509 == 0);
        let reached = |(first, length): (u64, u64)| first / 4 * 4..first + length + 64;
        let blocks: BTreeSet<u64> = RANGES.into_iter().flat_map(reached).chain(learnt).collect();
        let blocks: Vec<u64> = blocks.into_iter().collect();
        model.forget_before(floor);
        let name = format!("{codec}, rich {rich}, {ending:?}");
        let pieces = pieces(&image);
        let homes = homes(&image, &blocks);
        Specimen { name, ending, image, older, model, blocks, floors, pieces, homes }
    }

    /// One of each ending, plain and rich; made once.
    pub fn all() -> &'static [Specimen] {
        static ALL: OnceLock<Vec<Specimen>> = OnceLock::new();
        ALL.get_or_init(|| {
            let endings = [Ending::Closed, Ending::Flushed, Ending::Rested];
            let kinds = [(Codec::Zstd, true), (Codec::None, false)];
            let of_kind = |(seed, (codec, rich)): (u64, (Codec, bool))| {
                endings.map(|ending| Specimen::new(codec, rich, ending, seed))
            };
            (1..).zip(kinds).flat_map(of_kind).collect()
        })
    }

    /// Whether a block is looked at.
    pub fn has(&self, block: u64) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }

    /// Blocks of media that there are.
    pub fn media_blocks(&self) -> u64 {
        self.image.len() as u64 / BLOCK_BYTES
    }

    /// Contents of each block of media.
    pub fn parts(&self) -> BTreeMap<u64, Vec<&Piece>> {
        let mut parts = BTreeMap::<u64, Vec<&Piece>>::new();
        for piece in &self.pieces {
            for block in blocks_of(&piece.range) {
                parts.entry(block).or_default().push(piece);
            }
        }
        parts
    }

    /// Blocks of the drive of which any record, living or dead, lies in a block of media.
    pub fn ever_in(&self, media_block: u64) -> BTreeSet<u64> {
        let here = self.pieces.iter().filter(|piece| {
            matches!(piece.part, Part::Record(_)) && blocks_of(&piece.range).contains(&media_block)
        });
        here.flat_map(|piece| piece.key..piece.key + if piece.location >> 63 == 1 { 4 } else { 1 })
            .collect()
    }

    /// Up to which number a superblock's checkpoint is complete.
    pub fn checkpoint_seq(&self) -> u64 {
        u64_at(&self.image, 56)
    }

    /// Segments that there are.
    pub fn segments(&self) -> u64 {
        geometry(&self.image).segments
    }

    /// The segment that a byte of media lies in.
    pub fn segment_of(&self, at: u64) -> u64 {
        (at - self.segment_start(0)) / geometry(&self.image).segment_bytes
    }

    /// The first byte of a segment.
    pub fn segment_start(&self, segment: u64) -> u64 {
        geometry(&self.image).segment_start(segment)
    }

    /// The same drive with its media as they were earlier.
    pub fn fallen_back(&self) -> Specimen {
        let image = Arc::clone(&self.older);
        let (model, blocks) = (self.model.clone(), self.blocks.clone());
        let (pieces, homes) = (Vec::new(), HashMap::new());
        Specimen {
            name: "older".into(),
            image,
            model,
            blocks,
            pieces,
            homes,
            older: self.older.clone(),
            ..*self
        }
    }
}

/// Blocks of media that hold any of these bytes.
pub fn blocks_of(range: &Range<u64>) -> Range<u64> {
    range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES)
}

/// In which blocks of media each block's record lies, as a drive without damage reads it.
fn homes(image: &Arc<[u8]>, blocks: &[u64]) -> HashMap<u64, BTreeSet<u64>> {
    let media = Arc::new(Scarred::new(Arc::clone(image)));
    let drive = Drive::open(media.clone(), options()).unwrap();
    let mut data = [0; BLOCK_BYTES as usize];
    // Once for the map, which stays in memory.
    blocks.iter().for_each(|block| drive.read(block * BLOCK_BYTES, &mut data).unwrap());
    let mut homes = HashMap::<u64, BTreeSet<u64>>::new();
    for block in blocks {
        let read = || drive.read(block * BLOCK_BYTES, &mut data).unwrap();
        for home in media.traced(read) {
            homes.entry(home).or_default().insert(*block);
        }
    }
    homes
}
