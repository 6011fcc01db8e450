//! Dictionaries that are lost: what needs them cannot be read, and never reads as something else;
//! no version comes twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Codec, Disk, DiskError, Drive, DriveOptions, Format};
use assay_testing::is_full;

use super::scarred::{Scar, Scarred};
use super::specimen::blocks_of;
use crate::common::anatomy::{Part, pieces};
use crate::common::random::Random;

const BLOCK: usize = BLOCK_BYTES as usize;
const SEGMENT_BYTES: u64 = 512 << 10;
const SEGMENTS: u64 = 64;

/// Blocks of each language: a dictionary learns from all of them.
const SPOKEN: u64 = 8192;

/// Blocks of each language that stay.
const KEPT: u64 = 160;

/// A page in a language of its own words: each dictionary knows one of them.
fn page(language: u64, block: u64) -> Vec<u8> {
    let mut random = Random::new(block << 8 ^ language);
    let mut bytes = Vec::with_capacity(BLOCK + 16);
    while bytes.len() < BLOCK {
        let word = Random::new(1000 * language + random.below(24)).next();
        bytes.extend(word.to_le_bytes());
        bytes.extend(word.rotate_left(17).to_le_bytes());
    }
    bytes.truncate(BLOCK);
    bytes
}

struct Scene {
    media: Arc<Scarred>,
    drive: Drive,
    /// The language of each block.
    spoken: BTreeMap<u64, u64>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    whole: u64,
    refused: BTreeMap<u64, u64>,
}

impl Scene {
    fn new() -> Scene {
        let bytes = (1 << 20) + BLOCK_BYTES + SEGMENTS * SEGMENT_BYTES;
        let media = Arc::new(Scarred::new(vec![0; bytes as usize].into()));
        let format = Format {
            drive_id: 0xD1C7_1000,
            logical_bytes: 1 << 30,
            codec: Codec::Zstd,
            units: false,
            dictionary: true,
            segment_bytes: Some(SEGMENT_BYTES as u32),
        };
        Drive::format(media.clone(), &format).unwrap();
        let drive = Drive::open(media.clone(), DriveOptions::default()).unwrap();
        Scene { media, drive, spoken: BTreeMap::new() }
    }

    fn speak(&mut self, language: u64, blocks: std::ops::Range<u64>) {
        for first in blocks.clone().step_by(64) {
            let run = first..(first + 64).min(blocks.end);
            let data: Vec<u8> = run.clone().flat_map(|block| page(language, block)).collect();
            self.drive.write(first * BLOCK_BYTES, &data, false).unwrap();
            self.spoken.extend(run.map(|block| (block, language)));
        }
    }

    /// Learns a language: a dictionary of it, and blocks that need that. The drive is opened for
    /// it, which then tries.
    fn learn(&mut self, language: u64) {
        let before = self.versions();
        self.speak(language, 1 << 16..(1 << 16) + SPOKEN);
        self.reopen();
        // The log goes on, or there is no maintenance.
        self.speak(language, 1 << 16..(1 << 16) + 64);
        let learnt = (0..1000).any(|_| {
            self.drive.maintain().unwrap();
            self.versions().len() > before.len()
        });
        assert!(learnt, "language {language} was not learnt");
        let kept = language * 1000..language * 1000 + KEPT;
        self.speak(language, kept);
        self.drive.flush().unwrap();
    }

    fn reopen(&mut self) {
        self.drive.close().unwrap();
        self.crash();
    }

    fn crash(&mut self) {
        self.drive = Drive::open(self.media.clone(), DriveOptions::default()).unwrap();
    }

    /// Versions of dictionaries that lie on media, whole or not.
    fn versions(&self) -> std::collections::BTreeSet<u64> {
        let all = pieces(&self.media.image());
        all.iter()
            .filter(|piece| piece.part == Part::Dictionary)
            .map(|piece| version(piece.key))
            .collect()
    }

    /// Takes every copy of a dictionary away, and its chunk's parity.
    fn destroy(&self, lost: u64) {
        let all = pieces(&self.media.image());
        let copies =
            all.iter().filter(|piece| piece.part == Part::Dictionary && version(piece.key) == lost);
        for copy in copies {
            self.media.scar(blocks_of(&copy.range).start + 1, Scar::Flipped(7));
            let parity =
                all.iter().find(|piece| piece.part == Part::Parity && piece.owner == copy.owner);
            self.media.scar(parity.unwrap().range.start / BLOCK_BYTES, Scar::Zeroed);
        }
    }

    /// Reads what stays of every language, each block of which is right or refused.
    fn look(&self) -> Seen {
        let mut seen = Seen::default();
        for (block, language) in &self.spoken {
            let mut data = vec![0; BLOCK];
            match self.drive.read(block * BLOCK_BYTES, &mut data) {
                Ok(()) => {
                    assert!(data == page(*language, *block), "block {block} reads wrong");
                    seen.whole += 1;
                }
                Err(DiskError::Corrupt { .. }) => {
                    *seen.refused.entry(block / 1000).or_default() += 1;
                }
                Err(other) => panic!("{other}"),
            }
        }
        seen
    }
}

fn version(key: u64) -> u64 {
    key & ((1 << 40) - 1)
}

/// Data under the lost dictionary are refused, and only those; later languages are learnt with a
/// new version.
#[test]
fn a_lost_dictionary_is_never_taken_for_another() {
    for lost in [1, 2] {
        for is_rebuilt in [false, true] {
            // Once: a rebuild without the newer of the two, which is the harder case.
            let is_hardest = is_rebuilt && lost == 2;
            if !is_full() && !is_hardest {
                continue;
            }
            let mut scene = Scene::new();
            scene.learn(1);
            scene.learn(2);
            assert_eq!(scene.look().refused, BTreeMap::new());
            assert_eq!(scene.versions().into_iter().collect::<Vec<_>>(), [1, 2]);
            scene.drive.close().unwrap();
            scene.destroy(lost);
            if is_rebuilt {
                scene.media.destroy_roots();
            }
            scene.crash();
            assert_eq!(scene.drive.status().recovery.rebuilt, is_rebuilt);
            // All that was written with it, and what was spoken last where that was with it.
            let seen = scene.look();
            assert_eq!(seen.refused.get(&lost), Some(&KEPT), "{lost}, {is_rebuilt}: {seen:?}");
            assert_eq!(seen.refused.get(&(3 - lost)), None, "{lost}, {is_rebuilt}: {seen:?}");
            let problems = scene.drive.status().problems;
            let told = format!("dictionary {lost} is damaged");
            assert!(problems.iter().any(|problem| problem.contains(&told)), "{problems:?}");

            scene.learn(3);
            let versions = scene.versions();
            assert_eq!(versions.last(), Some(&3), "{lost}, {is_rebuilt}: {versions:?}");
            for _ in 0..3 {
                let seen = scene.look();
                assert_eq!(seen.refused.get(&lost), Some(&KEPT));
                assert_eq!(seen.refused.len(), 1, "{lost}, {is_rebuilt}: {seen:?}");
                scene.reopen();
            }
            // Newly written data are read.
            scene.speak(lost, lost * 1000..lost * 1000 + KEPT);
            scene.drive.flush().unwrap();
            assert_eq!(scene.look().refused, BTreeMap::new());
            scene.crash();
            assert_eq!(scene.look().refused, BTreeMap::new());
        }
    }
}

/// The control: another language in its place is noticed.
#[test]
fn a_page_in_another_language_is_noticed() {
    let mut scene = Scene::new();
    scene.speak(1, 0..8);
    scene.look();
    scene.spoken.insert(3, 2);
    let look = std::panic::AssertUnwindSafe(|| scene.look());
    assert!(std::panic::catch_unwind(look).is_err());
}
