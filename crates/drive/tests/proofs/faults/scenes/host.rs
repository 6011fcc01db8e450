//! A host that knows what each of its blocks holds, and hands that break what it is told to.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Codec, Disk, DiskError, Drive, DriveOptions, Format, Rest, Result};

use crate::common::anatomy::{Part, Piece, pieces};
use crate::common::media::SimulatedMedia;
use crate::common::random::Random;

pub const SEGMENT_BYTES: u64 = 512 << 10;

/// Blocks of a leaf of the map, and of a directory.
pub const LEAF: u64 = 512;
pub const DIRECTORY: u64 = LEAF * LEAF;

/// Offset of the first segment.
const SEGMENTS_START: u64 = 1 << 20;

pub fn media_of(segments: u64) -> Arc<SimulatedMedia> {
    Arc::new(SimulatedMedia::new(SEGMENTS_START + BLOCK_BYTES + segments * SEGMENT_BYTES))
}

/// The segment that a place behind the first superblock lies in.
pub fn segment_of(place: u64) -> u64 {
    (place - SEGMENTS_START) / SEGMENT_BYTES
}

pub fn format(codec: Codec, logical_bytes: u64) -> Format {
    Format {
        drive_id: 0x5CE_4E5,
        logical_bytes,
        codec,
        units: false,
        dictionary: false,
        segment_bytes: Some(SEGMENT_BYTES as u32),
    }
}

pub fn open(media: &Arc<SimulatedMedia>, options: &DriveOptions) -> Drive {
    Drive::open(Arc::clone(media) as Arc<dyn Disk>, options.clone()).unwrap()
}

/// Incompressible contents of a version of a block.
pub fn noise(block: u64, version: u64) -> Vec<u8> {
    let mut random = Random::new(block << 24 ^ version.wrapping_mul(0x1234_5677));
    (0..BLOCK_BYTES / 8).flat_map(|_| random.next().to_le_bytes()).collect()
}

/// The version that each block holds.
pub type Truth = BTreeMap<u64, u64>;

pub struct Host {
    pub media: Arc<SimulatedMedia>,
    pub options: DriveOptions,
    pub drive: Drive,
    pub truth: Truth,
    pub random: Random,
    version: u64,
}

impl Host {
    /// A fresh drive.
    pub fn new(segments: u64, format: &Format, options: DriveOptions) -> Host {
        Host::on(media_of(segments), format, options)
    }

    pub fn on(media: Arc<SimulatedMedia>, format: &Format, options: DriveOptions) -> Host {
        Drive::format(Arc::clone(&media) as Arc<dyn Disk>, format).unwrap();
        let drive = open(&media, &options);
        Host { media, options, drive, truth: Truth::new(), random: Random::new(9), version: 0 }
    }

    pub fn try_write(&mut self, first: u64, blocks: u64) -> Result<()> {
        self.version += 1;
        let data: Vec<u8> =
            (first..first + blocks).flat_map(|block| noise(block, self.version)).collect();
        self.drive.write(first * BLOCK_BYTES, &data, false)?;
        self.truth.extend((first..first + blocks).map(|block| (block, self.version)));
        Ok(())
    }

    pub fn write(&mut self, first: u64, blocks: u64) {
        self.try_write(first, blocks).unwrap();
    }

    pub fn discard(&mut self, first: u64, blocks: u64) -> Result<()> {
        self.drive.discard(first * BLOCK_BYTES, blocks * BLOCK_BYTES)?;
        self.truth.retain(|block, _| !(first..first + blocks).contains(block));
        Ok(())
    }

    /// Writes from block 0 on until that is refused; gives the first block that was.
    pub fn fill(&mut self) -> u64 {
        let mut next = 0;
        for blocks in [64, 8, 1] {
            while match self.try_write(next, blocks) {
                Ok(()) => true,
                Err(DiskError::Full) => false,
                Err(other) => panic!("{other}"),
            } {
                next += blocks;
            }
        }
        next
    }

    pub fn rest(&self) {
        while self.drive.maintain().unwrap() == Rest::More {}
    }

    pub fn maintain(&self, steps: u64) {
        for _ in 0..steps {
            self.drive.maintain().unwrap();
        }
    }

    pub fn reopen(&mut self) {
        self.drive.close().unwrap();
        self.drive = open(&self.media, &self.options);
    }

    /// The drive as a killed process leaves it, opened.
    pub fn after_a_kill(&self) -> Drive {
        self.drive.flush().unwrap();
        open(&Arc::new(self.media.killed()), &self.options)
    }

    pub fn assert_right(&self) {
        assert_eq!(wrong(&self.drive, &self.truth), []);
    }
}

/// Blocks that do not read as they should, and how they do.
pub fn wrong(drive: &Drive, truth: &Truth) -> Vec<(u64, String)> {
    let mut data = vec![0; BLOCK_BYTES as usize];
    let reads = truth.iter().filter_map(|(block, version)| {
        match drive.read(block * BLOCK_BYTES, &mut data) {
            Ok(()) if data == noise(*block, *version) => None,
            Ok(()) => Some((*block, "wrong bytes".into())),
            Err(error) => Some((*block, error.to_string())),
        }
    });
    reads.take(5).collect()
}

/// Those of these blocks that are not zeroes.
pub fn not_zero(drive: &Drive, blocks: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut data = vec![1; BLOCK_BYTES as usize];
    let is_zero = |block: &u64| {
        drive.read(block * BLOCK_BYTES, &mut data).is_ok() && data.iter().all(|byte| *byte == 0)
    };
    let mut is_zero = is_zero;
    blocks.into_iter().filter(|block| !is_zero(block)).collect()
}

/// The newest record of a node on media.
pub fn node(media: &SimulatedMedia, number: u64, is_directory: bool) -> (Piece, Vec<Piece>) {
    let all = pieces(&media.image());
    let is_it = |piece: &&Piece| {
        piece.part == Part::Node
            && piece.key & ((1 << 39) - 1) == number
            && (piece.key >> 39 & 1 == 1) == is_directory
    };
    let node = all.iter().filter(is_it).max_by_key(|piece| piece.seq).unwrap().clone();
    (node, all)
}

/// Spoils a node and the parity of its chunk: nothing brings it back.
pub fn rot(media: &SimulatedMedia, number: u64, is_directory: bool) {
    let (node, all) = node(media, number, is_directory);
    let is_parity = |piece: &&Piece| piece.part == Part::Parity && piece.owner == node.owner;
    let parity = all.iter().find(is_parity).unwrap();
    media.wipe(parity.range.start / BLOCK_BYTES);
    media.flip((node.range.start + 2000) * 8);
}
