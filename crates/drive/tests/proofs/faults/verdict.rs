//! The outcome of damage, and the law that any damage must keep.
//!
//! A drive that opens returns for each block the data that some command wrote there, or reports
//! damage. All data together equal the state after a prefix of the commands that includes
//! everything flushed; otherwise the drive reports that its log is damaged, and takes no writes. A
//! check finds exactly the blocks that cannot be read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, CheckReport, Disk, DiskError, Drive, State};

use super::specimen::options;
use crate::common::faulty::FaultyDisk;
use crate::common::model::{BLOCK, Content, Model, content_of};

/// The outcome of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Everything is there.
    Unnoticed,
    /// Everything is there, and something is said to be wrong.
    Told,
    /// Fewer unflushed commands are there than without the damage.
    Shorter,
    /// Blocks cannot be read, and say so.
    Corrupt,
    /// The log is damaged: an earlier state, read-only.
    ReadOnly,
    /// It does not open.
    Refused,
}

/// Results of reading every block.
pub struct Found {
    pub contents: BTreeMap<u64, Content>,
    pub corrupt: BTreeSet<u64>,
}

/// Reads each block that was ever touched.
pub fn read_all(disk: &dyn Disk, model: &Model) -> Result<Found, String> {
    let mut found = Found { contents: BTreeMap::new(), corrupt: BTreeSet::new() };
    for block in model.touched() {
        let mut data = [1; BLOCK];
        match disk.read(block * BLOCK_BYTES, &mut data) {
            Ok(()) => {
                found.contents.insert(block, content_of(block, &data)?);
            }
            Err(DiskError::Corrupt { .. }) => {
                found.corrupt.insert(block);
            }
            Err(other) => return Err(format!("block {block}: {other}")),
        }
    }
    Ok(found)
}

/// The longest prefix of the commands that the blocks equal, if any from `shortest` on.
fn longest_prefix(model: &Model, found: &Found, shortest: u64) -> Option<u64> {
    // Mostly nothing is lost, which is quick to see.
    if let Ok(all) = model.prefixes(&found.contents, model.commands) {
        return all.last().copied();
    }
    model.prefixes(&found.contents, shortest).ok()?.last().copied()
}

/// Opens what is left of a drive and holds it to the law; gives the outcome and, of a drive that
/// opens, the prefix.
pub fn judge(media: Arc<dyn Disk>, model: &Model) -> Result<(Outcome, u64), String> {
    let media = Arc::new(FaultyDisk::new(media));
    let drive = match Drive::open(media.clone(), options()) {
        Err(_) if media.writes() > 0 => return Err("it wrote to what it cannot open".into()),
        Err(_) => return Ok((Outcome::Refused, 0)),
        Ok(drive) => drive,
    };
    let mut found = read_all(&drive, model)?;
    let forgotten = forgotten(&drive)?;
    found.contents.retain(|block, _| {
        // Changes under a lost node are forgotten, and reported.
        let mut told = forgotten.iter().filter(|(blocks, _)| blocks.contains(block));
        !told.any(|(_, written)| *written || model.was_discarded(*block))
    });
    let check = drive.check(&mut |_, _| {}).map_err(|error| format!("the check: {error}"))?;
    compare_check(&found, &check)?;
    let status = drive.status();
    let is_read_only = status.state == State::ReadOnly;
    let prefix = match longest_prefix(model, &found, model.durable) {
        Some(prefix) => prefix,
        None if is_read_only => longest_prefix(model, &found, 0)
            .ok_or("what it gives was never the state, though it says that it is damaged")?,
        None => return Err(format!("flushed data is lost and nothing said: {status:?}")),
    };
    if status.state == State::Healthy && !status.problems.is_empty() {
        return Err(format!("healthy, and yet {:?}", status.problems));
    }
    let outcome = match () {
        () if is_read_only => Outcome::ReadOnly,
        () if !found.corrupt.is_empty() => Outcome::Corrupt,
        () if !status.problems.is_empty()
            || !status.recovery.mended.is_empty()
            || !check.damages.is_empty() =>
        {
            Outcome::Told
        }
        () => Outcome::Unnoticed,
    };
    match outcome {
        Outcome::ReadOnly => check_read_only(&drive, &media)?,
        Outcome::Corrupt if status.problems.is_empty() || status.state != State::Damaged => {
            return Err(format!("damaged blocks, but a status of {status:?}"));
        }
        _ => {}
    }
    Ok((outcome, prefix))
}

/// Blocks of which the drive says that they may be old, and whether that goes for what was written,
/// too, not only for what was discarded. It does not call itself healthy then.
fn forgotten(drive: &Drive) -> Result<Vec<(std::ops::Range<u64>, bool)>, String> {
    let status = drive.status();
    let told = status.problems.iter().filter(|problem| problem.contains("may hold old data"));
    let mut forgotten = Vec::new();
    for problem in told {
        let numbers: Vec<u64> = problem.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [first, end] = numbers[..] else { return Err(format!("no range: {problem}")) };
        let is_written = problem.contains("written or discarded");
        if is_written && status.state != State::ReadOnly {
            return Err(format!("data may be old, and it takes writes: {status:?}"));
        }
        forgotten.push((first / BLOCK_BYTES..end / BLOCK_BYTES, is_written));
    }
    let is_told = matches!(status.state, State::Damaged | State::ReadOnly);
    if forgotten.is_empty() || is_told { Ok(forgotten) } else { Err(format!("{status:?}")) }
}

/// Every block that cannot be read is in the check, and nothing else is.
fn compare_check(found: &Found, check: &CheckReport) -> Result<(), String> {
    let mut reported = BTreeSet::new();
    for damage in &check.damages {
        let Some(offset) = damage.offset else { continue };
        let range = offset / BLOCK_BYTES..(offset + damage.bytes) / BLOCK_BYTES;
        // A part of the map may be for nothing that was ever touched.
        let is_of_map = damage.what.contains("node");
        if !is_of_map && !range.clone().all(|block| found.corrupt.contains(&block)) {
            return Err(format!("the check finds {damage:?}, but it can be read"));
        }
        reported.extend(found.corrupt.range(range));
    }
    match found.corrupt.difference(&reported).next() {
        Some(block) => Err(format!("block {block} cannot be read; the check says {check:?}")),
        None => Ok(()),
    }
}

/// A drive that is read-only says why and leaves its media alone, also while it opens.
fn check_read_only(drive: &Drive, media: &FaultyDisk) -> Result<(), String> {
    let status = drive.status();
    if !status.problems.iter().any(|problem| problem.contains("the log is damaged")) {
        return Err(format!("it is read-only and does not say why: {status:?}"));
    }
    let refused = |result| matches!(result, Err(DiskError::ReadOnly { .. }));
    let answers =
        [drive.write(0, &[1; BLOCK], false), drive.discard(0, BLOCK_BYTES), drive.resize(1 << 40)];
    if !answers.into_iter().all(refused) {
        return Err("it is read-only and takes commands that write".into());
    }
    let rests = drive.flush().and_then(|()| drive.maintain()).and_then(|_| drive.close());
    rests.map_err(|error| format!("read-only, it fails where nothing is to do: {error}"))?;
    if media.writes() > 0 { Err("it is read-only and wrote".into()) } else { Ok(()) }
}
