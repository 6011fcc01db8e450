//! Mutations of an image: of bits, of fields, of whole structures, of the media's size.

use crate::common::anatomy::{Part, Piece, reseal};
use crate::common::random::Random;
use crate::donor::Donor;

const BLOCK: u64 = 4096;
const SEGMENTS_START: u64 = 1 << 20;

/// Offset and bytes of a superblock's fields.
const SUPERBLOCK_FIELDS: [(u64, usize); 23] = [
    (8, 4),
    (12, 8),
    (20, 8),
    (28, 4),
    (32, 4),
    (36, 1),
    (37, 1),
    (38, 1),
    (39, 1),
    (40, 8),
    (48, 8),
    (56, 8),
    (64, 8),
    (72, 8),
    (80, 8),
    (88, 8),
    (96, 8),
    (104, 8),
    (112, 8),
    (120, 8),
    (128, 8),
    (136, 8),
    (144, 8),
];

/// Offset and bytes of the fields of a chunk's or footer's header.
const HEADER_FIELDS: [(u64, usize); 13] = [
    (0, 4),
    (4, 1),
    (5, 1),
    (6, 1),
    (8, 8),
    (16, 4),
    (20, 4),
    (24, 8),
    (32, 8),
    (40, 8),
    (48, 4),
    (52, 4),
    (56, 4),
];

/// A mutated image.
pub struct Mutant {
    pub image: Vec<u8>,
    /// Whether a checksum was made to fit: then the drive cannot know what is wrong.
    pub forged: bool,
}

impl Mutant {
    /// The bytes at a place, as far as the media reach.
    fn at(&mut self, at: u64, length: u64) -> &mut [u8] {
        let size = self.image.len();
        let start = (at as usize).min(size);
        &mut self.image[start..(start + length as usize).min(size)]
    }

    /// Makes a structure's checksum fit, if the media reach that far.
    fn forge(&mut self, piece: &Piece, drive_id: u64) {
        if piece.range.end.max(piece.owner + BLOCK) <= self.image.len() as u64 {
            reseal(&mut self.image, piece, drive_id);
            self.forged = true;
        }
    }

    fn put(&mut self, at: u64, bytes: &[u8]) {
        let place = self.at(at, bytes.len() as u64);
        place.copy_from_slice(&bytes[..place.len()]);
    }
}

/// Mutates a donor's image; `others` are what may be spliced in.
pub fn mutate(donor: &Donor, others: &[Donor], random: &mut Random) -> Mutant {
    let mut mutant = Mutant { image: donor.image.to_vec(), forged: false };
    for _ in 0..1 + random.below(4) {
        match random.below(100) {
            0..15 => flip_bits(donor, &mut mutant, random),
            15..25 => overwrite(donor, &mut mutant, random),
            25..75 => change_field(donor, &mut mutant, random),
            75..92 => splice(donor, others, &mut mutant, random),
            92..96 => resize(&mut mutant, random),
            _ => swap(&mut mutant, random),
        }
    }
    mutant
}

/// A piece of a random kind: there are many more records than superblocks.
fn pick<'a>(donor: &'a Donor, random: &mut Random) -> &'a Piece {
    let wanted = random.pick(&donor.pieces).part;
    let wanted = match random.below(6) {
        0 => Part::Superblock(random.below(2) as usize),
        1 => Part::Root,
        2 => Part::Node,
        _ => wanted,
    };
    let same: Vec<_> = donor.pieces.iter().filter(|piece| piece.part == wanted).collect();
    let same = if same.is_empty() { donor.pieces.iter().collect() } else { same };
    // The last bytes were mostly written last: the newest root, the newest node.
    if random.chance(30) {
        same.iter().max_by_key(|piece| piece.seq).copied().unwrap_or(same[0])
    } else {
        random.pick::<&Piece>(&same)
    }
}

fn flip_bits(donor: &Donor, mutant: &mut Mutant, random: &mut Random) {
    let piece = pick(donor, random);
    for _ in 0..1 + random.below(8) {
        let at = piece.range.start + random.below(piece.range.end - piece.range.start);
        mutant.at(at, 1).iter_mut().for_each(|byte| *byte ^= 1 << random.below(8));
    }
}

fn overwrite(donor: &Donor, mutant: &mut Mutant, random: &mut Random) {
    let piece = pick(donor, random);
    let at = piece.range.start + random.below(piece.range.end - piece.range.start);
    let length = 1 + random.below(6000);
    match random.below(3) {
        0 => mutant.at(at, length).fill(0),
        1 => mutant.at(at, length).fill(0xFF),
        _ => mutant.at(at, length).fill_with(|| random.next() as u8),
    }
}

/// Changes one number of a structure, and mostly makes its checksum fit again.
fn change_field(donor: &Donor, mutant: &mut Mutant, random: &mut Random) {
    let piece = pick(donor, random);
    let mut pieces = vec![piece];
    if matches!(piece.part, Part::Superblock(_)) && random.chance(70) {
        pieces = donor.pieces.iter().take(2).collect();
    }
    let (offset, bytes) = field(piece, random);
    let place = piece.range.start + offset;
    let present = number(mutant.at(place, bytes as u64));
    let value = interesting(present, donor, random).to_le_bytes();
    let is_resealed = random.chance(85);
    for piece in pieces {
        mutant.put(piece.range.start + offset, &value[..bytes]);
        if is_resealed {
            mutant.forge(piece, donor.geometry.drive_id);
        }
    }
}

/// Place of a number in a structure.
fn field(piece: &Piece, random: &mut Random) -> (u64, usize) {
    let length = piece.range.end - piece.range.start;
    let word = |random: &mut Random, start: u64, end: u64| {
        (start + 8 * random.below(((end - start) / 8).max(1)), 8)
    };
    match piece.part {
        Part::Superblock(_) => *random.pick(&SUPERBLOCK_FIELDS),
        Part::Header(_) => *random.pick(&HEADER_FIELDS),
        Part::Root if random.chance(30) => *random.pick(&HEADER_FIELDS),
        // The first words are counts, cursors and the lists' lengths.
        Part::Root if random.chance(30) => word(random, 64, length.min(400)),
        Part::Root => word(random, 64, length),
        Part::Footer(_) if random.chance(40) => {
            let (offset, bytes) = *random.pick(&HEADER_FIELDS);
            (length - 64 + offset, bytes)
        }
        Part::Footer(_) => word(random, 0, length.min(600)),
        Part::Table(_) => word(random, 0, length),
        Part::Node => word(random, 5, length),
        _ => (*random.pick(&[0, 0, 5, random.clone().below(length)]), 1),
    }
}

fn number(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// Values at which arithmetic goes wrong.
fn interesting(present: u64, donor: &Donor, random: &mut Random) -> u64 {
    let geometry = &donor.geometry;
    match random.below(16) {
        0 => 0,
        1 => u64::MAX,
        2 => present.wrapping_add(1),
        3 => present.wrapping_sub(1),
        4..7 => present ^ 1 << random.below(64),
        7 => random.next(),
        8 => random.below(300),
        9 => u64::from(u32::MAX) - random.below(8192),
        10 => random.below(geometry.segments + 2),
        11 => geometry.segment_bytes - random.below(8192),
        12 => 4096 * random.below(1 << 13),
        13 => random.below(1 << 40) | random.below(1 << 15) << 40 | random.below(8) << 55,
        14 => number(&donor.image[random.below(donor.image.len() as u64 - 8) as usize..][..8]),
        _ => random.pick(&donor.pieces).location,
    }
}

/// Puts something of another drive, of an earlier time or of another place where it does not
/// belong.
fn splice(donor: &Donor, others: &[Donor], mutant: &mut Mutant, random: &mut Random) {
    let source = match random.below(3) {
        0 => &random.pick(others).image,
        1 => &donor.older,
        _ => &donor.image,
    };
    let (from, length) = match random.below(4) {
        0 => {
            let segment = donor.geometry.segment_start(random.below(donor.geometry.segments));
            (segment, donor.geometry.segment_bytes)
        }
        1 => (random.below(source.len() as u64 / BLOCK) * BLOCK, BLOCK * (1 + random.below(16))),
        _ => {
            let piece = pick(donor, random);
            (piece.range.start, piece.range.end - piece.range.start)
        }
    };
    let end = (from + length).min(source.len() as u64);
    let to = match random.below(3) {
        0 => pick(donor, random).range.start,
        _ => from,
    };
    mutant.put(to, &source[from as usize..end as usize]);
}

fn resize(mutant: &mut Mutant, random: &mut Random) {
    let size = mutant.image.len() as u64;
    let new = match random.below(5) {
        0 => random.below(16) * BLOCK,
        1 => SEGMENTS_START + random.below(1 << 12) * BLOCK,
        2 => size.saturating_sub(BLOCK * (1 + random.below(200))),
        3 => size + BLOCK * random.below(200),
        // Not made of whole blocks.
        _ => size.saturating_sub(random.below(BLOCK)),
    };
    mutant.image.resize(new as usize, 0);
}

fn swap(mutant: &mut Mutant, random: &mut Random) {
    let length = *random.pick(&[BLOCK, BLOCK, 512 << 10]);
    let count = (mutant.image.len() as u64 / length).max(1);
    let [a, b] = [(); 2].map(|()| random.below(count) * length);
    let (first, second) = (mutant.at(a, length).to_vec(), mutant.at(b, length).to_vec());
    mutant.put(a, &second);
    mutant.put(b, &first);
}
