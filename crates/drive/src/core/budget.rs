//! The account of room: the segments that a checkpoint takes at most, and those that must stay free
//! for it.
//!
//! A checkpoint that rewrites the whole map takes at most `C` segments, for any codec, leaves and
//! segment size ([`Budget::checkpoint_segments`]). With `M` segments in the map's stream, two
//! conditions hold at all times, and every operation that could break them asks first:
//!
//! 1. outside a checkpoint, `free ≥ C`: a checkpoint can begin, however much of the map has
//!    changed;
//! 2. always, `free + M ≥ 2 C`: a checkpoint that rewrites the whole map, and so gives all older
//!    segments of the map's stream back, leaves `free ≥ C` again.
//!
//! A checkpoint turns free segments into segments of the map's stream and back, so it keeps the
//! second condition and can always restore the first. A change of existing leaves never asks: all
//! of them may change. `docs/on-media.md` has the full argument.

use crate::core::nodes::Nodes;
use crate::format::{
    CHUNK_BYTES_MAX, FOOTER_PART, FooterChunk, Identity, MAX_ROOT_PARTS, MAX_WORDS_PER_ENTRY,
    RECORD_HEADER_BYTES, STREAMS, Stream, chunk_bytes, footer_bytes, map_footer_words_most,
    part_words, whole_blocks,
};
use assay_disk::BLOCK_BYTES;

/// A node as a record with its table word, stored raw.
const NODE_BYTES: u64 = BLOCK_BYTES + RECORD_HEADER_BYTES as u64 + 8 * MAX_WORDS_PER_ENTRY as u64;

/// Most room of a dictionary, in nodes: it is four times as long as a node and may leave as much
/// room unused.
const NODES_PER_DICTIONARY: u64 = 9;

/// Dictionaries for which there is always room; no more are trained.
pub(crate) const DICTIONARIES_MAX: u64 = 16;

/// Words of a root in addition to its lists.
const ROOT_WORDS_BESIDE: u64 = 512;

/// Words of a segment's row, in the root and again in its end.
const ROW_WORDS: u64 = 6;

/// Words of a root's end in addition to its rows and the footer of the segment in which it ends.
pub(crate) const END_WORDS_BESIDE: u64 = 64;

/// Limits that follow from a drive's geometry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    segments: u64,
    segment_bytes: u64,
    nodes_per_segment: u64,
    part_words: u64,
    /// Most words of a footer in the map's stream.
    map_footer_words: u64,
    parts_per_segment: u64,
    dictionaries: u64,
}

impl Budget {
    pub(crate) fn new(identity: &Identity) -> Budget {
        let segment_bytes = u64::from(identity.segment_bytes);
        let part_words = part_words(identity.segment_bytes) as u64;
        Budget {
            segments: u64::from(identity.segments),
            segment_bytes,
            nodes_per_segment: nodes_per_segment(segment_bytes),
            part_words,
            map_footer_words: map_footer_words_most(identity.segment_bytes) as u64,
            parts_per_segment: parts_per_segment(segment_bytes, part_words),
            dictionaries: if identity.dictionary { DICTIONARIES_MAX } else { 0 },
        }
    }

    /// Most segments that a checkpoint of these nodes opens, wherever the map's stream stands when
    /// it begins.
    ///
    /// Nodes fill segments according to [`nodes_per_segment`]; the root's parts follow, and one
    /// more segment is opened if they begin in the middle of one.
    pub(crate) fn checkpoint_segments(&self, nodes: Nodes) -> u64 {
        let records = nodes.leaves + nodes.directories + self.dictionaries * NODES_PER_DICTIONARY;
        records.div_ceil(self.nodes_per_segment) + self.root_segments(nodes.slots) + 1
    }

    /// Most segments that this number of nodes fills.
    pub(crate) fn node_segments(&self, nodes: u64) -> u64 {
        nodes.div_ceil(self.nodes_per_segment)
    }

    /// Most segments that the parts of a root fill.
    fn root_segments(&self, slots: u64) -> u64 {
        (self.root_parts(slots)).div_ceil(self.parts_per_segment)
    }

    /// Most parts of a root, including its end.
    pub(crate) fn root_parts(&self, slots: u64) -> u64 {
        let footer_words = self.segment_bytes / u64::from(FOOTER_PART) / 8;
        let cursors = (STREAMS as u64 - 1) * footer_words;
        let body = cursors + ROW_WORDS * self.segments + slots + ROOT_WORDS_BESIDE;
        body.div_ceil(self.part_words) + 1
    }

    /// Whether a superblock can name all parts of a root.
    pub(crate) fn has_nameable_root(&self, slots: u64) -> bool {
        self.root_parts(slots) <= MAX_ROOT_PARTS as u64
    }

    /// Whether the end of a root can list all segments that a checkpoint of these nodes takes: it
    /// is one chunk, in one segment.
    pub(crate) fn has_tellable_checkpoint(&self, nodes: Nodes) -> bool {
        let rows = ROW_WORDS * (self.checkpoint_segments(nodes) + 2);
        let words = END_WORDS_BESIDE + rows + self.map_footer_words;
        let chunk = chunk_bytes(Stream::Map, 0, words as usize);
        chunk <= u64::from(CHUNK_BYTES_MAX)
            && chunk + u64::from(footer_bytes(FooterChunk::WORDS)) <= self.segment_bytes
    }

    /// Segments that must stay free for checkpoints while the map's stream has `map_segments`.
    pub(crate) fn kept_free(&self, nodes: Nodes, map_segments: u64) -> u64 {
        let whole = self.checkpoint_segments(nodes);
        whole.max((2 * whole).saturating_sub(map_segments))
    }

    /// Segments that never hold data: twice the segments of a checkpoint without nodes.
    pub(crate) fn fixed_segments(&self) -> u64 {
        let dictionaries =
            (self.dictionaries * NODES_PER_DICTIONARY).div_ceil(self.nodes_per_segment);
        2 * (self.root_segments(0) + 2 + dictionaries)
    }

    /// Bytes of data room that one node costs, for itself and its next version; `room` is that of a
    /// segment.
    pub(crate) fn bytes_per_node(&self, room: u64) -> u64 {
        2 * room.div_ceil(self.nodes_per_segment)
    }

    /// Bytes of data room that these nodes cost.
    pub(crate) fn map_bytes(&self, nodes: Nodes, room: u64) -> u64 {
        self.bytes_per_node(room) * (nodes.leaves + nodes.directories) + 16 * nodes.slots
    }
}

/// Least number of nodes in a segment of the map's stream. A chunk is closed when the next node,
/// raw at worst, does not fit, so it leaves less than one node's room unused.
fn nodes_per_segment(segment_bytes: u64) -> u64 {
    // 24 bytes of footer for a node and for a chunk; three blocks for rounding.
    let mut room = segment_bytes - 3 * BLOCK_BYTES;
    let mut nodes = 0;
    while room > 4 * BLOCK_BYTES {
        let chunk = room.min(u64::from(CHUNK_BYTES_MAX));
        // Header, parity, and rounding up to whole blocks.
        let payload = chunk - 3 * BLOCK_BYTES;
        nodes += (payload / (NODE_BYTES + 24)).saturating_sub(1);
        room -= chunk;
    }
    nodes.max(1)
}

/// Parts of a root in a segment of the map's stream.
fn parts_per_segment(segment_bytes: u64, part_words: u64) -> u64 {
    let part = chunk_bytes(Stream::Map, 0, part_words as usize);
    ((segment_bytes - whole_blocks(segment_bytes / 1024) - 2 * BLOCK_BYTES) / part).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Codec;
    use crate::core::chunks::Chunks;
    use crate::core::group::Group;
    use crate::core::log::Log;
    use crate::core::space::{Space, Urgency};
    use crate::format::{Cursor, Op};
    use crate::status::Counters;

    fn identity(segment_bytes: u32, segments: u32) -> Identity {
        let media_bytes = (2 << 20) + u64::from(segments) * u64::from(segment_bytes);
        Identity {
            drive_id: 1,
            media_bytes,
            segment_bytes,
            segments,
            codec: Codec::None,
            units: false,
            dictionary: false,
            logical_bytes: 1 << 40,
        }
    }

    /// A log whose map stream stands at `offset`.
    fn log(identity: &Identity, offset: u32) -> Log {
        let mut space = Space::fresh(identity);
        let mut cursors = <[Cursor; STREAMS]>::default();
        for (number, stream) in (0..).zip(Stream::ALL) {
            space.open_this(number, stream, 1);
            cursors[stream as usize].segment = number;
        }
        cursors[Stream::Map as usize].offset = offset;
        Log::new(*identity, space, cursors, 16)
    }

    /// Number of segments that a checkpoint opens whose nodes have these stored sizes, in turn.
    fn opened(identity: &Identity, offset: u32, nodes: u64, sizes: &[usize]) -> u64 {
        let mut log = log(identity, offset);
        let chunks = Chunks::new((0..identity.segments).map(|_| 0), identity.segment_bytes);
        let counters = Counters::default();
        let before = log.space.free_segments();
        let mut places = Vec::new();
        for (number, size) in (0..nodes).zip(sizes.iter().cycle()) {
            let mut group = Group::default();
            group.push(Op::Node { complete_seq: 1 }, number, |out| {
                out.resize(*size, 1);
                0
            });
            let (payload, words) = (group.payload_bytes(), group.words());
            log.make_room(Stream::Map, payload, words, Urgency::Ordinary, &chunks, &counters)
                .unwrap();
            log.place(Stream::Map, &group, |_| true, &mut places);
            while let Some(job) = log.take_job() {
                chunks.close(job.chunk);
            }
        }
        log.seal(Stream::Map, &counters);
        let budget = Budget::new(identity);
        for part in 0..budget.root_parts(0) {
            let words = vec![part; part_words(identity.segment_bytes)];
            log.make_root_room(words.len(), &chunks, &counters).unwrap();
            log.append_root(&words, &counters);
            while let Some(job) = log.take_job() {
                chunks.close(job.chunk);
            }
        }
        (before - log.space.free_segments()) as u64
    }

    /// An upper bound for every segment size and position of the stream, for raw nodes, small ones,
    /// and the mixtures that leave most room unused; and at most a few segments too high.
    #[test]
    fn a_checkpoint_never_takes_more_than_its_budget() {
        for segment_bytes in [512 << 10, 528 << 10, 1 << 20, 1056 << 10, 2 << 20, 8 << 20] {
            let identity = identity(segment_bytes, 60);
            let budget = Budget::new(&identity);
            let per_segment = budget.nodes_per_segment;
            for leaves in [0, 1, per_segment - 1, per_segment, per_segment + 1, 5 * per_segment + 7]
            {
                let nodes = Nodes { leaves, directories: 0, slots: 0 };
                let most = budget.checkpoint_segments(nodes);
                for offset in [0, segment_bytes / 2, segment_bytes - 16384] {
                    for sizes in
                        [&[4096][..], &[100], &[4096, 10], &[2000, 4096, 30, 4000], &[3000]]
                    {
                        let took = opened(&identity, offset, leaves, sizes);
                        assert!(
                            took <= most,
                            "{segment_bytes}, {leaves}, {offset}, {sizes:?}: {took} of {most}"
                        );
                    }
                }
                let took = opened(&identity, segment_bytes - 16384, leaves, &[4096]);
                assert!(
                    took + 2 + took / 8 >= most,
                    "{segment_bytes}, {leaves}: {took} of {most} is far too little"
                );
            }
        }
    }

    /// The end of a root is one chunk with a row for each segment that the checkpoint took. A map
    /// that needs more rows is refused, and no segment is taken in search of a larger one.
    #[test]
    fn a_checkpoint_is_no_longer_than_a_root_can_tell() {
        let identity = identity(512 << 10, 30_000);
        let budget = Budget::new(&identity);
        let is_told = |leaves: &u64| {
            budget.has_tellable_checkpoint(Nodes { leaves: *leaves, directories: 0, slots: 0 })
        };
        let leaves = (0..3_000_000).step_by(1000).take_while(is_told).last().unwrap();
        assert!(leaves > 1_000_000, "{leaves}");
        let rows = budget.checkpoint_segments(Nodes { leaves, directories: 0, slots: 0 }) + 2;
        let most = (END_WORDS_BESIDE + ROW_WORDS * rows + budget.map_footer_words) as usize;
        let chunks = Chunks::new((0..identity.segments).map(|_| 0), identity.segment_bytes);
        let counters = Counters::default();
        for offset in [0, identity.segment_bytes / 2] {
            let mut log = log(&identity, offset);
            let before = log.space.free_segments();
            assert!(log.make_root_room(most, &chunks, &counters).is_ok());
            assert!(log.make_root_room(most + 20_000, &chunks, &counters).is_err());
            assert!(log.space.free_segments() + 2 >= before, "segments were taken for nothing");
        }
    }

    #[test]
    fn nodes_cost_little_more_than_their_bytes() {
        for shift in 19..=26 {
            let nodes = nodes_per_segment(1 << shift);
            let share = (nodes * BLOCK_BYTES) as f64 / (1_u64 << shift) as f64;
            assert!(share > 0.92, "{nodes} nodes in 2^{shift} bytes: {share}");
        }
    }
}
