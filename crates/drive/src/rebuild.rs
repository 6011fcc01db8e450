//! Rebuilding the map from the segments alone, when no checkpoint can be read.
//!
//! Every segment's tables say which blocks its records hold and when they were first written: the newest wins. What was
//! discarded is told by entries of the log and by the nodes of the map that still lie in its stream: a block that
//! the newest node of its leaf, or the newest directory, knows nothing of was not mapped when that was written.
//! Counters of the drive's life are lost, data are not.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::apply::apply;
use crate::disk::{BLOCK_BYTES, Disk, DiskError, Result};
use crate::engine::{Drive, OPENED_READ_ONLY, Parts};
use crate::format::DriveError;
use crate::layout::{
    Cursor, Entry, Identity, Location, NodeId, Op, STREAMS, SegmentRow, Stream, Superblock,
    UNIT_BLOCKS, Words,
};
use crate::map::{Map, NODE_ENTRIES, Node};
use crate::segment::{SegmentChunk, records_of};
use crate::space::Space;
use crate::status::{Counters, Recovery};

/// One segment as its own bytes tell it.
struct Found {
    number: u32,
    stream: Stream,
    opened_seq: u64,
    sealed_seq: u64,
    chunks: Vec<SegmentChunk>,
}

/// When a block got what it holds: the chunk that first held it, and the chunk that holds it now.
type Version = (u64, u64);

/// Newest version of each block, by leaf.
#[derive(Default)]
struct Versions(HashMap<u64, Box<[Version]>>);

impl Versions {
    fn of(&mut self, block: u64) -> &mut Version {
        let empty = || vec![(0, 0); NODE_ENTRIES as usize].into();
        let leaf = self.0.entry(block / NODE_ENTRIES).or_insert_with(empty);
        &mut leaf[(block % NODE_ENTRIES) as usize]
    }
}

/// The newest record of each node.
type Nodes = HashMap<NodeId, (u64, Location)>;

impl Drive {
    /// The drive as its segments tell it; `why` goes to the health log.
    pub(crate) fn rebuild(self, why: &str) -> Result<Drive, DriveError> {
        let superblock = self.superblock().clone();
        let mut found = self.scan()?;
        for segment in &mut found {
            segment.chunks.retain(|chunk| !superblock.is_cut(chunk.seq));
        }
        for segment in &found {
            self.chunks.opened(segment.number, segment.opened_seq);
        }
        let end_seq = self.accepted_end(&found, &superblock)?;
        let identity = self.identity;
        let mut map = Map::new(identity.logical_bytes / BLOCK_BYTES, &[], 0);
        let mut space = Space::from_rows(&identity, &rows_of(&found, &identity));
        let mut nodes = Nodes::new();
        let mut dictionaries = HashMap::new();
        let mut versions = Versions::default();
        for (segment, chunk) in chunks_below(&found, end_seq) {
            for record in records_of(segment, chunk) {
                let is_aligned =
                    !record.place.is_unit() || record.entry.key.is_multiple_of(UNIT_BLOCKS);
                if !self.is_possible(record.place) || !is_aligned {
                    continue;
                }
                match record.entry.op {
                    Op::Node { complete_seq } if complete_seq < end_seq => {
                        newest(
                            &mut nodes,
                            NodeId::from_word(record.entry.key),
                            complete_seq,
                            record.place,
                        );
                    }
                    Op::Node { .. } => {}
                    Op::Dictionary => {
                        newest(&mut dictionaries, record.entry.key, chunk.seq, record.place);
                    }
                    _ => enter(
                        identity.logical_bytes / BLOCK_BYTES,
                        &mut map,
                        &mut space,
                        &mut versions,
                        &record.entry,
                        record.place,
                        (record.origin_seq, chunk.seq),
                    ),
                }
            }
        }
        let blind = self.clear_holes(&nodes, &mut map, &mut space, &mut versions)?;
        let mut recovery = self.recovery.clone();
        recovery.rebuilt = true;
        recovery.chunks = found.iter().map(|segment| segment.chunks.len() as u64).sum();
        recovery.problems.push(format!("{why}; the map was rebuilt from the segments"));
        if blind > 0 {
            let problem =
                format!("{blind} nodes of the map are damaged; discarded blocks may hold old data");
            recovery.problems.push(problem);
        }
        self.log_stop_seq.store(end_seq, Ordering::Release);
        release_empty(&found, &mut space);
        self.reopen_rebuilt(map, space, recovery, dictionaries)
    }

    /// Puts the drive together anew, with fresh segments to write to.
    fn reopen_rebuilt(
        self,
        map: Map,
        mut space: Space,
        mut recovery: Recovery,
        dictionaries: HashMap<u64, (u64, Location)>,
    ) -> Result<Drive, DriveError> {
        let mut read_only = self.options.read_only.then(|| OPENED_READ_ONLY.into());
        let superblock = self.superblock().clone();
        let first_seq = superblock.unused_seq;
        let mut cursors = <[Cursor; STREAMS]>::default();
        for (opened_seq, stream) in (first_seq..).zip(Stream::ALL) {
            match space.open(Stream::Map, opened_seq) {
                Some(number) => {
                    space.open_this(number, stream, opened_seq);
                    cursors[stream as usize].segment = number;
                }
                None => read_only = Some("no segment is free to write the rebuilt map to".into()),
            }
        }
        recovery.clean = false;
        let mut places: Vec<_> = dictionaries.into_iter().collect();
        places.sort_unstable_by_key(|(version, _)| *version);
        for (_, (_, place)) in &places {
            space.add(*place);
        }
        let parts = Parts {
            superblock,
            map,
            space,
            cursors,
            next_seq: first_seq + STREAMS as u64,
            counters: Counters::default(),
            dictionaries: Vec::new(),
            recovery,
            read_only: read_only.clone(),
        };
        let drive = Drive::assemble(Arc::clone(&self.media), self.options.clone(), parts);
        let stop_seq = self.log_stop_seq.load(Ordering::Acquire);
        drive.log_stop_seq.store(stop_seq, Ordering::Release);
        for (version, (_, place)) in places {
            drive.load_dictionary(version as u8, place)?;
        }
        if read_only.is_none() {
            drive.superblock().root.clear();
            drive.reserve_seqs(false)?;
            drive.is_begun.store(true, Ordering::Release);
            drive.checkpoint(&mut drive.maintenance(), false)?;
        }
        Ok(drive)
    }

    /// Every segment that holds anything.
    fn scan(&self) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        for number in 0..self.identity.segments {
            found.extend(self.scan_segment(number)?);
        }
        Ok(found)
    }

    fn scan_segment(&self, number: u32) -> Result<Option<Found>> {
        let head = self.first_header(number)?;
        let footer = self.any_footer(number)?;
        // A footer of an earlier filling, or one that a crash cut off, may still lie behind what the segment was
        // filled with since.
        let footer = footer.filter(|footer| {
            head.is_none_or(|(_, opened_seq)| footer.header.opened_seq == opened_seq)
                && !self.superblock().is_cut(footer.header.seq)
        });
        if let Some(footer) = footer {
            return Ok(Some(Found {
                number,
                stream: footer.header.stream,
                opened_seq: footer.header.opened_seq,
                sealed_seq: footer.header.seq,
                chunks: footer.chunks(),
            }));
        }
        let Some((stream, opened_seq)) = head else { return Ok(None) };
        let chunks = self.walk_chunks(number, opened_seq, 0, 0..u64::MAX)?.all();
        let sealed_seq = chunks.last().map_or(opened_seq, |chunk| chunk.seq);
        Ok(Some(Found { number, stream, opened_seq, sealed_seq, chunks }))
    }

    /// The first sequence number that is not part of the log: the first behind the checkpoint that is missing or torn.
    /// The checkpoint's own root may be missing without ending it.
    fn accepted_end(&self, found: &[Found], superblock: &Superblock) -> Result<u64> {
        let (root_first, root_last) = superblock.root_seqs;
        let mut known: BTreeMap<u64, Option<(u32, &SegmentChunk)>> =
            found.iter().map(|segment| (segment.sealed_seq, None)).collect();
        for segment in found {
            known.extend(
                segment.chunks.iter().map(|chunk| (chunk.seq, Some((segment.number, chunk)))),
            );
        }
        let mut end = superblock.checkpoint_seq.saturating_add(1);
        loop {
            let is_there = match known.get(&end) {
                Some(Some((number, chunk))) => self.is_whole(*number, chunk)?,
                Some(None) => true,
                None if (root_first..root_last).contains(&end) => {
                    let next = known.range(end..=root_last).next().map(|(seq, _)| *seq);
                    end = next.unwrap_or(root_last);
                    continue;
                }
                None => end == root_last,
            };
            if !is_there {
                return Ok(end);
            }
            end = end.saturating_add(1);
        }
    }

    /// Unmaps what the newest nodes do not know; gives how many nodes could not be read.
    fn clear_holes(
        &self,
        nodes: &Nodes,
        map: &mut Map,
        space: &mut Space,
        versions: &mut Versions,
    ) -> Result<u64> {
        let mut blind = 0;
        let mut ids: Vec<_> = nodes.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let (complete_seq, place) = nodes[&id];
            let words = self.workers.with(|worker| self.read_node(id, place, worker));
            let words = match words {
                Ok(words) => words,
                Err(DiskError::Corrupt { .. }) => {
                    blind += 1;
                    continue;
                }
                Err(other) => return Err(other),
            };
            for block in holes(id, &words) {
                if block < self.size() / BLOCK_BYTES
                    && versions.0.contains_key(&(block / NODE_ENTRIES))
                    && versions.of(block).0 <= complete_seq
                {
                    let zero = Entry { op: Op::Zero, key: block, length: 1, last: true };
                    let _ = apply(map, space, &zero, Location::NONE);
                }
            }
        }
        Ok(blind)
    }
}

/// Blocks of which a node knows nothing.
fn holes(id: NodeId, words: &Node) -> Vec<u64> {
    let empty = (0_u64..).zip(words).filter(|(_, word)| **word == 0).map(|(index, _)| index);
    match id {
        NodeId::Leaf(number) => empty.map(|index| number * NODE_ENTRIES + index).collect(),
        NodeId::Directory(number) => empty
            .flat_map(|index| {
                let leaf = number * NODE_ENTRIES + index;
                leaf * NODE_ENTRIES..(leaf + 1) * NODE_ENTRIES
            })
            .collect(),
    }
}

/// Puts a record into the map where it is newer than what is there.
fn enter(
    blocks: u64,
    map: &mut Map,
    space: &mut Space,
    versions: &mut Versions,
    entry: &Entry,
    place: Location,
    version: Version,
) {
    let unit = place.is_unit();
    let count = match entry.op {
        Op::Zero => u64::from(entry.length),
        _ if unit => UNIT_BLOCKS,
        _ => 1,
    };
    // What lies behind the end was given up when the drive was made smaller.
    for index in 0..count.min(blocks.saturating_sub(entry.key)) {
        let block = entry.key + index;
        let present = versions.of(block);
        if version < *present {
            continue;
        }
        *present = version;
        let place =
            if place.is_none() { place } else { place.at_index(if unit { index } else { 0 }) };
        put(map, space, block, place);
    }
}

/// Maps one block; a unit is booked with the first of its blocks that is.
fn put(map: &mut Map, space: &mut Space, block: u64, place: Location) {
    if !place.is_none() {
        let siblings = 0..if place.is_unit() { UNIT_BLOCKS } else { 1 };
        let first = block - place.index();
        let is_booked =
            siblings.into_iter().any(|index| map.get(first + index) == Ok(place.at_index(index)));
        if !is_booked {
            space.add(place);
        }
    }
    crate::apply::put(map, space, block, place).ok();
}

fn newest<K: std::hash::Hash + Eq>(
    all: &mut HashMap<K, (u64, Location)>,
    key: K,
    seq: u64,
    place: Location,
) {
    let slot = all.entry(key).or_insert((seq, place));
    if seq >= slot.0 {
        *slot = (seq, place);
    }
}

fn chunks_below(found: &[Found], end_seq: u64) -> impl Iterator<Item = (u32, &SegmentChunk)> {
    let chunks = found
        .iter()
        .flat_map(|segment| segment.chunks.iter().map(move |chunk| (segment.number, chunk)));
    chunks.filter(move |(_, chunk)| chunk.seq < end_seq)
}

/// Frees what holds nothing: first the segments that tell nothing either, and those that tell of discards or
/// hold nodes only where room for the rebuilt map is short, for a second rebuild would miss them.
fn release_empty(found: &[Found], space: &mut Space) {
    let tells = |segment: &Found| {
        segment
            .chunks
            .iter()
            .flat_map(|chunk| Words::new(&chunk.words))
            .any(|entry| matches!(entry.op, Op::Zero | Op::Node { .. }))
    };
    let empty = found.iter().filter(|segment| space.get(segment.number).live_records == 0);
    let (telling, silent): (Vec<_>, Vec<_>) = empty.partition(|segment| tells(segment));
    silent.iter().for_each(|segment| space.release(segment.number));
    for segment in telling {
        if space.free_segments() < 2 * STREAMS {
            space.release(segment.number);
        }
    }
}

fn rows_of(found: &[Found], identity: &Identity) -> Vec<SegmentRow> {
    let mut rows = vec![SegmentRow::default(); identity.segments as usize];
    for segment in found {
        rows[segment.number as usize] = SegmentRow {
            opened_seq: segment.opened_seq,
            sealed_seq: segment.sealed_seq,
            stream: Some(segment.stream),
            ..SegmentRow::default()
        };
    }
    rows
}
