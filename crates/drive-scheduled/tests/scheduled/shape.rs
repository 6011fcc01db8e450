//! The subject of a seed: the drive, its hosts, and the faults.

use assay_drive::{BLOCK_BYTES, Cache, Codec, DriveOptions, Format, Policy};

use crate::common::model::Flavour;
use crate::common::random::Random;
use crate::media::Trouble;
use crate::places::Places;

pub const SEGMENT_BYTES: u64 = 512 << 10;

/// Blocks that are filled first at most: the rest of a large drive stays empty.
const FILLED_MOST: u64 = 5000;

#[derive(Debug, Clone)]
pub struct Shape {
    pub segments: u64,
    pub codec: Codec,
    pub units: bool,
    pub dictionary: bool,
    pub options: DriveOptions,
    pub hosts: u64,
    pub steps: u64,
    pub places: Places,
    /// Rate at which a host goes through one range after the other, in percent of its steps.
    pub sweeps: u64,
    /// Blocks that are written first.
    pub filled: u64,
    /// Compressibility of these blocks, and of later ones; `None`: all kinds.
    pub filled_flavour: Option<Flavour>,
    pub flavour: Option<Flavour>,
    /// Media command at which power goes.
    pub cut_at: Option<u64>,
    pub trouble: Option<Trouble>,
    pub rounds: u64,
    /// Whether threads give way around commands of the media.
    pub yields: bool,
}

impl Shape {
    pub fn new(random: &mut Random) -> Shape {
        let segments = match random.below(100) {
            0..80 => 24 + random.below(16),
            80..97 => 40 + random.below(250),
            97..99 => 300 + random.below(1000),
            _ => 8192,
        };
        let places = Places::draw(segments, random);
        // Rows that compress well where files did not: the map grows by much, what lies on media by
        // nothing.
        let grows = places.is_filled_in_part() && random.chance(60);
        let codec = match grows {
            true => Codec::Lz4,
            false => *random.pick(&[Codec::None, Codec::None, Codec::Lz4, Codec::Zstd]),
        };
        let (least, most) = places.fills;
        let fill = least + random.below(most - least + 1);
        let is_wide = places.is_wide();
        Shape {
            segments,
            codec,
            units: random.chance(40),
            dictionary: codec == Codec::Zstd && random.chance(30),
            options: options(random),
            hosts: 1 + random.below(3),
            steps: if is_wide { 10 + random.below(60) } else { 20 + random.below(120) },
            sweeps: match is_wide {
                true if grows => 50,
                true => *random.pick(&[1, 5, 20]),
                false => 1,
            },
            filled: (segments * SEGMENT_BYTES / BLOCK_BYTES * fill / 100).min(FILLED_MOST),
            filled_flavour: if grows { Some(Flavour::Hard) } else { flavour(random) },
            flavour: if grows { Some(Flavour::Easy) } else { flavour(random) },
            cut_at: random.chance(60).then(|| 1 + random.below(1500)),
            trouble: random.chance(10).then(|| Trouble::draw(random)),
            rounds: 1 + random.below(3),
            yields: random.chance(50),
            places,
        }
    }

    pub fn media_bytes(&self) -> u64 {
        (1 << 20) + BLOCK_BYTES + self.segments * SEGMENT_BYTES
    }

    pub fn format(&self) -> Format {
        Format {
            drive_id: 0x5C4E_D01E,
            logical_bytes: self.places.logical_bytes,
            codec: self.codec,
            units: self.units,
            dictionary: self.dictionary,
            segment_bytes: Some(SEGMENT_BYTES as u32),
        }
    }
}

fn flavour(random: &mut Random) -> Option<Flavour> {
    *random.pick(&[None, Some(Flavour::Hard), Some(Flavour::Easy)])
}

fn options(random: &mut Random) -> DriveOptions {
    DriveOptions {
        checkpoint_bytes: *random.pick(&[None, Some(200_000), Some(1 << 20), Some(u64::MAX)]),
        policy: *random.pick(&[Policy::CostBenefit, Policy::Greedy]),
        map_bytes: random.chance(30).then(|| 60_000 + random.below(500_000)),
        cache: if random.chance(10) { Cache::Writethrough } else { Cache::Volatile },
        discard_media: random.chance(30),
        read_ahead_bytes: *random.pick(&[0, 0, 64 << 10]),
        ..DriveOptions::default()
    }
}
