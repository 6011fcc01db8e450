//! Drives as an earlier version left them: this one must open them, find everything, and work on.
//! The first four have their maps as the codec stored them, the last one's is packed.
//!
//! An image holds the blocks of media that are not zero, compressed. They are made anew, for a new
//! format only, by `ASSAY_MAKE_GOLDEN=1 cargo test -p assay-drive --test proofs golden::drives`.

use std::path::PathBuf;
use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Codec, Disk, Drive, DriveOptions, Format, Rest};

use crate::common::random::Random;
use crate::common::thin_host::{SEGMENT_BYTES, media_bytes};
use crate::common::thin_media::ThinMedia;
use crate::common::versions::{Stuff, Versions};

const SEGMENTS: u64 = 40;
const BLOCKS: u64 = 1 << 19;
const BLOCK: usize = BLOCK_BYTES as usize;

/// The state in which a drive was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Closed,
    /// With a log behind its checkpoint.
    CutOff,
    WithDictionary,
    WithUnits,
    /// The only one whose map is packed: the others are older than that.
    Packed,
}

const KINDS: [Kind; 5] =
    [Kind::Closed, Kind::CutOff, Kind::WithDictionary, Kind::WithUnits, Kind::Packed];

impl Kind {
    fn format(self) -> Format {
        let codec = match self {
            Kind::Closed | Kind::Packed => Codec::Lz4,
            Kind::CutOff | Kind::WithDictionary => Codec::Zstd,
            Kind::WithUnits => Codec::Deflate,
        };
        Format {
            drive_id: 0x601D + self as u64,
            logical_bytes: BLOCKS * BLOCK_BYTES,
            codec,
            units: self == Kind::WithUnits,
            dictionary: self == Kind::WithDictionary,
            segment_bytes: Some(SEGMENT_BYTES),
        }
    }

    fn path(self) -> PathBuf {
        let name = match self {
            Kind::Closed => "closed",
            Kind::CutOff => "cut-off",
            Kind::WithDictionary => "with-dictionary",
            Kind::WithUnits => "with-units",
            Kind::Packed => "packed",
        };
        let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/proofs/golden");
        directory.join(format!("format-2-{name}.zst"))
    }
}

/// The commands of a drive, and of its model.
struct Host<'a> {
    drive: Option<&'a Drive>,
    model: Versions,
    random: Random,
    data: Vec<u8>,
}

impl Host<'_> {
    fn write(&mut self, first: u64, blocks: u64, bytes: (u32, u32)) {
        let stuff = Stuff { bytes, is_random: true };
        self.model.write(first, blocks, stuff, &mut self.data);
        if let Some(drive) = self.drive {
            drive.write(first * BLOCK_BYTES, &self.data, false).unwrap();
        }
    }

    fn discard(&mut self, first: u64, blocks: u64) {
        self.model.discard(first, blocks);
        if let Some(drive) = self.drive {
            drive.discard(first * BLOCK_BYTES, blocks * BLOCK_BYTES).unwrap();
        }
    }

    fn zeroes(&mut self, first: u64, blocks: u64) {
        self.model.discard(first, blocks);
        if let Some(drive) = self.drive {
            let data = vec![0; blocks as usize * BLOCK];
            drive.write(first * BLOCK_BYTES, &data, false).unwrap();
        }
    }

    /// Writes and discards at both ends of the drive and where leaves and directories of the map
    /// meet.
    fn some(&mut self, commands: u64) {
        for _ in 0..commands {
            let start = *self.random.pick(&[0, 500, 262_100, 300_000, BLOCKS - 64]);
            let first = start + self.random.below(40);
            let blocks = 1 + self.random.below(9);
            if self.random.chance(20) {
                self.discard(first, blocks);
            } else {
                self.write(first, blocks, (24, 40));
            }
        }
        // Also one that does not compress.
        self.write(1000, 1, (4096, 4096));
    }

    fn close(&self) {
        if let Some(drive) = self.drive {
            while drive.maintain().unwrap() == Rest::More {}
            drive.close().unwrap();
        }
    }
}

/// The life of a golden drive. Without one, only what it holds is found out.
fn live(kind: Kind, drive: Option<&Drive>) -> Versions {
    let (model, random) = (Versions::default(), Random::new(kind as u64));
    let mut host = Host { drive, model, random, data: Vec::new() };
    if kind == Kind::WithDictionary {
        // A dictionary comes of every seventh block, when much was written; none of it stays.
        for block in (20 * 512..35 * 512).filter(|block| block % 512 % 7 == 0) {
            host.write(block, 1, (201, 201));
        }
        for first in (20_000..25_000).step_by(64) {
            host.zeroes(first, 64);
        }
        host.close();
        host.discard(20 * 512, 15 * 512);
        host.close();
    }
    host.some(25);
    host.close();
    if kind == Kind::CutOff {
        host.some(20);
        host.discard(500, 30);
        if let Some(drive) = drive {
            drive.flush().unwrap();
        }
    }
    host.model.flushed();
    host.model
}

fn load(kind: Kind) -> Vec<(u64, Vec<u8>)> {
    let bytes = std::fs::read(kind.path()).unwrap();
    let bytes = zstd::decode_all(&bytes[..]).unwrap();
    let (pieces, rest) = bytes.as_chunks::<{ 8 + BLOCK }>();
    assert!(rest.is_empty());
    let piece = |piece: &[u8; 8 + BLOCK]| {
        let (number, block) = piece.split_first_chunk::<8>().unwrap();
        (u64::from_le_bytes(*number), block.to_vec())
    };
    pieces.iter().map(piece).collect()
}

/// Opens media that hold these blocks, and finds everything there that should be.
fn open_and_check(kind: Kind, blocks: &[(u64, Vec<u8>)]) -> Result<(), String> {
    let blocks = blocks.iter().map(|(number, block)| (*number, &block[..]));
    let media = Arc::new(ThinMedia::holding(media_bytes(SEGMENTS, SEGMENT_BYTES), blocks));
    let open = || Drive::open(media.clone(), DriveOptions::default());
    let drive = open().map_err(|error| error.to_string())?;
    let status = drive.status();
    status.problems.first().map_or(Ok(()), |problem| Err(problem.clone()))?;
    let left = (status.recovery.clean, status.dictionary_versions > 0, status.unit_blocks > 1);
    let expected = (kind != Kind::CutOff, kind == Kind::WithDictionary, kind == Kind::WithUnits);
    if left != expected {
        return Err(format!("clean, with a dictionary, with units: {left:?}"));
    }
    if kind == Kind::CutOff && status.recovery.entries < 30 {
        return Err(format!("nothing was replayed: {:?}", status.recovery));
    }
    let mut model = live(kind, None);
    check_all(&drive, &model)?;
    let check = drive.check(&mut |_, _| {}).map_err(|error| error.to_string())?;
    check.damages.first().map_or(Ok(()), |damage| Err(damage.what.clone()))?;
    if drive.status().counts.restored_records > 0 {
        return Err("not all of the map was whole".into());
    }
    // It works on.
    let mut data = Vec::new();
    for first in [0, 510, 262_140, 400_000, BLOCKS - 8] {
        model.write(first, 8, Stuff { bytes: (24, 3000), is_random: true }, &mut data);
        drive.write(first * BLOCK_BYTES, &data, false).map_err(|error| error.to_string())?;
    }
    model.discard(300_000, 16);
    drive.discard(300_000 * BLOCK_BYTES, 16 * BLOCK_BYTES).map_err(|error| error.to_string())?;
    check_all(&drive, &model)?;
    drive.flush().map_err(|error| error.to_string())?;
    check_all(&open().map_err(|error| error.to_string())?, &model)
}

fn check_all(drive: &Drive, model: &Versions) -> Result<(), String> {
    for leaf in model.leaves(drive) {
        for block in leaf * 512..(leaf + 1) * 512 {
            model.check_now(drive, block, false)?;
        }
    }
    Ok(())
}

#[test]
fn drives_of_earlier_versions_open_and_hold_what_they_held() {
    if std::env::var_os("ASSAY_MAKE_GOLDEN").is_some_and(|value| value == "1") {
        make_images();
    }
    for kind in KINDS {
        open_and_check(kind, &load(kind)).unwrap_or_else(|problem| panic!("{kind:?}: {problem}"));
    }
}

/// The checker itself: whatever block of an image is not as it was, something is said of it.
#[test]
fn an_image_that_was_changed_is_noticed() {
    for kind in KINDS {
        let blocks = load(kind);
        let is_noticed = |number: usize| {
            let mut changed = blocks.clone();
            changed[number].1.iter_mut().step_by(3).for_each(|byte| *byte = !*byte);
            open_and_check(kind, &changed).is_err()
        };
        let noticed = (0..blocks.len()).step_by(1 + blocks.len() / 20).filter(|at| is_noticed(*at));
        let noticed = noticed.count();
        println!("{kind:?}: {noticed} changes noticed, of {} blocks", blocks.len());
        assert!(noticed >= 6, "{kind:?}: {noticed} changes noticed");
    }
}

/// Replaces the images by those that this version makes.
fn make_images() {
    for kind in KINDS {
        let media = Arc::new(ThinMedia::new(media_bytes(SEGMENTS, SEGMENT_BYTES)));
        Drive::format(media.clone(), &kind.format()).unwrap();
        let options = DriveOptions { discard_media: true, ..DriveOptions::default() };
        let drive = Drive::open(media.clone(), options).unwrap();
        live(kind, Some(&drive));
        drop(drive);
        // Only those dead records are kept that happen to be looked at.
        let mut blocks = media.blocks();
        for index in (0..blocks.len()).rev() {
            let dropped = blocks.remove(index);
            if open_and_check(kind, &blocks).is_err() {
                blocks.insert(index, dropped);
            }
        }
        let mut bytes = Vec::new();
        for (number, block) in blocks {
            bytes.extend(number.to_le_bytes());
            bytes.extend(block);
        }
        let packed = zstd::encode_all(&bytes[..], 19).unwrap();
        println!("{kind:?}: {} bytes, {} packed", bytes.len(), packed.len());
        std::fs::write(kind.path(), packed).unwrap();
    }
}
