//! Verification of segments: the live records of each are read in large pieces, in order of place.
//!
//! Blocks that are whole are noted, a bit for each. All others, for whatever reason, are left to
//! the check, which reads them one by one and describes the damage.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::core::apply::is_wanted;
use crate::core::nodes::{NODE_ENTRIES, leaf_of};
use crate::core::space::State;
use crate::core::tables::{SegmentRecord, records_of};
use crate::format::{Op, UNIT_BLOCKS};
use crate::shell::parts::Shell;
use crate::shell::span::{part_of, span, together};
use crate::shell::worker::Worker;
use crate::upkeep::collect::REACH;
use assay_disk::{BLOCK_BYTES, DiskError, Result};

/// Blocks that are whole.
#[derive(Debug, Default)]
pub(crate) struct Verified {
    /// A bit for each block, by leaf of the map.
    leaves: HashMap<u64, [u64; (NODE_ENTRIES / 64) as usize]>,
    /// Leaves that cannot be read, so that each is tried only once.
    unreadable: HashSet<u64>,
}

impl Verified {
    fn add(&mut self, block: u64) {
        let bit = block % NODE_ENTRIES;
        self.leaves.entry(leaf_of(block)).or_default()[(bit / 64) as usize] |= 1 << (bit % 64);
    }

    pub(crate) fn has(&self, block: u64) -> bool {
        let bit = block % NODE_ENTRIES;
        self.leaves
            .get(&leaf_of(block))
            .is_some_and(|leaf| leaf[(bit / 64) as usize] >> (bit % 64) & 1 == 1)
    }
}

/// Reads every live record and notes the blocks that are whole.
struct Verifier<'a> {
    shell: &'a Shell,
    verified: Verified,
}

/// Reads the live records of each segment; calls `progress` with the number of segments that are
/// done and of all.
///
/// # Errors
/// Those of the media; damage only leaves blocks out.
pub(crate) fn verify_segments(
    shell: &Shell,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verified> {
    let mut verifier = Verifier { shell, verified: Verified::default() };
    verifier.verify_segments(progress)?;
    Ok(verifier.verified)
}

impl Verifier<'_> {
    fn verify_segments(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let used: Vec<_> = {
            let log = self.shell.log.lock()?;
            let used = log
                .space
                .iter()
                .filter(|(_, segment)| segment.state != State::Free && segment.live_records > 0);
            used.map(|(number, segment)| (number, segment.opened_seq)).collect()
        };
        let all = used.len() as u64;
        for (done, (segment, opened_seq)) in (0..).zip(used) {
            progress(done, all);
            self.verify_segment(segment, opened_seq)?;
        }
        progress(all, all);
        Ok(())
    }

    fn verify_segment(&mut self, segment: u32, opened_seq: u64) -> Result<()> {
        let chunks = match self.shell.segments.read_footer(segment, opened_seq)? {
            Some(footer) => footer.chunks(),
            None => self.shell.segments.walk_chunks(segment, opened_seq, 0, 0..u64::MAX)?.all(),
        };
        let mut live = Vec::new();
        for record in chunks.iter().flat_map(|chunk| records_of(segment, chunk)) {
            if self.is_live(&record)? {
                live.push(record);
            }
        }
        live.sort_by_key(|record| record.place.offset());
        let mut rest = &live[..];
        while !rest.is_empty() {
            let (run, behind) =
                rest.split_at(together(rest.iter().map(|record| record.place), REACH));
            let workers = Arc::clone(&self.shell.workers);
            workers.with(|worker| self.verify_run(run, worker))?;
            rest = behind;
        }
        Ok(())
    }

    /// Whether any block is in the record; false if its part of the map cannot be read.
    fn is_live(&mut self, record: &SegmentRecord) -> Result<bool> {
        let leaf = leaf_of(record.entry.key);
        let is_data = !matches!(record.entry.op, Op::Zero | Op::Node { .. } | Op::Dictionary);
        let is_possible =
            !record.place.is_none() && self.shell.media.identity.can_hold(record.place);
        if !is_data || !is_possible || self.verified.unreadable.contains(&leaf) {
            return Ok(false);
        }
        match self.is_mapped(record) {
            Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => {
                self.verified.unreadable.insert(leaf);
                Ok(false)
            }
            lives => lives,
        }
    }

    /// Whether any block is in the record.
    fn is_mapped(&self, record: &SegmentRecord) -> Result<bool> {
        let unit = record.entry.op.is_unit();
        let blocks = if unit { UNIT_BLOCKS } else { 1 };
        loop {
            self.shell.map.load(record.entry.key..record.entry.key + blocks)?;
            if let Ok(lives) =
                is_wanted(&*self.shell.map.read()?, record.entry.key, record.place, unit)
            {
                return Ok(lives);
            }
        }
    }

    /// Reads records that lie close together in one go, and decodes them.
    fn verify_run(&mut self, run: &[SegmentRecord], worker: &mut Worker) -> Result<()> {
        let (Some(front), Some(back)) = (run.first(), run.last()) else { return Ok(()) };
        let Worker { media, coder, unit, .. } = worker;
        let span = span(front.place, back.place);
        let bytes = match self.shell.media.read_span(front.place.segment(), &span, media) {
            Ok(bytes) => bytes,
            // The check reads each of them by itself later.
            Err(DiskError::Io(_)) => return Ok(()),
            Err(other) => return Err(other),
        };
        for record in run {
            let (place, first) = (record.place, record.entry.key);
            let blocks = if place.is_unit() { UNIT_BLOCKS } else { 1 };
            unit.resize((blocks * BLOCK_BYTES) as usize, 0);
            let stored = part_of(bytes, span.start, place);
            let key = record.entry.op.context_key(first);
            if self.shell.records.decode(stored, place, key, unit, coder).is_err() {
                continue;
            }
            let map = self.shell.map.read()?;
            let is_in_it = |index: &u64| map.get(first + index) == Ok(place.at_index(*index));
            (0..blocks).filter(is_in_it).for_each(|index| self.verified.add(first + index));
        }
        Ok(())
    }
}
