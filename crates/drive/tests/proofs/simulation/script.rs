//! One seed: a drive, a host that does this and that, and power cuts.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_drive::{
    BLOCK_BYTES, Cache, Codec, Counts, Disk, DiskError, Drive, DriveOptions, Format, Policy, Rest,
    State,
};

use crate::common::anatomy::{Part, Piece, pieces};
use crate::common::media::{Fate, Fault, SimulatedMedia};
use crate::common::model::{Model, content_of};
use crate::common::random::Random;

/// Segments of the smallest kind, few of them: collection and checkpoints happen all the time.
pub const SEGMENT_BYTES: u32 = 512 << 10;

/// A fault of the drive outside the script, to show that the checker notices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sabotage {
    pub tear: bool,
    pub lying_flush: bool,
}

pub fn media_bytes(segments: u64) -> u64 {
    (1 << 20) + 4096 + segments * u64::from(SEGMENT_BYTES)
}

pub fn format(codec: Codec, units: bool) -> Format {
    Format {
        drive_id: 0x00D5_1CE5,
        logical_bytes: 3 << 30,
        codec,
        units,
        dictionary: false,
        segment_bytes: Some(SEGMENT_BYTES),
    }
}

/// Ranges that the host writes: small ones that meet the edges of leaves and directories.
const RANGES: [(u64, u64); 5] =
    [(0, 200), (480, 100), (262_100, 90), (500_000, 64), (FILL_START, FILL_BLOCKS)];

/// First block of the range that is filled first, with up to more than the media holds.
const FILL_START: u64 = 1000;
const FILL_BLOCKS: u64 = 4000;

struct Run {
    random: Random,
    media: Arc<SimulatedMedia>,
    drive: Drive,
    options: DriveOptions,
    model: Model,
    sabotage: Sabotage,
    coverage: Coverage,
}

/// Counts of rare events.
#[derive(Debug, Clone, Copy, Default)]
pub struct Coverage {
    pub gc_segments: u64,
    pub checkpoints: u64,
    pub stalls: u64,
    pub refused: u64,
    pub replayed: u64,
    pub torn: u64,
    pub rebuilt: u64,
    /// Rebuilds for a damaged node.
    pub damaged: u64,
}

impl Coverage {
    pub fn add(mut self, other: Coverage) -> Coverage {
        self.gc_segments += other.gc_segments;
        self.checkpoints += other.checkpoints;
        self.stalls += other.stalls;
        self.refused += other.refused;
        self.replayed += other.replayed;
        self.torn += other.torn;
        self.rebuilt += other.rebuilt;
        self.damaged += other.damaged;
        self
    }
}

/// Runs one seed; says what happened, or what went wrong.
pub fn run(seed: u64, sabotage: Sabotage) -> Result<Coverage, String> {
    let mut random = Random::new(seed);
    let codec = *random.pick(&[
        Codec::None,
        Codec::None,
        Codec::Lz4,
        Codec::Lz4,
        Codec::Zstd,
        Codec::Deflate,
    ]);
    let units = random.chance(40);
    let media = Arc::new(SimulatedMedia::new(media_bytes(34 + random.below(8))));
    Drive::format(media.clone(), &format(codec, units)).map_err(|error| error.to_string())?;
    let options = DriveOptions {
        checkpoint_bytes: Some(100_000 << random.below(6)),
        policy: *random.pick(&[Policy::CostBenefit, Policy::Greedy]),
        map_bytes: random.chance(30).then_some(3 * 4200),
        cache: if random.chance(10) { Cache::Writethrough } else { Cache::Volatile },
        discard_media: random.chance(20),
        read_ahead_bytes: *random.pick(&[0, 0, 24 << 10, 256 << 10]),
        ..DriveOptions::default()
    };
    let drive = open(&media, &options, sabotage)?;
    let mut run = Run {
        random,
        media,
        drive,
        options,
        model: Model::new(),
        sabotage,
        coverage: Coverage::default(),
    };
    if run.random.chance(40) {
        run.fill()?;
    }
    for _ in 0..1 + run.random.below(4) {
        let before = run.drive.status().counts;
        run.live()?;
        run.note_coverage(before);
        run.crash()?;
    }
    Ok(run.coverage)
}

fn open(
    media: &Arc<SimulatedMedia>,
    options: &DriveOptions,
    sabotage: Sabotage,
) -> Result<Drive, String> {
    if sabotage.lying_flush {
        media.inject(Fault::LyingFlush);
    }
    let drive = Drive::open(media.clone(), options.clone());
    let drive = drive.map_err(|error| format!("it cannot be opened: {error}"))?;
    // A power cut may tear one superblock; that is told, and is no fault, as is a rebuild after the
    // script's own.
    let is_expected = |problem: &&String| {
        problem.contains("superblock") || problem.contains("rebuilt from the segments")
    };
    match drive.status().problems.iter().find(|problem| !is_expected(problem)) {
        Some(problem) => Err(format!("it opened with a problem: {problem}")),
        None => Ok(drive),
    }
}

/// Whether the drive says that a block may hold what was there before it was discarded.
fn may_be_old(problems: &[String], block: u64) -> bool {
    let told = problems.iter().filter(|problem| problem.contains("may hold old data"));
    told.into_iter().any(|problem| {
        let bytes: Vec<u64> = problem.split(' ').filter_map(|word| word.parse().ok()).collect();
        (bytes[0]..bytes[1]).contains(&(block * BLOCK_BYTES))
    })
}

impl Run {
    /// Fills the drive, up to where it refuses more: from here on room must be made for whatever is
    /// written.
    fn fill(&mut self) -> Result<(), String> {
        let blocks = self.random.below(FILL_BLOCKS);
        for first in (0..blocks).step_by(64) {
            let data = self.model.write(FILL_START + first, 64);
            match self.drive.write((FILL_START + first) * BLOCK_BYTES, &data, false) {
                Ok(()) => {}
                Err(DiskError::Full) => {
                    self.model.take_back();
                    return Ok(());
                }
                Err(error) => return Err(format!("filling it failed: {error}")),
            }
        }
        Ok(())
    }

    /// The host at work, until it has had enough or power goes.
    fn live(&mut self) -> Result<(), String> {
        if self.random.chance(50) {
            let command = 1 + self.random.below(200);
            self.media.inject(Fault::PowerCutAt(command));
        }
        let most = 1 << (2 + self.random.below(7));
        let steps = 1 + self.random.below(most);
        let hot = *self.random.pick(&RANGES);
        for _ in 0..steps {
            let result = self.step(hot)?;
            if self.media.is_off() {
                return Ok(());
            }
            match result {
                Ok(()) | Err(DiskError::Full) => {}
                Err(error) => return Err(format!("a command failed: {error}")),
            }
        }
        Ok(())
    }

    /// One command. The outer error is a broken guarantee, the inner one what the drive answered.
    fn step(&mut self, hot: (u64, u64)) -> Result<assay_drive::Result<()>, String> {
        let (start, length) = if self.random.chance(60) { hot } else { *self.random.pick(&RANGES) };
        let first = start + self.random.below(length);
        let most = *self.random.pick(&[1, 4, 4, 4, 16, 64]);
        let mut blocks = 1 + self.random.below(most);
        let mut first = first;
        if self.random.chance(50) {
            first &= !3;
            blocks = blocks.next_multiple_of(4).min(64);
        }
        match self.random.below(100) {
            0..55 => Ok(self.write(first, blocks)),
            55..65 => Ok(self.flush()),
            65..72 => Ok(self.discard(first, blocks)),
            72..82 => self.check(first..first + blocks),
            82..97 => Ok(self.maintain()),
            _ => self.reopen(),
        }
    }

    fn write(&mut self, first: u64, blocks: u64) -> assay_drive::Result<()> {
        let force = self.random.chance(15);
        let data = self.model.write(first, blocks);
        let result = if self.sabotage.tear {
            crate::common::torn::write_torn(&self.drive, first, &data, force)
        } else {
            self.drive.write(first * BLOCK_BYTES, &data, force)
        };
        match &result {
            Ok(()) if force || self.options.cache == Cache::Writethrough => self.model.flushed(),
            Err(DiskError::Full) => self.model.take_back(),
            _ => {}
        }
        result
    }

    fn flush(&mut self) -> assay_drive::Result<()> {
        let result = self.drive.flush();
        if result.is_ok() {
            self.model.flushed();
        }
        result
    }

    fn discard(&mut self, first: u64, blocks: u64) -> assay_drive::Result<()> {
        self.model.discard(first, blocks);
        self.drive.discard(first * BLOCK_BYTES, blocks * BLOCK_BYTES)
    }

    fn check(&mut self, blocks: std::ops::Range<u64>) -> Result<assay_drive::Result<()>, String> {
        let checked = self.model.check_now(&self.drive, blocks);
        if self.media.is_off() { Ok(Ok(())) } else { checked.map(Ok) }
    }

    fn maintain(&mut self) -> assay_drive::Result<()> {
        let most = self.random.below(6);
        for _ in 0..most {
            if self.drive.maintain()? == Rest::Idle && self.random.chance(50) {
                break;
            }
        }
        Ok(())
    }

    /// Closes and opens, as when it is detached and attached.
    fn reopen(&mut self) -> Result<assay_drive::Result<()>, String> {
        if let Err(error) = self.drive.close() {
            return Ok(Err(error));
        }
        self.model.flushed();
        self.drive = match open(&self.media, &self.options, self.sabotage) {
            Ok(drive) => drive,
            Err(_) if self.media.is_off() => return Ok(Ok(())),
            Err(problem) => return Err(problem),
        };
        Ok(Ok(()))
    }

    /// Cuts the power, opens again and checks the contract; sometimes power goes again while it
    /// opens.
    fn crash(&mut self) -> Result<(), String> {
        let mood = self.random.below(4);
        let random = &mut self.random;
        let mut cut = |media: &SimulatedMedia| {
            media.after_power_cut(|_| match mood {
                0 => Fate::Lost,
                1 => Fate::Whole,
                2 if random.chance(50) => Fate::Whole,
                2 => Fate::Lost,
                _ => match random.below(4) {
                    0 => Fate::Lost,
                    1 => Fate::Whole,
                    _ => Fate::Torn(random.next()),
                },
            })
        };
        let mut media = Arc::new(cut(&self.media));
        let again = self.random.chance(30).then(|| 1 + self.random.below(40));
        if let Some(command) = again {
            media.inject(Fault::PowerCutAt(command));
            let _ = Drive::open(media.clone(), self.options.clone());
            let random = &mut self.random;
            media = Arc::new(
                media.after_power_cut(|_| if random.chance(50) { Fate::Whole } else { Fate::Lost }),
            );
        }
        if self.random.chance(20) && self.sabotage == Sabotage::default() {
            self.damage_a_node(&media)?;
        }
        let destroy = self.random.chance(10);
        if destroy {
            crate::common::roots::destroy_roots(&media);
        }
        self.drive = open(&media, &self.options, self.sabotage)?;
        self.media = media;
        let rebuilt = self.drive.status().recovery.rebuilt;
        if destroy != rebuilt {
            return Err(format!("roots destroyed: {destroy}, map rebuilt: {rebuilt}"));
        }
        self.coverage.rebuilt += u64::from(rebuilt);
        let checked = self.model.check_prefix(&self.drive);
        checked.map_err(|problem| format!("rebuilt {rebuilt}: {problem}"))?;
        let recovery = self.drive.status().recovery;
        self.coverage.replayed += recovery.chunks;
        self.coverage.torn += recovery.torn_chunks;
        self.check_books()
    }

    /// Opens a copy with one flipped bit in one of the map's newest nodes: everything flushed is
    /// there, but what is said to be lost.
    fn damage_a_node(&mut self, media: &SimulatedMedia) -> Result<(), String> {
        let mut nodes = pieces(&media.image());
        nodes.retain(|piece| piece.part == Part::Node);
        nodes.sort_unstable_by_key(|node| std::cmp::Reverse(node.seq));
        nodes.truncate(8);
        if nodes.is_empty() {
            return Ok(());
        }
        let node = self.random.pick(&nodes).clone();
        let copy = media.copy();
        let bits = 8 * (node.range.end - node.range.start);
        copy.flip(8 * node.range.start + self.random.below(bits));
        if self.random.chance(70) {
            // Or parity makes it whole.
            let all = pieces(&media.image());
            let parity = |piece: &&Piece| piece.part == Part::Parity && piece.owner == node.owner;
            copy.wipe(all.iter().find(parity).unwrap().range.start / BLOCK_BYTES);
        }
        let about =
            |problem| format!("with a damaged node at byte {}: {problem}", node.range.start);
        let drive = Drive::open(Arc::new(copy), self.options.clone());
        let drive = drive.map_err(|error| about(error.to_string()))?;
        let status = drive.status();
        if status.state == State::ReadOnly {
            return Err(about(format!("it is read-only: {status:?}")));
        }
        let mut found = BTreeMap::new();
        for block in self.model.touched() {
            let mut data = [1; BLOCK_BYTES as usize];
            let is_told = may_be_old(&status.problems, block) && self.model.was_discarded(block);
            match drive.read(block * BLOCK_BYTES, &mut data) {
                Ok(()) if is_told => {}
                Ok(()) => drop(found.insert(block, content_of(block, &data).map_err(about)?)),
                Err(DiskError::Corrupt { .. }) if !status.recovery.rebuilt => {}
                Err(error) => return Err(about(format!("block {block}: {error}"))),
            }
        }
        let prefixes = self.model.prefixes(&found, self.model.durable);
        prefixes.map_err(|(block, _)| about(format!("block {block} is not what it was")))?;
        self.coverage.damaged += u64::from(status.recovery.rebuilt);
        Ok(())
    }

    /// Everything can be read, and each segment holds as much as it is booked with.
    fn check_books(&self) -> Result<(), String> {
        let check = self.drive.check(&mut |_, _| {}).map_err(|error| error.to_string())?;
        // A segment that was open when the map was rebuilt never gets a footer.
        let rebuilt = self.coverage.rebuilt > 0;
        let is_expected = |what: &str| rebuilt && what.starts_with("the footer of");
        match check.damages.iter().find(|damage| !is_expected(&damage.what)) {
            Some(damage) => Err(format!("the check finds: {}", damage.what)),
            None => Ok(()),
        }
    }

    fn note_coverage(&mut self, before: Counts) {
        let counts = self.drive.status().counts;
        self.coverage.gc_segments += counts.gc_segments - before.gc_segments;
        self.coverage.checkpoints += counts.checkpoints - before.checkpoints;
        self.coverage.stalls += counts.gc_stalls - before.gc_stalls;
        self.coverage.refused += counts.refused_writes - before.refused_writes;
    }
}
