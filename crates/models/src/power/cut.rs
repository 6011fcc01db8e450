//! The power cut itself: the choice of the volatile writes that survive it, and of the surviving
//! part of each.

use std::collections::VecDeque;
use std::ops::Range;

use assay_disk::{BLOCK_BYTES, Disk, Result};
use serde::{Deserialize, Serialize};

use super::cache::{BLOCK, Entry};
use super::page::{PAGE_BYTES, PageName, pages_of};
use super::volatile::{Keeps, TearsAt, Volatility};
use crate::random::Random;

/// Number of torn pages that are listed.
const NAMED_MAX: usize = 32;

/// The fate of the volatile writes in a power cut.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survival {
    /// Writes that were not durable, including discards.
    pub writes: u64,
    /// Writes that survived whole.
    pub whole: u64,
    /// Writes of which a part survived.
    pub torn: u64,
    /// Writes of which nothing survived.
    pub lost: u64,
    /// The first InnoDB pages of which a part survived, if they were written as such.
    pub torn_pages: Vec<TornPage>,
}

/// A page of which the power cut left a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TornPage {
    /// Identity of the page.
    pub name: PageName,
    /// First byte on the device.
    pub offset: u64,
    /// Bytes of each part, except perhaps the first and the last.
    pub unit_bytes: u64,
    /// Whether each part is new, in order.
    pub is_new: Vec<bool>,
}

/// Makes the surviving ones of `entries` durable, by the device's nature and the seed.
pub(super) fn survive(
    entries: &VecDeque<Entry>,
    nature: &Volatility,
    seed: u64,
    below: &dyn Disk,
) -> Result<Survival> {
    let mut random = Random::new(seed);
    let mut survival = Survival { writes: entries.len() as u64, ..Survival::default() };
    // All up to one of them survive: a cache is written out from its oldest entry, too.
    let kept = random.below(entries.len() as u64 + 1);
    for (number, entry) in (0..).zip(entries) {
        let fate = if entry.is_forced || number < kept {
            Fate::Whole
        } else {
            match nature.keeps {
                Keeps::Any => Fate::draw(&mut random),
                Keeps::Oldest if number == kept => Fate::Torn,
                Keeps::Oldest => Fate::Lost,
            }
        };
        match fate {
            Fate::Whole => {
                entry.write_to(below)?;
                survival.whole += 1;
            }
            Fate::Lost => survival.lost += 1,
            Fate::Torn => tear(entry, nature.tears_at, &mut random, below, &mut survival)?,
        }
    }
    Ok(survival)
}

enum Fate {
    Whole,
    Torn,
    Lost,
}

impl Fate {
    /// Draws torn most often, because that is the interesting fate.
    fn draw(random: &mut Random) -> Fate {
        match random.below(4) {
            0 => Fate::Whole,
            1 => Fate::Lost,
            _ => Fate::Torn,
        }
    }
}

/// Decides for each part by itself whether it survives.
fn tear(
    entry: &Entry,
    tears_at: TearsAt,
    random: &mut Random,
    below: &dyn Disk,
    survival: &mut Survival,
) -> Result<()> {
    let unit = match tears_at {
        TearsAt::Bytes(bytes) => bytes,
        TearsAt::Command => u64::MAX,
    };
    let mut parts: Vec<(Range<u64>, bool)> = Vec::new();
    let (mut at, end) = (entry.offset, entry.offset + entry.length);
    while at < end {
        // Parts begin at the device's units, not at the beginning of the write.
        let next = (at / unit).saturating_add(1).saturating_mul(unit).min(end);
        parts.push((at..next, random.below(2) == 0));
        at = next;
    }
    for (part, _) in parts.iter().filter(|(_, is_there)| *is_there) {
        put(entry, part, below)?;
    }
    match parts.iter().filter(|(_, is_there)| *is_there).count() {
        0 => survival.lost += 1,
        all if all == parts.len() => survival.whole += 1,
        _ => {
            survival.torn += 1;
            name_torn(entry, unit, &parts, survival);
        }
    }
    Ok(())
}

/// Writes a part of a write, which need not be whole blocks.
fn put(entry: &Entry, part: &Range<u64>, below: &dyn Disk) -> Result<()> {
    let mut stored = [0; BLOCK];
    let mut at = part.start;
    while at < part.end {
        let block = at / BLOCK_BYTES;
        let end = part.end.min((block + 1) * BLOCK_BYTES);
        let inside = (at % BLOCK_BYTES) as usize..(end - block * BLOCK_BYTES) as usize;
        below.read(block * BLOCK_BYTES, &mut stored)?;
        match entry.block(block) {
            Some(bytes) => stored[inside.clone()].copy_from_slice(&bytes[inside]),
            None => stored[inside].fill(0),
        }
        below.write(block * BLOCK_BYTES, &stored, false)?;
        at = end;
    }
    Ok(())
}

fn name_torn(entry: &Entry, unit: u64, parts: &[(Range<u64>, bool)], survival: &mut Survival) {
    let Some(data) = &entry.data else { return };
    for (at, name) in pages_of(data) {
        let offset = entry.offset + at as u64;
        let page = offset..offset + PAGE_BYTES as u64;
        let inside =
            parts.iter().filter(|(part, _)| part.start < page.end && page.start < part.end);
        let is_new: Vec<bool> = inside.map(|(_, is_there)| *is_there).collect();
        let is_torn = is_new.contains(&true) && is_new.contains(&false);
        if is_torn && survival.torn_pages.len() < NAMED_MAX {
            survival.torn_pages.push(TornPage { name, offset, unit_bytes: unit, is_new });
        }
    }
}
