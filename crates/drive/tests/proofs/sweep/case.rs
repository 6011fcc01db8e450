//! One case: a drive with bad places is opened, worked with, crashed, opened, worked with, closed
//! and opened again.
//!
//! The law: no read ever gives what was not the last thing written; the drive never stops and is
//! not read-only; no write, discard or flush fails; a read fails only where the record lay in a bad
//! place, or lies in one that stays bad whatever is written; and what cannot be read is in the
//! check, and makes the drive call itself damaged.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Disk, DiskError, Drive, DriveOptions, Rest, State};

use super::scarred::{Scar, Scarred};
use super::specimen::{Life, Specimen};
use crate::common::model::{BLOCK, Content, Model, content_of, runs};
use crate::common::random::Random;

/// The permitted consequences of damage.
#[derive(Debug, Clone, Default)]
pub struct Allowance {
    /// Blocks that may not be readable.
    pub damaged: BTreeSet<u64>,
    /// Blocks that may be lost with their part of the map.
    pub lost: Vec<Range<u64>>,
    /// Commands that must be there: all, but where the end of the log cannot be told from a torn
    /// one.
    pub shortest: u64,
    /// Blocks that may be unreadable in an earlier state, if that is permitted.
    pub damaged_when_shorter: BTreeSet<u64>,
    pub may_be_read_only: bool,
    pub may_be_refused: bool,
    /// Whether so many segments hold what cannot be read that there may be no room left.
    pub may_fill: bool,
}

/// The outcome of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Everything is there, and nothing is said.
    Unnoticed,
    /// Everything is there, and something is said to be wrong.
    Told,
    /// The last flush is not there, as if power had gone before it.
    Shorter,
    /// Blocks cannot be read, and say so.
    Damaged,
    /// A part of the map is lost.
    Lost,
    ReadOnly,
    Refused,
}

/// The result of one case.
#[derive(Debug, Clone, Copy)]
pub struct Ran {
    pub outcome: Outcome,
    /// Blocks that could not be read when it was first opened.
    pub damaged: u64,
    pub gc_segments: u64,
    pub restored: u64,
    pub quarantined: u64,
    pub is_rebuilt: bool,
}

/// Results of reading blocks.
#[derive(Default)]
pub struct Seen {
    pub contents: BTreeMap<u64, Content>,
    /// Blocks that could not be read, and whether the media failed just then.
    pub failed: BTreeMap<u64, bool>,
}

thread_local! {
    /// Checksums of blocks that were looked at in full: what a command writes to a block is always
    /// the same.
    static KNOWN: RefCell<HashMap<(u64, u64), u32>> = RefCell::default();
}

/// Contents of these bytes, if they are whole; cached, because most are read many times.
fn known_content_of(block: u64, bytes: &[u8]) -> Result<Content, String> {
    let command = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
    let sum = crc32c::crc32c(bytes);
    let known = KNOWN.with_borrow(|known| known.get(&(block, command)) == Some(&sum));
    if known {
        return Ok(Content::Written(command));
    }
    let content = content_of(block, bytes)?;
    if content != Content::Zero {
        KNOWN.with_borrow_mut(|known| known.insert((block, command), sum));
    }
    Ok(content)
}

/// Reads blocks, and of those that cannot be read together each by itself.
pub fn look(disk: &dyn Disk, media: &Scarred, blocks: &[u64]) -> Result<Seen, String> {
    let mut seen = Seen::default();
    for run in runs(blocks) {
        for first in run.clone().step_by(64) {
            let part = first..(first + 64).min(run.end);
            let mut data = vec![1; (part.end - part.start) as usize * BLOCK];
            match disk.read(part.start * BLOCK_BYTES, &mut data) {
                Ok(()) => {
                    for (block, bytes) in part.zip(data.chunks(BLOCK)) {
                        seen.contents.insert(block, known_content_of(block, bytes)?);
                    }
                }
                Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => {
                    part.into_iter()
                        .try_for_each(|block| look_at(disk, media, block, &mut seen))?;
                }
                Err(other) => return Err(format!("reading {part:?}: {other}")),
            }
        }
    }
    Ok(seen)
}

fn look_at(disk: &dyn Disk, media: &Scarred, block: u64, seen: &mut Seen) -> Result<(), String> {
    let mut data = [1; BLOCK];
    let strikes = media.strikes();
    match disk.read(block * BLOCK_BYTES, &mut data) {
        Ok(()) => {
            seen.contents.insert(block, content_of(block, &data)?);
        }
        Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => {
            seen.failed.insert(block, media.strikes() > strikes);
        }
        Err(other) => return Err(format!("reading block {block}: {other}")),
    }
    Ok(())
}

/// The host of a damaged drive.
pub struct Host<'a> {
    pub specimen: &'a Specimen,
    pub media: Arc<Scarred>,
    pub drive: Drive,
    pub model: Model,
    pub random: Random,
    pub options: DriveOptions,
    /// Blocks that need not be readable before they are written anew.
    pub may_fail: BTreeSet<u64>,
    /// Blocks that may hold anything they ever held, and are said to.
    pub wild: BTreeSet<u64>,
    /// Whether the media stays unreadable somewhere, whatever is written there.
    pub is_dead: bool,
    /// Whether writes may be refused for want of room.
    pub may_fill: bool,
}

impl Host<'_> {
    /// Holds everything that can be read to the model; gives what cannot.
    pub fn check(&self, disk: &dyn Disk) -> Result<Seen, String> {
        let seen = look(disk, &self.media, &self.specimen.blocks)?;
        self.judge(&seen)?;
        Ok(seen)
    }

    fn judge(&self, seen: &Seen) -> Result<(), String> {
        for (block, content) in &seen.contents {
            let expected = self.model.now(*block);
            if *content != expected && !self.wild.contains(block) {
                return Err(format!(
                    "block {block} reads {content:?}, but {expected:?} was written"
                ));
            }
        }
        for (block, is_struck) in &seen.failed {
            let is_excused = self.may_fail.contains(block) || (self.is_dead && *is_struck);
            if !is_excused {
                return Err(format!("block {block} cannot be read, and lay in no bad place"));
            }
        }
        Ok(())
    }

    /// The check lists exactly the unreadable data, and its accounts balance.
    pub fn compare_check(&self, seen: &Seen) -> Result<(), String> {
        let check = self.drive.check(&mut |_, _| {}).map_err(|error| format!("check: {error}"))?;
        let mut named = BTreeSet::new();
        for damage in &check.damages {
            if damage.what.contains("is booked with") {
                return Err(format!("the books do not balance: {}", damage.what));
            }
            let Some(offset) = damage.offset else { continue };
            let blocks = offset / BLOCK_BYTES..(offset + damage.bytes) / BLOCK_BYTES;
            let of_map = damage.what.contains("map");
            let unknown = |block: &u64| {
                !of_map && !seen.failed.contains_key(block) && self.specimen.has(*block)
            };
            if let Some(block) = blocks.clone().find(unknown) {
                return Err(format!(
                    "the check names block {block}, which can be read: {damage:?}"
                ));
            }
            named.extend(seen.failed.range(blocks).map(|(block, _)| *block));
        }
        if let Some(block) = seen.failed.keys().find(|block| !named.contains(block)) {
            return Err(format!(
                "block {block} cannot be read, and the check is silent: {check:?}"
            ));
        }
        let status = self.drive.status();
        if !seen.failed.is_empty() && status.state != State::Damaged {
            return Err(format!("blocks cannot be read, and it is {:?}", status.state));
        }
        Ok(())
    }

    /// Runs commands of a host, and the background's work.
    pub fn work(&mut self, commands: u64) -> Result<(), String> {
        for number in 0..commands {
            let (first, blocks) = Life::somewhere(&mut self.random);
            let about = |what: &str, error: DiskError| {
                format!("{what} of {blocks} blocks at {first} fails: {error}")
            };
            let place = first * BLOCK_BYTES;
            match self.random.below(20) {
                0 => {
                    self.model.discard(first, blocks);
                    self.drive
                        .discard(place, blocks * BLOCK_BYTES)
                        .map_err(|error| about("a discard", error))?;
                    self.forget(first..first + blocks);
                }
                1 | 2 => self.drive.flush().map_err(|error| about("a flush", error))?,
                3 | 4 => {
                    let all: Vec<_> = (first..first + blocks).collect();
                    self.judge(&look(&self.drive, &self.media, &all)?)?;
                }
                _ => {
                    let data = self.model.write(first, blocks);
                    match self.drive.write(place, &data, false) {
                        Ok(()) => self.forget(first..first + blocks),
                        Err(DiskError::Full) if self.may_fill => self.model.take_back(),
                        Err(error) => {
                            let error = about("a write", error);
                            return Err(format!("{error}: {:?}", self.drive.status()));
                        }
                    }
                }
            }
            if number % 2 == 0 {
                self.drive.maintain().map_err(|error| about("maintenance", error))?;
            }
        }
        Ok(())
    }

    fn forget(&mut self, blocks: Range<u64>) {
        for block in blocks {
            self.may_fail.remove(&block);
            self.wild.remove(&block);
        }
    }

    /// The host rests: what was flushed is told on media to be durable.
    pub fn rest(&mut self) -> Result<(), String> {
        self.drive.flush().map_err(|error| format!("a flush fails: {error}"))?;
        let (mut idle, mut steps) = (0, 0);
        while idle < 3 {
            let rest = self.drive.maintain();
            let rest = rest.map_err(|error| format!("maintenance fails: {error}"))?;
            (idle, steps) = (idle + u64::from(rest == Rest::Idle), steps + 1);
            if steps > 1000 {
                return Err("maintenance never comes to rest".into());
            }
        }
        Ok(())
    }

    /// Lets go of the drive, as a power cut does, and opens it again.
    pub fn reopen(&mut self) -> Result<(), String> {
        let opened = Drive::open(self.media.clone(), self.options.clone());
        self.drive = opened.map_err(|error| format!("it does not open again: {error}"))?;
        self.works()
    }

    /// A rebuild says what may hold old data: of what was lost with the map, and not written since.
    fn admit_doubt(&mut self, allowance: &Allowance) {
        if self.tells_doubt() {
            let is_lost =
                |block: &&u64| allowance.lost.iter().any(|blocks| blocks.contains(*block));
            self.wild.extend(self.may_fail.iter().filter(is_lost));
        }
    }

    fn tells_doubt(&self) -> bool {
        let problems = self.drive.status().problems;
        problems.iter().any(|problem| problem.contains("may hold old data"))
    }

    pub fn works(&self) -> Result<(), String> {
        let status = self.drive.status();
        if matches!(status.state, State::ReadOnly | State::Stopped) {
            return Err(format!("it is {:?}: {:?}", status.state, status.problems));
        }
        let is_short =
            |problem: &&String| problem.contains("segments that checkpoints need are free");
        match status.problems.iter().find(is_short) {
            Some(problem) => Err(problem.clone()),
            None => Ok(()),
        }
    }
}

/// Memory for the map with which parts of it are read again and again.
const SMALL_MAP_BYTES: u64 = 48 << 10;

/// Runs a case and holds it to the law.
pub fn run(
    specimen: &Specimen,
    scars: &[(u64, Scar)],
    allowance: &Allowance,
    seed: u64,
) -> Result<Ran, String> {
    let media = Arc::new(Scarred::new(specimen.image.clone()));
    scars.iter().for_each(|(block, scar)| media.scar(*block, *scar));
    let options = DriveOptions {
        checkpoint_bytes: Some(if seed.is_multiple_of(3) { u64::MAX } else { 1 << 20 }),
        map_bytes: seed.is_multiple_of(2).then_some(SMALL_MAP_BYTES),
        ..DriveOptions::default()
    };
    let ran = |outcome| Ran {
        outcome,
        damaged: 0,
        gc_segments: 0,
        restored: 0,
        quarantined: 0,
        is_rebuilt: false,
    };
    let drive = match Drive::open(media.clone(), options.clone()) {
        Ok(drive) => drive,
        Err(_) if allowance.may_be_refused => return Ok(ran(Outcome::Refused)),
        Err(error) => return Err(format!("it does not open: {error}")),
    };
    let is_dead = scars.iter().any(|(_, scar)| *scar == Scar::Dead);
    let mut host = Host {
        specimen,
        media,
        drive,
        model: specimen.model.clone(),
        random: Random::new(seed),
        options,
        may_fail: allowance.damaged.clone(),
        wild: BTreeSet::new(),
        is_dead,
        may_fill: allowance.may_fill,
    };
    let is_read_only = host.drive.status().state == State::ReadOnly;
    if is_read_only {
        return read_only(&host, allowance).map(|()| ran(Outcome::ReadOnly));
    }
    host.works()?;
    let (outcome, damaged) = host.first_look(allowance)?;
    let is_rebuilt = host.drive.status().recovery.rebuilt;
    let gc_segments = host.drive.status().counts.gc_segments;
    host.work(24)?;
    host.rest()?;
    host.works()?;
    host.reopen().map_err(|problem| format!("after a crash: {problem}"))?;
    host.admit_doubt(allowance);
    host.check(&host.drive).map_err(|problem| {
        format!("after a crash: {problem}: {:?}", host.drive.status().problems)
    })?;
    host.work(16)?;
    host.drive.close().map_err(|error| format!("closing fails: {error}"))?;
    host.works()?;
    host.reopen()?;
    let seen = host.check(&host.drive).map_err(|problem| format!("at last: {problem}"))?;
    host.compare_check(&seen).map_err(|problem| format!("at last: {problem}"))?;
    let status = host.drive.status();
    Ok(Ran {
        outcome,
        damaged,
        gc_segments: status.counts.gc_segments.saturating_sub(gc_segments),
        restored: status.counts.restored_records,
        quarantined: status.segments_damaged,
        is_rebuilt,
    })
}

impl Host<'_> {
    /// State of a drive that was opened with its damage; the model continues from there.
    fn first_look(&mut self, allowance: &Allowance) -> Result<(Outcome, u64), String> {
        let mut seen = look(&self.drive, &self.media, &self.specimen.blocks)?;
        let status = self.drive.status();
        let is_lost = |block: &u64| allowance.lost.iter().any(|blocks| blocks.contains(block));
        let told = self.tells_doubt();
        if told {
            self.wild = seen.contents.keys().copied().filter(is_lost).collect();
            seen.contents.retain(|block, _| !is_lost(block));
        }
        let all = self.model.commands;
        let prefix = self.model.prefixes(&seen.contents, allowance.shortest);
        let prefix = prefix.map(|possible| possible[possible.len() - 1]);
        let prefix = prefix.map_err(|(block, _)| {
            format!(
                "flushed data is lost, and nothing said: block {block} reads {:?}, \
                 but {:?} was written; {:?}",
                seen.contents[&block],
                self.model.now(block),
                status.problems
            )
        })?;
        let is_shorter = prefix < all;
        if is_shorter {
            self.model.cut(prefix);
        }
        let may_fail = |block: &u64| {
            allowance.damaged.contains(block)
                || is_lost(block)
                || (is_shorter && allowance.damaged_when_shorter.contains(block))
        };
        if let Some(block) = seen.failed.keys().find(|block| !may_fail(block)) {
            return Err(format!("block {block} cannot be read, and lay in no bad place"));
        }
        if !seen.failed.is_empty() {
            self.compare_check(&seen)?;
        }
        // Readable blocks must stay readable, except those that are reported as lost.
        self.may_fail = seen.failed.keys().copied().collect();
        let lost = self.specimen.blocks.iter().copied().filter(is_lost);
        self.may_fail.extend(lost);
        let outcome = match () {
            () if seen.failed.keys().any(is_lost) || told => Outcome::Lost,
            () if !seen.failed.is_empty() => Outcome::Damaged,
            () if is_shorter => Outcome::Shorter,
            () if !status.problems.is_empty() || !status.recovery.mended.is_empty() => {
                Outcome::Told
            }
            () => Outcome::Unnoticed,
        };
        Ok((outcome, seen.failed.len() as u64))
    }
}

/// A drive that is read-only has a reason, and gives some earlier state.
fn read_only(host: &Host<'_>, allowance: &Allowance) -> Result<(), String> {
    let status = host.drive.status();
    if !allowance.may_be_read_only {
        return Err(format!("it is read-only: {:?}", status.problems));
    }
    if !status.problems.iter().any(|problem| problem.contains("the log is damaged")) {
        return Err(format!("it is read-only, and does not say why: {:?}", status.problems));
    }
    let seen = look(&host.drive, &host.media, &host.specimen.blocks)?;
    match host.model.prefixes(&seen.contents, 0) {
        Ok(_) => Ok(()),
        Err((block, _)) => Err(format!("block {block}: what it gives was never the state")),
    }
}
