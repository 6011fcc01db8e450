//! The places at which the hosts of a seed write.

use crate::common::random::Random;

/// Blocks that a leaf of the map, and a directory, is for.
const LEAF: u64 = 512;
const DIRECTORY: u64 = 512 * LEAF;

/// Blocks that lie by themselves in their leaf, at most.
pub const FEW: u64 = 8;

/// Blocks in a directory, likewise.
const FEW_IN_DIRECTORY: u64 = 3;

/// Segments that are not for data in a drive as small as most are here, and what is in one, of
/// blocks that do not compress and of leaves with what is kept for their next version.
const RESERVE: u64 = 16;
const BLOCKS_IN_SEGMENT: u64 = 112;
const LEAVES_IN_SEGMENT: u64 = 60;

/// No more leaves than that: what they show, fewer do as well.
const LEAVES_MOST: u64 = 1600;

/// Most directories, so that the smallest drive can have them: each is for a GiB.
const DIRECTORIES_MOST: usize = 700;
const LOGICAL_BYTES_WIDE: u64 = 720 << 30;

#[derive(Debug, Clone)]
pub struct Places {
    /// First block, blocks.
    pub ranges: Vec<(u64, u64)>,
    /// Number of ranges that are filled first.
    pub filled: usize,
    /// Least and most amount written then, in percent of the drive's size.
    pub fills: (u64, u64),
    /// The range that hosts write most, and its share of writes in percent.
    pub hot: (u64, u64),
    pub heat: u64,
    pub logical_bytes: u64,
}

impl Places {
    pub fn draw(segments: u64, random: &mut Random) -> Places {
        match random.below(14) {
            0..3 => Places::files(random),
            3..5 => Places::hot_files(random),
            5..7 => Places::rows(segments, LEAF, random),
            7..9 => Places::rows(segments, DIRECTORY, random),
            9..11 => Places::rows_before_files(segments, random),
            _ => Places::rows_after_files(segments, random),
        }
    }

    fn new(ranges: Vec<(u64, u64)>) -> Places {
        let (filled, hot) = (ranges.len(), ranges[0]);
        Places { ranges, filled, fills: (0, 110), hot, heat: 0, logical_bytes: 4 << 30 }
    }

    /// Files in some places.
    fn files(random: &mut Random) -> Places {
        let last = (1500, 200 + random.below(3000));
        Places::new(vec![(0, 600), (500, 700), (262_100, 90), last])
    }

    /// A few of them in hot use: what is read is soon written elsewhere, and its place used again.
    fn hot_files(random: &mut Random) -> Places {
        let ranges = vec![(0, 40 + random.below(200)), (2000, 200 + random.below(3000))];
        Places { heat: 90, fills: (60, 150), ..Places::new(ranges) }
    }

    /// Some blocks in each of many leaves, or directories: the map is much of what lies on media.
    fn rows(segments: u64, apart: u64, random: &mut Random) -> Places {
        let share = 30 + random.below(100);
        let mut ranges = leaves(room(segments) * share / 100, apart, random);
        if apart == DIRECTORY {
            ranges.truncate(DIRECTORIES_MOST);
        }
        let logical_bytes = if apart == LEAF { 4 << 30 } else { LOGICAL_BYTES_WIDE };
        Places { logical_bytes, ..Places::new(ranges) }
    }

    /// Rows, then files in all remaining room.
    fn rows_before_files(segments: u64, random: &mut Random) -> Places {
        let share = 20 + random.below(60);
        let mut ranges = leaves(room(segments) * share / 100, LEAF, random);
        let files = (1 << 19, 600 + random.below(3000));
        ranges.push(files);
        let heat = random.below(50);
        Places { hot: files, heat, fills: (100, 130), ..Places::new(ranges) }
    }

    /// Rows after files that had been written over and over.
    fn rows_after_files(segments: u64, random: &mut Random) -> Places {
        let share = 30 + random.below(50);
        let files = (0, (room(segments) * BLOCKS_IN_SEGMENT * share / 100).min(3000));
        let mut ranges = vec![files];
        // Behind the leaves of the files.
        ranges.extend(leaves(room(segments), LEAF, random).split_off(6));
        Places { filled: 1, heat: random.below(60), fills: (100, 150), ..Places::new(ranges) }
    }

    /// Whether some ranges are empty when the hosts begin.
    pub fn is_filled_in_part(&self) -> bool {
        self.filled < self.ranges.len()
    }

    /// Whether there is a leaf for every few blocks.
    pub fn is_wide(&self) -> bool {
        self.ranges.len() > 4
    }
}

/// Room for data and for leaves, in segments.
fn room(segments: u64) -> u64 {
    segments.saturating_sub(RESERVE)
}

/// Some blocks in each leaf, one every `apart` blocks: as many as fill so many segments.
fn leaves(segments: u64, apart: u64, random: &mut Random) -> Vec<(u64, u64)> {
    // If directories fill the media, there are few blocks next to them.
    let blocks = 1 + random.below(if apart == LEAF { FEW } else { FEW_IN_DIRECTORY });
    // The map of directories costs as much again.
    let nodes = if apart == LEAF { 1 } else { 2 };
    let blocks_in_all = segments * BLOCKS_IN_SEGMENT * LEAVES_IN_SEGMENT;
    let leaves = blocks_in_all / (blocks * LEAVES_IN_SEGMENT + nodes * BLOCKS_IN_SEGMENT);
    (0..leaves.clamp(20, LEAVES_MOST))
        .map(|leaf| (leaf * apart + random.below(480), blocks))
        .collect()
}
